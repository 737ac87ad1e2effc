#include <gtest/gtest.h>

#include "core/api/pod.h"
#include "plugins/noderesources_fit.h"
#include "tests/unit/scheduler/scheduling_fixture.h"

namespace berth {
namespace {

class FitTest : public ::testing::Test {
 protected:
  Status filter(const Pod& pod, const NodeInfo& node) {
    CycleState state;
    PreFilterResult result;
    Status status = plugin.pre_filter(state, pod, {}, result);
    return status.is_success() ? plugin.filter(state, pod, node) : status;
  }
  std::int64_t score(const Pod& pod, const NodeInfo& node) {
    CycleState state;
    CHECK(plugin.pre_score(state, pod, {}).is_success());
    std::int64_t score = -1;
    CHECK(plugin.score(state, pod, node, score).is_success());
    return score;
  }
  Hint ask(std::uint32_t action, EventResource resource, const Pod& pod, const EventObjects& objects) {
    for (const EventWithHint& each : plugin.events_to_register()) {
      if (!each.event.matches({resource, action, ""})) continue;
      if (!each.hint || each.hint(pod, objects) == Hint::queue) return Hint::queue;
    }
    return Hint::skip;
  }
  NodeResourcesFit plugin;
};

TEST_F(FitTest, RejectsWhatIsNotFree) {
  NodeInfo node = info_of(make_node("n1"));
  node.requested.milli_cpu = 3500;
  const Status status = filter(make_pod("p", resources({{"cpu", "1"}})), node);
  EXPECT_EQ(status.code(), Code::unschedulable);
  EXPECT_EQ(status.message(), "Insufficient cpu");
}

TEST_F(FitTest, IsUnresolvableWhenTheNodeIsTooSmall) {
  NodeInfo node = info_of(make_node("n1"));
  node.requested.memory = node.allocatable.memory;
  const Status status = filter(make_pod("p", resources({{"cpu", "5"}, {"memory", "1Mi"}})), node);
  EXPECT_EQ(status.code(), Code::unresolvable);
  EXPECT_EQ(status.message(), "Insufficient cpu, Insufficient memory");
}

TEST_F(FitTest, CountsChargesAsPods) {
  NodeInfo node = info_of(make_node("n1", "4", "4Gi", "2"));
  node.pods.push_back(share(make_pod("a")));
  EXPECT_TRUE(filter(make_pod("p"), node).is_success());
  node.charges["uid/1.1"] = {};
  EXPECT_EQ(filter(make_pod("p"), node).message(), "Too many pods");
}

TEST_F(FitTest, ScoresTheAverageFreeShare) {
  NodeInfo node = info_of(make_node("n1", "4", "4Gi"));
  node.requested_for_scoring.milli_cpu = 1000;
  // cpu: (4000 - 1000 - 1000) / 4000 = 50; memory: (4 - 1) / 4 Gi = 75.
  EXPECT_EQ(score(make_pod("p", resources({{"cpu", "1"}, {"memory", "1Gi"}})), node), 62);
}

TEST_F(FitTest, ScoresPodsWithoutRequestsByTheDefaultRequests) {
  // cpu: (4000 - 100) / 4000 = 97; memory: (4096 - 200) / 4096 Mi = 95.
  EXPECT_EQ(score(make_pod("p"), info_of(make_node("n1", "4", "4Gi"))), 96);
}

TEST_F(FitTest, ScoresZeroWhenThePodDoesNotFit) {
  EXPECT_EQ(score(make_pod("p", resources({{"cpu", "9"}, {"memory", "9Gi"}})), info_of(make_node("n1"))), 0);
}

TEST_F(FitTest, IgnoresAResourceThatTheNodeDoesNotHave) {
  NodeInfo node = info_of(make_node("n1", "4", "0"));
  EXPECT_EQ(score(make_pod("p", resources({{"cpu", "1"}, {"memory", "1Gi"}})), node), 75);
}

TEST_F(FitTest, DoesNotOverflowOnTheLargestQuantities) {
  const std::int64_t got =
      score(make_pod("p", resources({{"cpu", "0"}, {"memory", "1"}})), info_of(make_node("n1", "0", "8E")));
  EXPECT_GE(got, 99);
  EXPECT_LE(got, 100);
}

TEST(FitStrategies, CountTheDefaultRequestsOfPodsWithoutRequests) {
  // A container without requests counts as 100m and 200Mi: a quarter of this node.
  const NodeInfo node = info_of(make_node("n1", "400m", "800Mi"));
  const char* ratio = R"({"scoringStrategy":{"type":"RequestedToCapacityRatio","resources":[{"name":"cpu"},
      {"name":"memory"}],"requestedToCapacityRatio":{"shape":[{"utilization":0,"score":0},
      {"utilization":100,"score":10}]}}})";
  for (const auto& [args, want] :
       {std::pair(R"({"scoringStrategy":{"type":"LeastAllocated"}})", 75),
        std::pair(R"({"scoringStrategy":{"type":"MostAllocated"}})", 25), std::pair(ratio, 25)}) {
    FakeHandle handle;
    const Result<Json> json = Json::parse(args);
    ASSERT_TRUE(json.has_value());
    const auto made = NodeResourcesFit::make(*json, handle);
    ASSERT_TRUE(made.has_value()) << made.error().message();
    auto& fit = dynamic_cast<NodeResourcesFit&>(**made);
    CycleState state;
    CHECK(fit.pre_score(state, make_pod("p"), {}).is_success());
    std::int64_t score = -1;
    CHECK(fit.score(state, make_pod("p"), node, score).is_success());
    EXPECT_EQ(score, want) << args;
  }
}

