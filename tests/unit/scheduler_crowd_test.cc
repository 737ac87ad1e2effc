// A whole fleet that comes back at once (handshake.md §5): everybody is known again, nobody is called silent who is
// not, and nothing grows with the number of times it happens.
#include <malloc.h>

#include "tests/unit/gateway_fixture.h"

namespace berth {

class CrowdTest : public GatewayTest {
 protected:
  int nodes = BERTH_CROWD;  // thousands; fewer under an emulator

  static std::string name(int number) { return "n" + std::to_string(number); }
  void hear(const std::string& topic, const std::string& payload) {
    Message message;
    message.topic = topic;
    message.payload = payload;
    gateway->on_message(message);
  }
  // The broker is back: first the connection, then all that is retained, then our own fence.
  void reconnect(int session) {
    transport.sent.clear();
    transport.up = true;
    gateway->on_link(true);
    turn();
    const std::string who = R"({"incarnation":"i1","session":")" + std::to_string(session) + "\"";
    for (int number = 0; number < nodes; ++number) {
      hear(topics.node_state(name(number)),
           who + R"(,"sequence":"1","allocatable":{"cpu":"2","memory":"1Gi","pods":"10"}})");
      hear(topics.node_presence(name(number)), who + R"(,"online":true})");
    }
    turn();
    for (const Message& message : std::vector<Message>(transport.sent)) {
      if (message.topic == topics.gateway_fence("gateway")) gateway->on_message(message);
    }
    turn();
  }
  // Each node answers the List it got; what it was sent is forgotten.
  int answer_lists() {
    int lists = 0;
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

}  // namespace berth
