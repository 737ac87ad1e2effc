#include "core/agent/rules.h"

#include <algorithm>
#include <array>

#include "core/check.h"

namespace berth {

namespace {

constexpr std::array kMoves{
    SlotMove{SlotState::none, SlotEvent::admit, SlotState::preparing},
    SlotMove{SlotState::preparing, SlotEvent::prepared, SlotState::prepared},
    SlotMove{SlotState::preparing, SlotEvent::failed, SlotState::none},
    SlotMove{SlotState::preparing, SlotEvent::undo, SlotState::none},
    SlotMove{SlotState::prepared, SlotEvent::undo, SlotState::none},
    SlotMove{SlotState::prepared, SlotEvent::bind, SlotState::running},
    SlotMove{SlotState::running, SlotEvent::exited, SlotState::finished},
    SlotMove{SlotState::running, SlotEvent::release, SlotState::stopping},
    SlotMove{SlotState::finished, SlotEvent::release, SlotState::stopping},
    SlotMove{SlotState::finished, SlotEvent::undo, SlotState::none},
    SlotMove{SlotState::stopping, SlotEvent::stopped, SlotState::none},
};

Answer make_answer(const NodeState& state, const Request& request, AnswerType type) {
  Answer answer(type);
  answer.incarnation = state.incarnation;
  answer.gateway_id = request.gateway_id;
  answer.uid = request.uid;
  answer.epoch = request.epoch;
  answer.via = request.via;
  return answer;
}

// One request about a pod, with the state that the rules need.
struct Question {
  const NodeState& state;
  const Request& request;
  Epoch floor;                 // including the request's own
  Epoch high;                  // hi[uid]; zero if none
  const Slot* slot = nullptr;  // of the pod

