#include "core/controllers/nodes/node_lifecycle_controller.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "tests/unit/controllers/world_of.h"

namespace berth {
namespace {

using Actions = std::multiset<std::string>;

const char* const kReady = R"([{"type":"Ready","status":"True","lastHeartbeatTime":"2026-01-05T10:00:00Z"}])";
const char* const kPodNotReady = "event Pod a Warning NodeNotReady: Node is not ready";

// The node n2 is always well, so that n1 is not the only one.
class NodeLifecycleTest : public ::testing::Test {
 protected:
  NodeLifecycleTest()
      : world_(make, R"({"start":"2026-01-05T10:00:00Z","controllers":["node-lifecycle"],"heartbeat":true})") {
    add_node("n2", kReady, "[]");
  }
  static std::vector<std::unique_ptr<Controller>> make(NodeLifecycle& nodes) {
    std::vector<std::unique_ptr<Controller>> made;
    made.push_back(std::make_unique<NodeLifecycleController>(nodes));
    return made;
  }

  void add_node(const std::string& name, const std::string& conditions, const std::string& taints) {
    world_.create("Lease", R"({"metadata":{"name":")" + name + R"(","namespace":"kube-node-lease"},
                              "spec":{"renewTime":"2026-01-05T10:00:00.000000Z"}})");
    world_.create("Node", R"({"metadata":{"name":")" + name + R"("},"spec":{"taints":)" + taints +
                              R"(},"status":{"conditions":)" + conditions + "}}");
  }
  void report(const std::string& ready, const std::string& heartbeat) {
    world_.run(R"({"op":"status","kind":"Node","name":"n1","merge":{"conditions":[{"type":"Ready","status":")" + ready +
               R"(","lastHeartbeatTime":")" + heartbeat + R"("}]}})");
  }
  void add_pod(const std::string& status) {
    world_.create("Pod", R"({"metadata":{"name":"a"},"spec":{"nodeName":"n1"},"status":)" + status + "}");
  }
  void stop_heartbeat() { world_.run(R"({"op":"stopHeartbeat","nodes":["n1"]})"); }
  void advance(int seconds) { world_.run(R"({"op":"advance","seconds":)" + std::to_string(seconds) + "}"); }
  // "NoSchedule not-ready", in order.
  std::vector<std::string> taints() {
    std::vector<std::string> found;
    for (const Json& each : list(at(at(world_.object("Node", "n1"), "spec"), "taints"))) {
      const std::string key = each.string_at("key");
      found.push_back(each.string_at("effect") + " " + key.substr(key.find('/') + 1));
    }
    return found;
  }
  std::string condition(const std::string& kind, const std::string& name, const std::string& type) {
    return text(at(at(conditions_by_type(at(world_.status(kind, name), "conditions")), type), "status"));
  }

  WorldOf world_;
};

using Taints = std::vector<std::string>;
const char* const kPodReady = R"({"conditions":[{"type":"Ready","status":"True"}]})";

TEST_F(NodeLifecycleTest, ANodeThatIsSilentIsTaintedAndItsPodsAreNotReady) {
  add_node("n1", kReady, "[]");
  add_pod(kPodReady);
  advance(10);
  world_.take_actions();
  stop_heartbeat();
  advance(50);
  EXPECT_EQ(world_.take_actions(), Actions{});
  advance(5);
  EXPECT_EQ(world_.take_actions(),
            (Actions{"event Node n1 Normal NodeNotReady: Node n1 status is now: NodeNotReady", kPodNotReady}));
  EXPECT_EQ(taints(), (Taints{"NoSchedule unreachable", "NoExecute unreachable"}));
  EXPECT_EQ(condition("Pod", "a", "Ready"), "False");
  EXPECT_EQ(condition("Node", "n1", "DiskPressure"), "Unknown");
}

TEST_F(NodeLifecycleTest, OfANodeThatCallsItselfUnknownOtherConditionsStay) {
  add_node("n1", R"([{"type":"Ready","status":"Unknown"}])", "[]");
  stop_heartbeat();
  advance(120);
  EXPECT_EQ(condition("Node", "n1", "DiskPressure"), "");
}

