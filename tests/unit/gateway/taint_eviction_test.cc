// Pods leave nodes with NoExecute taints that they do not tolerate, or not for longer
// (tainteviction/taint_eviction.go), whoever applied them; but none leaves a node that does not answer.
#include <string>

#include "tests/unit/gateway/workloads_fixture.h"

namespace berth {
namespace {

class TaintEvictionTest : public WorkloadsFixture {
 protected:
  void taint(const std::string& taints) {
    apply(R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n1"},"spec":{"taints":[)" + taints + "]}}");
    run_devices();
  }
  std::string tolerating(const std::string& name, const std::string& more) {
    return pod(name, name, "64Mi",
               R"(,"tolerations":[{"key":"broken","operator":"Exists","effect":"NoExecute")" + more + "}]");
  }
  void live_for(Millis ms) {
    for (Millis past = 0; past < ms; past += 1000) {
      receive(topics.node_heartbeat("n1"), R"({"incarnation":"i1","sequence":"1"})");
      run_devices_for(1000);
    }
  }
  void run(const std::string& object) {
    apply(object);
    run_devices();
  }
};

constexpr char kBroken[] = R"({"key":"broken","effect":"NoExecute"})";

TEST_F(TaintEvictionTest, APodLeavesANodeThatGetsATaintWhichItDoesNotTolerate) {
  start_with_device();
  run(pod("plain", "plain"));
  run(tolerating("stays", ""));
  taint(R"({"key":"broken","effect":"NoSchedule"})");
  EXPECT_EQ(pods().size(), 2u) << "that is for the scheduler";
  taint(kBroken);
  ASSERT_EQ(pods().size(), 1u);
  EXPECT_EQ(pods().front()->metadata.name, "stays");
}

TEST_F(TaintEvictionTest, APodThatToleratesATaintForSomeTimeLeavesThen) {
  start_with_device();
  run(tolerating("short", R"(,"tolerationSeconds":30)"));
  taint(kBroken);
  live_for(29'000);
  EXPECT_EQ(pods().size(), 1u);
  live_for(2'000);
  EXPECT_TRUE(pods().empty());
}

TEST_F(TaintEvictionTest, APodStaysWhenTheTaintGoesInTime) {
  start_with_device();
  run(tolerating("short", R"(,"tolerationSeconds":30)"));
  taint(kBroken);
  live_for(10'000);
  taint("");
  live_for(60'000);
  EXPECT_EQ(pods().size(), 1u);
}

TEST_F(TaintEvictionTest, APodThatToleratesATaintForSomeTimeAndComesLaterLeavesToo) {
  start_with_device();
  taint(kBroken);
  run(tolerating("short", R"(,"tolerationSeconds":30)"));
  EXPECT_EQ(running(), 1u);
  live_for(31'000);
  EXPECT_TRUE(pods().empty());
}

TEST_F(TaintEvictionTest, AReplicaThatLeavesIsReplacedAndWaitsForAnotherNode) {
  start_with_device();
  run(deployment("web", 2));
  EXPECT_EQ(running(), 2u);
  taint(kBroken);
  EXPECT_EQ(staying(), 2u);
  EXPECT_EQ(running(), 0u);
}

TEST_F(TaintEvictionTest, NothingLeavesANodeThatDoesNotAnswerUntilItIsBack) {
  start_with_device();
  run(pod("plain", "plain"));
  receive(topics.node_presence("n1"), R"({"incarnation":"i1","session":"1","online":false})");
  taint(kBroken);
  run_devices_for(10'000);
  EXPECT_EQ(staying(), 1u);
  connect_device();
  run_devices();
  EXPECT_TRUE(pods().empty());
}

}  // namespace
}  // namespace berth
