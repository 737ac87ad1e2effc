// What one pod, or a set of indexes, means for a Job.
#include <gtest/gtest.h>

#include "core/controllers/job/job_backoff.h"
#include "core/controllers/job/job_pods.h"
#include "core/controllers/job/job_policies.h"

namespace berth {
namespace {

std::shared_ptr<ControlledPod> pod_named(const std::string& name) {
  auto pod = std::make_shared<ControlledPod>();
  pod->metadata.name = name;
  pod->metadata.namespace_ = "default";
  pod->metadata.uid = name;
  pod->node_name = "n1";
  pod->phase = PodPhase::running;
  return pod;
}

std::shared_ptr<ControlledPod> pod_of_index(const std::string& name, const std::string& index) {
  auto pod = pod_named(name);
  pod->metadata.annotations.edit()[std::string(kCompletionIndex)] = index;
  return pod;
}

ControlledPodPtr ended_at(Millis time) {
  auto pod = pod_named("p");
  pod->phase = PodPhase::failed;
  pod->ended_at = time;
  return pod;
}

std::vector<std::string> names_of(const std::vector<ControlledPodPtr>& pods) {
  std::vector<std::string> names;
  for (const ControlledPodPtr& pod : pods) names.push_back(pod->metadata.name);
  return names;
}

JobSpec with_exit_codes(PodFailureRule::Action action, ExitCodeRule codes) {
  JobSpec spec;
  PodFailureRule rule;
  rule.action = action;
  rule.on_exit_codes = std::move(codes);
  spec.failure_policy.emplace().push_back(rule);
  return spec;
}

TEST(JobFailurePolicy, ExitCodesOfNamedContainers) {
  auto pod = pod_named("p");
  pod->ended.edit() = {{"c", 0}, {"side", 42}};
  const auto matches = [&](ExitCodeRule codes) {
    return match_failure_policy(with_exit_codes(PodFailureRule::Action::fail_index, std::move(codes)), *pod)
        .fails_index();
  };
  EXPECT_TRUE(matches({.container = "", .in = true, .values = {1, 42}}));
  EXPECT_TRUE(matches({.container = "side", .in = true, .values = {42}}));
  EXPECT_FALSE(matches({.container = "c", .in = true, .values = {42}}));
  EXPECT_FALSE(matches({.container = "", .in = false, .values = {42}}));
  EXPECT_TRUE(matches({.container = "", .in = false, .values = {1}}));
  // Success is no failure, whatever the operator.
  EXPECT_FALSE(matches({.container = "c", .in = false, .values = {1}}));
}

TEST(JobFailurePolicy, TheFirstRuleThatMatchesDecides) {
  auto pod = pod_named("p");
  pod->ended.edit() = {{"c", 3}};
  pod->conditions.edit().emplace_back().type = "DisruptionTarget";
  pod->conditions.edit().back().status = "True";
  JobSpec spec = with_exit_codes(PodFailureRule::Action::fail_job, {.container = "", .in = true, .values = {3}});
  EXPECT_EQ(match_failure_policy(spec, *pod).message,
            "Container c for pod default/p failed with exit code 3 matching FailJob rule at index 0");
  PodFailureRule ignore;
  ignore.action = PodFailureRule::Action::ignore;
  ignore.on_pod_conditions = {{"DisruptionTarget", "True"}};
  spec.failure_policy->insert(spec.failure_policy->begin(), ignore);
  EXPECT_FALSE(match_failure_policy(spec, *pod).counts());
  spec.failure_policy->front().on_pod_conditions = {{"DisruptionTarget", "False"}};
  EXPECT_TRUE(match_failure_policy(spec, *pod).fails_job());
  EXPECT_TRUE(match_failure_policy(JobSpec(), *pod).counts());
}

TEST(JobSuccessPolicy, AllOfTheIndexesOrSoManyOfThem) {
  const auto matched = [](SuccessRule rule, std::string_view succeeded) {
    JobSpec spec;
    spec.completions = 10;
    spec.success_policy = {std::move(rule)};
    return match_success_policy(spec, IndexIntervals::parse(succeeded, 10)).value_or("no");
  };
  EXPECT_EQ(matched({.succeeded_indexes = "0,2-3", .succeeded_count = {}}, "0,2"), "no");
  EXPECT_EQ(matched({.succeeded_indexes = "0,2-3", .succeeded_count = {}}, "0-3"), "Matched rules at index 0");
  EXPECT_EQ(matched({.succeeded_indexes = "0,2-3", .succeeded_count = 2}, "1,3"), "no");
  EXPECT_EQ(matched({.succeeded_indexes = "0,2-3", .succeeded_count = 2}, "0,3"), "Matched rules at index 0");
  EXPECT_EQ(matched({.succeeded_indexes = {}, .succeeded_count = 2}, "4,7"), "Matched rules at index 0");
  EXPECT_EQ(matched({.succeeded_indexes = "x", .succeeded_count = 1}, "0"), "no");
}

TEST(JobBackoff, DoublesWithEachFailureUpToTenMinutes) {
  JobBackoff backoff;
  EXPECT_EQ(backoff.until(), 0);
  for (const Millis delay : {10, 20, 40, 80, 160, 320, 600, 600}) {
    backoff = backoff.after({}, {ended_at(5000)});
    EXPECT_EQ(backoff.until(), 5000 + delay * 1000);
  }
  EXPECT_EQ(JobBackoff().after({}, {ended_at(7000), ended_at(5000)}).until(), 27'000);
}

TEST(JobBackoff, OnlyFailuresAfterTheLastSuccessCount) {
  const JobBackoff three{.failures = 3, .last_failure = 1000};
  EXPECT_EQ(three.after({ended_at(6000)}, {}).until(), 0);
  EXPECT_EQ(three.after({ended_at(6000)}, {ended_at(5000), ended_at(6000)}).until(), 0);
  EXPECT_EQ(three.after({ended_at(6000)}, {ended_at(5000), ended_at(8000)}).until(), 18'000);
  EXPECT_EQ(three.after({}, {}).until(), 41'000);
}

TEST(JobBackoff, OfAnIndexByTheFailuresBefore) {
  auto pod = pod_of_index("p", "0");
  pod->ended_at = 1000;
  EXPECT_EQ(index_backoff_until(*pod), 11'000);
  pod->metadata.annotations.edit()[std::string(kIndexFailures)] = "1";
  pod->metadata.annotations.edit()[std::string(kIndexIgnoredFailures)] = "1";
  EXPECT_EQ(index_backoff_until(*pod), 41'000);
  pod->metadata.annotations.edit()[std::string(kIndexFailures)] = "99999999999";
  EXPECT_EQ(index_backoff_until(*pod), 21'000);
}

TEST(JobPods, WhenAPodEnded) {
  auto pod = pod_named("p");
  pod->metadata.created = 1000;
  EXPECT_EQ(end_of(*pod), 1000);
  pod->deletion_asked = 2000;
  EXPECT_EQ(end_of(*pod), 2000);
  pod->ready_since = 3000;
  EXPECT_EQ(end_of(*pod), 3000);
  pod->ended_at = 4000;
  EXPECT_EQ(end_of(*pod), 4000);
}

TEST(JobPods, ADeletedPodHasFailedUnlessOnlyFailedOnesAreReplaced) {
  auto pod = pod_named("p");
  JobSpec spec;
  EXPECT_FALSE(counts_as_failed(*pod, spec));
  pod->metadata.deletion = 1000;
  EXPECT_TRUE(counts_as_failed(*pod, spec));
  spec.replace_failed_only = true;
  EXPECT_FALSE(counts_as_failed(*pod, spec));
  pod->phase = PodPhase::failed;
  EXPECT_TRUE(counts_as_failed(*pod, spec));
}

TEST(JobPods, TheLeastUsefulOnesGoFirst) {
  auto ready = pod_named("ready");
  ready->ready = true;
  ready->ready_since = 1000;
  auto fresh = pod_named("fresh");
  fresh->ready = true;
  fresh->ready_since = 2000;
  auto restarted = pod_named("restarted");
  restarted->restarts = 2;
  auto pending = pod_named("pending");
  pending->phase = PodPhase::pending;
  auto unbound = pod_named("unbound");
  unbound->node_name = "";
  const std::vector<ControlledPodPtr> active{ready, fresh, pod_named("running"), restarted, pending, unbound};
  EXPECT_EQ(names_of(pods_to_remove(JobSpec(), active, 6)),
            (std::vector<std::string>{"unbound", "pending", "restarted", "running", "fresh", "ready"}));
  EXPECT_EQ(names_of(pods_to_remove(JobSpec(), active, 1)), std::vector<std::string>{"unbound"});
  EXPECT_TRUE(pods_to_remove(JobSpec(), active, 0).empty());
}

TEST(JobPods, OfEachIndexTheBestStaysAndInvalidOnesGo) {
  JobSpec spec;
  spec.indexed = true;
  spec.completions = 2;
  auto pending = pod_of_index("pending", "1");
  pending->phase = PodPhase::pending;
  const std::vector<ControlledPodPtr> active{pod_of_index("a", "1"),      pod_of_index("b", "0"),    pending,
                                             pod_of_index("beyond", "2"), pod_of_index("odd", "-1"), pod_named("none")};
  EXPECT_EQ(names_of(pods_to_remove(spec, active, 0)), (std::vector<std::string>{"odd", "none", "pending", "beyond"}));
}

}  // namespace
}  // namespace berth
