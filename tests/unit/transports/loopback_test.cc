// The in-memory broker: MQTT's guarantees, faults by the policy, and runs that depend on the seed alone.
#include "transports/loopback.h"

#include <gtest/gtest.h>

#include <vector>

#include "transports/topic_filter.h"

namespace berth {
namespace {

class VirtualClock final : public Clock {
 public:
  Millis now() const override { return time; }
  Millis wall() const override { return time; }
  Millis time = 1000;
};

class Receiver final : public Transport::Handler {
 public:
  void on_message(const Message& message) override {
    messages.push_back(message);
    received += message.topic + "=" + message.payload + (message.retain ? "(r) " : " ");
  }
  void on_link(bool up) override { received += up ? "up " : "down "; }
  void on_send_window() override { received += "window "; }
  std::string take() { return std::exchange(received, {}); }
  std::vector<Message> messages;
  std::string received;
};

class LoopbackTest : public testing::Test {
 protected:
  // Runs every timer due within `span` from now, in order.
  void run(Millis span = 0) {
    const Millis end = clock_.time + span;
    while (timers_.next() && *timers_.next() <= end) {
      clock_.time = std::max(clock_.time, *timers_.next());
      timers_.run_due(clock_.time);
    }
    clock_.time = end;
  }
  void join(LoopbackClient& client, Receiver& receiver) {
    client.set_handler(&receiver);
    client.connect();
    run();
  }
  static Message message(std::string topic, std::string payload, bool retain = false) {
    Message m;
    m.topic = std::move(topic);
    m.payload = std::move(payload);
    m.retain = retain;
    return m;
  }

