// Calls the real rules: converts between the model's bytes and core's types. Results are cached, since the rules are
// pure functions.
#include "tests/model/model.h"

namespace berth::model {

namespace {

constexpr const char* kUids[kPods] = {"u0", "u1"};

std::string incarnation_name(int incarnation) { return "i" + std::to_string(incarnation); }

Epoch epoch_of(int e) { return e == 0 ? Epoch{} : Epoch{1, static_cast<std::uint64_t>(e)}; }

GatewayId id_of(int sender) {
  if (sender == kFirst) return {1, "first"};
  return {sender == kSecond ? 1u : 2u, "second"};
}

NodeState to_node_state(const Device& device) {
  NodeState state;
  state.incarnation = "mine";
  if (device.obeys != 0) state.gateway = id_of(device.obeys - 1);
  state.floor = epoch_of(device.floor);
  for (int pod = 0; pod < kPods; ++pod) {
    if (device.high[pod] != 0) state.high[kUids[pod]] = epoch_of(device.high[pod]);
    if (device.slot[pod].epoch == 0) continue;
    Slot slot;
    slot.epoch = epoch_of(device.slot[pod].epoch);
    slot.state = device.slot[pod].slot();
    slot.finished_before_stop = device.slot[pod].state == kStoppingFinished;
    state.slots[kUids[pod]] = slot;
  }
  return state;
}

Device from_node_state(const NodeState& state, Device device) {
  for (int pod = 0; pod < kPods; ++pod) {
    const auto slot = state.slots.find(kUids[pod]);
    const auto high = state.high.find(kUids[pod]);
    device.high[pod] = high == state.high.end() ? byte(0) : static_cast<std::uint8_t>(high->second.counter);
    device.slot[pod] = {};
    if (slot == state.slots.end()) continue;
    device.slot[pod].epoch = static_cast<std::uint8_t>(slot->second.epoch.counter);
    const bool ended = slot->second.state == SlotState::stopping && slot->second.finished_before_stop;
    device.slot[pod].state = ended ? kStoppingFinished : byte(static_cast<int>(slot->second.state));
  }
  device.floor = static_cast<std::uint8_t>(state.floor.counter);
  device.obeys = 0;
  for (int sender = kFirst; sender < kSenders; ++sender) {
    if (state.gateway == id_of(sender)) device.obeys = byte(1 + sender);
  }
  return device;
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
    case AnswerType::superseded:
    case AnswerType::slots:
    case AnswerType::kept:
    case AnswerType::renew: return kAnswerBits;
  }
  return kAnswerBits;
}

bool is_final(std::uint8_t answer) { return answer == kReleased || answer == kRejected || answer == kStale; }

bool same_store(const Device& a, const Device& b) {
  return a.slot == b.slot && a.high == b.high && a.floor == b.floor && a.obeys == b.obeys;
}

// Answers to an earlier store are not modelled: read_answer() drops them by their store id.
Answer make_answer(std::uint8_t sent, int e, int answer_bit) {
  constexpr AnswerType kTypes[] = {AnswerType::pre_bound, AnswerType::bound, AnswerType::released, AnswerType::rejected,
                                   AnswerType::stale,     AnswerType::bound, AnswerType::hello,    AnswerType::hello};
  Answer answer(kTypes[answer_bit]);
  answer.node = "n" + std::to_string(node_of(sent));
  const int mine = incarnation_of(sent);
  answer.incarnation = incarnation_name(answer_bit == kHello1 ? 1 : answer_bit == kHello2 ? 2 : mine);
  if (answer.type == AnswerType::hello) answer.to_incarnation = incarnation_name(mine);
  answer.gateway_id = id_of(kFirst);
  answer.uid = kUids[pod_of(sent)];
  answer.epoch = answer.high = epoch_of(e);
  return answer;
}

Row make_row(std::uint8_t placement, int e, Phase phase) {
  Row row;
  row.uid = kUids[pod_of(placement)];
  row.epoch = epoch_of(e);
  row.node = "n" + std::to_string(node_of(placement));
  row.incarnation = incarnation_name(incarnation_of(placement));
  row.phase = phase;
  return row;
}

}  // namespace

