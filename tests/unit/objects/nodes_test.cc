// When nodes are called silent, and when it is their turn to be compared. Both are asked for every second, and most
// often nobody is looked at.
#include "core/objects/nodes.h"

#include <gtest/gtest.h>

#include "storage/memory_store.h"
#include "tests/unit/hand_clock.h"

namespace berth {
namespace {

using Names = std::vector<std::string>;

class NodesInTime : public testing::Test {
 protected:
  NodesInTime() { clock.now_ms = 1'000; }
  void state(const std::string& name, const std::string& sequence, const std::string& heartbeat_ms) {
    const Result<Json> payload = Json::parse(R"({"incarnation":"i1","session":"1","sequence":")" + sequence +
                                             R"(","heartbeatMs":")" + heartbeat_ms + R"(","allocatable":{"cpu":"1"}})");
    ASSERT_TRUE(nodes.on_state(name, *payload));
  }
  void come(const std::string& name, const std::string& session = "1") {
    const Result<Json> payload = Json::parse(R"({"incarnation":"i1","session":")" + session + R"(","online":true})");
    ASSERT_TRUE(nodes.on_presence(name, *payload));
  }
  void beat(const std::string& name) {
    ASSERT_TRUE(nodes.on_heartbeat(name, *Json::parse(R"({"incarnation":"i1","sequence":"1"})")));
  }
  Names silent_after(Millis ms) {
    clock.now_ms += ms;
    return nodes.find_silent();
  }
  Names due_after(Millis ms) {
    clock.now_ms += ms;
    return nodes.find_due(60'000);
  }

  HandClock clock;
  MemoryStore store;
  Nodes nodes{store, clock};
};

TEST_F(NodesInTime, ANodeIsSilentAfterThreeHeartbeatsAndNamedOnce) {
  state("a", "1", "10000");
  come("a");
  EXPECT_EQ(silent_after(30'000), Names{});
  EXPECT_EQ(silent_after(1), Names{"a"});
  EXPECT_EQ(silent_after(100'000), Names{});
  beat("a");
  EXPECT_EQ(silent_after(30'000), Names{});
  beat("a");
  EXPECT_EQ(silent_after(30'000), Names{});
  EXPECT_EQ(silent_after(1), Names{"a"});
}

TEST_F(NodesInTime, OneThatComesOrPromisesShorterHeartbeatsIsSilentBeforeThoseThatWereThere) {
  state("a", "1", "3600000");
  come("a");
  EXPECT_EQ(silent_after(1'000), Names{});
  state("b", "1", "1000");
  come("b");
  EXPECT_EQ(silent_after(3'000), Names{});
  EXPECT_EQ(silent_after(1), Names{"b"});
  state("a", "2", "2000");
  beat("a");
  EXPECT_EQ(silent_after(6'000), Names{});
  EXPECT_EQ(silent_after(1), Names{"a"});
}

TEST_F(NodesInTime, EachIsDueOnceInAPeriodCountedFromWhenItWasFirstSeen) {
  come("a");
  EXPECT_EQ(due_after(0), Names{});
  EXPECT_EQ(due_after(30'000), Names{});
  come("b");
  EXPECT_EQ(due_after(1), Names{});
  EXPECT_EQ(due_after(29'998), Names{});
  EXPECT_EQ(due_after(1), Names{"a"});
  EXPECT_EQ(due_after(30'000), Names{});
  EXPECT_EQ(due_after(1), Names{"b"});
  EXPECT_EQ(due_after(29'999), Names{"a"});
}

TEST_F(NodesInTime, OneThatIsAwayWhenItIsDueIsDueWhenItReturns) {
  state("a", "1", "1000");
  come("a");
  EXPECT_EQ(due_after(0), Names{});
  EXPECT_EQ(silent_after(30'000), Names{"a"});
  EXPECT_EQ(due_after(30'000), Names{});
  EXPECT_EQ(due_after(1'000), Names{});
  beat("a");
  EXPECT_EQ(due_after(0), Names{"a"});
  EXPECT_EQ(due_after(1'000), Names{});
}

TEST_F(NodesInTime, AForgottenNodeIsNotFoundUntilItComesAgain) {
  come("a");
  come("b");
  nodes.erase("a");
  EXPECT_EQ(nodes.find("a"), nullptr);
  ASSERT_NE(nodes.find("b"), nullptr);
  EXPECT_EQ(nodes.find("b"), &nodes.all().at("b"));
  come("a");
  EXPECT_EQ(nodes.find("a"), &nodes.all().at("a"));
}

}  // namespace
}  // namespace berth
