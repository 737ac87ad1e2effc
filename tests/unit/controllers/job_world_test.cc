// CronJobs and Jobs in a small world, beyond what was recorded.
#include <gtest/gtest.h>

#include "core/controllers/cron_job/cron_job_controller.h"
#include "core/controllers/job/job_controller.h"
#include "tests/conformance/running_world.h"
#include "tests/conformance/verdict.h"
#include "tests/unit/controllers/zone_files.h"
#include "tests/unit/parsed_json.h"

namespace berth {
namespace {

class JobWorld : public ::testing::Test {
 protected:
  JobWorld() : world(input, [this](NodeLifecycle&) { return controllers(); }) {}
  void run(std::string_view operation) { world.run(parsed_json(operation)); }
  Json object(std::string_view kind, const std::string& name) {
    const Json* found = world.world().store().find(kind, {"default", name});
    return found == nullptr ? Json() : *found;
  }
  bool has_event(const std::string& text) {
    for (const std::string& action : world.world().take_actions()) {
      if (action.find(text) != std::string::npos) return true;
    }
    return false;
  }

  ZoneFiles zones;
  Json input = parsed_json(R"({"start":"2026-03-29T00:00:00Z"})");

 private:
  std::vector<std::unique_ptr<Controller>> controllers() {
    std::vector<std::unique_ptr<Controller>> made;
    made.push_back(std::make_unique<CronJobController>(zones));
    made.push_back(std::make_unique<JobController>());
    return made;
  }

 protected:
  RunningWorld world;
};

TEST_F(JobWorld, TheAnnotationOfAStartIsInTheZoneOfTheCronJob) {
  run(R"({"op":"create","kind":"CronJob","obj":{"metadata":{"name":"cj"},"spec":{"schedule":"0 3 * * *",
      "timeZone":"Europe/Berlin","jobTemplate":{"metadata":{"labels":{"a":"b"}},"spec":{"template":{"spec":{
      "containers":[{"name":"c","image":"v1"}],"restartPolicy":"Never"}}}}}}})");
  run(R"({"op":"advance","seconds":3600})");
  // 3 o'clock comes an hour after 1 o'clock that night.
  const Json metadata = at(object("Job", "cj-29579100"), "metadata");
  EXPECT_EQ(text(at(at(metadata, "annotations"), "batch.kubernetes.io/cronjob-scheduled-timestamp")),
            "2026-03-29T03:00:00+02:00");
  EXPECT_EQ(text(at(at(metadata, "labels"), "a")), "b");
}

TEST_F(JobWorld, AScheduleThatAnUpdateBreaksIsToldAndStartsNothing) {
  run(R"({"op":"create","kind":"CronJob","obj":{"metadata":{"name":"cj"},"spec":{"schedule":"* * * * *",
      "jobTemplate":{"spec":{"template":{"spec":{"containers":[]}}}}}}})");
  run(R"({"op":"update","kind":"CronJob","name":"cj","merge":{"spec":{"schedule":"bad"}}})");
  EXPECT_TRUE(has_event("UnParseableCronJobSchedule: unparseable schedule for cronjob: bad"));
  run(R"({"op":"advance","seconds":300})");
  EXPECT_TRUE(world.world().store().keys("Job").empty());
}

TEST_F(JobWorld, AReleasedPodLosesTheFinalizerAndIsNotCounted) {
  run(R"({"op":"create","kind":"Job","obj":{"metadata":{"name":"j"},"spec":{"template":{"spec":{
      "containers":[{"name":"c","image":"v1"}]}}}}})");
  run(R"({"op":"update","kind":"Pod","name":"j-01","merge":{"metadata":{"labels":null}}})");
  run(R"({"op":"advance","seconds":1})");
  const Json metadata = at(object("Pod", "j-01"), "metadata");
  EXPECT_TRUE(at(metadata, "finalizers").is_null());
  EXPECT_TRUE(at(metadata, "ownerReferences").is_null());
  EXPECT_FALSE(object("Pod", "j-02").is_null());
  EXPECT_EQ(number(at(at(object("Job", "j"), "status"), "failed")), 0);
}

TEST_F(JobWorld, MorePodsThanCompletionsMaySucceed) {
  run(R"({"op":"create","kind":"Job","obj":{"metadata":{"name":"j"},"spec":{"completions":2,"parallelism":2,
      "template":{"spec":{"containers":[{"name":"c","image":"v1"}]}}}}})");
  run(R"({"op":"succeed","pods":["j-01","j-02"]})");
  run(R"({"op":"update","kind":"Job","name":"j","merge":{"spec":{"completions":1}}})");
  run(R"({"op":"advance","seconds":2})");
  EXPECT_TRUE(has_event("TooManySucceededPods"));
  EXPECT_EQ(number(at(at(object("Job", "j"), "status"), "succeeded")), 2);
}

}  // namespace
}  // namespace berth