const Machine::Reply& Machine::decide_once(const Device& device, int pod, const Asked& asked, bool same_incarnation,
                                           bool admit) const {
  std::uint64_t key = 0;
  const auto add = [&key](unsigned value, unsigned bits) { key = key << bits | value; };
  for (int at = 0; at < kPods; ++at) {
    add(device.slot[at].epoch, 2), add(device.slot[at].state, 3), add(device.high[at], 2);
  }
  add(device.floor, 3), add(device.obeys, 2), add(static_cast<unsigned>(pod), 1);
  add(static_cast<unsigned>(asked.kind), 2), add(static_cast<unsigned>(asked.e), 2);
  add(static_cast<unsigned>(asked.floor), 3), add(static_cast<unsigned>(asked.sender), 2);
  add(same_incarnation ? 1 : 0, 1), add(admit ? 1 : 0, 1);
  const auto [found, fresh] = replies_.try_emplace(key);
  Reply& reply = found->second;
  if (!fresh) return reply;

  NodeState state = to_node_state(device);
  constexpr RequestType kTypes[] = {RequestType::pre_bind, RequestType::bind, RequestType::release, RequestType::list};
  Request request(kTypes[asked.kind]);
  request.gateway_id = is(Mutant::any_gateway) && device.obeys != 0 ? state.gateway : id_of(asked.sender);
  if (asked.kind != kList) {
    request.incarnation = same_incarnation ? "mine" : "another";
    request.uid = kUids[pod];
    request.epoch = epoch_of(asked.e);
  }
  request.floor = epoch_of(asked.floor);
  const Admission admission = [admit](const Request&) { return admit ? Status::ok() : Status::unschedulable("no"); };
  const NodeDecision decision = decide(state, request, admission);
  apply(state, request, decision);
  reply.device = from_node_state(state, device);
  reply.answer = to_bit(decision.answer);
  reply.superseded = decision.answer && decision.answer->type == AnswerType::superseded;
  if (is(Mutant::released_before_stopped) && decision.answer_when_stopped) reply.answer = kReleased;
  if (is(Mutant::rejected_without_hi) && reply.answer == kRejected) reply.device.high = device.high;
  if (is_final(reply.answer) && options_.mutant == Mutant::none) {
    const NodeDecision again = decide(state, request, admission);
    NodeState after = state;
    apply(after, request, again);
    reply.repeats = is_final(to_bit(again.answer)) && same_store(reply.device, from_node_state(after, device));
  }
  return reply;
}

Device Machine::clear(const Device& device, int pod) const {
  NodeState state = to_node_state(device);
  clear_slot(state, kUids[pod]);
  return from_node_state(state, device);
}

std::uint8_t Machine::meaning(const State& state, int phase, int mine, int e, int answer_bit,
                              bool promise_passed) const {
  const std::uint8_t placement = state.placement[mine];
  const std::uint8_t sent = state.sent[e];
  const unsigned key = static_cast<unsigned>(phase | mine << 3 | placement << 5 | e << 10 | sent << 12 |
                                             answer_bit << 17 | promise_passed << 20);
  if (meanings_[key] != 0) return meanings_[key] - 1;
  const Answer answer = make_answer(sent, e, answer_bit);
  const std::string& store = answer.gateway_id.store_id;
  const Row row = make_row(placement, mine, static_cast<Phase>(phase));
  std::optional<RowEvent> event;
  if (phase == kEntry) {
    const ReleaseEntry entry{row.node, row.incarnation, row.uid, row.epoch, {}};
    if (answer_bit != kFinished && ends_entry(entry, answer, store)) event = RowEvent::released;
  } else if (answer_bit == kFinished) {
    // The pod's status topic counts like an answer if sender, incarnation and epoch match the row.
    const bool ours = answer.epoch == row.epoch && answer.incarnation == row.incarnation && answer.node == row.node;
    if (ours && answer.uid == row.uid && find_move(row.phase, RowEvent::finished)) event = RowEvent::finished;
  } else if (is(Mutant::hello_without_echo) && answer.type == AnswerType::hello && answer.node == row.node &&
             answer.incarnation != row.incarnation) {
    event = RowEvent::hello;
  } else {
    event = read_answer(row, answer, store, promise_passed);
  }
  const auto result = static_cast<std::uint8_t>(event ? 1 + static_cast<int>(*event) : 0);
  meanings_[key] = static_cast<std::uint8_t>(result + 1);
  return result;
}

// A Hello without the echo of a request: sent at birth, or an answer whose echo was lost.
bool Machine::is_unsolicited_accepted(const State& state, int mine, Phase phase, int incarnation) const {
  const Row row = make_row(state.placement[mine], mine, phase);
  Answer answer(AnswerType::hello);
  answer.node = row.node;
  answer.incarnation = incarnation_name(incarnation);
  answer.gateway_id = id_of(kFirst);
  answer.uid = row.uid;
  if (is(Mutant::hello_without_echo)) return answer.incarnation != row.incarnation;
  return read_answer(row, answer, answer.gateway_id.store_id, false).has_value();
}

}  // namespace berth::model
