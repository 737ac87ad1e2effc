// Where the model meets the real rules: devices and messages as core knows them, and the answers remembered, since the
// rules are pure.
#include "tests/model/model.h"

namespace berth::model {

namespace {

constexpr char kUid[] = "u";

std::string incarnation_name(int incarnation) { return "i" + std::to_string(incarnation); }

NodeState to_node_state(const Device& device) {
  NodeState state;
  state.incarnation = "mine";
  state.gateway = {1, "store"};
  state.floor = {device.floor == 0 ? 0u : 1u, device.floor};
  if (device.high != 0) state.high[kUid] = {1, device.high};
  if (device.slot_epoch != 0) {
    Slot slot;
    slot.epoch = {1, device.slot_epoch};
    slot.state = static_cast<SlotState>(device.slot_state);
    state.slots[kUid] = slot;
  }
  return state;
}

Device from_node_state(const NodeState& state, Device device) {
  const auto slot = state.slots.find(kUid);
  const auto high = state.high.find(kUid);
  device.slot_epoch = slot == state.slots.end() ? 0 : static_cast<std::uint8_t>(slot->second.epoch.counter);
  device.slot_state = slot == state.slots.end() ? 0 : static_cast<std::uint8_t>(slot->second.state);
  device.high = high == state.high.end() ? 0 : static_cast<std::uint8_t>(high->second.counter);
  device.floor = static_cast<std::uint8_t>(state.floor.counter);
  return device;
}

Request make_request(int type, int e, int floor, bool same_incarnation) {
  Request request(type == kPreBind ? RequestType::pre_bind : type == kBind ? RequestType::bind : RequestType::release);
  request.gateway_id = {1, "store"};
  request.incarnation = same_incarnation ? "mine" : "another";
  request.floor = {1, static_cast<std::uint64_t>(floor)};
  request.uid = kUid;
  request.epoch = {1, static_cast<std::uint64_t>(e)};
  return request;
}

std::uint8_t to_bit(const std::optional<Answer>& answer) {
  if (!answer) return kAnswerBits;
  switch (answer->type) {
    case AnswerType::pre_bound: return kPreBound;
    case AnswerType::bound: return kBound;
    case AnswerType::released: return kReleased;
    case AnswerType::rejected: return kRejected;
    case AnswerType::stale: return kStale;
    case AnswerType::hello: return kHello1;
    default: return kAnswerBits;
  }
}

bool is_final(std::uint8_t answer) { return answer == kReleased || answer == kRejected || answer == kStale; }

bool same_store(const Device& a, const Device& b) {
  return a.slot_epoch == b.slot_epoch && a.slot_state == b.slot_state && a.high == b.high && a.floor == b.floor;
}

Answer make_answer(const State& state, int e, int bit) {
  constexpr AnswerType kTypes[] = {AnswerType::pre_bound, AnswerType::bound, AnswerType::released, AnswerType::rejected,
                                   AnswerType::stale,     AnswerType::bound, AnswerType::hello,    AnswerType::hello};
  const int place = state.sent[e] - 1;
  Answer answer(kTypes[bit]);
  answer.node = "n" + std::to_string(place / 4);
  answer.incarnation = incarnation_name(bit == kHello1 ? 1 : bit == kHello2 ? 2 : place % 4);
  if (answer.type == AnswerType::hello) answer.to_incarnation = incarnation_name(place % 4);
  answer.gateway_id = {1, "store"};
  answer.uid = kUid;
  answer.epoch = answer.high = {1, static_cast<std::uint64_t>(e)};
  return answer;
}

Row make_row(const State& state, int e, int phase) {
  const int place = state.place[e] - 1;
  Row row;
  row.uid = kUid;
  row.epoch = {1, static_cast<std::uint64_t>(e)};
  row.node = "n" + std::to_string(place / 4);
  row.incarnation = incarnation_name(place % 4);
  row.phase = static_cast<Phase>(phase);
  return row;
}

}  // namespace

Machine::Reply Machine::decide_once(const Device& device, int type, int e, int floor, bool same_incarnation,
                                    bool admit) const {
  const unsigned key = device.slot_epoch | device.slot_state << 2 | device.high << 5 | device.floor << 7 | type << 10 |
                       e << 12 | floor << 14 | same_incarnation << 17 | admit << 18;
  Reply reply;
  if (known_[key]) {
    reply = replies_[key];
  } else {
    NodeState state = to_node_state(device);
    const Request request = make_request(type, e, floor, same_incarnation);
    const Admission admission = [admit](const Request&) { return admit ? Status::ok() : Status::unschedulable("no"); };
    const NodeDecision decision = decide(state, request, admission);
    apply(state, request, decision);
    reply.device = from_node_state(state, device);
    reply.answer = to_bit(decision.answer);
    if (is(Mutant::released_before_stopped) && decision.answer_when_stopped) reply.answer = kReleased;
    if (is(Mutant::rejected_without_hi) && reply.answer == kRejected) reply.device.high = device.high;
    if (is_final(reply.answer) && options_.mutant == Mutant::none) {
      const NodeDecision again = decide(state, request, admission);
      NodeState after = state;
      apply(after, request, again);
      reply.repeats = is_final(to_bit(again.answer)) && same_store(reply.device, from_node_state(after, device));
    }
    replies_[key] = reply;
    known_[key] = true;
  }
  // Not part of the key, and no request changes them.
  reply.device.incarnation = device.incarnation;
  reply.device.booting = device.booting;
  reply.device.alive = device.alive;
  return reply;
}

Device Machine::clear(const Device& device) const {
  NodeState state = to_node_state(device);
  clear_slot(state, kUid);
  return from_node_state(state, device);
}

State Machine::move_slot(State state, int node, SlotEvent event) const {
  Device& device = state.device[node];
  const SlotState to = berth::apply(static_cast<SlotState>(device.slot_state), event);
  if (to == SlotState::none) {
    device = clear(device);
  } else {
    device.slot_state = static_cast<std::uint8_t>(to);
  }
  return state;
}

std::uint8_t Machine::meaning(const State& state, int phase, int mine, int e, int bit, bool promise_passed) const {
  const unsigned key = static_cast<unsigned>(phase | mine << 3 | state.place[mine] << 5 | e << 9 | state.sent[e] << 11 |
                                             bit << 15 | promise_passed << 18);
  if (meanings_[key] != 0) return meanings_[key] - 1;
  const Answer answer = make_answer(state, e, bit);
  const Row row = make_row(state, mine, phase);
  std::optional<RowEvent> event;
  if (phase == kEntry) {
    const ReleaseEntry owed{row.node, row.incarnation, kUid, row.epoch, {}};
    if (bit != kFinished && ends_entry(owed, answer, "store")) event = RowEvent::released;
  } else if (bit == kFinished) {
    // The pod's status topic: believed like an answer, when sender, incarnation and epoch are the row's.
    const bool ours = answer.epoch == row.epoch && answer.incarnation == row.incarnation && answer.node == row.node;
    if (ours && find_move(row.phase, RowEvent::finished)) event = RowEvent::finished;
  } else if (is(Mutant::hello_without_echo) && answer.type == AnswerType::hello && answer.node == row.node &&
             answer.incarnation != row.incarnation) {
    event = RowEvent::hello;
  } else {
    event = read_answer(row, answer, "store", promise_passed);
  }
  const auto result = static_cast<std::uint8_t>(event ? 1 + static_cast<int>(*event) : 0);
  meanings_[key] = static_cast<std::uint8_t>(result + 1);
  return result;
}

State Machine::receive(State state, int e, int bit, bool promise_passed) const {
  for (int entry = 1; entry <= options_.epochs; ++entry) {
    if (((state.live.entries >> entry) & 1) == 0) continue;
    if (meaning(state, kEntry, entry, e, bit, false) == 0) continue;
    state.live.entries &= static_cast<std::uint8_t>(~(1u << entry));
  }
  if (state.live.epoch == 0) return state;
  const int event = meaning(state, state.live.phase, state.live.epoch, e, bit, promise_passed);
  return event == 0 ? state : give_up(state, static_cast<RowEvent>(event - 1));
}

State Machine::deliver_list(State state, int node, int floor) const {
  NodeState real = to_node_state(state.device[node]);
  Request request(RequestType::list);
  request.gateway_id = real.gateway;
  request.floor = {1, static_cast<std::uint64_t>(floor)};
  apply(real, request, decide(real, request, {}));
  state.device[node] = from_node_state(real, state.device[node]);
  return state;
}

// The row moves; what that means beside it.
State Machine::give_up(State state, RowEvent event) const {
  Ledger& ledger = state.live;
  Row row;
  row.phase = static_cast<Phase>(ledger.phase);
  if (is(Mutant::place_elsewhere_from_bind) && event == RowEvent::remove) {
    ledger.entries |= static_cast<std::uint8_t>(1u << ledger.epoch);
    ledger.phase = ledger.epoch = 0;
    return state;
  }
  const Move move = berth::apply(row, event);
  if (move.to_release_list && !is(Mutant::leave_without_entry)) {
    ledger.entries |= static_cast<std::uint8_t>(1u << ledger.epoch);
  }
  if (event == RowEvent::finished) ledger.gone = 1;
  ledger.phase = static_cast<std::uint8_t>(move.to);
  if (move.to == Phase::none) ledger.epoch = 0;
  return state;
}

}  // namespace berth::model