TEST_F(FitTest, RequeuesWhenAnAssignedPodIsDeleted) {
  const Pod pod = make_pod("p");
  Pod gone = make_pod("gone");
  EventObjects objects;
  objects.old_pod = share(gone);
  EXPECT_EQ(ask(kDelete, EventResource::pod, pod, objects), Hint::skip);
  gone.node_name = "n1";
  objects.old_pod = share(gone);
  EXPECT_EQ(ask(kDelete, EventResource::assigned_pod, pod, objects), Hint::queue);
}

TEST_F(FitTest, RequeuesWhenAnAssignedPodLowersItsRequests) {
  const Pod pod = make_pod("p", resources({{"cpu", "1"}}));
  Pod other = make_pod("other", resources({{"cpu", "2"}}));
  EventObjects objects;
  objects.old_pod = share(other);
  other.spec.edit().containers.front().requests = resources({{"cpu", "1"}});
  objects.new_pod = share(other);
  EXPECT_EQ(ask(kUpdatePodScaleDown, EventResource::unscheduled_pod, pod, objects), Hint::skip);
  other.node_name = "n1";
  objects.new_pod = share(other);
  EXPECT_EQ(ask(kUpdatePodScaleDown, EventResource::assigned_pod, pod, objects), Hint::queue);
}

TEST_F(FitTest, RequeuesOnlyForANodeThatCouldFitThePod) {
  const Pod pod = make_pod("p", resources({{"cpu", "2"}}));
  EventObjects objects;
  objects.new_node = share(make_node("n1", "1"));
  EXPECT_EQ(ask(kAdd, EventResource::node, pod, objects), Hint::skip);
  objects.old_node = objects.new_node;
  objects.new_node = share(make_node("n1", "2"));
  EXPECT_EQ(ask(kUpdateNodeAllocatable, EventResource::node, pod, objects), Hint::queue);
  objects.old_node = objects.new_node;
  objects.new_node = share(make_node("n1", "2", "8Gi"));
  EXPECT_EQ(ask(kUpdateNodeAllocatable, EventResource::node, pod, objects), Hint::skip)
      << "grew only in a resource that the pod does not request";
}

}  // namespace
}  // namespace berth
