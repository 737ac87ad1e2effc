// `node forget` (P9), played by hand.
#include "tests/unit/gateway/gateway_fixture.h"

namespace berth {

class RetireNodeTest : public GatewayTest {
 protected:
  Json forget(const std::string& node) { return api(R"({"op":"forget","kind":"Node","name":")" + node + "\"}"); }
  // One pod bound on node "a".
  Request bind_one(const std::string& more = "") {
    start_connected();
    device("a", "i1", R"({"cpu":"2","memory":"1Gi","pods":"10"})", more);
    apply(pod("p", "u1"));
    const Request asked = *request("a");
    answer("a", answer_to(asked, AnswerType::pre_bound));
    answer("a", answer_to(asked, AnswerType::bound));
    EXPECT_EQ(gateway->bindings().at("u1").row.phase, Phase::bound);
    return asked;
  }
  void answer(const std::string& node, const Answer& given) { receive(topics.answers("gateway", node), encode(given)); }
  std::optional<Request> last_list(const std::string& node) {
    for (auto it = transport.sent.rbegin(); it != transport.sent.rend(); ++it) {
      if (it->topic != topics.node_requests(node)) continue;
      Result<Request> decoded = decode_request(it->payload);
      if (decoded && decoded->type == RequestType::list) return *decoded;
    }
    return std::nullopt;
  }
  Answer slots(const Request& list, const std::vector<SlotReport>& held) {
    Answer given(AnswerType::slots);
    given.incarnation = "i1";
    given.gateway_id = list.gateway_id;
    given.pages = 1;
    given.list_id = list.list_id;
    given.slots = held;
    return given;
  }
};

TEST_F(RetireNodeTest, TheRowGoesAndThePodIsPlacedElsewhere) {
  bind_one();
  device("b", "i2");
  EXPECT_EQ(forget("a").find("ok")->as_bool(), true);
  EXPECT_EQ(gateway->nodes().all().count("a"), 0u);
  EXPECT_EQ(request("b")->type, RequestType::pre_bind);
  EXPECT_EQ(gateway->bindings().at("u1").row.node, "b");
}

TEST_F(RetireNodeTest, AnUnknownNodeCannotBeForgotten) {
  start_connected();
  EXPECT_EQ(forget("ghost").find("error")->as_string(), "Node \"ghost\" not found");
  EXPECT_EQ(forget("No Name").find("error")->as_string(), "name: expected the name of a node");
}

TEST_F(RetireNodeTest, WhatItLeftAtTheBrokerIsNoReturn) {
  bind_one();
  forget("a");
  receive(topics.node_state("a"), R"({"incarnation":"i1","session":"1","sequence":"1"})", true);
  receive(topics.node_presence("a"), R"({"incarnation":"i1","session":"1","online":false})", true);
  EXPECT_EQ(gateway->nodes().all().count("a"), 0u);
}

TEST_F(RetireNodeTest, ItReturnsReleasedAndGetsNoPodBeforeItsListing) {
  const Request asked = bind_one();
  forget("a");
  restart();  // durable
  transport.sent.clear();
  device("a");
  ASSERT_TRUE(last_list("a").has_value());
  EXPECT_TRUE(last_list("a")->report);  // its facts were no news while it was silent
  device("a");
  EXPECT_FALSE(request("a").has_value());  // no PreBind: the pod waits though the node is heard
  const std::optional<Request> list = last_list("a");
  ASSERT_TRUE(list.has_value());
  EXPECT_GT(list->floor, asked.epoch);
  answer("a", slots(*list, {{"u1", asked.epoch, SlotState::running, pod("p", "u1"), {}}}));
  ASSERT_TRUE(request("a").has_value());
  EXPECT_EQ(request("a")->type, RequestType::release);
  EXPECT_TRUE(gateway->identity().retired.empty());
  answer("a", answer_to(*request("a"), AnswerType::released));
  advance(3000);  // backoff of the attempt that found no node
  EXPECT_EQ(request("a")->type, RequestType::pre_bind);
}

