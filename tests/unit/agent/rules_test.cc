#include "core/agent/rules.h"
#include "core/json/findings.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <utility>

namespace berth {
namespace {

using enum SlotState;

constexpr char kUid[] = "u1";

NodeState fresh() {
  NodeState state;
  state.incarnation = "inc";
  state.gateway = {2, "store"};
  return state;
}

// A node whose pod has hi `high` and, unless `slot` is none, a slot at that epoch.
NodeState with_slot(SlotState slot, std::uint64_t high) {
  NodeState state = fresh();
  state.high[kUid] = {1, high};
  if (slot == none) return state;
  state.slots[kUid].epoch = {1, high};
  state.slots[kUid].state = slot;
  return state;
}

Request request_of(RequestType type, std::uint64_t counter = 5) {
  Request request(type);
  request.gateway = "gw";
  request.gateway_id = {2, "store"};
  request.incarnation = "inc";
  request.uid = kUid;
  request.epoch = {1, counter};
  return request;
}

Status always(const Request&) { return Status::ok(); }
Status never(const Request&) { return Status::unschedulable("insufficient memory: 64Mi asked, 40Mi free"); }

// "hi undo admit", "Stale", "release when stopped", "silent", ...
std::string show(const NodeDecision& decision) {
  std::string text;
  const auto add = [&text](std::string_view part) { text.append(text.empty() ? "" : " ").append(part); };
  if (decision.adopt) add("adopt");
  if (decision.floor) add("floor");
  if (decision.high) add("hi");
  if (decision.undo) add("undo");
  if (decision.event) add(to_string(*decision.event));
  if (decision.answer_when_stopped) add("when stopped");
  if (decision.answer) add(to_string(decision.answer->type));
  return text.empty() ? "silent" : text;
}

struct Cell {
  RequestType request;
  SlotState slot;
  std::uint64_t at;  // epoch of the slot, and hi; the request's is 5
  const char* expected;
};

constexpr Cell kCells[] = {
    {RequestType::pre_bind, none, 3, "hi admit"},
    {RequestType::pre_bind, none, 5, "Stale"},
    {RequestType::pre_bind, none, 7, "Stale"},
    {RequestType::pre_bind, preparing, 3, "hi undo admit"},
    {RequestType::pre_bind, preparing, 5, "silent"},
    {RequestType::pre_bind, preparing, 7, "Stale"},
    {RequestType::pre_bind, prepared, 3, "hi undo admit"},
    {RequestType::pre_bind, prepared, 5, "PreBound"},
    {RequestType::pre_bind, prepared, 7, "Stale"},
    {RequestType::pre_bind, running, 3, "hi Rejected"},
    {RequestType::pre_bind, running, 5, "PreBound"},
    {RequestType::pre_bind, running, 7, "Stale"},
    {RequestType::pre_bind, stopping, 3, "hi Rejected"},
    {RequestType::pre_bind, stopping, 5, "silent"},
    {RequestType::pre_bind, stopping, 7, "Stale"},
    {RequestType::pre_bind, finished, 3, "hi undo admit"},
    {RequestType::pre_bind, finished, 5, "silent"},
    {RequestType::pre_bind, finished, 7, "Stale"},
    {RequestType::bind, none, 3, "hi Stale"},
    {RequestType::bind, none, 5, "Stale"},
    {RequestType::bind, none, 7, "Stale"},
    {RequestType::bind, preparing, 3, "hi Stale"},
    {RequestType::bind, preparing, 5, "silent"},
    {RequestType::bind, preparing, 7, "Stale"},
    {RequestType::bind, prepared, 3, "hi Stale"},
    {RequestType::bind, prepared, 5, "bind"},
    {RequestType::bind, prepared, 7, "Stale"},
    {RequestType::bind, running, 3, "hi Stale"},
    {RequestType::bind, running, 5, "Bound"},
    {RequestType::bind, running, 7, "Stale"},
    {RequestType::bind, stopping, 3, "hi Stale"},
    {RequestType::bind, stopping, 5, "silent"},
    {RequestType::bind, stopping, 7, "Stale"},
    {RequestType::bind, finished, 3, "hi Stale"},
    {RequestType::bind, finished, 5, "Bound"},
    {RequestType::bind, finished, 7, "Stale"},
    {RequestType::release, none, 3, "hi Released"},
    {RequestType::release, none, 5, "Released"},
    {RequestType::release, none, 7, "Released"},
    {RequestType::release, preparing, 3, "hi undo Released"},
    {RequestType::release, preparing, 5, "undo Released"},
    {RequestType::release, preparing, 7, "Released"},
    {RequestType::release, prepared, 3, "hi undo Released"},
    {RequestType::release, prepared, 5, "undo Released"},
    {RequestType::release, prepared, 7, "Released"},
    {RequestType::release, running, 3, "hi release when stopped"},
    {RequestType::release, running, 5, "release when stopped"},
    {RequestType::release, running, 7, "Released"},
    {RequestType::release, stopping, 3, "hi when stopped"},
    {RequestType::release, stopping, 5, "when stopped"},
    {RequestType::release, stopping, 7, "Released"},
    {RequestType::release, finished, 3, "hi release when stopped"},
    {RequestType::release, finished, 5, "release when stopped"},
    {RequestType::release, finished, 7, "Released"},
};

class RulesCell : public testing::TestWithParam<Cell> {};

std::string name_of(const testing::TestParamInfo<Cell>& cell) {
  const char* relation = cell.param.at < 5 ? "Older" : cell.param.at == 5 ? "Same" : "Newer";
  return std::string(to_string(cell.param.request)) + "Meets" + relation + "_" +
         std::string(to_string(cell.param.slot));
}

TEST_P(RulesCell, IsDecidedAsTheRulesSay) {
  const NodeState state = with_slot(GetParam().slot, GetParam().at);
  EXPECT_EQ(show(decide(state, request_of(GetParam().request), always)), GetParam().expected);
}

TEST_P(RulesCell, IsAHelloWithTheEchoForAnotherIncarnation) {
  Request request = request_of(GetParam().request);
  request.incarnation = "older";
  request.gateway_id = {9, "new store"};  // not even this is adopted
  request.floor = {1, 5};
  const NodeDecision decision = decide(with_slot(GetParam().slot, GetParam().at), request, always);
  ASSERT_EQ(show(decision), "Hello");
  EXPECT_EQ(decision.answer->incarnation, "inc");
  EXPECT_EQ(decision.answer->to_incarnation, "older");
  EXPECT_EQ(decision.answer->uid, kUid);
  EXPECT_EQ(decision.answer->epoch, (Epoch{1, 5}));
}

TEST_P(RulesCell, IsSupersededForALowerTermOrAnotherStoreOfTheSameTerm) {
  for (const GatewayId& other : {GatewayId{1, "store"}, GatewayId{1, "zzz"}, GatewayId{2, "another"}}) {
    Request request = request_of(GetParam().request);
    request.gateway_id = other;
    request.floor = {1, 5};
    const NodeDecision decision = decide(with_slot(GetParam().slot, GetParam().at), request, always);
    ASSERT_EQ(show(decision), "Superseded");
    EXPECT_EQ(decision.answer->gateway_id, (GatewayId{2, "store"}));
  }
}

TEST_P(RulesCell, AFinalAnswerHasHiAndIsRepeatedWithoutAnyChange) {
  NodeState state = with_slot(GetParam().slot, GetParam().at);
  const Request request = request_of(GetParam().request);
  const NodeDecision first = decide(state, request, never);
  apply(state, request, first);
  const bool is_final =
      first.answer && (first.answer->type == AnswerType::rejected || first.answer->type == AnswerType::stale ||
                       first.answer->type == AnswerType::released);
  if (!is_final) return;
  EXPECT_GE(state.high.at(kUid), request.epoch);
  if (first.answer->type == AnswerType::stale) {
    EXPECT_GE(first.answer->high, request.epoch);
  }
  const NodeDecision second = decide(state, request, always);
  EXPECT_TRUE(show(second) == "Stale" || show(second) == "Released") << show(second);
}

INSTANTIATE_TEST_SUITE_P(Rules, RulesCell, testing::ValuesIn(kCells), name_of);

TEST(Rules, AHigherTermIsAdoptedAndTheRequestDecided) {
  Request request = request_of(RequestType::pre_bind);
  request.gateway_id = {3, "new store"};
  NodeState state = fresh();
  const NodeDecision decision = decide(state, request, always);
  EXPECT_EQ(show(decision), "adopt hi admit");
  apply(state, request, decision);
  EXPECT_EQ(state.gateway, (GatewayId{3, "new store"}));
}

TEST(Rules, TheProofOfAListIsKeptAndReturnedInSuperseded) {
  NodeState state = fresh();
  Request list = request_of(RequestType::list);
  list.proof = "2.ab";
  NodeDecision decision = decide(state, list, always);
  EXPECT_EQ(decision.proof, "2.ab");
  apply(state, list, decision);
  EXPECT_FALSE(decide(state, list, always).proof) << "it is stored once";
  EXPECT_FALSE(decide(state, request_of(RequestType::bind), always).proof);
  list.gateway_id.term = 1;
  list.proof = "1.cd";
  decision = decide(state, list, always);
  ASSERT_EQ(show(decision), "Superseded");
  EXPECT_EQ(decision.answer->proof, "2.ab");
  EXPECT_FALSE(decision.proof);
}

TEST(Rules, TheProofOfAnEarlierGatewayDoesNotStay) {
  NodeState state = fresh();
  state.proof = "2.ab";
  Request bind = request_of(RequestType::bind);
  bind.gateway_id = {3, "new store"};
  const NodeDecision decision = decide(state, bind, always);
  apply(state, bind, decision);
  EXPECT_EQ(state.proof, "");
}

TEST(Rules, GatewaysObeyedBeforeAreRememberedWithTheirProofsAndTheOldestForgotten) {
  NodeState state = fresh();
  const auto list = [&](std::uint64_t term, const std::string& proof) {
    Request request = request_of(RequestType::list);
    request.gateway_id = {term, "store"};
    request.proof = proof;
    apply(state, request, decide(state, request, always));
  };
  list(3, "3.a");
  list(3, "3.a");
  EXPECT_TRUE(state.obeyed_before.empty()) << "it is obeyed";
  list(4, "3.a");  // under a higher term of the node's own
  list(5, "5.a");
  EXPECT_EQ(state.obeyed_before, (std::vector<ObeyedGateway>{{"store", "3.a"}}));
  list(6, "");
  EXPECT_EQ(state.obeyed_before, (std::vector<ObeyedGateway>{{"store", "3.a"}, {"store", "5.a"}}));
  list(7, "7.a");
  EXPECT_EQ(state.obeyed_before.size(), 2u) << "one without a proof tells nothing";
  for (std::uint64_t term = 8; term < 12; ++term) list(term, std::to_string(term) + ".a");
  EXPECT_EQ(state.obeyed_before.size(), ObeyedGateway::kMax);
  EXPECT_EQ(state.obeyed_before.front().proof, "7.a");
  EXPECT_EQ(state.obeyed_before.back().proof, "10.a");
}

TEST(Rules, ANodeWithoutAGatewayAdoptsTheFirst) {
  NodeState state = fresh();
  state.gateway = {};
  EXPECT_EQ(show(decide(state, request_of(RequestType::list), always)), "adopt");
}

TEST(Rules, AListOrHeartbeatNeedsNoIncarnationButMustNotBeSuperseded) {
  for (const RequestType type : {RequestType::list, RequestType::heartbeat}) {
    Request request = request_of(type);
    request.incarnation.clear();
    EXPECT_EQ(show(decide(fresh(), request, always)), "silent");
    request.gateway_id = {1, "store"};
    EXPECT_EQ(show(decide(fresh(), request, always)), "Superseded");
  }
}

TEST(Rules, AFailedAdmissionIsRejectedWithItsReasonAndHi) {
  NodeState state = fresh();
  const Request request = request_of(RequestType::pre_bind);
  const NodeDecision decision = decide(state, request, never);
  ASSERT_EQ(show(decision), "hi Rejected");
  EXPECT_EQ(decision.answer->reason, "insufficient memory: 64Mi asked, 40Mi free");
  apply(state, request, decision);
  EXPECT_EQ(state.high.at(kUid), (Epoch{1, 5}));
  EXPECT_FALSE(state.slots.contains(kUid));
}

TEST(Rules, AFailedAdmissionStillEndsTheOlderSlot) {
  NodeState state = with_slot(finished, 3);
  const Request request = request_of(RequestType::pre_bind);
  const NodeDecision decision = decide(state, request, never);
  EXPECT_EQ(show(decision), "hi undo Rejected");
  apply(state, request, decision);
  EXPECT_FALSE(state.slots.contains(kUid));
}

TEST(Rules, OccupiedNamesTheOlderEpoch) {
  const NodeDecision decision = decide(with_slot(running, 3), request_of(RequestType::pre_bind), always);
  EXPECT_EQ(decision.answer->reason, "occupied: epoch 1.3 of this pod is still running here");
}

TEST(Rules, AReleasedFinishedSlotIsRememberedAsFinished) {
  for (const SlotState before : {running, finished}) {
    NodeState state = with_slot(before, 5);
    const Request request = request_of(RequestType::release);
    EXPECT_EQ(state.slots[kUid].is_charged(), before == running);
    apply(state, request, decide(state, request, always));
    EXPECT_EQ(state.slots[kUid].state, stopping);
    EXPECT_EQ(state.slots[kUid].is_charged(), before == running);
  }
}

// P10

TEST(Floor, IsRaisedByAnyRequestAndNeverLowered) {
  NodeState state = fresh();
  state.floor = {1, 4};
  for (const RequestType type : {RequestType::list, RequestType::heartbeat, RequestType::release}) {
    Request request = request_of(type);
    request.floor = {1, 5};
    EXPECT_TRUE(show(decide(state, request, always)).starts_with("floor")) << to_string(type);
    request.floor = {1, 4};
    EXPECT_FALSE(decide(state, request, always).floor);
    request.floor = {1, 3};
    EXPECT_FALSE(decide(state, request, always).floor);
  }
}

TEST(Floor, DropsHiBelowItExceptOfAPodWithASlot) {
  NodeState state = with_slot(running, 2);
  state.high["gone"] = {1, 3};
  state.high["recent"] = {1, 6};
  Request request = request_of(RequestType::list);
  request.floor = {1, 6};
  EXPECT_EQ(apply(state, request, decide(state, request, always)), std::vector<std::string>{"gone"});
  EXPECT_TRUE(state.high.contains(kUid));
  EXPECT_TRUE(state.high.contains("recent"));
  EXPECT_FALSE(state.high.contains("gone"));
}

TEST(Floor, ARequestBelowItStoresNothingAndIsFinal) {
  NodeState state = fresh();
  state.floor = {1, 6};
  for (const RequestType type : {RequestType::pre_bind, RequestType::bind}) {
    const NodeDecision decision = decide(state, request_of(type), always);
    ASSERT_EQ(show(decision), "Stale");
    EXPECT_EQ(decision.answer->high, (Epoch{1, 6}));
  }
  EXPECT_EQ(show(decide(state, request_of(RequestType::release), always)), "Released");
}

TEST(Floor, ARequestsOwnFloorCountsForItself) {
  Request request = request_of(RequestType::pre_bind);
  request.floor = {1, 6};
  EXPECT_EQ(show(decide(fresh(), request, always)), "floor Stale");
}

TEST(Floor, ASlotOfTheSameEpochStillCounts) {
  NodeState state = with_slot(prepared, 5);
  state.floor = {1, 6};
  EXPECT_EQ(show(decide(state, request_of(RequestType::bind), always)), "bind");
  EXPECT_EQ(show(decide(state, request_of(RequestType::release), always)), "undo Released");
}

TEST(Floor, AReleaseBelowItStillStopsAnOlderSlot) {
  NodeState state = with_slot(running, 3);
  state.floor = {1, 6};
  EXPECT_EQ(show(decide(state, request_of(RequestType::release), always)), "release when stopped");
}

TEST(Floor, HiBelowItIsDroppedWithTheSlot) {
  NodeState state = with_slot(running, 3);
  state.floor = {1, 6};
  EXPECT_TRUE(clear_slot(state, kUid));
  EXPECT_FALSE(state.high.contains(kUid));
  state = with_slot(running, 6);
  state.floor = {1, 6};
  EXPECT_FALSE(clear_slot(state, kUid));
  EXPECT_TRUE(state.high.contains(kUid));
}

TEST(SlotMoves, AreExactlyThese) {
  const std::map<std::pair<SlotState, SlotEvent>, SlotState> legal = {
      {{none, SlotEvent::admit}, preparing},      {{preparing, SlotEvent::prepared}, prepared},
      {{preparing, SlotEvent::failed}, none},     {{preparing, SlotEvent::undo}, none},
      {{prepared, SlotEvent::undo}, none},        {{prepared, SlotEvent::bind}, running},
      {{running, SlotEvent::exited}, finished},   {{running, SlotEvent::release}, stopping},
      {{finished, SlotEvent::release}, stopping}, {{finished, SlotEvent::undo}, none},
      {{stopping, SlotEvent::stopped}, none},
  };
  for (const SlotState from : {none, preparing, prepared, running, stopping, finished}) {
    for (const SlotEvent event : {SlotEvent::admit, SlotEvent::prepared, SlotEvent::failed, SlotEvent::undo,
                                  SlotEvent::bind, SlotEvent::exited, SlotEvent::release, SlotEvent::stopped}) {
      SCOPED_TRACE(std::string(to_string(from)) + " " + std::string(to_string(event)));
      const auto expected = legal.find({from, event});
      ASSERT_EQ(find_move(from, event).has_value(), expected != legal.end());
      if (expected != legal.end()) {
        EXPECT_EQ(apply(from, event), expected->second);
      }
    }
  }
}

TEST(SlotMovesDeathTest, AnIllegalMoveEndsTheProcess) { EXPECT_DEATH(apply(none, SlotEvent::bind), "CHECK failed"); }

}  // namespace
}  // namespace berth
