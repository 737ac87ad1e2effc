// Devices that obey another gateway, or say so (P12).
#include "core/placement/takeover.h"

#include "tests/unit/gateway/gateway_fixture.h"

namespace berth {
namespace {

class TakeoverTest : public GatewayTest {
 protected:
  // Two nodes that hold nothing, after adopt mode.
  void settle_with_two() {
    options.first_boot = FirstBoot::lost;
    options.known_nodes = {"n1", "n2"};
    start_connected();
    for (const char* node : {"n1", "n2"}) {
      device(node);
      slots(node, {});
    }
    ASSERT_FALSE(gateway->identity().adopting);
    own = gateway->identity().id;
  }
  // The node is listed, and says what it obeys instead.
  void say_superseded(const std::string& node, const GatewayId& obeyed, const std::string& proof = {}) {
    listed_again(node);
    answer(node, superseded(obeyed, proof));
  }
  void listed_again(const std::string& node) {
    receive(topics.node_presence(node),
            R"({"incarnation":"i1","session":")" + std::to_string(++session) + R"(","online":true})");
  }
  std::string proof_of(const GatewayId& id, const std::string& node) {
    return make_proof(*options.proof_key, id, node);
  }
  std::optional<Request> list_of(const std::string& node) {
    for (auto it = transport.sent.rbegin(); it != transport.sent.rend(); ++it) {
      if (it->topic != topics.node_requests(node)) continue;
      Result<Request> decoded = decode_request(it->payload);
      if (decoded->type == RequestType::list) return *decoded;
    }
    return std::nullopt;
  }
  bool is_quarantined(const std::string& node) { return !quarantine_of(gateway->nodes().all().at(node).holds).empty(); }
  std::string condition(const std::string& node, const std::string& type) {
    const Json reply = api(R"({"op":"get","kind":"node","name":")" + node + R"("})");
    for (const Json& each : reply.find("object")->find("status")->find("conditions")->as_array()) {
      if (*each.find("type") == Json(type)) return each.find("message")->as_string();
    }
    return {};
  }
  GatewayId own;
  int session = 1;
};

constexpr std::uint64_t kHugeTerm = (std::uint64_t{1} << 62) - 9;

TEST_F(TakeoverTest, ADeviceThatNamesAHugeTermRaisesItForItselfAlone) {
  settle_with_two();
  say_superseded("n1", {kHugeTerm, "lie"});
  EXPECT_EQ(gateway->identity().id, own);
  EXPECT_FALSE(gateway->identity().adopting);
  EXPECT_EQ(list_of("n1")->gateway_id, (GatewayId{kHugeTerm + 1, own.store_id}));
  listed_again("n2");
  EXPECT_EQ(list_of("n2")->gateway_id, own);
  restart();
  for (const char* node : {"n1", "n2"}) device(node);
  EXPECT_GT(list_of("n1")->gateway_id.term, kHugeTerm + 1) << "it is durable, and each start is a new one";
  EXPECT_EQ(list_of("n2")->gateway_id, gateway->identity().id);
}

TEST_F(TakeoverTest, EpochsOfThatNodeAreGivenUnderItsTerm) {
  settle_with_two();
  say_superseded("n1", {500'000, "other"});
  slots("n1", {});
  apply(pod("web", "u1", "64Mi", R"(,"nodeSelector":{"kubernetes.io/hostname":"n1"})"));
  const Request pre_bind = *request("n1");
  EXPECT_EQ(pre_bind.epoch.term, 500'001u);
  EXPECT_EQ(pre_bind.gateway_id.term, 500'001u);
  apply(pod("app", "u2", "64Mi", R"(,"nodeSelector":{"kubernetes.io/hostname":"n2"})"));
  EXPECT_EQ(request("n2")->epoch.term, own.term);
}

TEST_F(TakeoverTest, WhatThisGatewayGaveUnderTheTermOfANodeIsKnownAsItsOwn) {
  settle_with_two();
  say_superseded("n1", {500'000, "other"});
  slots("n1", {});
  apply(pod("web", "u1", "64Mi", R"(,"nodeSelector":{"kubernetes.io/hostname":"n1"})"));
  const Epoch given = request("n1")->epoch;
  answer("n1", AnswerType::rejected);
  restart();
  device("n1");
  SlotReport ours{"gone", given, SlotState::running, pod("gone", "gone")};
  SlotReport theirs{"theirs", {500'000, 3}, SlotState::running, pod("theirs", "theirs")};
  slots("n1", {ours, theirs});
  EXPECT_TRUE(gateway->releases().contains("n1/gone/" + to_text(given)));
  EXPECT_FALSE(gateway->identity().orphans.contains("n1/gone/" + to_text(given))) << "it is released";
  EXPECT_TRUE(gateway->identity().orphans.contains("n1/theirs/500000.3")) << "the operator decides";
}

TEST_F(TakeoverTest, AProofOfALaterTermOfThisStoreTellsThatItIsOlder) {
  settle_with_two();
  const GatewayId later{own.term + 100, own.store_id};
  say_superseded("n1", later, proof_of(later, "n1"));
  EXPECT_EQ(gateway->identity().id, (GatewayId{later.term + 1, own.store_id}));
  EXPECT_TRUE(gateway->not_ready().starts_with("the store is an older copy of itself")) << gateway->not_ready();
  slots("n1", {});
  EXPECT_FALSE(gateway->identity().adopt_nodes.contains("n1"));
  EXPECT_TRUE(gateway->identity().adopt_nodes.contains("n2"));
}

TEST_F(TakeoverTest, AProofOfAnEarlierStoreTellsThatItWasLost) {
  options.first_boot = FirstBoot::lost;
  options.known_nodes = {"n1", "n2"};
  start_connected();
  for (const char* node : {"n1", "n2"}) device(node);
  own = gateway->identity().id;
  ASSERT_TRUE(gateway->identity().adopting);
  const GatewayId before{own.term + 100, "before"};
  say_superseded("n1", before, proof_of(before, "n1"));
  EXPECT_EQ(gateway->identity().id, (GatewayId{before.term + 1, own.store_id}));
  EXPECT_TRUE(gateway->identity().adopting);
  EXPECT_FALSE(gateway->identity().rolled_back);
}

// It had settled: a copy of its machine has served since, with a store of its own.
TEST_F(TakeoverTest, AProofOfAnotherStoreMakesOneThatHadSettledAnOlderCopy) {
  settle_with_two();
  apply(pod("p", "u"));
  ASSERT_EQ(phase("u"), Phase::prebind);
  const GatewayId copy{own.term + 100, "copy"};
  say_superseded("n1", copy, proof_of(copy, "n1"));
  EXPECT_TRUE(gateway->identity().adopting);
  EXPECT_TRUE(gateway->identity().rolled_back);
  EXPECT_EQ(phase("u"), Phase::none) << "the copy may have placed the pod elsewhere";
}

TEST_F(TakeoverTest, AStoreThatWasLostUnderTheTermThatIsNowOursIsProvenToo) {
  settle_with_two();
  const GatewayId before{own.term, "before"};
  say_superseded("n1", before, proof_of(before, "n1"));
  EXPECT_EQ(gateway->identity().id.term, own.term + 1);
  EXPECT_TRUE(gateway->identity().adopting);
}

TEST_F(TakeoverTest, AProofThatTheNodeWasNotGivenChangesNothingForTheOthers) {
  settle_with_two();
  const GatewayId later{own.term + 100, own.store_id};
  for (const std::string& proof : {proof_of(later, "n2"), proof_of({own.term + 99, own.store_id}, "n1") + "0",
                                   proof_of({later.term, "another"}, "n1"), std::string("7.00")}) {
    say_superseded("n1", later, proof);
    EXPECT_EQ(gateway->identity().id, own) << proof;
    EXPECT_FALSE(gateway->identity().adopting) << proof;
  }
}

TEST_F(TakeoverTest, AProofIsBelievedOnce) {
  settle_with_two();
  const GatewayId before{own.term + 100, "before"};
  say_superseded("n1", before, proof_of(before, "n1"));
  slots("n1", {});
  slots("n2", {});
  ASSERT_FALSE(gateway->identity().adopting);
  const GatewayId now = gateway->identity().id;
  say_superseded("n1", {before.term + 50, "before"}, proof_of(before, "n1"));
  EXPECT_EQ(gateway->identity().id, now);
  EXPECT_FALSE(gateway->identity().adopting);
}

TEST_F(TakeoverTest, AProofFromAQuarantinedNodeStopsNobody) {
  settle_with_two();
  say_superseded("n1", {std::uint64_t{1} << 62, "lie"});
  ASSERT_TRUE(is_quarantined("n1"));
  const GatewayId before{own.term + 100, "before"};
  say_superseded("n1", before, proof_of(before, "n1"));
  EXPECT_EQ(gateway->identity().id, own);
  EXPECT_FALSE(gateway->identity().adopting);
  EXPECT_EQ(list_of("n1")->gateway_id.term, before.term + 1) << "it obeys this gateway all the same";
}

TEST_F(TakeoverTest, AProofFromAQuarantinedNodeIsBelievedWhenThatEnds) {
  settle_with_two();
  say_superseded("n1", {std::uint64_t{1} << 62, "lie"});
  ASSERT_TRUE(is_quarantined("n1"));
  const GatewayId before{own.term + 100, "before"};
  say_superseded("n1", before, proof_of(before, "n1"));
  slots("n1", {});
  ASSERT_FALSE(is_quarantined("n1"));
  advance(1000);
  EXPECT_EQ(gateway->identity().id, (GatewayId{before.term + 1, own.store_id}));
  EXPECT_TRUE(gateway->identity().adopting);
}

TEST_F(TakeoverTest, AProofFromAForgottenNodeStopsNobody) {
  settle_with_two();
  api(R"({"op":"forget","kind":"Node","name":"n1"})");
  device("n1");
  const GatewayId before{own.term + 100, "before"};
  answer("n1", superseded(before, proof_of(before, "n1")));
  EXPECT_EQ(gateway->identity().id, own);
  EXPECT_FALSE(gateway->identity().adopting);
  EXPECT_EQ(list_of("n1")->gateway_id.term, before.term + 1) << "it obeys this gateway all the same";
}

TEST_F(TakeoverTest, ANodeThatWasForgottenUnderATermOfItsOwnReturnsUnderIt) {
  settle_with_two();
  const GatewayId before{own.term + 10'000'000, "before"};
  say_superseded("n1", before);
  api(R"({"op":"forget","kind":"Node","name":"n1"})");
  EXPECT_FALSE(gateway->nodes().all().contains("n1"));
  restart();
  EXPECT_FALSE(gateway->nodes().all().contains("n1")) << "only its term is kept";
  device("n1");
  ASSERT_TRUE(list_of("n1"));
  EXPECT_GT(list_of("n1")->gateway_id.term, before.term + 1);
  EXPECT_GE(list_of("n1")->floor, (Epoch{before.term + 1, 0})) << "nothing sent before may start there";
}

TEST_F(TakeoverTest, AdoptModeDoesNotWaitAgainForAQuarantinedNodeThatNamesAnotherStore) {
  options.first_boot = FirstBoot::lost;
  options.known_nodes = {"n1", "n2"};
  start_connected();
  device("n1");
  slots("n1", {});
  say_superseded("n1", {std::uint64_t{1} << 62, "lie"});
  ASSERT_TRUE(is_quarantined("n1"));
  say_superseded("n1", {500'000, "other"});
  EXPECT_EQ(gateway->identity().adopt_nodes, (std::set<std::string>{"n2"}));
}

TEST_F(TakeoverTest, ATermThatANodeWasGivenForItselfProvesNothingToTheOthers) {
  settle_with_two();
  say_superseded("n1", {kHugeTerm, "lie"});
  const Request list = *list_of("n1");
  EXPECT_EQ(read_proof(*options.proof_key, own.store_id, "n1", list.proof), own.term);
  api(R"({"op":"forget","kind":"Node","name":"n1"})");
  device("n1");
  answer("n1", superseded(list.gateway_id, list.proof));
  EXPECT_EQ(gateway->identity().id, own);
  EXPECT_EQ(list_of("n1")->gateway_id.term, list.gateway_id.term) << "it is the node's own still";
}

TEST_F(TakeoverTest, ANodeThatGoesOnIsQuarantinedAndNothingMoreIsStored) {
  settle_with_two();
  for (std::uint64_t term = 500'000; term < 500'003; ++term) say_superseded("n1", {term, "other"});
  ASSERT_FALSE(is_quarantined("n1"));
  say_superseded("n1", {600'000, "other"});
  const std::uint64_t commits = store.commits();
  for (std::uint64_t term = 600'001; term < 600'100; ++term) say_superseded("n1", {term, "other"});
  EXPECT_EQ(store.commits(), commits);
  EXPECT_EQ(condition("n1", "Quarantined"),
            "it goes on obeying others, last store other, more than the 3 that node_limits.takeovers_per_hour allows");
  apply(pod("web", "u1"));
  EXPECT_EQ(gateway->bindings().at("u1").row.node, "n2");
  advance(NodeLimits::kWindowMs);
  EXPECT_FALSE(is_quarantined("n1"));
  say_superseded("n1", {700'000, "other"});
  EXPECT_EQ(list_of("n1")->gateway_id.term, 700'001u);
}

TEST_F(TakeoverTest, ATermThatCannotBeExceededQuarantinesThatNodeUntilItsAgentIsWiped) {
  settle_with_two();
  const std::uint64_t commits = store.commits();
  say_superseded("n1", {std::uint64_t{1} << 62, "lie"});
  EXPECT_EQ(condition("n1", "Quarantined"),
            "it obeys store lie under term 4611686018427387904, which cannot be exceeded; wipe the state of its agent");
  EXPECT_EQ(store.commits(), commits);
  apply(pod("web", "u1"));
  EXPECT_EQ(gateway->bindings().at("u1").row.node, "n2");
  listed_again("n1");
  slots("n1", {}, "i2");
  slots("n1", {}, "i2");
  EXPECT_FALSE(is_quarantined("n1"));
}

TEST_F(TakeoverTest, SupersededThatNobodyAskedForIsAskedAbout) {
  settle_with_two();
  transport.sent.clear();
  answer("n1", superseded({500'000, "other"}));
  ASSERT_TRUE(list_of("n1").has_value());
  EXPECT_EQ(list_of("n1")->gateway_id, own) << "the answer to this List counts";
  answer("n1", superseded({500'000, "other"}));
  EXPECT_EQ(list_of("n1")->gateway_id.term, 500'001u);
}

TEST_F(TakeoverTest, AnEventAndAConditionNameTheStoreThatWasObeyed) {
  settle_with_two();
  say_superseded("n1", {500'000, "other"});
  EXPECT_EQ(condition("n1", "TakenOver"),
            "it obeyed the gateway of store other, term 500000, without a proof that this gateway gave");
  const Json reply = api(R"({"op":"describe","kind":"node","name":"n1"})");
  EXPECT_EQ(*reply.find("events")->as_array().front().find("reason"), Json("NodeTakenOver"));
  advance(NodeLimits::kWindowMs + 1000);
  EXPECT_EQ(condition("n1", "TakenOver"), "");
}

TEST_F(TakeoverTest, InAdoptModeANodeThatObeysTheGatewayBeforeIsAskedAndNobodyIsAlarmed) {
  options.first_boot = FirstBoot::lost;
  options.known_nodes = {"n1", "n2"};
  start_connected();
  device("n1");
  answer("n1", superseded({500'000, "before"}));
  EXPECT_TRUE(gateway->identity().adopting);
  EXPECT_EQ(condition("n1", "TakenOver"), "");
  EXPECT_EQ(list_of("n1")->gateway_id.term, 500'001u);
  slots("n1", {});
  device("n2");
  slots("n2", {});
  EXPECT_FALSE(gateway->identity().adopting);
}

}  // namespace
}  // namespace berth