TEST_F(RetireNodeTest, AdoptModeWaitsForItNoMore) {
  options.known_nodes = {"a"};
  start_connected();
  EXPECT_TRUE(gateway->identity().adopting);
  forget("a");
  EXPECT_FALSE(gateway->identity().adopting);
  EXPECT_TRUE(gateway->identity().retired.contains("a/"));
  restart();
  EXPECT_FALSE(gateway->identity().adopting);
  EXPECT_EQ(gateway->nodes().all().count("a"), 0u);
}

// Found by the simulator, seed 586.
TEST_F(RetireNodeTest, NoBindLeavesInTheTurnThatForgetsTheNode) {
  start_connected();
  device("a");
  apply(pod("p", "u1"));
  const Request asked = *request("a");
  Message prebound;
  prebound.topic = topics.answers("gateway", "a");
  prebound.payload = encode(answer_to(asked, AnswerType::pre_bound));
  gateway->on_message(prebound);  // one turn with what follows
  forget("a");
  EXPECT_EQ(request("a")->type, RequestType::pre_bind);
}

// Found by the simulator, seed 198.
TEST_F(RetireNodeTest, DeletesThatWaitedAreCarriedOutWhenTheLastNodeGoesBeforeTheFence) {
  options.known_nodes = {"a"};
  start_connected();
  apply(pod("p", "u1"));
  api(R"({"op":"delete","kind":"Pod","name":"p"})");
  ASSERT_NE(gateway->objects().pods().find("default/p"), nullptr);  // adopt mode keeps it until the node has answered
  gateway.reset();
  transport.up = false;
  start();
  forget("a");
  connect();
  EXPECT_FALSE(gateway->identity().adopting);
  EXPECT_EQ(gateway->objects().pods().find("default/p"), nullptr);
}

// Found by the simulator, seed 167.
TEST_F(RetireNodeTest, AdoptModeForgetsWhicheverIncarnationReturns) {
  options.known_nodes = {"a"};
  start_connected();
  device("a", "i0");  // an old message: it is i1 by now
  forget("a");
  EXPECT_TRUE(gateway->identity().retired.contains("a/"));
}

TEST_F(RetireNodeTest, AClaimIsReleasedOnlyWhereItsOrphanPolicySaysSo) {
  start_connected();
  device("a", "i1", R"({"cpu":"2","memory":"1Gi","pods":"10"})",
         R"(,"volumes":[{"name":"x","path":"/x","capacity":"1Gi","storageClass":"local"},)"
         R"({"name":"y","path":"/y","capacity":"1Gi","storageClass":"local"},)"
         R"({"name":"z","path":"/z","capacity":"1Gi","storageClass":"local"}])");
  const auto claim = [&](const std::string& name, const std::string& volume, const std::string& annotations) {
    apply(R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":")" + name +
          R"(","namespace":"default","annotations":)" + annotations +
          R"(},"spec":{"accessModes":["ReadWriteOnce"],"storageClassName":"local","volumeName":")" + volume +
          R"(","resources":{"requests":{"storage":"1Gi"}}}})");
  };
  claim("kept", "a-x", "{}");
  claim("freed", "a-y", R"({"berth/orphan-policy":"Release"})");
  ASSERT_EQ(gateway->objects().claim("default/freed")->phase, "Bound");
  forget("a");
  EXPECT_EQ(gateway->objects().claim("default/kept")->volume_name, "a-x");
  EXPECT_NE(gateway->objects().volume("a-x"), nullptr);
  EXPECT_EQ(gateway->objects().claim("default/freed")->volume_name, "");
  EXPECT_EQ(gateway->objects().claim("default/freed")->phase, "Pending");
  EXPECT_EQ(gateway->objects().volume("a-y"), nullptr);
  EXPECT_EQ(gateway->objects().volume("a-z"), nullptr);  // nobody's
}

}  // namespace berth
