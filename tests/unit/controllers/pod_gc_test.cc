#include "core/controllers/pod_gc.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/conformance/verdict.h"
#include "tests/conformance/world.h"
#include "tests/unit/parsed_json.h"

namespace berth {
namespace {

using PodNames = std::vector<std::string>;

class PodGcTest : public ::testing::Test {
 protected:
  void add_pod(const std::string& name, const std::string& spec, const std::string& status) {
    world_.store().create("Pod", parsed_json(R"({"metadata":{"name":")" + name + R"("},"spec":)" + spec +
                                             R"(,"status":)" + status + "}"));
  }
  void add_node(const std::string& name, const std::string& ready, const std::string& taint) {
    world_.store().create("Node", parsed_json(R"({"metadata":{"name":")" + name + R"("},"spec":{"taints":[{"key":")" +
                                              taint + R"(","effect":"NoExecute"}]},"status":{"conditions":[{"type":)" +
                                              R"("Ready","status":")" + ready + R"("}]}})"));
  }
  void remove(const std::string& pod) { world_.store().remove("Pod", {"default", pod}, {}); }
  void run_at(Millis now) {
    world_.store().set_now(now);
    gc_.run(world_);
  }
  PodNames pods() {
    PodNames names;
    for (const ObjectKey& key : world_.store().keys("Pod")) names.push_back(key.name);
    return names;
  }

  World world_{0};
  PodGc gc_{1};
};

TEST_F(PodGcTest, FinishedPodsBeyondTheThresholdGoEvictedOnesFirst) {
  add_pod("old", "{}", R"({"phase":"Succeeded"})");
  world_.store().set_now(1000);
  add_pod("evicted", "{}", R"({"phase":"Failed","reason":"Evicted"})");
  run_at(20'000);
  EXPECT_EQ(pods(), PodNames{"old"});
}

TEST_F(PodGcTest, PodsOfANodeThatIsGoneFailAfterFortySeconds) {
  add_pod("a", R"({"nodeName":"n1"})", R"({"phase":"Running"})");
  world_.store().patch("Pod", {"default", "a"}, parsed_json(R"({"metadata":{"finalizers":["hold"]}})"));
  run_at(20'000);
  run_at(59'000);
  EXPECT_EQ(at(at(*world_.store().find("Pod", {"default", "a"}), "status"), "phase"), Json("Running"));
  run_at(60'000);
  const Json& status = at(*world_.store().find("Pod", {"default", "a"}), "status");
  EXPECT_EQ(at(status, "phase"), Json("Failed"));
  EXPECT_EQ(at(conditions_by_type(at(status, "conditions")), "DisruptionTarget").string_at("reason"),
            "DeletionByPodGC");
}

TEST_F(PodGcTest, ANodeThatComesBackInTimeKeepsItsPods) {
  add_pod("a", R"({"nodeName":"n1"})", R"({"phase":"Running"})");
  run_at(20'000);
  add_node("n1", "True", "a");
  run_at(60'000);
  EXPECT_EQ(pods(), PodNames{"a"});
}

TEST_F(PodGcTest, TerminatingPodsGoFromNodesOutOfServiceOnly) {
  add_node("out", "False", "node.kubernetes.io/out-of-service");
  add_node("ready", "True", "node.kubernetes.io/out-of-service");
  for (const char* node : {"out", "ready"}) {
    const std::string name(node);
    add_pod("going-" + name, R"({"nodeName":")" + name + R"("})", R"({"phase":"Running"})");
    add_pod("running-" + name, R"({"nodeName":")" + name + R"("})", R"({"phase":"Running"})");
    remove("going-" + name);
  }
  run_at(20'000);
  EXPECT_EQ(pods(), (PodNames{"going-ready", "running-out", "running-ready"}));
}

}  // namespace
}  // namespace berth
