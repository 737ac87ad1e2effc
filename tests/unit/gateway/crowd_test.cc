// A whole fleet that returns at once (rules.md, Comparison): everybody is known again, nobody is called silent who is
// not, and nothing grows with the number of times it happens.
#include <malloc.h>

#include <algorithm>
#include <set>

#include "tests/unit/gateway/gateway_fixture.h"

namespace berth {

class CrowdTest : public GatewayTest {
 protected:
  int nodes = BERTH_CROWD;  // thousands; fewer under an emulator or sanitizers

  static std::string name(int number) { return "n" + std::to_string(number); }
  void hear(const std::string& topic, const std::string& payload) {
    Message message;
    message.topic = topic;
    message.payload = payload;
    gateway->on_message(message);
  }
  // The broker is back: first the connection, then all that is retained, then our own barrier.
  void reconnect(int session) {
    transport.sent.clear();
    transport.up = true;
    gateway->on_link(true);
    turn();
    const std::string who = R"({"incarnation":"i1","session":")" + std::to_string(session) + "\"";
    for (int number = 0; number < nodes; ++number) {
      hear(topics.node_state(name(number)),
           who + R"(,"sequence":"1","allocatable":{"cpu":"2","memory":"1Gi","pods":"20"}})");
      hear(topics.node_presence(name(number)), who + R"(,"online":true})");
    }
    turn();
    return_fences();
  }
  // Each node answers the List it got; what it was sent is forgotten.
  int answer_lists() {
    int lists = 0;
    transport.on_wire.clear();
    for (const Message& message : std::exchange(transport.sent, {})) {
      const Result<Request> request = decode_request(message.payload);
      if (!message.topic.ends_with("/requests") || !request || request->type != RequestType::list) continue;
      ++lists;
      Answer listing(AnswerType::slots);
      listing.incarnation = "i1";
      listing.gateway_id = request->gateway_id;
      listing.list_id = request->list_id;
      listing.pages = 1;
      const std::string node = message.topic.substr(topics.root().size() + 6);
      hear(topics.answers("gateway", node.substr(0, node.find('/'))), encode(listing));
    }
    turn();
    return lists;
  }
  void come_up(int number_of_nodes) {
    nodes = number_of_nodes;
    start();
    reconnect(1);
    answer_lists();
  }
  // A pod for one node only.
  void apply_to(int node, int number) {
    apply(pod("p" + std::to_string(number), "u" + std::to_string(number), "1Mi",
              R"(,"nodeSelector":{"kubernetes.io/hostname":")" + name(node) + "\"}"));
  }
  // Those sent to the node, each once, in their order.
  std::vector<Request> pre_binds(int node) const {
    std::vector<Request> found;
    std::set<std::string> uids;
    for (const Message& message : transport.sent) {
      if (message.topic != topics.node_requests(name(node))) continue;
      const Result<Request> request = decode_request(message.payload);
      if (!request || request->type != RequestType::pre_bind || !uids.insert(request->uid).second) continue;
      found.push_back(*request);
    }
    return found;
  }
  // Every PreBind and Bind is answered, those of one node excepted, until nothing more is asked.
  void answer_all_but(int mute) {
    for (std::size_t at = 0; at < transport.sent.size(); ++at) {
      const Message message = transport.sent[at];
      const Result<Request> request = decode_request(message.payload);
      if (!message.topic.ends_with("/requests") || !request || message.topic == topics.node_requests(name(mute))) {
        continue;
      }
      const bool pre_bind = request->type == RequestType::pre_bind;
      if (!pre_bind && request->type != RequestType::bind) continue;
      const std::string node = message.topic.substr(topics.root().size() + 6);
      answer(node.substr(0, node.find('/')), answer_to(*request, pre_bind ? AnswerType::pre_bound : AnswerType::bound));
    }
  }
  std::size_t bound() const {
    std::size_t count = 0;
    for (const auto& [uid, binding] : gateway->bindings()) count += binding.row.phase == Phase::bound ? 1u : 0u;
    return count;
  }
  int reachable() const {
    int count = 0;
    for (const auto& [node, device] : gateway->nodes().all()) count += device.reachable ? 1 : 0;
    return count;
  }
  int called_silent() const {
    int count = 0;
    for (const std::string& warning : log.warnings) count += warning.starts_with("node silent") ? 1 : 0;
    return count;
  }
};

