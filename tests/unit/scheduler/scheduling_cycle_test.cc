#include <gtest/gtest.h>

#include "core/api/pod.h"
#include "core/scheduler/scheduling_cycle.h"
#include "tests/unit/scheduler/scheduling_fixture.h"

namespace berth {
namespace {

class SchedulingCycleTest : public ::testing::Test {
 protected:
  void nodes(int count) {
    for (int i = 0; i < count; ++i) cache.set_node(share(make_node("n" + std::to_string(i))));
    cache.update_snapshot(snapshot);
  }
  std::map<std::string, Status> reasons(const ScheduleResult& result) const {
    return result.diagnosis.node_statuses.by_name(snapshot);
  }
  ScheduleResult schedule() { return schedule_pod(scripted.get(), state, pod, snapshot, random); }
  Script& script(const std::string& plugin) { return scripted.scripts[plugin]; }

  ScriptedFramework scripted;
  Cache cache;
  Snapshot snapshot;
  CycleState state;
  Pod pod = make_pod("p");
  Random random{7};
};

TEST_F(SchedulingCycleTest, PicksTheHighestTotal) {
  nodes(3);
  script("a").scores = {{"n0", 10}, {"n1", 50}, {"n2", 20}};
  script("b").scores = {{"n0", 10}, {"n1", 0}, {"n2", 60}};
  const ScheduleResult result = schedule();
  ASSERT_TRUE(result.status.is_success());
  EXPECT_EQ(result.decision.node, "n2");
  EXPECT_EQ(result.decision.evaluated, 3u);
  EXPECT_EQ(result.decision.feasible, 3u);
  EXPECT_EQ(result.decision.totals[2].score, 80);
  EXPECT_EQ(result.decision.plugin_scores.size(), 2u);
}

TEST_F(SchedulingCycleTest, DoesNotScoreASingleFeasibleNode) {
  nodes(2);
  script("a").answers["Filter n0"] = Status::unschedulable("full");
  script("a").answers["Score"] = Status::error("must not be called");
  const ScheduleResult result = schedule();
  ASSERT_TRUE(result.status.is_success()) << result.status.message();
  EXPECT_EQ(result.decision.node, "n1");
  EXPECT_TRUE(result.decision.plugin_scores.empty());
}

TEST_F(SchedulingCycleTest, BreaksTiesUniformly) {
  nodes(5);
  script("a").scores = {{"n0", 0}, {"n1", 9}, {"n2", 9}, {"n3", 0}, {"n4", 9}};
  std::map<std::string, int> chosen;
  for (int i = 0; i < 3000; ++i) ++chosen[schedule().decision.node];
  ASSERT_EQ(chosen.size(), 3u);
  for (const auto& [node, count] : chosen) EXPECT_NEAR(count, 1000, 100) << node;
}

TEST_F(SchedulingCycleTest, ChoosesTheSameForTheSameSeed) {
  nodes(5);
  std::vector<std::string> first, second;
  for (auto* run : {&first, &second}) {
    random = Random(99);
    for (int i = 0; i < 20; ++i) run->push_back(schedule().decision.node);
  }
  EXPECT_EQ(first, second);
}

TEST_F(SchedulingCycleTest, TellsWhyNoNodeFitsInUpstreamsWords) {
  nodes(12);
  for (int i = 0; i < 11; ++i) {
    script("a").answers["Filter n" + std::to_string(i)] = Status::unschedulable("Insufficient cpu");
  }
  script("b").answers["Filter n11"] =
      Status(Code::unresolvable, std::vector<std::string>{"node(s) had untolerated taint(s)", "Too many pods"});
  script("a").answers["PostFilter"] = Status::unschedulable("preemption: not now");
  script("b").answers["PostFilter"] = Status::unschedulable("nor later");
  const ScheduleResult result = schedule();
  EXPECT_EQ(result.status.code(), Code::unschedulable);
  EXPECT_EQ(result.diagnosis.message(),
            "0/12 nodes are available: 1 Too many pods, 1 node(s) had untolerated taint(s), 11 Insufficient cpu. "
            "preemption: not now, nor later");
  EXPECT_EQ(result.diagnosis.unschedulable_plugins, (std::set<std::string>{"a", "b"}));
  EXPECT_EQ(reasons(result).at("n11").code(), Code::unresolvable);
}

TEST_F(SchedulingCycleTest, TellsAPreFilterRejectionOnce) {
  nodes(3);
  script("a").answers["PreFilter"] = Status::unresolvable("pod has unbound immediate PersistentVolumeClaims");
  script("a").answers["PostFilter"] = Status(Code::unschedulable, std::vector<std::string>{});
  script("b").answers["PostFilter"] = Status(Code::unschedulable, std::vector<std::string>{});
  const ScheduleResult result = schedule();
  EXPECT_EQ(result.diagnosis.message(), "0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims.");
  EXPECT_EQ(reasons(result).size(), 3u);
  EXPECT_EQ(result.diagnosis.unschedulable_plugins, std::set<std::string>{"a"});
}

TEST_F(SchedulingCycleTest, RecordsPendingPluginsInBothLists) {
  nodes(1);
  script("b").answers["Filter"] = Status::pending("a device is being made");
  const ScheduleResult result = schedule();
  EXPECT_EQ(result.diagnosis.pending_plugins, std::set<std::string>{"b"});
  EXPECT_EQ(result.diagnosis.unschedulable_plugins, std::set<std::string>{"b"});
}

TEST_F(SchedulingCycleTest, NamesThePluginThatLeftNodesOut) {
  nodes(3);
  script("a").node_names = {{"n1"}};
  script("a").answers["Filter n1"] = Status::unschedulable("full");
  const ScheduleResult result = schedule();
  EXPECT_EQ(result.diagnosis.message(), "0/3 nodes are available: 1 full, 2 node(s) didn't satisfy plugin(s) [a].");
  EXPECT_EQ(reasons(result).at("n0").code(), Code::unresolvable);
}

TEST_F(SchedulingCycleTest, EndsWithAnErrorWhenAFilterBreaks) {
  nodes(2);
  script("a").answers["Filter n1"] = Status::error("cannot read");
  const ScheduleResult result = schedule();
  EXPECT_EQ(result.status.code(), Code::error);
  EXPECT_EQ(result.status.message(), "running \"a\" filter plugin: cannot read");
}

TEST_F(SchedulingCycleTest, RejectsWithoutNamingAPluginWhenThereAreNoNodes) {
  const ScheduleResult result = schedule();
  EXPECT_EQ(result.status.code(), Code::unschedulable);
  EXPECT_EQ(result.status.message(), "no nodes available to schedule pods");
  EXPECT_TRUE(result.diagnosis.unschedulable_plugins.empty());
}

TEST_F(SchedulingCycleTest, TriesTheNominatedNodeAlone) {
  nodes(3);
  pod.nominated_node_name = "n1";
  script("a").scores = {{"n0", 100}};
  EXPECT_EQ(schedule().decision.node, "n1");
  script("a").answers["Filter n1"] = Status::unschedulable("full");
  EXPECT_EQ(schedule().decision.node, "n0");
}

TEST_F(SchedulingCycleTest, DoesNotWaitForAPluginThatWasPendingOnTheNominatedNodeAlone) {
  nodes(2);
  pod.nominated_node_name = "n1";
  script("a").node_names = {{"n0"}};
  script("a").answers["Filter n0"] = Status::unschedulable("full");
  script("b").answers["Filter n1"] = Status::pending("a device is being made");
  const ScheduleResult result = schedule();
  EXPECT_EQ(result.diagnosis.unschedulable_plugins, (std::set<std::string>{"a", "b"}));
  EXPECT_TRUE(result.diagnosis.pending_plugins.empty());
  EXPECT_EQ(reasons(result).at("n1").code(), Code::pending);
}

TEST_F(SchedulingCycleTest, PassesOnTheNominationOfPostFilter) {
  nodes(1);
  script("a").answers["Filter"] = Status::unschedulable("full");
  script("a").nominated_node = "n0";
  EXPECT_EQ(schedule().nominated_node, "n0");
}

}  // namespace
}  // namespace berth
