#include <gtest/gtest.h>

#include "core/api/cron_job.h"
#include "core/api/job.h"
#include "core/json/members.h"
#include "tests/unit/parsed_json.h"

namespace berth {
namespace {

constexpr std::string_view kPods = R"("template":{"spec":{"containers":[{"name":"c","image":"v1"}],)"
                                   R"("restartPolicy":"OnFailure"}})";

Result<Job> job_with(std::string_view spec, std::string_view status = "") {
  return decode_job(parsed_json(R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"j"},"spec":{)" +
                                std::string(kPods) + std::string(spec) + "}" + std::string(status) + "}"),
                    nullptr);
}

std::string job_error(std::string_view spec) {
  const Result<Job> job = job_with(spec);
  return job ? "" : job.error().message();
}

TEST(DecodeJob, ReadsSpecAndPolicies) {
  const Result<Job> job = job_with(
      R"(,"completions":5,"parallelism":2,"completionMode":"Indexed","backoffLimitPerIndex":1,"maxFailedIndexes":3,
      "activeDeadlineSeconds":60,"ttlSecondsAfterFinished":0,"suspend":true,"podReplacementPolicy":"Failed",
      "podFailurePolicy":{"rules":[{"action":"Ignore","onPodConditions":[{"type":"DisruptionTarget"}]},
      {"action":"FailIndex","onExitCodes":{"operator":"NotIn","values":[1,2],"containerName":"c"}}]},
      "successPolicy":{"rules":[{"succeededIndexes":"0-2","succeededCount":2}]})");
  ASSERT_TRUE(job) << job.error().message();
  const JobSpec& spec = job->spec;
  EXPECT_EQ(spec.completions, 5);
  EXPECT_TRUE(spec.indexed && spec.suspend && spec.replace_failed_only && spec.restart_on_failure);
  EXPECT_EQ(spec.ttl_seconds_after_finished, 0);
  ASSERT_EQ(spec.failure_policy->size(), 2);
  EXPECT_EQ(spec.failure_policy->front().on_pod_conditions.front().status, "True");
  EXPECT_FALSE((*spec.failure_policy)[1].on_exit_codes->in);
  EXPECT_EQ((*spec.failure_policy)[1].on_exit_codes->values, (std::vector<std::int32_t>{1, 2}));
  EXPECT_EQ(spec.success_policy.front().succeeded_count, 2);
}

TEST(DecodeJob, TheStatusIsWrittenAsItIsRead) {
  const Json status = parsed_json(
      R"({"active":1,"succeeded":2,"failed":3,"ready":0,"terminating":0,"completedIndexes":"0,2","failedIndexes":"",
      "uncountedTerminatedPods":{"failed":["u1"]},"startTime":"2026-01-05T10:00:00Z",
      "completionTime":"2026-01-05T10:00:05Z",
      "conditions":[{"type":"Failed","status":"True","lastTransitionTime":"2026-01-05T10:00:05Z"}]})");
  const Result<Job> job = job_with("", R"(,"status":)" + status.dump());
  ASSERT_TRUE(job) << job.error().message();
  EXPECT_EQ(to_json(job->status).dump(), status.dump());
  ASSERT_NE(finished_condition(*job), nullptr);
  EXPECT_EQ(finished_condition(*job)->type, "Failed");
}

TEST(DecodeJob, ErrorsNameTheField) {
  EXPECT_TRUE(job_error(R"(,"parallelism":-1)").starts_with("spec.parallelism: "));
  EXPECT_TRUE(job_error(R"(,"completions":"2")").starts_with("spec.completions: "));
  EXPECT_TRUE(job_error(R"(,"completionMode":"Sorted")").starts_with("spec.completionMode: "));
  EXPECT_TRUE(job_error(R"(,"completionMode":"Indexed")").starts_with("spec.completions: "));
  EXPECT_TRUE(job_error(R"(,"backoffLimitPerIndex":1)").starts_with("spec.backoffLimitPerIndex: "));
  EXPECT_TRUE(job_error(R"(,"podFailurePolicy":{"rules":[{"action":"Explode","onPodConditions":[{"type":"A"}]}]})")
                  .starts_with("spec.podFailurePolicy.rules[0].action: "));
  EXPECT_TRUE(job_error(R"(,"podFailurePolicy":{"rules":[{"action":"Count"}]})")
                  .starts_with("spec.podFailurePolicy.rules[0].onExitCodes: "));
  EXPECT_TRUE(
      job_error(R"(,"podFailurePolicy":{"rules":[{"action":"Count","onExitCodes":{"operator":"In","values":["x"]}}]})")
          .starts_with("spec.podFailurePolicy.rules[0].onExitCodes.values: "));
}