TEST_F(NodeLifecycleTest, AnotherReasonSwapsTheNoExecuteTaintAtOnce) {
  add_node("n1", kReady, "[]");
  advance(5);
  report("False", "2026-01-05T10:00:05Z");
  advance(5);
  EXPECT_EQ(taints(), (Taints{"NoSchedule not-ready", "NoExecute not-ready"}));
  report("Unknown", "2026-01-05T10:00:10Z");
  advance(5);
  EXPECT_EQ(taints(), (Taints{"NoSchedule unreachable", "NoExecute unreachable"}));
  report("True", "2026-01-05T10:00:15Z");
  EXPECT_EQ(taints(), Taints{"NoExecute unreachable"});
  advance(5);
  EXPECT_EQ(taints(), Taints{});
}

TEST_F(NodeLifecycleTest, ANodeThatIsRegisteredLosesNoExecuteTaintsOfThisControllerOnly) {
  add_node("n1", kReady,
           R"([{"key":"node.kubernetes.io/not-ready","effect":"NoExecute"},{"key":"x","effect":"NoExecute"}])");
  advance(5);
  EXPECT_EQ(taints(), Taints{"NoExecute x"});
}

TEST_F(NodeLifecycleTest, ATaintThatIsThereAlreadyGetsThePresentTime) {
  add_node("n1", R"([{"type":"Ready","status":"False","lastHeartbeatTime":"2026-01-05T10:00:00Z"}])", "[]");
  advance(5);
  world_.run(R"({"op":"update","kind":"Node","name":"n1","merge":{"spec":{"taints":null}}})");
  advance(10);
  const Json::Array& found = list(at(at(world_.object("Node", "n1"), "spec"), "taints"));
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].string_at("timeAdded"), "2026-01-05T10:00:05Z");
  EXPECT_EQ(found[1].string_at("timeAdded"), "2026-01-05T10:00:15Z");
}

TEST_F(NodeLifecycleTest, WithoutAnyReadyNodeNoExecuteTaintsGo) {
  add_node("n1", kReady, "[]");
  advance(5);
  report("False", "2026-01-05T10:00:05Z");
  advance(5);
  EXPECT_EQ(taints(), (Taints{"NoSchedule not-ready", "NoExecute not-ready"}));
  world_.run(R"({"op":"delete","kind":"Node","name":"n2"})");
  advance(60);
  EXPECT_EQ(taints(), Taints{"NoSchedule not-ready"});
}

TEST_F(NodeLifecycleTest, APodThatComesToANodeThatIsNotReadyIsNot) {
  add_node("n1", kReady, "[]");
  advance(5);
  report("False", "2026-01-05T10:00:05Z");
  advance(5);
  world_.take_actions();
  add_pod(kPodReady);
  EXPECT_EQ(world_.take_actions(), Actions{kPodNotReady});
  EXPECT_EQ(condition("Pod", "a", "Ready"), "False");
}

TEST_F(NodeLifecycleTest, APodOfANodeThatIsGoneIsLookedAtAgain) {
  add_node("n1", kReady, "[]");
  advance(5);
  report("False", "2026-01-05T10:00:05Z");
  advance(5);
  world_.run(R"({"op":"delete","kind":"Node","name":"n1"})");
  add_pod(kPodReady);
  EXPECT_EQ(condition("Pod", "a", "Ready"), "True");
  world_.create("Node", R"({"metadata":{"name":"n1"}})");
  advance(1);
  EXPECT_EQ(condition("Pod", "a", "Ready"), "False");
}

TEST_F(NodeLifecycleTest, BetaLabelsFollowTheStableOnes) {
  world_.create("Node", R"({"metadata":{"name":"n1","labels":{
      "kubernetes.io/os":"linux","beta.kubernetes.io/os":"plan9","beta.kubernetes.io/arch":"arm"}}})");
  const Json& labels = at(at(world_.object("Node", "n1"), "metadata"), "labels");
  EXPECT_EQ(labels.string_at("beta.kubernetes.io/os"), "linux");
  EXPECT_EQ(labels.string_at("beta.kubernetes.io/arch"), "arm");
  EXPECT_EQ(at(labels, "kubernetes.io/arch"), Json());
}

TEST_F(NodeLifecycleTest, NoScheduleTaintsOfOthersStay) {
  add_node("n1", kReady,
           R"([{"key":"x","effect":"NoSchedule"},{"key":"node.kubernetes.io/unschedulable","effect":"NoSchedule"}])");
  EXPECT_EQ(taints(), Taints{"NoSchedule x"});
}

}  // namespace
}  // namespace berth
