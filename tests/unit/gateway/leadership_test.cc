// Of the gateways that reach one broker, one serves (P13).
#include "core/gateway/leadership.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "plugins/registry.h"
#include "tests/unit/gateway/gateway_fixture.h"
#include "transports/loopback.h"

namespace berth {
namespace {

constexpr Millis kTakeoverMs = 20'000;

// One machine: its key, its store, and the program that runs there.
class Machine {
 public:
  Machine(LoopbackBroker& broker, const HandClock& clock, Timers& timers, std::string name, std::string machine)
      : broker_(broker), clock_(clock), timers_(timers), gateway_(std::move(name)), machine_(std::move(machine)) {}

  void boot(FirstBoot first_boot = FirstBoot::is_new) {
    static const Registry kRegistry = in_tree_registry();
    store.crash();
    static int runs = 0;  // of all machines: a copy of one has a run of its own
    run = "run-" + std::to_string(++runs);
    client = std::make_unique<LoopbackClient>(broker_, run);
    LeadershipOptions leading{"default", gateway_, machine_, run, kTakeoverMs};
    leadership = std::make_unique<Leadership>(std::move(leading), clock_, timers_, log, *client);
    GatewayOptions options;
    options.gateway = gateway_;
    options.hold = hold;
    options.known_nodes = known_nodes;
    options.first_boot = first_boot;
    options.profiles.push_back(default_profile());
    options.identity_seed = std::hash<std::string>{}(run);
    gateway = std::make_unique<Gateway>(std::move(options), kRegistry, clock_, *leadership, store, timers_, log);
    ASSERT_TRUE(gateway->start().is_success());
    leadership->set_gateway(*gateway);
    ASSERT_TRUE(gateway->finish_turn().is_success());
    client->set_on_turn([this] { ASSERT_TRUE(gateway->finish_turn().is_success()); });
    client->set_will(leadership->will());
    client->connect();
  }
  void kill() {
    gateway.reset();
    leadership.reset();
    client.reset();
  }
  void stop() {
    gateway->say_goodbye();
    ASSERT_TRUE(gateway->finish_turn().is_success());
    leadership->say_goodbye();
    client->disconnect();
    kill();
  }
  bool serves() const { return leadership != nullptr && leadership->is_up(); }
  // It has asked all nodes since another one has served.
  bool follows() const {
    return !log.warnings.empty() && log.warnings.back().starts_with("another gateway has served the fleet");
  }
  bool adopts() const { return gateway->identity().adopting; }

  std::vector<std::string> known_nodes;
  std::string run;
  std::string hold;
  MemoryStore store;
  QuietLog log;
  std::unique_ptr<LoopbackClient> client;
  std::unique_ptr<Leadership> leadership;
  std::unique_ptr<Gateway> gateway;

 private:
  LoopbackBroker& broker_;
  const HandClock& clock_;
  Timers& timers_;
  const std::string gateway_, machine_;
};

// An operator, or a device.
class Client final : public Transport::Handler {
 public:
  explicit Client(LoopbackBroker& broker, const std::string& id) : client(broker, id) { client.set_handler(this); }
  void on_message(const Message& message) override { heard.push_back(message); }
  void on_link(bool) override {}
  LoopbackClient client;
  std::vector<Message> heard;
};

class LeadershipTest : public ::testing::Test {
 protected:
  LeadershipTest() {
    op_.client.connect();
    run(0);
    op_.client.subscribe("berth/v1/default/clients/op/answers", 1);
    op_.client.subscribe("berth/v1/default/nodes/+/requests", 1);
    run(0);
  }
  ~LeadershipTest() override {
    a.kill();
    b.kill();
    copy.kill();
  }
  // Whether both served at any second of this time.
  bool both_serve(const Machine& one, const Machine& other, int seconds) {
    bool both = false;
    for (int i = 0; i < seconds; ++i) {
      run(1000);
      both = both || (one.serves() && other.serves());
    }
    return both;
  }
  void run(Millis ms) {
    const Millis end = clock.now_ms + ms;
    while (timers.next() && *timers.next() <= end) {
      clock.now_ms = std::max(clock.now_ms, *timers.next());
      timers.run_due(clock.now_ms);
      for (Machine* machine : {&a, &b, &copy}) {
        if (machine->gateway == nullptr) continue;
        ASSERT_TRUE(machine->gateway->finish_turn().is_success());
      }
    }
    clock.now_ms = end;
  }
  void boot(Machine& machine, FirstBoot first_boot = FirstBoot::is_new) {
    machine.boot(first_boot);
    run(500);
  }
  Json ask(const std::string& gateway, const std::string& request) {
    Message message;
    message.topic = topics.gateway_api(gateway);
    message.payload = request;
    message.response_topic = "berth/v1/default/clients/op/answers";
    op_.heard.clear();
    op_.client.send(message);
    run(500);
    for (const Message& answer : op_.heard) {
      if (answer.topic == message.response_topic) return *Json::parse(answer.payload);
    }
    return {};
  }
  std::string retained(const std::string& topic) const {
    const auto all = broker.retained();
    const auto found = all.find(topic);
    return found == all.end() ? std::string() : found->second;
  }
  std::size_t presences() const {
    std::size_t count = 0;
    for (const auto& [topic, payload] : broker.retained()) count += topic.contains("/presence/");
    return count;
  }