TEST(JobDefaults, ANewJobGetsNumbersLabelsAndASelector) {
  Json job =
      parsed_json(R"({"metadata":{"name":"j","uid":"u1"},"spec":{"template":{"metadata":{"labels":{"a":"b"}}}}})");
  set_job_defaults(job);
  const Json& spec = *job.find("spec");
  EXPECT_EQ(spec.find("completions")->as_int(), 1);
  EXPECT_EQ(spec.find("backoffLimit")->as_int(), 6);
  EXPECT_EQ(spec.string_at("podReplacementPolicy"), "TerminatingOrFailed");
  EXPECT_EQ(spec.find("selector")->dump(), R"({"matchLabels":{"batch.kubernetes.io/controller-uid":"u1"}})");
  const Json& labels = member(member(member(spec, "template"), "metadata"), "labels");
  EXPECT_EQ(labels.as_object().size(), 5);
  EXPECT_EQ(labels.string_at("batch.kubernetes.io/job-name"), "j");
}

TEST(JobDefaults, WhatIsSetStays) {
  Json job = parsed_json(R"({"metadata":{"name":"j","uid":"u1"},"spec":{"parallelism":3,"backoffLimitPerIndex":1,
      "podFailurePolicy":{"rules":[]},"manualSelector":true,"selector":{"matchLabels":{"a":"b"}},"template":{}}})");
  set_job_defaults(job);
  const Json& spec = *job.find("spec");
  EXPECT_EQ(spec.find("completions"), nullptr);
  EXPECT_EQ(spec.find("parallelism")->as_int(), 3);
  EXPECT_EQ(spec.find("backoffLimit")->as_int(), 2'147'483'647);
  EXPECT_EQ(spec.string_at("podReplacementPolicy"), "Failed");
  EXPECT_EQ(spec.find("selector")->dump(), R"({"matchLabels":{"a":"b"}})");
  EXPECT_EQ(spec.find("template")->dump(), "{}");
}

Result<CronJob> cron_job_with(std::string_view spec) {
  return decode_cron_job(parsed_json(R"({"metadata":{"name":"cj"},"spec":{)" + std::string(spec) + "}}"), nullptr);
}

TEST(DecodeCronJob, ReadsSpecAndChecksTheTemplate) {
  const std::string pods(kPods);
  const Result<CronJob> cron_job = cron_job_with(
      R"("schedule":"* * * * *","timeZone":"Europe/Berlin","concurrencyPolicy":"Replace","startingDeadlineSeconds":9,
      "successfulJobsHistoryLimit":0,"jobTemplate":{"metadata":{"labels":{"a":"b"}},"spec":{)" +
      pods + "}}");
  ASSERT_TRUE(cron_job) << cron_job.error().message();
  EXPECT_EQ(cron_job->spec.time_zone, "Europe/Berlin");
  EXPECT_EQ(cron_job->spec.concurrency, CronJobSpec::Concurrency::replace);
  EXPECT_EQ(cron_job->spec.successful_jobs_history_limit, 0);
  EXPECT_EQ(cron_job->spec.failed_jobs_history_limit, std::nullopt);
  const Result<CronJob> wrong =
      cron_job_with(R"("schedule":"* * * * *","jobTemplate":{"spec":{"parallelism":-1,)" + pods + "}}");
  ASSERT_FALSE(wrong);
  EXPECT_TRUE(wrong.error().message().starts_with("spec.jobTemplate.spec.parallelism: "));
}

TEST(DecodeCronJob, ErrorsNameTheField) {
  const std::string rest = R"("jobTemplate":{"spec":{)" + std::string(kPods) + "}}";
  EXPECT_TRUE(cron_job_with(rest).error().message().starts_with("spec.schedule: "));
  EXPECT_TRUE(cron_job_with(R"("schedule":"* * * * *")").error().message().starts_with("spec.jobTemplate: "));
  EXPECT_TRUE(cron_job_with(R"("schedule":"* * * * *","concurrencyPolicy":"Never",)" + rest)
                  .error()
                  .message()
                  .starts_with("spec.concurrencyPolicy: "));
}

TEST(DecodeCronJob, TheStatusIsWrittenAsItIsRead) {
  const std::string status = R"({"active":[{"apiVersion":"batch/v1","kind":"Job","namespace":"default","name":"cj-1",)"
                             R"("uid":"u1"}],"lastScheduleTime":"2026-01-05T10:00:00Z"})";
  const Result<CronJob> cron_job =
      decode_cron_job(parsed_json(R"({"metadata":{"name":"cj"},"status":)" + status + "}"), nullptr, Rules::off);
  ASSERT_TRUE(cron_job) << cron_job.error().message();
  EXPECT_EQ(to_json(cron_job->status).dump(), status);
}

}  // namespace
}  // namespace berth
