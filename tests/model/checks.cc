// What must hold in every state, and that a good state can be reached from it.
#include <algorithm>

#include "tests/model/model.h"

namespace berth::model {

namespace {

// S5 for one of the two ledgers.
bool bound_is_true(const State& state, const Ledger& ledger, int pod) {
  const Held& row = ledger.row[pod];
  if (row.phase() != Phase::bound) return true;
  const Device& device = state.device[node_of(state.place[row.epoch])];
  if (device.incarnation != incarnation_of(state.place[row.epoch])) return true;
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

// S8: a node has room for one; finished slots, and those that had finished before they were stopped, take none.
bool is_overfull(const Device& device) {
  const auto charged = [](const Held& held) {
    return held.epoch != 0 && held.slot() != SlotState::finished && held.state != kStoppingFinished;
  };
  return charged(device.slot[0]) && charged(device.slot[1]);
}

}  // namespace

const char* Machine::check(const State& state) const {
  if (state.live.next < state.flash.next) return "S1: the next epoch went back";
  for (int pod = 0; pod < options_.pods; ++pod) {
    const unsigned mine = epochs_of(state, pod);
    if ((state.device[0].alive & mine) != 0 && (state.device[1].alive & mine) != 0) {
      return "S4: the pod runs on two nodes";
    }
    if (!bound_is_true(state, state.live, pod) || !bound_is_true(state, state.flash, pod)) {
      return "S5: phase bound, but the node's slot is not running or finished at this epoch";
    }
  }
  for (int node = 0; node < kNodes; ++node) {
    const Device& device = state.device[node];
    if (is_overfull(device)) return "S8: more was admitted than the node has";
    for (int pod = 0; pod < options_.pods; ++pod) {
      const int e = device.slot[pod].epoch;
      const bool settled = state.live.waiting == 0 && state.flash.waiting == 0;
      if (e != 0 && settled && (!state.live.knows(e) || !state.flash.knows(e))) {
        return "S7: a slot without row and release-list entry";
      }
      if (options_.mutant == Mutant::none && e != 0 && device.high[pod] < e) return "N2: a slot above hi";
    }
    for (int sent = 1; sent <= options_.epochs; ++sent) {
      if (!has(state.finals, sent) || node_of(state.sent[sent]) != node) continue;
      if (device.slot[pod_of(state.sent[sent])].epoch == sent || has(device.alive, sent)) {
        return "final: Rejected, Stale or Released was sent, yet the slot lives";
      }
    }
  }
  return nullptr;
}

bool Machine::is_home(const State& state, int node, int pod) const {
  const int e = state.live.row[pod].epoch;
  return e != 0 && node == node_of(state.place[e]);
}

// Every row is bound and its workload runs, there and nowhere else; nothing is owed.
bool Machine::is_good(const State& state) const {
  if (!(state.live == state.flash) || state.live.entries != 0 || state.live.waiting != 0) return false;
  for (int node = 0; node < kNodes; ++node) {
    const Device& device = state.device[node];
    if (device.booting != 0) return false;
    unsigned wanted = 0;
    for (int pod = 0; pod < options_.pods; ++pod) {
      const Held& row = state.live.row[pod];
      const Held& slot = device.slot[pod];
      if (!is_home(state, node, pod)) {
        if (slot.epoch != 0) return false;
        continue;
      }
      if (row.phase() != Phase::bound || slot.epoch != row.epoch || slot.slot() != SlotState::running) return false;
      wanted |= bit(row.epoch);
    }
    if (device.alive != wanted) return false;
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

// Each node that has still to answer is asked; its newest listing is read.
bool Machine::advance_listing(State& state) const {
  for (int node = 0; node < kNodes; ++node) {
    if (!has(state.live.waiting, node)) continue;
    State next = deliver_list(state, node, {kList, 0, 1, state.live.speaker}, true);
    if (next.superseded != 0 && next.live.speaker == kSecond) {
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

// Answer in hand: read it. Else deliver the request. The first that changes something is the step.
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
  if (state.superseded != 0 && state.live.speaker == kSecond) {
    state = raise_term(state);
    settle(state);
    return true;
  }
  if (advance_listing(state)) return true;
  constexpr int kAsks[] = {-1, kPreBind, kBind, kBind, kRelease};  // by phase
  for (int pod = 0; pod < options_.pods; ++pod) {
    const Held row = state.live.row[pod];
    if (row.epoch != 0 && advance_exchange(state, kAsks[row.state], row.epoch)) return true;
  }
  for (int e = 1; e <= options_.epochs; ++e) {
    if (has(state.live.entries, e) && advance_exchange(state, kRelease, e)) return true;
  }
  return false;
}

}  // namespace berth::model
