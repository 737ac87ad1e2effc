// Calls the real rules: converts between the model's bytes and core's types.
#include "tests/model/rules.h"

#include <string>
#include <utility>

namespace berth::model {

namespace {

constexpr const char* kUids[kPods] = {"u0", "u1"};
constexpr const char* kStore = "store";
constexpr const char* kProof = "proof";

std::string incarnation_name(int incarnation) { return "i" + std::to_string(incarnation); }

Epoch epoch_of(int e) { return e == 0 ? Epoch{} : Epoch{1, static_cast<std::uint64_t>(e)}; }

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
    case AnswerType::renew:
    case AnswerType::volume_deleted:
    case AnswerType::lacks: return kAnswerBits;
  }
  return kAnswerBits;
}

bool same_store(const Device& a, const Device& b) {
  return a.slot == b.slot && a.high == b.high && a.floor == b.floor && a.obeys == b.obeys && a.proofs == b.proofs;
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
  answer.gateway_id = {1, kStore};
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

NodeState Rules::to_node_state(const Device& device) const {
  NodeState state;
  state.incarnation = "mine";
  if (device.obeys != 0) state.gateway = senders_[device.obeys - 1];
  if ((device.proofs & kOfObeyed) != 0) state.proof = kProof;
  if ((device.proofs & kOfEarlier) != 0) state.obeyed_before = {{kStore, kProof}};
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

Device Rules::from_node_state(const NodeState& state, Device device) const {
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
  device.proofs = byte((state.proof.empty() ? 0 : kOfObeyed) | (state.obeyed_before.empty() ? 0 : kOfEarlier));
  device.obeys = 0;
  for (std::size_t sender = 0; sender < senders_.size(); ++sender) {
    if (state.gateway == senders_[sender]) device.obeys = byte(1 + static_cast<int>(sender));
  }
  return device;
}

const Reply& Rules::decide_once(const Device& device, int pod, const Asked& asked, bool same_incarnation, bool admit) {
  std::uint64_t key = 0;
  const auto add = [&key](unsigned value, unsigned bits) { key = key << bits | value; };
  for (int at = 0; at < kPods; ++at) {
    add(device.slot[at].epoch, 3), add(device.slot[at].state, 3), add(device.high[at], 3);
  }
  add(device.floor, 3), add(device.obeys, 3), add(device.proofs, 2), add(static_cast<unsigned>(pod), 1);
  add(static_cast<unsigned>(asked.kind), 2), add(static_cast<unsigned>(asked.e), 3);
  add(static_cast<unsigned>(asked.floor), 3), add(static_cast<unsigned>(asked.sender), 3);
  add(same_incarnation ? 1 : 0, 1), add(admit ? 1 : 0, 1);
  const auto [found, fresh] = replies_.try_emplace(key);
  Reply& reply = found->second;
  if (!fresh) return reply;

  NodeState state = to_node_state(device);
  constexpr RequestType kTypes[] = {RequestType::pre_bind, RequestType::bind, RequestType::release, RequestType::list};
  Request request(kTypes[asked.kind]);
  request.gateway_id =
      is(Mutant::any_gateway) && device.obeys != 0 ? state.gateway : senders_[static_cast<std::size_t>(asked.sender)];
  if (asked.kind != kList) {
    request.incarnation = same_incarnation ? "mine" : "another";
    request.uid = kUids[pod];
    request.epoch = epoch_of(asked.e);
  }
  request.floor = epoch_of(asked.floor);
  if (asked.kind == kList && asked.sender == proven_) request.proof = kProof;
  const Admission admission = [admit](const Request&) { return admit ? Status::ok() : Status::unschedulable("no"); };
  const NodeDecision decision = decide(state, request, admission);
  apply(state, request, decision);
  if (is(Mutant::obeyed_before_forgotten)) state.obeyed_before.clear();
  reply.device = from_node_state(state, device);
  reply.answer = to_bit(decision.answer);
  reply.superseded = decision.answer && decision.answer->type == AnswerType::superseded;
  if (is(Mutant::released_before_stopped) && decision.answer_when_stopped) reply.answer = kReleased;
  if (is(Mutant::rejected_without_hi) && reply.answer == kRejected) reply.device.high = device.high;
  if (is_final(reply.answer) && is(Mutant::none)) {
    const NodeDecision again = decide(state, request, admission);
    NodeState after = state;
    apply(after, request, again);
    reply.repeats = is_final(to_bit(again.answer)) && same_store(reply.device, from_node_state(after, device));
  }
  return reply;
}

Device Rules::clear(const Device& device, int pod) const {
  NodeState state = to_node_state(device);
  clear_slot(state, kUids[pod]);
  return from_node_state(state, device);
}

Device Rules::move_slot(Device device, int pod, SlotEvent event) const {
  const SlotState to = berth::apply(device.slot[pod].slot(), event);
  if (to == SlotState::none) return clear(device, pod);
  device.slot[pod].state = byte(static_cast<int>(to));
  return device;
}

std::uint8_t Rules::meaning(std::uint8_t placement, int phase, int mine, std::uint8_t sent, int e, int answer_bit,
                            bool promise_passed) {
  const unsigned key = static_cast<unsigned>(phase | mine << 3 | placement << 6 | e << 11 | sent << 14 |
                                             answer_bit << 19 | promise_passed << 22);
  if (meanings_[key] != 0) return meanings_[key] - 1;
  const Row row = make_row(placement, mine, static_cast<Phase>(phase));
  const std::optional<RowEvent> event =
      read(row, phase == kEntry, answer_bit, make_answer(sent, e, answer_bit), promise_passed);
  const auto result = static_cast<std::uint8_t>(event ? 1 + static_cast<int>(*event) : 0);
  meanings_[key] = static_cast<std::uint8_t>(result + 1);
  return result;
}

std::optional<RowEvent> Rules::read(const Row& row, bool is_entry, int answer_bit, const Answer& answer,
                                    bool promise_passed) const {
  if (is_entry) {
    const ReleaseEntry entry{row.node, row.incarnation, row.uid, row.epoch, {}};
    const bool ends = answer_bit != kFinished && ends_entry(entry, answer, kStore);
    return ends ? std::optional(RowEvent::released) : std::nullopt;
  }
  if (answer_bit == kFinished) {
    // The pod's status topic counts like an answer if sender, incarnation and epoch match the row.
    const bool ours = answer.epoch == row.epoch && answer.incarnation == row.incarnation && answer.node == row.node;
    const bool counts = ours && answer.uid == row.uid && find_move(row.phase, RowEvent::finished);
    return counts ? std::optional(RowEvent::finished) : std::nullopt;
  }
  const bool is_any_hello = is(Mutant::hello_without_echo) && answer.type == AnswerType::hello &&
                            answer.node == row.node && answer.incarnation != row.incarnation;
  return is_any_hello ? RowEvent::hello : read_answer(row, answer, kStore, promise_passed);
}

// A Hello without the echo of a request: sent at birth, or an answer whose echo was lost.
bool Rules::is_unsolicited_accepted(std::uint8_t placement, int mine, Phase phase, int incarnation) const {
  const Row row = make_row(placement, mine, phase);
  Answer answer(AnswerType::hello);
  answer.node = row.node;
  answer.incarnation = incarnation_name(incarnation);
  answer.gateway_id = {1, kStore};
  answer.uid = row.uid;
  if (is(Mutant::hello_without_echo)) return answer.incarnation != row.incarnation;
  return read_answer(row, answer, kStore, false).has_value();
}

int request_of(Phase phase) {
  switch (phase) {
    case Phase::prebind: return kPreBind;
    case Phase::bind:
    case Phase::bound: return kBind;  // bound: sent again by the comparison
    case Phase::release: return kRelease;
    case Phase::none: return -1;
  }
  return -1;
}

int move_row(Ledger& ledger, int pod, RowEvent event, bool to_release_list) {
  Held& held = ledger.row[pod];
  Row row;
  row.phase = held.phase();
  const Move move = berth::apply(row, event);
  if (move.to_release_list && to_release_list) ledger.entries |= bit(held.epoch);
  if (event == RowEvent::finished) ledger.gone |= bit(pod);
  held.state = byte(static_cast<int>(move.to));
  if (move.to != Phase::none) return 0;
  const int ended = std::exchange(held, {}).epoch;
  return has(ledger.entries, ended) ? 0 : ended;
}

void adopt_slot(Ledger& ledger, int pod, Held slot) {
  Held& row = ledger.row[pod];
  const bool is_alive = slot.slot() == SlotState::running || slot.slot() == SlotState::stopping;
  const bool other_wins = row.epoch != 0 && (row.epoch > slot.epoch || !is_alive);
  const bool held = slot.slot() == SlotState::preparing || slot.slot() == SlotState::prepared;
  if (ledger.waiting == 0 || other_wins || held) {
    ledger.entries |= bit(slot.epoch);
    return;
  }
  if (row.epoch != 0) ledger.entries |= bit(row.epoch);
  const bool keeps_running = slot.slot() == SlotState::running && !has(ledger.gone, pod);
  const RowEvent event = keeps_running ? RowEvent::found_running : RowEvent::found_ending;
  row = {slot.epoch, byte(static_cast<int>(find_move(Phase::none, event)->to))};
  if (slot.slot() == SlotState::finished) ledger.gone |= bit(pod);
}

}  // namespace berth::model
