// The checks of a state of two gateways: its invariants, and whether a good state is reachable without faults.
#include <algorithm>

#include "tests/model/pair.h"

namespace berth::model {

// What a gateway knows of the devices that obey it.
const char* PairMachine::check_devices(const State& state, int g) const {
  const Ledger& ledger = state.ledger[g];
  const Held& row = ledger.row[0];
  if (row.phase() == Phase::bound && !has(state.old[g], row.epoch)) {
    const Device& device = state.device[node_of(state.sent[row.epoch])];
    const SlotState slot = device.slot[0].slot();
    const bool holds = device.slot[0].epoch == row.epoch && (slot == SlotState::running || slot == SlotState::finished);
    if (!holds && device.obeys == ledger.sender) {
      return "S5: the row is bound, but the node's slot is not running or finished with this epoch";
    }
  }
  for (const Device& device : state.device) {
    const int e = device.slot[0].epoch;
    if (e != 0 && ledger.waiting == 0 && device.obeys == ledger.sender && !ledger.knows(e)) {
      return "S7: a slot has neither a row nor a release-list entry";
    }
  }
  return nullptr;
}

const char* PairMachine::check(const State& state) const {
  if (state.device[0].alive != 0 && state.device[1].alive != 0) return "S4: the pod runs on two nodes";
  for (int g = 0; g < kGateways; ++g) {
    if (const char* broken = check_devices(state, g); broken != nullptr) return broken;
  }
  for (int e = 1; e <= kPairEpochs; ++e) {
    if (!has(state.finals, e)) continue;
    const Device& device = state.device[node_of(state.sent[e])];
    if (device.slot[0].epoch == e || has(device.alive, e)) {
      return "FINAL: the slot is alive although Rejected, Stale or Released was sent";
    }
  }
  const auto& [a, b] = state.claimant;
  if (a.role != Role::serving || b.role != Role::serving) return nullptr;
  const bool neither_was_silent = a.took_over == 0 && b.took_over == 0 && state.late_will == 0;
  if (neither_was_silent) return "P13: two gateways serve, and neither has been silent";
  const auto will_hear = [](const Claimant& of) {
    return std::find(of.mail.begin(), of.mail.end(), other_serves) != of.mail.end();
  };
  if (!will_hear(a) && !will_hear(b)) return "P13: two gateways serve, and both have heard that the other one does";
  return nullptr;
}

// One gateway serves and the other waits for it; the row is bound and its workload runs on its node and nowhere else.
bool PairMachine::is_good(const State& state) const {
  int serving = -1;
  for (int g = 0; g < kGateways; ++g) {
    const Claimant& own = state.claimant[g];
    if (own.mail[0] != no_mail || own.role == Role::claiming) return false;
    if (own.role != Role::serving) continue;
    if (serving >= 0) return false;
    serving = g;
  }
  if (serving < 0) return false;
  const Ledger& ledger = state.ledger[serving];
  if (ledger.sender != 0 && state.claimant[serving].leader_said == 0) return false;
  if (ledger.entries != 0 || ledger.waiting != 0) return false;
  const Held& row = ledger.row[0];
  for (int node = 0; node < kNodes; ++node) {
    const Device& device = state.device[node];
    const bool is_here = row.epoch != 0 && node_of(state.sent[row.epoch]) == node;
    if (device.slot[0].epoch != (is_here ? row.epoch : 0)) return false;
    if (device.alive != (is_here ? bit(row.epoch) : 0)) return false;
    if (is_here && (row.phase() != Phase::bound || device.slot[0].slot() != SlotState::running)) return false;
  }
  return true;
}

bool PairMachine::advance_claims(State& state) const {
  const auto is_serving = [](const Claimant& own) { return own.role == Role::serving; };
  const bool nobody_serves = std::none_of(state.claimant.begin(), state.claimant.end(), is_serving);
  const int first = state.leader == 0 ? 0 : state.owner(state.leader);
  for (const int g : {first, 1 - first}) {
    if (state.claimant[g].mail[0] == no_mail) continue;
    if (try_change(state, [&](Next& next) { read_mail(next, g); })) return true;
  }
  if (!nobody_serves) return false;
  for (const int g : {first, 1 - first}) {
    const Role role = state.claimant[g].role;
    if (role == Role::down) return try_change(state, [&](Next& next) { connect(next, g); });
    if (role != Role::waiting) continue;
    return try_change(state, [&](Next& next) {
      next.state.claimant[g].silent = 1;
      claim(next, g);
    });
  }
  return false;
}

bool PairMachine::advance_device(State& state, int node) const {
  return try_change(state, [&](Next& next) {
    Device& device = next.state.device[node];
    const Held held = device.slot[0];
    if (held.slot() == SlotState::preparing) device = rules_.move_slot(device, 0, SlotEvent::prepared);
    if (held.slot() == SlotState::running) device.alive |= bit(held.epoch);
    if (held.slot() == SlotState::stopping) {
      device = rules_.move_slot(device, 0, SlotEvent::stopped);
      device.alive &= byte(~bit(held.epoch));
    }
  });
}

// Reads an answer in the network, or else delivers the request.
bool PairMachine::advance_row(State& state, int g, int kind, int e) const {
  for (const int answer : {kReleased, kRejected, kStale, kBound, kPreBound}) {
    const bool is_there = has(state.answers[g][e], answer);
    if (is_there && try_change(state, [&](Next& next) { read_answer(next, g, e, answer, false); })) return true;
  }
  const int sender = state.ledger[g].sender - 1;
  return try_change(state, [&](Next& next) { deliver(next, {kind, e, 1, sender}); });
}

bool PairMachine::advance_exchange(State& state, int g) const {
  const Ledger& ledger = state.ledger[g];
  if (ledger.sender == 0) return false;
  for (int node = 0; node < kNodes; ++node) {
    if (!has(ledger.waiting, node)) continue;
    return try_change(state, [&](Next& next) {
      deliver_list(next, node, next.state.ledger[g].sender - 1);
      read_listing(next, g, node);
    });
  }
  const Held row = ledger.row[0];
  if (row.epoch != 0 && advance_row(state, g, request_of(row.phase()), row.epoch)) return true;
  for (int e = 1; e <= kPairEpochs; ++e) {
    if (has(state.ledger[g].entries, e) && advance_row(state, g, kRelease, e)) return true;
  }
  return false;
}

bool PairMachine::advance(State& state) const {
  if (advance_claims(state)) return true;
  for (int node = 0; node < kNodes; ++node) {
    if (advance_device(state, node)) return true;
  }
  for (int g = 0; g < kGateways; ++g) {
    if (state.claimant[g].role == Role::serving && advance_exchange(state, g)) return true;
  }
  return false;
}

}  // namespace berth::model