  HandClock clock;
  Timers timers;
  LoopbackBroker broker{clock, timers, 7};
  Topics topics{"default"};
  Client op_{broker, "op"};
  Machine a{broker, clock, timers, "north", "machine-a"}, b{broker, clock, timers, "south", "machine-b"};
  Machine copy{broker, clock, timers, "north", "machine-a"};
};

TEST_F(LeadershipTest, AGatewayAloneServesAtOnceAndSaysSo) {
  boot(a);
  EXPECT_TRUE(a.serves());
  EXPECT_FALSE(a.adopts());
  EXPECT_EQ(a.leadership->why_waiting(), "");
  EXPECT_TRUE(retained(topics.leader()).contains(a.gateway->identity().id.store_id)) << retained(topics.leader());
  EXPECT_TRUE(retained(topics.gateway_presence("north", a.run)).contains(R"("state":"serving")"));
}

TEST_F(LeadershipTest, ASecondGatewayWaitsForAsLongAsTheFirstIsThere) {
  boot(a);
  boot(b);
  run(10 * kTakeoverMs);
  EXPECT_TRUE(a.serves());
  EXPECT_FALSE(b.serves());
  EXPECT_TRUE(b.leadership->why_waiting().starts_with("gateway \"north\" serves fleet default"))
      << b.leadership->why_waiting();
  EXPECT_EQ(b.log.warnings.size(), 1u) << "said once";
}

TEST_F(LeadershipTest, ASecondGatewayOfTheSameNameWaitsLikewise) {
  Machine same(broker, clock, timers, "north", "machine-c");
  boot(a);
  same.boot();
  for (int i = 0; i < 50; ++i) {
    run(1000);
    ASSERT_TRUE(same.gateway->finish_turn().is_success());
  }
  EXPECT_TRUE(a.serves());
  EXPECT_FALSE(same.serves());
  op_.heard.clear();
  EXPECT_EQ(*ask("north", R"({"op":"status"})").find("ready"), Json(true)) << "the one that serves";
  EXPECT_EQ(op_.heard.size(), 1u) << "and no other";
}

TEST_F(LeadershipTest, OneThatWaitsTellsOperatorsWhy) {
  boot(a);
  boot(b);
  const Json status = ask("south", R"({"op":"status","id":7})");
  EXPECT_EQ(*status.find("ready"), Json(false)) << status.dump();
  EXPECT_TRUE(status.string_at("reason").contains("gateway \"north\"")) << status.dump();
  EXPECT_EQ(*status.find("id"), Json(7));
  const Json refused = ask("south", R"({"op":"get","kind":"pod"})");
  EXPECT_EQ(*refused.find("ok"), Json(false));
  EXPECT_TRUE(refused.string_at("error").starts_with("this gateway does not serve: gateway \"north\""))
      << refused.dump();
}

TEST_F(LeadershipTest, OfTwoThatStartTogetherOneServes) {
  a.boot();
  b.boot();
  run(kTakeoverMs / 2);
  EXPECT_NE(a.serves(), b.serves());
}

TEST_F(LeadershipTest, OneThatHasEndedIsFollowedAfterTheTakeoverTimeInAdoptMode) {
  b.known_nodes = {"n1"};
  boot(a);
  boot(b);
  a.stop();
  run(kTakeoverMs - 2000);
  EXPECT_FALSE(b.serves()) << "it may come back at once";
  run(4000);
  EXPECT_TRUE(b.serves());
  EXPECT_TRUE(b.adopts()) << "what the first one placed only the nodes know";
  EXPECT_TRUE(b.gateway->not_ready().starts_with("another gateway has served the fleet: these nodes must list"))
      << b.gateway->not_ready();
  EXPECT_TRUE(retained(topics.leader()).contains("south"));
}

TEST_F(LeadershipTest, OneThatComesBackWaitsForWhoTookOverAndFollowsThatOne) {
  boot(a);
  const std::uint64_t term = a.gateway->identity().id.term;
  boot(b);
  a.kill();
  run(kTakeoverMs + 2000);
  ASSERT_TRUE(b.serves());
  boot(a);
  run(3 * kTakeoverMs);
  EXPECT_FALSE(a.serves());
  EXPECT_TRUE(b.serves());
  b.kill();
  run(kTakeoverMs + 2000);
  EXPECT_TRUE(a.serves());
  EXPECT_TRUE(a.follows());
  EXPECT_GT(a.gateway->identity().id.term, term);
}

TEST_F(LeadershipTest, OneThatStartsAgainServesAtOnceAndAsksNobody) {
  boot(a);
  a.kill();
  boot(a);
  EXPECT_TRUE(a.serves());
  EXPECT_FALSE(a.adopts());
}

TEST_F(LeadershipTest, ALostStoreDoesNotWaitForTheEarlierOneOfTheSameMachine) {
  boot(a);
  a.kill();
  a.store.wipe();
  boot(a, FirstBoot::lost);
  EXPECT_TRUE(a.serves());
  EXPECT_TRUE(a.adopts()) << "as after any lost store";
  EXPECT_FALSE(a.follows()) << "it follows itself";
}

TEST_F(LeadershipTest, APresenceThatNobodyTookBackDelaysTheSameMachineForTwoSeconds) {
  boot(a);
  Message stale;
  stale.topic = topics.gateway_presence("north", "run-0");
  stale.retain = true;
  stale.payload = encode(GatewayPresence{PresenceState::serving, "machine-a", 3, {}});
  a.kill();
  op_.client.send(stale);  // its will was lost, as when the broker restarts
  run(100);
  boot(a);
  EXPECT_FALSE(a.serves()) << "a copy of this machine may be alive";
  run(4000);
  EXPECT_TRUE(a.serves());
  EXPECT_EQ(retained(stale.topic), "") << "cleared";
}

TEST_F(LeadershipTest, ACopyOfTheWholeMachineWaitsForTheOther) {
  boot(a);
  copy.store = a.store;
  copy.boot();
  run(5 * kTakeoverMs);
  EXPECT_NE(a.serves(), copy.serves());
}

TEST_F(LeadershipTest, ACopyThatTakesOverFollowsWhatItDoesNotKnow) {
  boot(a);
  copy.store = a.store;
  a.kill();
  boot(a);  // a term that the copy has not had
  a.kill();
  boot(copy);
  run(5000);
  EXPECT_TRUE(copy.serves());
  EXPECT_TRUE(copy.follows());
}

TEST_F(LeadershipTest, ACopyThatHasHeardTheOtherWaitsAndFollowsUnderAnotherStoreId) {
  boot(a);
  copy.store = a.store;  // of the run that serves
  boot(copy);
  EXPECT_FALSE(both_serve(a, copy, 5));
  ASSERT_TRUE(a.serves());
  const std::string store_id = copy.gateway->identity().id.store_id;
  a.client->drop();
  run(3000);
  EXPECT_FALSE(copy.serves()) << "the link may come back at once";
  run(2 * kTakeoverMs);
  EXPECT_TRUE(copy.serves());
  EXPECT_TRUE(copy.follows());
  EXPECT_NE(copy.gateway->identity().id.store_id, store_id)
      << "what the other one mirrored is no mirror of this one, and what it lacks is not deleted";
}

TEST_F(LeadershipTest, ACopyThatServedWhileThisOneAdoptedIsFollowed) {
  a.known_nodes = copy.known_nodes = {"n1"};  // silent, so adopt mode goes on
  boot(a, FirstBoot::lost);
  copy.store = a.store;
  boot(copy, FirstBoot::lost);
  a.client->drop();
  run(2 * kTakeoverMs);
  ASSERT_TRUE(copy.serves());
  ASSERT_TRUE(a.adopts());
  copy.stop();
  a.client->connect();
  run(2 * kTakeoverMs);
  EXPECT_TRUE(a.serves());
  EXPECT_TRUE(a.follows()) << "the nodes that had answered may have been given pods by the copy";
}

TEST_F(LeadershipTest, AnEmptyBrokerDoesNotMakeAWaitingOneForgetThatAnotherHasServed) {
  boot(a);
  boot(b);
  a.kill();
  broker.restart(100);
  run(kTakeoverMs / 2);
  EXPECT_FALSE(b.serves()) << "the other one may come back with the broker";
  run(2 * kTakeoverMs);
  EXPECT_TRUE(b.serves());
  EXPECT_TRUE(b.follows());
}

TEST_F(LeadershipTest, RestartsOfTheOneThatWaitsLeaveNothingAndLockNobodyOut) {
  boot(a);
  for (int i = 0; i < 70; ++i) {
    boot(b);
    b.kill();
    run(100);
  }
  EXPECT_LT(presences(), 5u);
  boot(b);
  copy.store = a.store;
  boot(copy);
  EXPECT_FALSE(both_serve(a, b, 100) || both_serve(a, copy, 100));
  EXPECT_TRUE(a.serves());
}

TEST_F(LeadershipTest, WhatSomebodyClearsAtTheBrokerIsSaidAgain) {
  boot(a);
  for (const std::string& topic : {topics.leader(), topics.gateway_presence("north", a.run)}) {
    Message empty;
    empty.topic = topic;
    empty.retain = true;
    op_.client.send(empty);
    run(500);
    EXPECT_NE(retained(topic), "") << topic;
  }
  EXPECT_TRUE(a.serves());
  boot(b);
  EXPECT_FALSE(b.serves());
}

TEST_F(LeadershipTest, ServesOverALinkThatIsSlowerThanItsClaims) {
  broker.set_policy([](const Leg&, Random&) { return Fate{.delay = 1600}; });
  boot(a);
  run(20'000);
  EXPECT_TRUE(a.serves());
}

TEST_F(LeadershipTest, OneThatHasServedAndWaitsNowLeavesRequestsToTheOtherOfItsName) {
  Machine same(broker, clock, timers, "north", "machine-c");
  boot(a);
  a.client->drop();
  boot(same);
  for (int i = 0; i < 25; ++i) {
    run(1000);
    ASSERT_TRUE(same.gateway->finish_turn().is_success());
  }
  ASSERT_TRUE(same.serves());
  a.client->connect();
  run(1000);
  ASSERT_FALSE(a.serves());
  op_.heard.clear();
  Message request;
  request.topic = topics.gateway_api("north");
  request.payload = R"({"op":"get","kind":"pod"})";
  request.response_topic = "berth/v1/default/clients/op/answers";
  op_.client.send(request);
  run(100);
  ASSERT_TRUE(same.gateway->finish_turn().is_success());
  run(500);
  ASSERT_EQ(op_.heard.size(), 1u);
  EXPECT_EQ(*Json::parse(op_.heard[0].payload)->find("ok"), Json(true));
}

TEST_F(LeadershipTest, WhoStoodStillDoesNotTakeOthersForGone) {
  boot(a);
  boot(b);
  clock.now_ms += 3 * kTakeoverMs;  // both were suspended
  EXPECT_FALSE(both_serve(a, b, 20));
  EXPECT_TRUE(a.serves());
  EXPECT_FALSE(b.serves());
}

TEST_F(LeadershipTest, OneThatCannotReadItsStoreMakesRoom) {
  a.hold = "the store cannot be read";
  boot(a);
  EXPECT_TRUE(a.serves()) << "alone it tells operators why it does nothing";
  boot(b);
  run(2 * kTakeoverMs);
  EXPECT_TRUE(b.serves());
  EXPECT_FALSE(a.serves());
}

TEST_F(LeadershipTest, ALeaderThatCannotBeReadIsFollowed) {
  Message later;
  later.topic = topics.leader();
  later.payload = R"({"gateway":"east","of":"a later release"})";
  later.retain = true;
  op_.client.send(later);
  run(0);
  boot(a);
  EXPECT_TRUE(a.serves());
  EXPECT_TRUE(a.follows());
}

TEST_F(LeadershipTest, ManyStartsWithoutABrokerAreNoOtherGateway) {
  boot(a);
  a.kill();
  for (int i = 0; i < 40; ++i) {
    a.boot();
    a.client->disconnect();
    a.kill();
  }
  boot(a);
  EXPECT_TRUE(a.serves());
  EXPECT_FALSE(a.follows());
}

TEST_F(LeadershipTest, AShortLossOfTheLinkChangesNothing) {
  boot(a);
  boot(b);
  a.client->drop();
  run(1000);
  EXPECT_FALSE(a.serves());
  a.client->connect();
  run(500);
  EXPECT_TRUE(a.serves());
  EXPECT_FALSE(a.adopts());
  EXPECT_FALSE(b.serves());
}

TEST_F(LeadershipTest, WhenTheBrokerForgetsEverythingOneServesAllTheSame) {
  boot(a);
  boot(b);
  broker.restart(100);
  run(3000);
  EXPECT_TRUE(a.serves()) << "the other one remembers it";
  EXPECT_FALSE(b.serves());
}

TEST_F(LeadershipTest, OneThatHearsAnotherServeStopsUntilItIsClearWhoDoes) {
  boot(a);
  boot(b);
  Message claim;  // as if the first had not been heard
  claim.topic = topics.gateway_presence("south", b.run);
  claim.payload = encode(GatewayPresence{PresenceState::serving, "machine-b", 99, {}});
  op_.client.send(claim);
  run(100);
  EXPECT_FALSE(a.serves());
  run(kTakeoverMs);
  EXPECT_NE(a.serves(), b.serves());
  EXPECT_TRUE(a.log.warnings.back().contains("another gateway")) << a.log.warnings.back();
}

TEST_F(LeadershipTest, TheLateWillOfAnEarlierConnectionIsTakenBack) {
  boot(a);
  Message will = a.leadership->will();
  op_.client.send(will);
  run(500);
  EXPECT_TRUE(a.serves());
  EXPECT_TRUE(retained(will.topic).contains("serving"));
}

TEST_F(LeadershipTest, PresencesOfThoseThatAreGoneAreCleared) {
  for (int i = 0; i < 5; ++i) {
    boot(a);
    a.kill();
  }
  boot(a);
  EXPECT_EQ(presences(), 1u);
}

TEST_F(LeadershipTest, ThePresenceThatAnEarlierReleaseHasLeftIsCleared) {
  Message old;
  old.topic = "berth/v1/default/gateways/north/presence";
  old.payload = R"({"online":true,"storeId":"s","term":"7"})";
  old.retain = true;
  op_.client.send(old);
  run(0);
  boot(a);
  EXPECT_TRUE(a.serves());
  EXPECT_EQ(retained(old.topic), "");
  EXPECT_EQ(a.log.warnings, std::vector<std::string>{});
}

TEST_F(LeadershipTest, WhatIsNoPresenceIsRefusedByNameAndChangesNothing) {
  boot(a);
  for (const auto& [topic, payload, why] : std::vector<std::tuple<std::string, std::string, std::string>>{
           {topics.leader(), "{}", "gateway"},
           {topics.leader(), R"({"gateway":"x","machine":"m","storeId":"s","term":1})", "term"},
           {topics.gateway_presence("south", "r"), "[]", "object"},
           {topics.gateway_presence("south", "r"), R"({"state":"gone","machine":"m","claim":1})", "state"},
           {topics.gateway_presence("south", "r"), R"({"state":"serving","machine":"m","claim":-1})", "claim"},
           {topics.gateway_presence("No Name", "r"), R"({"state":"serving","machine":"m","claim":1})", "name"}}) {
    Message message;
    message.topic = topic;
    message.payload = payload;
    a.log.warnings.clear();
    op_.client.send(message);
    run(500);
    ASSERT_EQ(a.log.warnings.size(), 1u) << payload;
    EXPECT_TRUE(a.log.warnings[0].contains(why)) << a.log.warnings[0];
    EXPECT_TRUE(a.serves()) << payload;
  }
}

TEST_F(LeadershipTest, ManyThatClaimToBeGatewaysFillNoMemory) {
  boot(a);
  for (int i = 0; i < 500; ++i) {
    Message message;
    message.topic = topics.gateway_presence("g" + std::to_string(i), "r");
    message.payload = encode(GatewayPresence{PresenceState::waiting, "m", 1, {}});
    op_.client.send(message);
  }
  run(500);
  EXPECT_TRUE(a.serves());
  boot(b);
  EXPECT_FALSE(b.serves());
}

}  // namespace
}  // namespace berth
