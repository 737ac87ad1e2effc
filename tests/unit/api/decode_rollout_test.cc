#include <gtest/gtest.h>

#include <string>

#include "core/api/daemon_set.h"
#include "core/api/deployment.h"
#include "tests/unit/parsed_json.h"

namespace berth {
namespace {

std::string workload(const std::string& annotations, const std::string& spec, const std::string& status = "{}") {
  return R"({"metadata":{"name":"a","annotations":{)" + annotations +
         R"(}},"spec":{"selector":{"matchLabels":{"app":"a"}},"template":{"metadata":{"labels":{"app":"a"}},
         "spec":{"containers":[{"name":"c","image":"v1"}]}})" +
         spec + R"(},"status":)" + status + "}";
}
std::string planned(const std::string& plan) { return R"("berth/rollout-plan":)" + Json(plan).dump(); }

Result<DaemonSet> daemon_set(const std::string& plan, Rules rules = Rules::enforced) {
  return decode_daemon_set(parsed_json(workload(planned(plan), "")), nullptr, rules);
}
std::string daemon_set_error(const std::string& plan) {
  const Result<DaemonSet> set = daemon_set(plan);
  return set ? "" : set.error().message();
}
std::string planned_deployment_error(const std::string& plan, const std::string& spec = "") {
  const auto deployment = decode_deployment(parsed_json(workload(planned(plan), spec)), nullptr);
  return deployment ? "" : deployment.error().message();
}
const std::string kPath = R"(metadata.annotations["berth/rollout-plan"])";

TEST(DecodeRolloutPlan, ReadsAllFields) {
  const Result<DaemonSet> set = daemon_set(R"({"waves":[
      {"name":"canary","selector":{"matchLabels":{"site":"lab"}},"soakSeconds":60},{"name":"tenth","upTo":"10%"},
      {"name":"rest"}],"windows":[{"start":"22:30","end":"04:05","days":["Sun","Sat"]}],"timeZone":"Europe/Berlin",
      "healthySeconds":1,"progressDeadlineSeconds":2,"offlineDeadlineSeconds":3,"maxRestarts":4,"maxFailed":"5%",
      "onFailure":"Stop"})");
  ASSERT_TRUE(set) << set.error().message();
  RolloutPlan plan;
  plan.waves.resize(3);
  plan.waves[0].name = "canary";
  plan.waves[0].selector.requirements.push_back({"site", Requirement::Operator::in, {"lab"}});
  plan.waves[0].soak_seconds = 60;
  plan.waves[1].name = "tenth";
  plan.waves[1].up_to = IntOrPercent{10, true};
  plan.waves[2].name = "rest";
  plan.windows.push_back({22 * 60 + 30, 4 * 60 + 5, {0, 6}});
  plan.time_zone = "Europe/Berlin";
  plan.healthy_seconds = 1;
  plan.progress_deadline_seconds = 2;
  plan.offline_deadline_seconds = 3;
  plan.max_restarts = 4;
  plan.max_failed = {5, true};
  plan.rolls_back = false;
  EXPECT_EQ(set->rollout.plan, plan);
}

TEST(DecodeRolloutPlan, WithoutTheAnnotationThereIsNone) {
  const auto set = decode_daemon_set(parsed_json(workload("", "")), nullptr);
  ASSERT_TRUE(set);
  EXPECT_FALSE(set->rollout.plan);
  EXPECT_FALSE(set->rollout.paused);
}