  bool names_slot() const { return slot != nullptr && slot->epoch == request.epoch; }
  // P10: nothing is stored for it.
  bool is_below_floor() const { return request.epoch < floor && !names_slot(); }
  Answer answer(AnswerType type) const { return make_answer(state, request, type); }
  // Stale, with a hi that is durable by then. Final, so hi must reach the epoch in the same commit.
  void answer_stale(NodeDecision& decision) const {
    decision.answer = answer(AnswerType::stale);
    decision.answer->high = std::max({floor, high, request.epoch});
    raise_high(decision);
  }
  void raise_high(NodeDecision& decision) const {
    if (!is_below_floor() && request.epoch > high) decision.high = request.epoch;
  }
};

// N2
void decide_pre_bind(const Question& q, const Admission& admit, NodeDecision& decision) {
  if (q.names_slot()) {
    const bool held = q.slot->state == SlotState::prepared || q.slot->state == SlotState::running;
    if (held) decision.answer = q.answer(AnswerType::pre_bound);
    return;
  }
  if (q.is_below_floor() || q.request.epoch <= q.high) return q.answer_stale(decision);
  decision.high = q.request.epoch;
  if (q.slot != nullptr) {
    if (q.slot->state == SlotState::running || q.slot->state == SlotState::stopping) {
      decision.answer = q.answer(AnswerType::rejected);
      decision.answer->reason = "occupied: epoch " + to_text(q.slot->epoch) + " of this pod is still " +
                                std::string(to_string(q.slot->state)) + " here";
      return;
    }
    decision.undo = true;
  }
  const Status admitted = admit(q.request);
  if (admitted.is_success()) {
    decision.event = SlotEvent::admit;
  } else {
    decision.answer = q.answer(AnswerType::rejected);
    decision.answer->reason = admitted.message();
    decision.lasts = admitted.code() == Code::unresolvable;
  }
}

// N3. No answer while the slot is still preparing: no gateway sends Bind before PreBound, and Stale would promise that
// the epoch never runs although its slot still exists.
void decide_bind(const Question& q, NodeDecision& decision) {
  if (!q.names_slot()) return q.answer_stale(decision);
  switch (q.slot->state) {
    case SlotState::prepared: decision.event = SlotEvent::bind; return;
    case SlotState::running:
    case SlotState::finished: decision.answer = q.answer(AnswerType::bound); return;
    case SlotState::none:
    case SlotState::preparing:
    case SlotState::stopping: return;
  }
}

// N4
void decide_release(const Question& q, NodeDecision& decision) {
  q.raise_high(decision);
  if (q.slot == nullptr || q.slot->epoch > q.request.epoch) {
    decision.answer = q.answer(AnswerType::released);
    return;
  }
  switch (q.slot->state) {
    case SlotState::none:
    case SlotState::preparing:
    case SlotState::prepared:  // nothing was started, so there is nothing to wait for
      decision.undo = true;
      decision.answer = q.answer(AnswerType::released);
      return;
    case SlotState::running:
    case SlotState::finished: decision.event = SlotEvent::release; [[fallthrough]];
    case SlotState::stopping: decision.answer_when_stopped = true; return;
  }
}

}  // namespace

std::string_view to_string(SlotEvent event) {
  switch (event) {
    case SlotEvent::admit: return "admit";
    case SlotEvent::prepared: return "prepared";
    case SlotEvent::failed: return "failed";
    case SlotEvent::undo: return "undo";
    case SlotEvent::bind: return "bind";
    case SlotEvent::exited: return "exited";
    case SlotEvent::release: return "release";
    case SlotEvent::stopped: return "stopped";
  }
  CHECK(false);
}

std::optional<SlotMove> find_move(SlotState from, SlotEvent event) {
  for (const SlotMove& move : kMoves) {
    if (move.from == from && move.event == event) return move;
  }
  return std::nullopt;
}

SlotState apply(SlotState from, SlotEvent event) {
  const std::optional<SlotMove> move = find_move(from, event);
  CHECK(move.has_value());
  return move->to;
}

NodeDecision decide(const NodeState& state, const Request& request, const Admission& admit) {
  NodeDecision decision;
  // N1: the addressee, then the sender. Neither answer changes any state.
  if (!request.incarnation.empty() && request.incarnation != state.incarnation) {
    decision.answer = make_answer(state, request, AnswerType::hello);
    decision.answer->to_incarnation = request.incarnation;
    return decision;
  }
  const bool obeys_someone = !state.gateway.store_id.empty();
  if (obeys_someone && request.gateway_id != state.gateway && request.gateway_id.term <= state.gateway.term) {
    decision.answer = make_answer(state, request, AnswerType::superseded);
    decision.answer->gateway_id = state.gateway;
    decision.answer->proof = state.proof;
    return decision;
  }
  if (request.gateway_id != state.gateway) decision.adopt = request.gateway_id;
  // A request other than List brings none: that of an earlier gateway must not stay.
  if ((decision.adopt || !request.proof.empty()) && request.proof != state.proof) decision.proof = request.proof;
  if (request.floor > state.floor) decision.floor = request.floor;
  if (request.uid.empty()) return decision;

  Question question{state, request, std::max(state.floor, request.floor), {}, nullptr};
  if (const auto high = state.high.find(request.uid); high != state.high.end()) question.high = high->second;
  if (const auto slot = state.slots.find(request.uid); slot != state.slots.end()) question.slot = &slot->second;
  switch (request.type) {
    case RequestType::pre_bind: decide_pre_bind(question, admit, decision); break;
    case RequestType::bind: decide_bind(question, decision); break;
    case RequestType::release: decide_release(question, decision); break;
    case RequestType::list:
    case RequestType::certificate:
    case RequestType::delete_volume:
    case RequestType::configs:
    case RequestType::config:
    case RequestType::heartbeat: break;
  }
  return decision;
}

namespace {

// N1: a gateway that starts on an older copy of its store hears that it has been further. One that only speaks under
// another term of the node's own (P12) brings the same proof, which is kept once.
void note_obeyed(NodeState& state) {
  if (state.proof.empty()) return;
  ObeyedGateway last{state.gateway.store_id, state.proof};
  std::erase(state.obeyed_before, last);
  state.obeyed_before.push_back(std::move(last));
  if (state.obeyed_before.size() > ObeyedGateway::kMax) state.obeyed_before.erase(state.obeyed_before.begin());
}

}  // namespace

std::vector<std::string> apply(NodeState& state, const Request& request, const NodeDecision& decision) {
  if (decision.adopt) {
    note_obeyed(state);
    state.gateway = *decision.adopt;
  }
  if (decision.proof) state.proof = *decision.proof;
  if (decision.floor) state.floor = *decision.floor;
  if (decision.high) state.high[request.uid] = *decision.high;
  if (decision.undo) {
    apply(state.slots.at(request.uid).state, SlotEvent::undo);
    state.slots.erase(request.uid);
  }
  if (decision.event == SlotEvent::admit) {
    Slot slot;
    slot.epoch = request.epoch;
    slot.state = apply(SlotState::none, SlotEvent::admit);
    slot.pod = request.pod;
    slot.volumes = request.volumes;
    slot.promise_ms = request.promise_ms;
    state.slots.insert_or_assign(request.uid, std::move(slot));
  } else if (decision.event) {
    Slot& slot = state.slots.at(request.uid);
    slot.finished_before_stop = slot.state == SlotState::finished;
    slot.keep_output = slot.finished_before_stop && request.keep_output;
    slot.state = apply(slot.state, *decision.event);
  }
  std::vector<std::string> dropped;
  if (!decision.floor && !decision.undo) return dropped;
  for (auto high = state.high.begin(); high != state.high.end();) {
    const bool drop = high->second < state.floor && !state.slots.contains(high->first);
    if (drop) dropped.push_back(high->first);
    high = drop ? state.high.erase(high) : std::next(high);
  }
  return dropped;
}

bool clear_slot(NodeState& state, const std::string& uid) {
  state.slots.erase(uid);
  const auto high = state.high.find(uid);
  if (high == state.high.end() || high->second >= state.floor) return false;
  state.high.erase(high);
  return true;
}

}  // namespace berth