TEST_F(CrowdTest, NodesThatReconnectAllAtOnceAreAllKnownAgainAndNoneIsCalledSilent) {
  start();
  reconnect(1);
  answer_lists();
  ASSERT_FALSE(gateway->identity().adopting);
  ASSERT_EQ(reachable(), nodes);
  std::vector<std::size_t> used;
  for (int round = 2; round < 6; ++round) {
    transport.up = false;
    gateway->on_link(false);
    turn();
    advance(120'000);  // longer than three heartbeats: the silence is the gateway's own
    EXPECT_EQ(reachable(), nodes);
    reconnect(round);
    const int lists = answer_lists();
    EXPECT_GE(lists, nodes) << "every node is compared";
    EXPECT_LE(lists, 3 * nodes) << "and not again and again";
    advance(5000);
    transport.sent.clear();
    EXPECT_EQ(reachable(), nodes);
    EXPECT_EQ(called_silent(), 0);
    used.push_back(mallinfo2().uordblks);
  }
  // One of the last two: a table may just have grown to be emptied again.
  const std::size_t last = std::min(used[used.size() - 1], used[used.size() - 2]);
  EXPECT_LE(last, used.front() + used.front() / 50) << "memory stays flat";
}

TEST_F(CrowdTest, NodesAreReadyForTheFirstPodBeforeItComes) {
  come_up(150);
  advance(5'000);
  EXPECT_EQ(gateway->scheduler().snapshot().nodes().size(), 150u);
}

TEST_F(CrowdTest, OfManyNodesOnlyThoseThatSayNothingAreCalledSilent) {
  nodes /= 10;
  start();
  reconnect(1);
  answer_lists();
  for (int second = 0; second < 120; second += 5) {
    for (int number = 1; number < nodes; ++number) {  // n0 says nothing
      hear(topics.node_heartbeat(name(number)),
           R"({"incarnation":"i1","session":"1","sequence":")" + std::to_string(2 + second) + "\"}");
    }
    turn();
    transport.sent.clear();
    advance(5000);
  }
  EXPECT_EQ(called_silent(), 1);
  EXPECT_EQ(reachable(), nodes - 1);
}

TEST_F(CrowdTest, ANodeThatAnswersNothingTakesNoMoreOfTheWindowThanItsOwnShare) {
  options.max_rows_in_flight = 8;
  options.max_rows_per_node = 4;
  come_up(10);
  for (int number = 0; number < 12; ++number) apply_to(0, number);
  for (int number = 12; number < 40; ++number) apply_to(1 + number % 9, number);
  answer_all_but(0);
  EXPECT_EQ(bound(), 28u) << "all but those of the one that says nothing";
  EXPECT_EQ(pre_binds(0).size(), 4u);
  EXPECT_EQ(gateway->bindings().size(), 40u) << "the others are decided all the same";
  EXPECT_NE(why("p11").find("n0 is chosen"), std::string::npos) << why("p11");

  answer("n0", answer_to(pre_binds(0)[1], AnswerType::rejected));
  ASSERT_EQ(pre_binds(0).size(), 5u) << "one answered, one more asked";
  EXPECT_EQ(pre_binds(0)[4].uid, "u4") << "in the order of their decisions";

  transport.sent.clear();
  advance(options.promise_ms);
  for (const auto& [uid, binding] : gateway->bindings()) EXPECT_FALSE(binding.progress().deferred) << uid;
  EXPECT_EQ(gateway->releases().size(), 4u) << "what was asked and not answered";
}

TEST_F(CrowdTest, WhatWaitsForABusyNodeIsDeletedAtOnceAndDecidedAgainAfterARestart) {
  options.max_rows_per_node = 4;
  come_up(1);
  for (int number = 0; number < 6; ++number) apply_to(0, number);
  api(R"({"op":"delete","kind":"Pod","name":"p4"})");
  EXPECT_EQ(gateway->objects().pods().find("default/p4"), nullptr);
  EXPECT_EQ(gateway->bindings().size(), 5u);
  gateway.reset();
  store.crash();
  start();
  reconnect(2);
  answer_lists();
  EXPECT_EQ(phase("u3"), Phase::prebind);
  EXPECT_EQ(phase("u5"), Phase::none);
  advance(2 * options.resend_ms);
  answer_all_but(-1);
  EXPECT_EQ(bound(), 5u);
}

TEST_F(CrowdTest, WhatWaitsForABusyNodeIsAdoptedOnceAnotherGatewayHasSpoken) {
  options.max_rows_per_node = 4;
  come_up(1);
  for (int number = 0; number < 6; ++number) apply_to(0, number);
  receive(topics.node_presence("n0"), R"({"incarnation":"i1","session":"2","online":true})");
  const std::uint64_t other = gateway->identity().id.term + 5;
  answer("n0", proven_superseded("n0", {other, "elsewhere"}));
  ASSERT_TRUE(gateway->identity().adopting);
  EXPECT_FALSE(gateway->bindings().contains(std::string("u4")));
  slots("n0", {{"u4", {other, 9}, SlotState::running, pod("p4", "u4")}});
  EXPECT_EQ(phase("u4"), Phase::bound);
  EXPECT_TRUE(gateway->releases().empty());
}

TEST_F(CrowdTest, RowsOfNodesThatAreGoneDoNotFillTheWindow) {
  options.max_rows_in_flight = 8;
  come_up(3);
  for (int number = 0; number < 8; ++number) apply_to(number / 4, number);
  for (int node : {0, 1}) {  // Bind has no deadline: these rows stay as long as their nodes stay away
    for (const Request& request : pre_binds(node)) answer(name(node), answer_to(request, AnswerType::pre_bound));
    hear(topics.node_presence(name(node)), R"({"incarnation":"i1","session":"1","online":false})");
  }
  turn();
  apply_to(2, 8);
  EXPECT_EQ(phase("u0"), Phase::bind);
  EXPECT_EQ(phase("u8"), Phase::prebind);
}

TEST_F(CrowdTest, ANodeThatFloodsDelaysOnlyItself) {
  come_up(2);
  apply_to(1, 0);
  const auto refused = [this] {
    return std::count_if(log.warnings.begin(), log.warnings.end(),
                         [](const std::string& line) { return line.starts_with("refused"); });
  };
  for (int number = 0; number < 2000; ++number) {
    hear(topics.root() + "nodes/n0/pods/default/x" + std::to_string(number), "no JSON");
  }
  hear(topics.node_heartbeat("n0"), R"({"incarnation":"i1","sequence":"6"})");
  hear(topics.node_heartbeat("n0"), R"({"incarnation":"i1","sequence":"7"})");
  const Request asked = pre_binds(1)[0];
  hear(topics.answers("gateway", "n1"), encode(answer_to(asked, AnswerType::pre_bound)));
  EXPECT_EQ(phase("u0"), Phase::bind) << "heard at once, after all that";
  const auto in_one_turn = refused();
  EXPECT_LE(in_one_turn, 32);
  turn();
  timers.run_due(clock.now_ms);
  turn();
  EXPECT_GT(refused(), in_one_turn);
  EXPECT_LE(refused(), 2 * in_one_turn) << "the rest in the turns that follow";
  for (int turns = 0; turns < 100; ++turns) advance(1);
  EXPECT_LE(refused(), 600) << "not all of it was kept";
  receive(topics.root() + "nodes/n0/pods/default/late", "no JSON");
  EXPECT_NE(log.warnings.back().find("default/late"), std::string::npos) << "and it is heard again";
}

TEST_F(CrowdTest, AListOfAnswersIsHeardToItsEndAndCountsAsManyMessages) {
  come_up(1);
  const auto refused = [this] {
    return std::count_if(log.warnings.begin(), log.warnings.end(),
                         [](const std::string& line) { return line.starts_with("refused"); });
  };
  std::string items = "{}";
  for (std::size_t more = 1; more < kMaxItems; ++more) items += ",{}";
  for (int number = 0; number < 100; ++number) hear(topics.answers("gateway", "n0"), R"({"items":[)" + items + "]}");
  EXPECT_EQ(refused(), static_cast<std::ptrdiff_t>(kMaxItems)) << "one list, and no other in this turn";
  turn();
  timers.run_due(clock.now_ms);
  turn();
  EXPECT_EQ(refused(), static_cast<std::ptrdiff_t>(2 * kMaxItems));
}

TEST_F(CrowdTest, WhatANodeIsAskedInOneTurnLeavesInOneMessage) {
  come_up(2);
  for (int number = 0; number < 5; ++number) {
    hear(topics.desired(Kind::pod, "default/p" + std::to_string(number)),
         pod("p" + std::to_string(number), "u" + std::to_string(number), "1Mi"));
  }
  transport.on_wire.clear();
  turn();
  EXPECT_EQ(std::count_if(transport.on_wire.begin(), transport.on_wire.end(),
                          [](const Message& message) { return message.topic.ends_with("/requests"); }),
            2);
  ASSERT_EQ(pre_binds(0).size() + pre_binds(1).size(), 5u);
  // A wrong answer among them costs the others nothing.
  const std::vector<Request> asked = pre_binds(0);
  std::vector<Answer> answers;
  for (const Request& request : asked) answers.push_back(answer_to(request, AnswerType::pre_bound));
  answers.front().uid = "not/an/id";
  hear(topics.answers("gateway", "n0"), encode_all(answers).front());
  EXPECT_EQ(phase(asked.front().uid), Phase::prebind);
  for (std::size_t index = 1; index < asked.size(); ++index) EXPECT_EQ(phase(asked[index].uid), Phase::bind);
}

TEST_F(CrowdTest, ANodeThatSaysMoreOnTheSameTopicsIsBoundedToo) {
  come_up(1);
  for (const std::string& payload : {std::string("no JSON"), std::string(60'000, 'x')}) {
    for (int number = payload.size() > 1000 ? 100 : 0; number < 300; ++number) {  // the first are heard at once
      hear(topics.root() + "nodes/n0/pods/default/x" + std::to_string(number), payload);
    }
  }
  EXPECT_TRUE(std::any_of(log.warnings.begin(), log.warnings.end(), [](const std::string& line) {
    return line.starts_with("node inbox overflow, messages dropped");
  }));
}

TEST_F(CrowdTest, OfWhatIsPutOffTheNewestOfATopicIsHeardInItsOrder) {
  come_up(1);
  transport.sent.clear();
  for (int number = 0; number < 200; ++number) {
    hear(topics.node_heartbeat("n0"), R"({"incarnation":"i1","sequence":")" + std::to_string(number) + "\"}");
  }
  turn();
  for (int turns = 0; turns < 10; ++turns) advance(1);
  std::vector<std::uint64_t> answered;
  for (const Message& message : transport.sent) {
    const Result<Request> request = decode_request(message.payload);
    if (message.topic == topics.node_requests("n0") && request && request->type == RequestType::heartbeat) {
      answered.push_back(request->sequence);
    }
  }
  ASSERT_FALSE(answered.empty());
  EXPECT_TRUE(std::is_sorted(answered.begin(), answered.end()));
  EXPECT_EQ(answered.back(), 199u);
  EXPECT_LT(answered.size(), 40u);
}

}  // namespace berth
