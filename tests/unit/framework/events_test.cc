#include <gtest/gtest.h>

#include "core/api/node.h"
#include "core/api/pod.h"
#include "core/framework/events.h"
#include "tests/unit/scheduler/scheduling_fixture.h"

namespace berth {
namespace {

std::vector<std::uint32_t> actions_of(const std::vector<ClusterEvent>& events) {
  std::vector<std::uint32_t> actions;
  for (const ClusterEvent& event : events) actions.push_back(event.actions);
  return actions;
}

using Actions = std::vector<std::uint32_t>;

TEST(NodeEvents, ListChangedPropertiesInUpstreamsOrder) {
  const Node before = make_node("n1");
  EXPECT_TRUE(node_events(before, before).empty());
  Node after = make_node("n1", "8");
  after.metadata.labels["zone"] = "a";
  after.metadata.annotations["a"] = "b";
  after.taints = {{"x", "", TaintEffect::no_execute}};
  after.conditions["Ready"] = "True";
  EXPECT_EQ(actions_of(node_events(before, after)), (Actions{kUpdateNodeAllocatable, kUpdateNodeLabel, kUpdateNodeTaint,
                                                             kUpdateNodeCondition, kUpdateNodeAnnotation}));
}

TEST(NodeEvents, ReportOnlyTheEndOfACordon) {
  const Node open = make_node("n1");
  Node cordoned = open;
  cordoned.unschedulable = true;
  EXPECT_TRUE(node_events(open, cordoned).empty());
  EXPECT_EQ(actions_of(node_events(cordoned, open)), Actions{kUpdateNodeTaint});
}

TEST(PodEvents, ListChangedPropertiesInUpstreamsOrder) {
  Pod before = make_pod("p", resources({{"cpu", "2"}}));
  before.spec.edit().scheduling_gates = {"a"};
  Pod after = make_pod("p", resources({{"cpu", "1"}}));
  after.metadata.labels["app"] = "x";
  after.spec.edit().tolerations.emplace_back();
  EXPECT_EQ(actions_of(pod_events(before, after)),
            (Actions{kUpdatePodLabel, kUpdatePodScaleDown, kUpdatePodSchedulingGatesEliminated, kUpdatePodToleration}));
}

TEST(PodEvents, AreAGeneralUpdateWhenNoListedPropertyChanged) {
  const Pod pod = make_pod("p", resources({{"cpu", "1"}}));
  EXPECT_EQ(actions_of(pod_events(pod, pod)), Actions{kUpdate});
  Pod gated = pod;
  gated.spec.edit().scheduling_gates = {"a", "b"};
  Pod less_gated = pod;
  less_gated.spec.edit().scheduling_gates = {"a"};
  EXPECT_EQ(actions_of(pod_events(gated, less_gated)), Actions{kUpdate});
  EXPECT_EQ(actions_of(pod_events(pod, make_pod("p", resources({{"cpu", "2"}})))), Actions{kUpdate});
}

TEST(PodEvents, AreAScaleDownWhenARequestIsLoweredOrRemoved) {
  const Pod before = make_pod("p", resources({{"cpu", "1500u"}, {"memory", "1Gi"}}));
  EXPECT_EQ(actions_of(pod_events(before, make_pod("p", resources({{"cpu", "1500u"}})))), Actions{kUpdatePodScaleDown});
  EXPECT_EQ(actions_of(pod_events(before, make_pod("p", resources({{"cpu", "1m"}, {"memory", "2Gi"}})))),
            Actions{kUpdatePodScaleDown});
  EXPECT_EQ(actions_of(pod_events(before, make_pod("p", resources({{"cpu", "1100u"}, {"memory", "1Gi"}})))),
            Actions{kUpdate})
      << "both round up to 2m";
}

TEST(PodEvents, AreForAnAssignedPodOnceItHasANode) {
  Pod pod = make_pod("p");
  EXPECT_EQ(pod_events(pod, pod).at(0).resource, EventResource::unscheduled_pod);
  pod.node_name = "n1";
  EXPECT_EQ(pod_events(make_pod("p"), pod).at(0).resource, EventResource::assigned_pod);
}

}  // namespace
}  // namespace berth
