// The checks of a state: its invariants, and whether a good state is reachable without faults.
#include <algorithm>

#include "tests/model/model.h"

namespace berth::model {

namespace {

// S5, for one of the two ledgers.
bool bound_is_true(const State& state, const Ledger& ledger, int pod) {
  const Held& row = ledger.row[pod];
  if (row.phase() != Phase::bound || has(state.from_copy, row.epoch)) return true;
  const int node = node_of(state.placement[row.epoch]);
  if (has(state.behind, node)) return true;  // N8: until the device has been told
  const Device& device = state.device[node];
  if (device.incarnation != incarnation_of(state.placement[row.epoch])) return true;
  const SlotState slot = device.slot[pod].slot();
  return device.slot[pod].epoch == row.epoch && (slot == SlotState::running || slot == SlotState::finished);
}

unsigned epochs_of(const State& state, int pod) {
  unsigned mask = 0;
  for (int e = 1; e <= kMaxEpochs; ++e) {
    if (state.sent[e] != 0 && pod_of(state.sent[e]) == pod) mask |= bit(e);
  }
  return mask;
}

// S4. Of a store that was put back (limits.md): what was placed before a node had reported the lost time may run beside
// what the lost time placed; no other two.
bool runs_twice(const State& state, int pod) {
  const unsigned mine = epochs_of(state, pod) & ~unsigned{state.ghosts};
  for (int e = 1; e <= kMaxEpochs; ++e) {
    if (!has(state.device[0].alive & mine, e)) continue;
    const PutBack& past = state.past;
    const unsigned blind = past.blind & ~unsigned{past.given_up};
    const unsigned excused = (has(blind, e) ? past.lost : 0u) | (has(past.lost, e) ? blind : 0u);
    if ((state.device[1].alive & mine & ~excused) != 0) return true;
  }
  return false;
}

// S8: a node has capacity for one pod; slots that have finished, before a stop or not, are not charged.
bool is_overfull(const Device& device) {
  const auto charged = [](const Held& held) {
    return held.epoch != 0 && held.slot() != SlotState::finished && held.state != kStoppingFinished;
  };
  return charged(device.slot[0]) && charged(device.slot[1]);
}

}  // namespace

const char* Machine::check(const State& state) const {
  if (state.live.next < state.flash.next) return "S1: the next epoch decreased";
  for (int pod = 0; pod < options_.pods; ++pod) {
    if (runs_twice(state, pod)) return "S4: the pod runs on two nodes";
    if (!bound_is_true(state, state.live, pod) || !bound_is_true(state, state.flash, pod)) {
      return "S5: the row is bound, but the node's slot is not running or finished with this epoch";
    }
  }
  for (int node = 0; node < kNodes; ++node) {
    const Device& device = state.device[node];
    if (is_overfull(device)) return "S8: the node admitted more than its capacity";
    for (int pod = 0; pod < options_.pods; ++pod) {
      const int e = device.slot[pod].epoch;
      const bool settled = state.live.waiting == 0 && state.flash.waiting == 0;
      const bool is_heard = !has(state.behind | state.past.unheard, node) && !is_elsewhere(state, node);
      if (e != 0 && settled && is_heard && (!state.live.knows(e) || !state.flash.knows(e))) {
        return "S7: a slot has neither a row nor a release-list entry";
      }
      if (options_.mutant == Mutant::none && e != 0 && device.high[pod] < e)
        return "N2: the epoch of a slot is above hi";
    }
    for (int sent = 1; sent <= options_.epochs; ++sent) {
      if (!has(state.finals, sent) || node_of(state.sent[sent]) != node) continue;
      if (has(state.behind, node) || has(state.ghosts, sent)) continue;
      if (device.slot[pod_of(state.sent[sent])].epoch == sent || has(device.alive, sent)) {
        return "FINAL: the slot is alive although Rejected, Stale or Released was sent";
      }
    }
  }
  return nullptr;
}

// S12: what a node lists outside adopt mode. What a proof in it makes of the rows is no change that the slots make.
const char* Machine::changes_row_of_another(const State& before, const State& after, int node) const {
  if (before.live.waiting != 0 || after.live.waiting != 0) return nullptr;
  for (int pod = 0; pod < options_.pods; ++pod) {
    const Held& row = before.live.row[pod];
    if (row.epoch == 0 || node_of(before.placement[row.epoch]) == node || row == after.live.row[pod]) continue;
    return "S12: a listing changes the row of a pod on another node";
  }
  return nullptr;
}

bool Machine::is_placed_on(const State& state, int node, int pod) const {
  const int e = state.live.row[pod].epoch;
  return e != 0 && node == node_of(state.placement[e]);
}

// Every row is bound, its workload runs on its node and nowhere else, and no release is pending.
bool Machine::is_good(const State& state) const {
  if (!(state.live == state.flash) || state.live.entries != 0 || state.live.waiting != 0) return false;
  if (state.behind != 0 || state.ghosts != 0 || state.past.unheard != 0) return false;
  for (int node = 0; node < kNodes; ++node) {
    if (is_elsewhere(state, node)) return false;
    const Device& device = state.device[node];
    if (device.booting != 0) return false;
    unsigned expected = 0;
    for (int pod = 0; pod < options_.pods; ++pod) {
      const Held& row = state.live.row[pod];
      const Held& slot = device.slot[pod];
      if (!is_placed_on(state, node, pod)) {
        if (slot.epoch != 0) return false;
        continue;
      }
      if (row.phase() != Phase::bound || slot.epoch != row.epoch || slot.slot() != SlotState::running) return false;
      expected |= bit(row.epoch);
    }
    if (device.alive != expected) return false;
  }
  return true;
}

bool Machine::advance_device(State& state, int node) const {
  const State before = state;
  if (state.device[node].booting != 0) state = sweep(state, node);
  for (int pod = 0; pod < options_.pods; ++pod) {
    const Held held = state.device[node].slot[pod];
    if (held.slot() == SlotState::preparing) state = move_slot(state, node, pod, SlotEvent::prepared);
    if (held.slot() == SlotState::running) state.device[node].alive |= bit(held.epoch);
    if (held.slot() == SlotState::stopping) {
      state = move_slot(state, node, pod, SlotEvent::stopped);
      state.device[node].alive &= byte(~bit(held.epoch));
    }
  }
  settle(state);
  return !(state == before);
}

// A node that has not listed its slots yet is asked, and its listing is read.
bool Machine::advance_listing(State& state) const {
  for (int node = 0; node < kNodes; ++node) {
    const bool is_asked = has(state.live.waiting | state.behind | state.past.unheard, node);
    if (!is_asked && !is_elsewhere(state, node)) continue;
    State next = deliver_list(state, node, {kList, 0, 1, state.live.sender, true}, true);
    if (may_raise(next)) {
      next = raise_term(next);
    } else {
      next = read_listing(next, node);
    }
    settle(next);
    if (next == state) continue;
    state = next;
    return true;
  }
  return false;
}

// Reads an answer in the network, or else delivers the request; the first that changes the state is the step.
bool Machine::advance_exchange(State& state, int kind, int e) const {
  const auto differs = [&](State next) {
    settle(next);
    if (next == state) return false;
    state = next;
    return true;
  };
  for (const int answer : {kHello1, kHello2, kReleased, kRejected, kStale, kFinished, kBound, kPreBound}) {
    if (has(state.answers[e], answer) && differs(receive(state, e, answer, false))) return true;
  }
  const char* violation = nullptr;
  const unsigned requests = state.requests[kind][e - 1];
  for (int at = 0; requests >> at != 0; ++at) {
    const Asked asked{kind, e, at % kFloors + 1, at / kFloors};
    if (has(requests, at) && differs(deliver(state, asked, false, &violation))) return true;
  }
  return false;
}

bool Machine::advance(State& state) const {
  if (!(state.live == state.flash)) {
    state = commit(state);
    settle(state);
    return true;
  }
  for (int node = 0; node < kNodes; ++node) {
    if (advance_device(state, node)) return true;
  }
  if (may_raise(state)) {
    state = raise_term(state);
    settle(state);
    return true;
  }
  if (advance_listing(state)) return true;
  constexpr int kRequestOf[] = {-1, kPreBind, kBind, kBind, kRelease};  // by phase
  for (int pod = 0; pod < options_.pods; ++pod) {
    const Held row = state.live.row[pod];
    if (row.epoch != 0 && advance_exchange(state, kRequestOf[row.state], row.epoch)) return true;
  }
  for (int e = 1; e <= options_.epochs; ++e) {
    if (has(state.live.entries, e) && advance_exchange(state, kRelease, e)) return true;
  }
  return false;
}

}  // namespace berth::model
