#include <gtest/gtest.h>

#include "core/api/pod.h"
#include "plugins/nodeports.h"
#include "tests/unit/scheduler/scheduling_fixture.h"

namespace berth {
namespace {

Pod with_ports(const std::string& name, std::vector<HostPort> ports) {
  Pod pod = make_pod(name);
  pod.spec.edit().containers[0].host_ports = std::move(ports);
  return pod;
}

NodeInfo node_with_ports_of(const Pod& pod) {
  NodeInfo info = info_of(make_node("n1"));
  info.add_pod(share(pod));
  return info;
}

Status filter(const Pod& pod, const NodeInfo& node) {
  NodePorts plugin;
  CycleState state;
  PreFilterResult result;
  const Status status = plugin.pre_filter(state, pod, {}, result);
  return status.is_success() ? plugin.filter(state, pod, node) : status;
}

Hint after_delete(const Pod& waiting, const Pod& gone) {
  const NodePorts plugin;
  EventObjects objects;
  objects.old_pod = share(gone);
  for (const EventWithHint& each : plugin.events_to_register()) {
    if (each.event.matches({EventResource::assigned_pod, kDelete, ""})) return each.hint(waiting, objects);
  }
  return Hint::skip;
}

struct PortCase {
  std::string name;
  HostPort taken;
  HostPort requested;
  bool fits;
};

class PortTable : public ::testing::TestWithParam<PortCase> {};

TEST_P(PortTable, DecidesAsUpstream) {
  const PortCase& param = GetParam();
  const Status status =
      filter(with_ports("p", {param.requested}), node_with_ports_of(with_ports("other", {param.taken})));
  EXPECT_EQ(status.code(), param.fits ? Code::success : Code::unschedulable);
  EXPECT_EQ(status.message(), param.fits ? "" : "node(s) didn't have free ports for the requested pod ports");
}

INSTANTIATE_TEST_SUITE_P(
    Cases, PortTable,
    ::testing::Values(PortCase{"same", {"", "TCP", 80}, {"", "TCP", 80}, false},
                      PortCase{"other_number", {"", "TCP", 80}, {"", "TCP", 81}, true},
                      PortCase{"other_protocol", {"", "TCP", 80}, {"", "UDP", 80}, true},
                      PortCase{"same_address", {"10.0.0.1", "TCP", 80}, {"10.0.0.1", "TCP", 80}, false},
                      PortCase{"other_address", {"10.0.0.1", "TCP", 80}, {"10.0.0.2", "TCP", 80}, true},
                      PortCase{"one_where_every_address_is_taken", {"", "TCP", 80}, {"10.0.0.1", "TCP", 80}, false},
                      PortCase{"every_address_where_one_is_taken", {"10.0.0.1", "TCP", 80}, {"", "TCP", 80}, false},
                      PortCase{"zeros_are_every_address", {"0.0.0.0", "TCP", 80}, {"", "TCP", 80}, false},
                      // Upstream compares addresses as text, and only 0.0.0.0 stands for all of them.
                      PortCase{"ipv6_any_is_one_address", {"::", "TCP", 80}, {"10.0.0.1", "TCP", 80}, true}),
    [](const auto& test) { return test.param.name; });

TEST(NodePorts, RejectsAPodWhoseLastPortIsTaken) {
  const NodeInfo node = node_with_ports_of(with_ports("other", {{"", "TCP", 22}, {"", "TCP", 80}}));
  EXPECT_FALSE(filter(with_ports("p", {{"", "TCP", 21}, {"", "TCP", 80}}), node).is_success());
}

TEST(NodePorts, SkipsPodsWithoutHostPorts) {
  EXPECT_TRUE(filter(make_pod("p"), info_of(make_node("n1"))).is_skip());
  EXPECT_TRUE(filter(with_ports("p", {{"", "TCP", 0}}), info_of(make_node("n1"))).is_skip());
}

TEST(NodePorts, CountsSidecarsButNoOtherInitContainers) {
  const NodeInfo node = node_with_ports_of(with_ports("other", {{"", "TCP", 80}}));
  Pod pod = make_pod("p");
  pod.spec.edit().init_containers.emplace_back();
  pod.spec.edit().init_containers[0].host_ports = {{"", "TCP", 80}};
  EXPECT_TRUE(filter(pod, node).is_skip());
  pod.spec.edit().init_containers[0].restart_always = true;
  EXPECT_EQ(filter(pod, node).code(), Code::unschedulable);
  EXPECT_EQ(filter(with_ports("q", {{"", "TCP", 80}}), node_with_ports_of(pod)).code(), Code::unschedulable);
}

TEST(NodePorts, AreFreeWhenThePodIsGone) {
  NodeInfo node = node_with_ports_of(with_ports("other", {{"", "TCP", 80}}));
  node.remove_pod("uid-other");
  EXPECT_TRUE(filter(with_ports("p", {{"", "TCP", 80}}), node).is_success());
}

TEST(NodePorts, RequeuesOnlyWhenAPodWithOneOfItsPortsLeavesANode) {
  const Pod waiting = with_ports("p", {{"", "TCP", 80}});
  Pod gone = with_ports("gone", {{"10.0.0.1", "TCP", 80}});
  EXPECT_EQ(after_delete(waiting, gone), Hint::skip) << "it was assigned to no node";
  gone.nominated_node_name = "n1";
  EXPECT_EQ(after_delete(waiting, gone), Hint::queue) << "it was nominated to a node";
  gone.nominated_node_name = "";
  gone.node_name = "n1";
  EXPECT_EQ(after_delete(waiting, gone), Hint::queue);
  gone.spec.edit().containers[0].host_ports[0].port = 81;
  EXPECT_EQ(after_delete(waiting, gone), Hint::skip);
}

}  // namespace
}  // namespace berth