TEST(DecodeRolloutPlan, ErrorsNameTheFieldAndTheFix) {
  EXPECT_TRUE(daemon_set_error("waves: []").starts_with(kPath + ": expected JSON")) << daemon_set_error("waves: []");
  EXPECT_EQ(daemon_set_error("{}"), kPath + R"(.waves: must have a wave; [{"name":"all"}] is the shortest plan)");
  EXPECT_EQ(daemon_set_error(R"({"waves":[{"name":"all","upTo":"50%"}]})"),
            kPath + R"(.waves: must end with a wave for all that is left; add {"name":"rest"})");
  EXPECT_EQ(daemon_set_error(R"({"waves":[{"name":"a","upTo":"101%"},{"name":"a"}]})"),
            kPath + ".waves[0].upTo: must be at most 100%, got \"101%\", " + kPath +
                ".waves: must have different names, got two of a");
  EXPECT_EQ(daemon_set_error(R"({"waves":[{"name":"a","upTo":0},{"name":"b","soakSecond":1}]})"),
            kPath + ".waves[0].upTo: must not be 0; leave the wave out, " + kPath +
                ".waves[1].soakSecond: unknown field; did you mean soakSeconds?");
  EXPECT_EQ(daemon_set_error(R"({"waves":[{"name":"a"}],"windows":[{"start":"24:00","end":"5:00"}]})"),
            kPath + R"(.windows[0].start: expected a time from "00:00" to "23:59", got "24:00", )" + kPath +
                R"(.windows[0].end: expected a time from "00:00" to "23:59", got "5:00")");
  EXPECT_EQ(daemon_set_error(R"({"waves":[{"name":"a"}],"windows":[{"start":"05:00","end":"05:00","days":["Su"]}]})"),
            kPath + ".windows[0].end: must differ from start, " + kPath +
                R"(.windows[0].days: expected days from "Sun" to "Sat", got "Su")");
  EXPECT_EQ(daemon_set_error(R"({"waves":[{"name":"a"}],"progressDeadlineSeconds":60})"),
            kPath + ".progressDeadlineSeconds: must be greater than healthySeconds, 60");
}

TEST(DecodeRolloutPlan, WavesOfADeploymentSelectNoNodes) {
  EXPECT_EQ(
      planned_deployment_error(R"({"waves":[{"name":"a","selector":{"matchLabels":{"b":"c"}}},{"name":"rest"}]})"),
      kPath +
          ".waves[0].selector: must be absent in a Deployment, whose pods may run on any node; use upTo, or a "
          "DaemonSet");
}

TEST(DecodeRolloutPlan, IsForRollingUpdates) {
  EXPECT_EQ(planned_deployment_error(R"({"waves":[{"name":"a"}]})", R"(,"strategy":{"type":"Recreate"})"),
            "spec.strategy.type: must be RollingUpdate where there is a rollout plan, got Recreate");
  const auto set = decode_daemon_set(
      parsed_json(workload(planned(R"({"waves":[{"name":"a"}]})"), R"(,"updateStrategy":{"type":"OnDelete"})")),
      nullptr);
  ASSERT_FALSE(set);
  EXPECT_EQ(set.error().message(),
            "spec.updateStrategy.type: must be RollingUpdate where there is a rollout plan, got OnDelete");
}

TEST(DecodeRolloutPlan, WhatWasAcceptedOnceIsReadWithoutRules) {
  EXPECT_TRUE(daemon_set(R"({"waves":[{"name":"a"}],"healthySeconds":900,"later":1})", Rules::off));
  const Result<DaemonSet> empty = daemon_set("{}", Rules::off);
  ASSERT_TRUE(empty) << empty.error().message();
  EXPECT_FALSE(empty->rollout.plan);
}

TEST(DecodeRolloutPlan, APauseIsTrueOrFalse) {
  const auto set = decode_daemon_set(parsed_json(workload(R"("berth/rollout-paused":"true")", "")), nullptr);
  ASSERT_TRUE(set);
  EXPECT_TRUE(set->rollout.paused);
  const auto other = decode_daemon_set(parsed_json(workload(R"("berth/rollout-paused":"yes")", "")), nullptr);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().message(),
            R"(metadata.annotations["berth/rollout-paused"]: must be "true" or "false", got "yes")");
}

TEST(RolloutStatus, IsReadAsItWasWritten) {
  RolloutStatus status;
  status.phase = RolloutStatus::Phase::rolled_back;
  status.revision = "h2";
  status.stable_revision = "h1";
  status.wave = 1;
  status.wave_name = "tenth";
  status.wave_started = 1'767'607'200'000;
  status.soaking_since = 1'767'607'260'000;
  status.failed = {"n1", "n2"};
  status.silent_on_trial = {{"n3", 1'767'607'200'000}};
  status.message = "because";
  const std::string json = R"({"rollout":)" + to_json(status).dump() + "}";
  const auto deployment = decode_deployment(parsed_json(workload("", "", json)), nullptr);
  ASSERT_TRUE(deployment) << deployment.error().message();
  EXPECT_EQ(deployment->status.rollout, status);
  const auto set = decode_daemon_set(parsed_json(workload("", "", json)), nullptr);
  ASSERT_TRUE(set) << set.error().message();
  EXPECT_EQ(set->status.rollout, status);
}

}  // namespace
}  // namespace berth
