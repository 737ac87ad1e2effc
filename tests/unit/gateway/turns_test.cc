// How much one turn does: each look at the clock takes a millisecond here, and what is not done comes with the next
// turns.
#include <algorithm>

#include "tests/unit/gateway/gateway_fixture.h"

namespace berth {
namespace {

class TurnsTest : public GatewayTest {
 protected:
  class WorkClock final : public Clock {
   public:
    Millis now() const override { return 1'000; }
    std::int64_t now_us() const override { return us += 1'000; }
    Millis wall() const override { return 1'700'000'000'000; }

   private:
    mutable std::int64_t us = 0;
  };

  void start_slow() {
    gateway = std::make_unique<Gateway>(options, registry, work, transport, store, timers, log);
    ASSERT_TRUE(gateway->start().is_success());
    turn();
    connect();
    settle();
  }
  // Of the messages sent since, those below this topic.
  std::size_t sent(const std::string& below) {
    return static_cast<std::size_t>(std::count_if(transport.sent.begin(), transport.sent.end(), [&](const auto& each) {
      return each.topic.starts_with(topics.root() + below);
    }));
  }
  void next_turn() {
    timers.run_due(work.now());
    turn();
  }
  void settle() {
    while (timers.next() && *timers.next() <= work.now()) next_turn();
  }
  static std::string name(int number) { return "p" + std::to_string(number); }

  WorkClock work;
};

TEST_F(TurnsTest, AttemptsBeyondTheTimeOfATurnAreMadeInTheNextOnes) {
  start_slow();
  for (int i = 0; i < 50; ++i) hear(topics.desired(Kind::pod, "default/" + name(i)), pod(name(i), "u" + name(i)));
  transport.sent.clear();
  turn();
  EXPECT_LE(sent("events/"), 20u);
  EXPECT_GE(sent("events/"), 1u);
  settle();
  EXPECT_EQ(sent("events/"), 50u) << "each pod failed once";
}

TEST_F(TurnsTest, WhatAPodNeedsOfAllNodesIsPreparedInTurnsBeforeItIsTried) {
  start_slow();
  device("n1");
  settle();
  std::string labels;
  for (int i = 0; i < 30; ++i) labels += (i == 0 ? "\"l" : ",\"l") + std::to_string(i) + R"(":"yes")";
  transport.sent.clear();
  hear(topics.desired(Kind::pod, "default/p"), pod("p", "u", "64Mi", R"(,"nodeSelector":{)" + labels + "}"));
  turn();
  EXPECT_EQ(sent("events/"), 0u) << "a column for each label takes longer than a turn";
  settle();
  EXPECT_EQ(sent("events/"), 1u) << "it has failed";
}

TEST_F(TurnsTest, StatusesBeyondTheTimeOfATurnArePublishedInTheNextOnes) {
  start_slow();
  for (int i = 0; i < 30; ++i) {
    hear(topics.desired(Kind::pod, "default/" + name(i)),
         pod(name(i), "u" + name(i), "64Mi", R"(,"schedulingGates":[{"name":"later"}])"));
  }
  transport.sent.clear();
  turn();
  EXPECT_LE(sent("status/pods/"), 5u);
  settle();
  EXPECT_EQ(sent("status/pods/"), 30u);
}

TEST_F(TurnsTest, AMirrorIsClearedBehindItsStatusHoweverLateThatIs) {
  start_slow();
  for (int i = 0; i < 30; ++i) hear(topics.desired(Kind::pod, "default/" + name(i)), pod(name(i), "u" + name(i)));
  turn();
  settle();
  transport.sent.clear();
  for (int i = 0; i < 30; ++i) {
    hear(topics.desired(Kind::pod, "default/" + name(i)), R"({"deleted":true})");
  }
  turn();
  settle();
  std::set<std::string> cleared;
  std::size_t mirrors = 0;
  for (const Message& message : transport.sent) {
    if (!message.payload.empty()) continue;
    const std::string key = message.topic.substr(message.topic.find("/pods/"));
    if (message.topic.starts_with(topics.root() + "status/")) cleared.insert(key);
    if (!message.topic.starts_with(topics.root() + "desired/")) continue;
    ++mirrors;
    EXPECT_TRUE(cleared.contains(key)) << key;
  }
  EXPECT_EQ(mirrors, 30u);
}

TEST_F(TurnsTest, AfterAConnectAllIsMirroredAndAllNodesAreAskedLittleByLittle) {
  start_slow();
  for (int i = 0; i < 30; ++i) {
    hear(topics.desired(Kind::pod, "default/" + name(i)), pod(name(i), "u" + name(i)));
    device("n" + std::to_string(i));
  }
  settle();
  gateway->on_link(false);
  turn();
  connect();  // to a broker that has forgotten everything; the barrier is back
  EXPECT_LE(sent("desired/pods/"), 5u);
  EXPECT_EQ(sent("nodes/"), 0u);
  settle();
  EXPECT_EQ(sent("desired/pods/"), 30u);
  std::set<std::string> asked;
  for (const Message& message : transport.sent) {
    if (message.topic.ends_with("/requests")) asked.insert(message.topic);
  }
  EXPECT_EQ(asked.size(), 30u);
}

TEST_F(TurnsTest, NodesThatHaveMuchToSayTakeTurns) {
  start_slow();
  for (const char* node : {"a", "b", "c"}) device(node);
  settle();
  log.warnings.clear();
  const auto heard = [&](const std::string& node) {
    return std::count_if(log.warnings.begin(), log.warnings.end(),
                         [&](const std::string& line) { return line.find("/answers/" + node) != std::string::npos; });
  };
  for (const char* node : {"a", "b", "c"}) {
    for (int i = 0; i < 60; ++i) hear(topics.answers("gateway", node), "nonsense " + std::to_string(i));
  }
  turn();
  const auto at_once = heard("a");
  EXPECT_LT(at_once, 60);
  EXPECT_EQ(heard("b"), at_once);
  settle();
  for (const char* node : {"a", "b", "c"}) EXPECT_EQ(heard(node), 60) << node;
}

}  // namespace
}  // namespace berth
