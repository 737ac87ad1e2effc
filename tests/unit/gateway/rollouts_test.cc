// Rollout plans in the gateway: what it tells them of its nodes, and what they keep over a restart.
#include "tests/unit/gateway/workloads_fixture.h"

namespace berth {
namespace {

class RolloutsTest : public WorkloadsFixture {
 protected:
  static std::string planned(const std::string& image) {
    return R"({"apiVersion":"apps/v1","kind":"DaemonSet","metadata":{"name":"vision","annotations":
      {"berth/rollout-plan":"{\"waves\":[{\"name\":\"all\"}],\"offlineDeadlineSeconds\":60,\"healthySeconds\":0}"}},
      "spec":{"selector":{"matchLabels":{"app":"v"}},"template":{"metadata":{"labels":{"app":"v"}},"spec":{"containers":
      [{"name":"c","image":")" +
           image + R"("}]}}}})";
  }
  void fall_silent(const std::string& node) {
    receive(topics.node_presence(node), R"({"incarnation":"i1","session":"1","online":false})");
  }
  // What the broker retains says that the device is not there.
  void restart_and_hear_nothing() {
    gateway.reset();
    store.crash();
    transport.up = false;
    start();
    fall_silent("n1");
    connect();
  }
  Json rollout() { return member(member(get("ds", "vision"), "status"), "rollout"); }
};

TEST_F(RolloutsTest, ANodeThatFellSilentIsWaitedForAndThenPassedOverAlsoAcrossARestart) {
  start_with_device();
  apply(planned("app:1"));
  run_devices();
  EXPECT_EQ(rollout().string_at("phase"), "Complete");
  fall_silent("n1");
  apply(planned("app:2"));
  run_devices_for(30'000);
  const Json before = rollout();
  EXPECT_EQ(before.string_at("message"), "wave all (1 of 1): 0 of 1 healthy, 1 not answering");
  restart_and_hear_nothing();
  run_devices();
  EXPECT_EQ(rollout().dump(), before.dump());
  run_devices_for(35'000);
  EXPECT_EQ(rollout().string_at("phase"), "Complete") << rollout().dump();
}

}  // namespace
}  // namespace berth
