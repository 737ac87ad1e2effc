// What must hold in every state, and that a good state can be reached from it.
#include <algorithm>

#include "tests/model/model.h"

namespace berth::model {

namespace {

bool has(std::uint8_t mask, int index) { return ((mask >> index) & 1) != 0; }
int node_of(std::uint8_t place) { return (place - 1) / 4; }
int incarnation_of(std::uint8_t place) { return (place - 1) % 4; }

// S5 for one of the two ledgers.
bool bound_is_true(const State& state, const Ledger& ledger) {
  if (static_cast<Phase>(ledger.phase) != Phase::bound) return true;
  const Device& device = state.device[node_of(state.place[ledger.epoch])];
  if (device.incarnation != incarnation_of(state.place[ledger.epoch])) return true;
  const auto slot = static_cast<SlotState>(device.slot_state);
  return device.slot_epoch == ledger.epoch && (slot == SlotState::running || slot == SlotState::finished);
}

}  // namespace

const char* Machine::check(const State& state) const {
  if (state.live.next < state.flash.next) return "S1: the next epoch went back";
  if (state.device[0].alive != 0 && state.device[1].alive != 0) return "S4: the pod runs on two nodes";
  if (!bound_is_true(state, state.live) || !bound_is_true(state, state.flash)) {
    return "S5: phase bound, but the node's slot is not running or finished at this epoch";
  }
  for (int node = 0; node < kNodes; ++node) {
    const Device& device = state.device[node];
    const int e = device.slot_epoch;
    if (e != 0 && (!state.live.knows(e) || !state.flash.knows(e))) {
      return "S7: a slot without row and release-list entry";
    }
    for (int sent = 1; sent <= options_.epochs; ++sent) {
      if (!has(state.finals, sent) || node_of(state.sent[sent]) != node) continue;
      if (e == sent || has(device.alive, sent))
        return "final: Rejected, Stale or Released was sent, yet the slot lives";
    }
    if (options_.mutant == Mutant::none && e != 0 && device.high < e) return "N2: a slot above hi";
  }
  return nullptr;
}

bool Machine::is_good(const State& state) {
  if (!(state.live == state.flash) || state.live.entries != 0) return false;
  for (int node = 0; node < kNodes; ++node) {
    const Device& device = state.device[node];
    const bool is_home = state.live.epoch != 0 && node == node_of(state.place[state.live.epoch]);
    if (device.booting != 0) return false;
    if (!is_home && (device.slot_epoch != 0 || device.alive != 0)) return false;
    if (!is_home) continue;
    const bool runs = static_cast<Phase>(state.live.phase) == Phase::bound && device.slot_epoch == state.live.epoch &&
                      static_cast<SlotState>(device.slot_state) == SlotState::running &&
                      device.alive == 1 << state.live.epoch;
    if (!runs) return false;
  }
  return true;
}

// Answer in hand: read it. Else deliver the request; else send it. The first that changes something is the step.
bool Machine::advance_exchange(State& state, int type, int e) const {
  const auto differs = [&](State next) {
    reduce(next);
    if (next == state) return false;
    state = next;
    return true;
  };
  for (const int answer : {kHello1, kHello2, kReleased, kRejected, kStale, kFinished, kBound, kPreBound}) {
    if (has(state.answers[e], answer) && differs(receive(state, e, answer, false))) return true;
  }
  const char* violation = nullptr;
  const std::uint8_t floors = state.requests[type + 3 * (e - 1)];
  for (int floor = 1; floors >> floor != 0; ++floor) {
    if (has(floors, floor) && differs(deliver(state, type, e, floor, true, &violation))) return true;
  }
  return differs(send(state, type, e, &violation));
}

bool Machine::advance(State& state) const {
  if (!(state.live == state.flash)) {
    state = commit(state);
    reduce(state);
    return true;
  }
  for (int node = 0; node < kNodes; ++node) {
    Device& device = state.device[node];
    const auto slot = static_cast<SlotState>(device.slot_state);
    const int e = device.slot_epoch;
    const State before = state;
    if (device.booting != 0) state = sweep(state, node);
    if (slot == SlotState::preparing) state = move_slot(state, node, SlotEvent::prepared);
    if (slot == SlotState::running) device.alive |= static_cast<std::uint8_t>(1u << e);
    if (slot == SlotState::stopping) {
      state = move_slot(state, node, SlotEvent::stopped);
      state.device[node].alive &= static_cast<std::uint8_t>(~(1u << e));
    }
    reduce(state);
    if (!(state == before)) return true;
  }
  constexpr int kAsks[] = {-1, kPreBind, kBind, kBind, kRelease};  // by phase
  if (state.live.epoch != 0 && advance_exchange(state, kAsks[state.live.phase], state.live.epoch)) return true;
  for (int e = 1; e <= options_.epochs; ++e) {
    if (has(state.live.entries, e) && advance_exchange(state, kRelease, e)) return true;
  }
  return false;
}

}  // namespace berth::model