  VirtualClock clock_;
  Timers timers_;
  LoopbackBroker broker_{clock_, timers_, 7};
  Receiver a_receiver_, b_receiver_;
  LoopbackClient a_{broker_, "a"}, b_{broker_, "b"};
};

TEST(TopicFilter, FollowsTheMqttRules) {
  EXPECT_TRUE(filter_matches("a/b", "a/b"));
  EXPECT_FALSE(filter_matches("a/b", "a/b/c"));
  EXPECT_FALSE(filter_matches("a/b/c", "a/b"));
  EXPECT_TRUE(filter_matches("a/+/c", "a/b/c"));
  EXPECT_TRUE(filter_matches("a/+", "a/"));
  EXPECT_FALSE(filter_matches("a/+", "a"));
  EXPECT_FALSE(filter_matches("a/+", "a/b/c"));
  EXPECT_TRUE(filter_matches("a/#", "a/b/c"));
  EXPECT_TRUE(filter_matches("a/#", "a"));
  EXPECT_FALSE(filter_matches("a/#", "ab"));
  EXPECT_TRUE(filter_matches("#", "a/b"));
  EXPECT_FALSE(filter_matches("#", "$SYS/load"));
  EXPECT_FALSE(filter_matches("+/load", "$SYS/load"));
}

TEST_F(LoopbackTest, DeliversToMatchingFiltersOnceAndInOrder) {
  join(a_, a_receiver_);
  join(b_, b_receiver_);
  b_.subscribe("x/+", 1);
  b_.subscribe("x/#", 0);
  a_.send(message("x/1", "one"));
  a_.send(message("y/1", "other"));
  a_.send(message("x/2", "two"));
  EXPECT_EQ(b_receiver_.take(), "up ") << "nothing is delivered inside send";
  run();
  EXPECT_EQ(b_receiver_.take(), "x/1=one x/2=two ");
  EXPECT_EQ(b_receiver_.messages[0].qos, 1);
  EXPECT_EQ(a_receiver_.take(), "up ");
}

TEST_F(LoopbackTest, DoesNotEchoToANoLocalSubscriptionButRetainsTheMessage) {
  join(a_, a_receiver_);
  join(b_, b_receiver_);
  a_.subscribe("s/#", 0, {.no_local = true});
  a_.send(message("s/1", "own", true));
  b_.send(message("s/2", "other"));
  run();
  EXPECT_EQ(a_receiver_.take(), "up s/2=other ");
  a_.subscribe("s/1", 0);
  a_.send(message("s/1", "newer", true));
  run();
  EXPECT_EQ(a_receiver_.take(), "s/1=own(r) s/1=newer ") << "another of its filters matches";
  a_.subscribe("s/#", 0, {.no_local = true});
  run();
  EXPECT_EQ(a_receiver_.take(), "s/1=newer(r) ");
}

TEST_F(LoopbackTest, KeepsTheRetainFlagForRetainAsPublished) {
  join(a_, a_receiver_);
  join(b_, b_receiver_);
  a_.subscribe("s/#", 0, {.retain_as_published = true});
  a_.subscribe("s/+", 1);
  b_.subscribe("s/#", 0);
  b_.send(message("s/1", "kept", true));
  b_.send(message("s/2", "passing"));
  run();
  EXPECT_EQ(a_receiver_.take(), "up s/1=kept(r) s/2=passing ");
  EXPECT_EQ(b_receiver_.take(), "up s/1=kept s/2=passing ");
}

TEST_F(LoopbackTest, SendsRetainedMessagesToANewSubscriberAndClearsThemOnEmptyPayload) {
  join(a_, a_receiver_);
  a_.send(message("s/1", "old", true));
  a_.send(message("s/1", "new", true));
  a_.send(message("s/2", "gone", true));
  a_.send(message("s/2", "", true));
  run();
  join(b_, b_receiver_);
  b_.subscribe("s/#", 0);
  run();
  a_.send(message("s/1", "live", true));
  run();
  EXPECT_EQ(b_receiver_.take(), "up s/1=new(r) s/1=live ");
  broker_.wipe_retained();
  EXPECT_TRUE(broker_.retained().empty());
}

TEST_F(LoopbackTest, ABarrierMessageToOneselfArrivesAfterTheRetainedMessagesWhateverTheDelays) {
  broker_.set_policy(
      [](const Leg&, Random& random) { return Fate{1, static_cast<Millis>(random.below(500)), 0, false}; });
  join(a_, a_receiver_);
  for (int i = 0; i < 50; ++i) a_.send(message("s/" + std::to_string(i), "v", true));
  run(5000);
  a_.subscribe("s/#", 0);
  a_.subscribe("barrier", 0);
  a_.send(message("barrier", "here"));
  run(5000);
  ASSERT_EQ(a_receiver_.messages.size(), 51u);
  EXPECT_EQ(a_receiver_.messages.back().topic, "barrier");
}

TEST_F(LoopbackTest, SendsTheWillOnlyWhenTheConnectionIsLost) {
  join(a_, a_receiver_);
  a_.subscribe("will/#", 1);
  b_.set_will(message("will/b", "offline"));
  join(b_, b_receiver_);
  b_.disconnect();
  run();
  EXPECT_EQ(a_receiver_.take(), "up ");
  EXPECT_EQ(b_receiver_.take(), "up down ");
  join(b_, b_receiver_);
  b_.drop();
  run();
  EXPECT_EQ(a_receiver_.take(), "will/b=offline ");
  EXPECT_FALSE(b_.is_up());
}

TEST_F(LoopbackTest, ASecondClientWithTheSameIdTakesOverTheSession) {
  join(a_, a_receiver_);
  a_.subscribe("will/#", 1);
  b_.set_will(message("will/b", "offline"));
  join(b_, b_receiver_);
  LoopbackClient again(broker_, "b");
  Receiver again_receiver;
  join(again, again_receiver);
  EXPECT_EQ(b_receiver_.take(), "up down ");
  EXPECT_EQ(again_receiver.take(), "up ");
  EXPECT_EQ(a_receiver_.take(), "up will/b=offline ");
}

TEST_F(LoopbackTest, ARetainedMessageOfAnEarlierConnectionDoesNotArriveAfterALaterConnection) {
  broker_.set_policy([](const Leg& leg, Random&) {
    Fate fate;
    fate.delay = leg.message.payload == "late" ? 100 : 1;
    fate.overtakes = true;
    return fate;
  });
  join(a_, a_receiver_);
  join(b_, b_receiver_);
  b_.subscribe("t/#", 1);
  run(10);
  a_.send(message("t/kept", "late", true));
  a_.send(message("t/passing", "late"));
  a_.disconnect();
  join(a_, a_receiver_);
  a_.send(message("t/kept", "new", true));
  b_receiver_.take();
  run(300);
  EXPECT_EQ(b_receiver_.take(), "t/kept=new t/passing=late ");
  EXPECT_EQ(broker_.retained().at("t/kept"), "new");
}

TEST_F(LoopbackTest, ADestroyedClientActsLikeAKilledProcess) {
  join(a_, a_receiver_);
  a_.subscribe("will/#", 1);
  {
    LoopbackClient gone(broker_, "gone");
    gone.set_will(message("will/gone", "offline"));
    Receiver receiver;
    join(gone, receiver);
    a_.send(message("will/x", "in flight to nobody"));
  }
  run();
  EXPECT_EQ(a_receiver_.take(), "up will/x=in flight to nobody will/gone=offline ");
}

TEST_F(LoopbackTest, ThePolicyLosesDuplicatesDelaysAndReorders) {
  join(a_, a_receiver_);
  join(b_, b_receiver_);
  b_.subscribe("x", 1);
  broker_.set_policy([](const Leg& leg, Random&) {
    if (leg.to != "b") return Fate{};
    if (leg.message.payload == "lost") return Fate{0, 0, 0, false};
    if (leg.message.payload == "twice") return Fate{2, 10, 5, false};
    if (leg.message.payload == "late") return Fate{1, 100, 0, true};
    return Fate{};
  });
  for (const char* payload : {"lost", "late", "twice", "last"}) a_.send(message("x", payload));
  run(9);
  EXPECT_EQ(b_receiver_.take(), "up ");
  run(6);
  EXPECT_EQ(b_receiver_.take(), "x=twice x=twice x=last ");
  run(100);
  EXPECT_EQ(b_receiver_.take(), "x=late ");
  EXPECT_EQ(broker_.counts().lost, 1u);
}

TEST_F(LoopbackTest, OneSeedGivesOneRun) {
  std::string runs[2];
  for (std::string& received : runs) {
    VirtualClock clock;
    Timers timers;
    LoopbackBroker broker(clock, timers, 42);
    broker.set_policy([](const Leg&, Random& random) {
      return Fate{static_cast<int>(random.below(3)), static_cast<Millis>(random.below(50)), 3, random.chance(1, 4)};
    });
    Receiver receiver;
    LoopbackClient client(broker, "c");
    client.set_handler(&receiver);
    client.connect();
    timers.run_due(clock.time);
    client.subscribe("#", 1);
    for (int i = 0; i < 100; ++i) client.send(message("t", std::to_string(i)));
    while (timers.next()) timers.run_due(clock.time = *timers.next());
    received = receiver.take();
  }
  EXPECT_EQ(runs[0], runs[1]);
  EXPECT_GT(runs[0].size(), 100u);
}

TEST_F(LoopbackTest, ACleanSessionLosesItsSubscriptionsAndMessagesInFlight) {
  join(a_, a_receiver_);
  join(b_, b_receiver_);
  b_.subscribe("x", 1);
  broker_.set_policy([](const Leg& leg, Random&) { return Fate{1, leg.to == "b" ? 50 : 0, 0, false}; });
  a_.send(message("x", "in flight"));
  run();
  b_.drop();
  b_.connect();
  run(100);
  a_.send(message("x", "unheard"));
  run(100);
  EXPECT_EQ(b_receiver_.take(), "up down up ");
}

TEST_F(LoopbackTest, APersistentSessionGetsQueuedMessagesUnlessTheyExpired) {
  join(a_, a_receiver_);
  LoopbackClient node(broker_, "node", true);
  Receiver receiver;
  join(node, receiver);
  node.subscribe("x", 1);
  node.drop();
  Message brief = message("x", "brief");
  brief.expiry_s = 1;
  Message kept = message("x", "kept");
  kept.expiry_s = 60;
  Message loose = message("x", "QoS 0");
  loose.qos = 0;
  a_.send(kept);
  a_.send(brief);
  a_.send(loose);
  run(2500);
  node.connect();
  run();
  EXPECT_EQ(receiver.take(), "up down up x=kept ");
  EXPECT_EQ(receiver.messages[0].expiry_s, 58);
}

TEST_F(LoopbackTest, ARestartedBrokerHasLostEverythingAndClientsReconnect) {
  join(a_, a_receiver_);
  join(b_, b_receiver_);
  b_.subscribe("x", 1);
  b_.set_will(message("x", "will"));
  a_.send(message("x", "r", true));
  run();
  a_.send(message("x", "in flight"));
  broker_.restart(500);
  a_.connect();  // has no effect before the broker is back
  run(499);
  EXPECT_FALSE(a_.is_up());
  EXPECT_EQ(b_receiver_.take(), "up x=r down ");
  run(1);
  EXPECT_TRUE(a_.is_up());
  EXPECT_TRUE(broker_.retained().empty());
  a_.send(message("x", "nobody subscribed"));
  run();
  EXPECT_EQ(b_receiver_.take(), "up ");
}

TEST_F(LoopbackTest, DropsMessagesSentWhileDown) {
  join(b_, b_receiver_);
  b_.subscribe("x", 1);
  a_.send(message("x", "too early"));
  join(a_, a_receiver_);
  EXPECT_EQ(b_receiver_.take(), "up ");
}

TEST_F(LoopbackTest, PassesResponseTopicAndCorrelationAndRefusesOversizedPayloads) {
  join(a_, a_receiver_);
  a_.subscribe("api", 1);
  Message request = message("api", "{}");
  request.response_topic = "clients/me";
  request.correlation = std::string("\0\1", 2);
  a_.send(request);
  a_.send(message("api", std::string(LoopbackBroker::kPayloadMax + 1, 'x')));
  run();
  ASSERT_EQ(a_receiver_.messages.size(), 1u);
  EXPECT_EQ(a_receiver_.messages[0].response_topic, "clients/me");
  EXPECT_EQ(a_receiver_.messages[0].correlation, request.correlation);
  EXPECT_EQ(broker_.counts().refused, 1u);
}

TEST_F(LoopbackTest, ASmallSendWindowReservesSlotsForRetainedMessagesAndReportsWhenItReopens) {
  a_.set_send_window(4, 6);
  EXPECT_EQ(a_.send_window(), 0u) << "down";
  join(a_, a_receiver_);
  a_receiver_.take();
  for (int i = 0; i < 3; ++i) a_.send(message("x", "any"));
  EXPECT_EQ(a_.send_window(), 2u);
  EXPECT_EQ(broker_.counts().refused, 1u) << "the last slots are reserved for retained messages";
  for (int i = 0; i < 5; ++i) a_.send(message("kept/" + std::to_string(i), "1", true));
  EXPECT_EQ(a_.send_window(), 0u);
  EXPECT_EQ(broker_.counts().refused, 2u);
  EXPECT_EQ(a_receiver_.take(), "");
  run();
  EXPECT_EQ(a_receiver_.take(), "window ") << "once";
  EXPECT_EQ(a_.send_window(), 4u);
  EXPECT_EQ(broker_.retained().size(), 4u);
  for (int i = 0; i < 4; ++i) a_.send(message("kept", "1", true));
  broker_.restart(10);
  run(20);
  EXPECT_EQ(a_receiver_.take(), "down up ") << "messages on a broken link take no slots of the next one";
  EXPECT_EQ(a_.send_window(), 4u);
}

TEST_F(LoopbackTest, EndsATurnAfterEachCallAndAllowsTheClientToBeDestroyedInIt) {
  auto mortal = std::make_unique<LoopbackClient>(broker_, "mortal");
  Receiver receiver;
  int turns = 0;
  mortal->set_on_turn([&] {
    if (++turns == 2) mortal.reset();
  });
  join(*mortal, receiver);
  mortal->subscribe("x", 1);
  mortal->send(message("x", "1"));
  mortal->send(message("x", "2"));
  run();
  EXPECT_EQ(mortal, nullptr);
  EXPECT_EQ(receiver.take(), "up x=1 ");
}

}  // namespace
}  // namespace berth
