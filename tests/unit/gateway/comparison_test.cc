// What devices list against what the gateway has recorded (core/handshake/rules.md P8), also once its store is lost.
#include "tests/unit/gateway/gateway_fixture.h"

namespace berth {
namespace {

TEST_F(GatewayTest, ASlotWithoutARowIsReleased) {
  start_connected();
  device("n1");
  const Epoch given{gateway->identity().id.term, store.next_position() - 1};
  slots("n1", {{"ghost", given, SlotState::running, "{}"}});
  ASSERT_EQ(gateway->releases().size(), 1u);
  EXPECT_EQ(request("n1")->type, RequestType::release);
  EXPECT_EQ(request("n1")->uid, "ghost");
  answer("n1", AnswerType::released);
  EXPECT_TRUE(gateway->releases().empty());
}

TEST_F(GatewayTest, ARowWithoutASlotIsAskedAgainNeverConcluded) {
  start_connected();
  device("n1");
  bind_pod("web", "u1", "n1");
  restart();
  transport.sent.clear();
  receive(topics.node_presence("n1"), R"({"incarnation":"i1","session":"2","online":true})");
  slots("n1", {});
  EXPECT_EQ(phase("u1"), Phase::bound);
  EXPECT_EQ(request("n1")->type, RequestType::bind);
}

TEST_F(GatewayTest, ALostStorePlacesNothingUntilEveryKnownNodeHasAnswered) {
  options.known_nodes = {"n1", "n2"};
  start_connected();
  device("n1");
  device("n2", "i2");
  receive(topics.desired(Kind::pod, "default/web"), pod("web", "u1"), true);
  receive(topics.desired(Kind::pod, "default/more"), pod("more", "u2"), true);
  EXPECT_TRUE(gateway->identity().adopting);
  EXPECT_EQ(gateway->bindings().size(), 0u);
  slots("n1", {{"u1", {1, 3}, SlotState::running, pod("web", "u1")}});
  EXPECT_EQ(phase("u1"), Phase::bound);
  EXPECT_EQ(phase("u2"), Phase::none);
  restart();
  EXPECT_TRUE(gateway->identity().adopting) << "durable";
  EXPECT_EQ(gateway->identity().adopt_nodes, (std::set<std::string>{"n1", "n2"}));
  slots("n1", {{"u1", {1, 3}, SlotState::running, pod("web", "u1")}});
  receive(topics.node_presence("n2"), R"({"incarnation":"i2","session":"2","online":true})");
  slots(
      "n2",
      {{"u1", {1, 2}, SlotState::running, pod("web", "u1")}, {"lost", {1, 1}, SlotState::running, pod("lost", "lost")}},
      "i2");
  EXPECT_FALSE(gateway->identity().adopting);
  EXPECT_EQ(gateway->bindings().at("u1").row.node, "n1") << "the highest running epoch keeps the row";
  EXPECT_TRUE(gateway->releases().contains("n2/u1/1.2"));
  EXPECT_EQ(phase("lost"), Phase::bound) << "its object was made from what the device holds";
  EXPECT_EQ(phase("u2"), Phase::prebind);
}

TEST_F(GatewayTest, ALostStoreWaitsForTheNodesThatTheBrokerShowsThoughNobodyNamedThem) {
  start();
  gateway->on_link(true);
  device("n1");
  device("gone");
  receive(topics.node_presence("gone"), R"({"incarnation":"i1","session":"1","online":false})");
  receive(topics.desired(Kind::pod, "default/web"), pod("web", "u1"), true);
  receive(topics.root() + "status/pods/default/web", R"({"phase":"Running"})", true);
  connect();
  EXPECT_TRUE(gateway->identity().adopting);
  EXPECT_EQ(gateway->identity().adopt_nodes, (std::set<std::string>{"gone", "n1"}));
  EXPECT_EQ(gateway->bindings().size(), 0u);
  slots("n1", {{"u1", {7, 3}, SlotState::running, pod("web", "u1")}});
  EXPECT_EQ(phase("u1"), Phase::bound) << "where it was";
  apply(pod("late", "u2"));
  EXPECT_EQ(phase("u2"), Phase::none) << "the other is offline, and may run it";
  api(R"({"op":"forget","kind":"Node","name":"gone"})");
  EXPECT_FALSE(gateway->identity().adopting);
  EXPECT_EQ(phase("u2"), Phase::prebind);
}

TEST_F(GatewayTest, WhatANodeSaidOfAPodBeforeItsRowWasAdoptedIsAskedForAgain) {
  options.known_nodes = {"n1"};
  start_connected();
  device("n1");
  receive(topics.desired(Kind::pod, "default/web"), pod("web", "u1"), true);
  const std::string running = R"({"uid":"u1","epoch":"1.3","incarnation":"i1","phase":"Running"})";
  receive(topics.root() + "nodes/n1/pods/default/web", running, true);
  slots("n1", {{"u1", {1, 3}, SlotState::running, pod("web", "u1")}});
  ASSERT_EQ(phase("u1"), Phase::bound);
  const auto last_list = [this] {
    Request found(RequestType::heartbeat);
    for (const Message& message : transport.sent) {
      const Result<Request> request = decode_request(message.payload);
      if (message.topic == topics.node_requests("n1") && request && request->type == RequestType::list)
        found = *request;
    }
    return found;
  };
  EXPECT_TRUE(last_list().report);
  const std::uint64_t id = last_list().list_id;
  receive(topics.root() + "nodes/n1/pods/default/web", running);
  slots("n1", {{"u1", {1, 3}, SlotState::running, pod("web", "u1")}});
  EXPECT_EQ(*describe_pod("web").find("object")->find("status")->find("phase"), Json("Running"));
  EXPECT_EQ(last_list().list_id, id) << "once";
}

TEST_F(GatewayTest, AnOldListingDoesNotBringBackWhatHasEndedSince) {
  options.known_nodes = {"n1", "n2"};
  start_connected();
  device("n1");
  receive(topics.desired(Kind::pod, "default/web"), pod("web", "u1"), true);
  slots("n1", {{"u1", {1, 3}, SlotState::running, pod("web", "u1")}});
  ASSERT_EQ(phase("u1"), Phase::bound);
  receive(topics.node_presence("n1"), R"({"incarnation":"i1","session":"2","online":true})");
  ASSERT_EQ(request("n1")->type, RequestType::bind);  // it was listed again, and the row is asked about
  answer("n1", answer_to(*request("n1"), AnswerType::stale));
  ASSERT_EQ(phase("u1"), Phase::none);
  slots("n1", {{"u1", {1, 3}, SlotState::running, pod("web", "u1")}});  // answered before, read after
  EXPECT_TRUE(gateway->identity().adopting);
  EXPECT_EQ(phase("u1"), Phase::none) << "it would be bound where nothing runs";
}

TEST_F(GatewayTest, SupersededWithAProofRaisesTheTermAndChangesNoRow) {
  start_connected();
  device("n1");
  apply(pod("web", "u1"));
  const std::uint64_t other = gateway->identity().id.term + 5;
  answer("n1", proven_superseded("n1", {other, "elsewhere"}));
  EXPECT_EQ(gateway->identity().id.term, other + 1);
  EXPECT_TRUE(gateway->identity().adopting);
  EXPECT_EQ(phase("u1"), Phase::prebind);
  EXPECT_EQ(request("n1")->gateway_id.term, other + 1);
  restart();
  EXPECT_GT(gateway->identity().id.term, other + 1);
}

}  // namespace
}  // namespace berth
