// Implied after every step: decisions are committed, sendable messages enter the network, and messages that can no
// longer change anything are removed, so that states that differ only in such messages become equal.
#include <algorithm>

#include "tests/model/model.h"

namespace berth::model {

namespace {

std::uint16_t mask_of(int sender, int floor) { return static_cast<std::uint16_t>(1 << (sender * kFloors + floor - 1)); }

// All floors of one sender, up to this one.
std::uint16_t up_to(int sender, int floor) {
  return static_cast<std::uint16_t>(((1 << floor) - 1) << (sender * kFloors));
}

// P10: the lowest epoch of any live row or release-list entry of that node; with none, the next epoch.
int floor_of(const State& state, int node) {
  for (int e = 1; e <= kMaxEpochs; ++e) {
    if (state.live.knows(e) && node_of(state.placement[e]) == node) return e;
  }
  return state.live.next;
}

// The device's hi and floor may be lower later: there is an earlier copy of its store, or it works on one.
bool may_go_back(const State& state, int node) { return state.kept_of == 1 + node || has(state.behind, node); }

}  // namespace

Machine::Machine(const Options& options)
    : options_(options),
      rules_(options.unmarked == 0
                 ? Rules(options.mutant, {{1, "first"}, {1, "second"}, {2, "second"}})
                 : Rules(options.mutant, {{1, "first"}, {2, "first"}, {3, "first"}, {4, "first"}}, later_start())) {}

State Machine::first() const {
  State state;
  settle(state);
  return state;
}

const char* Machine::settle(State& state) const {
  if (!options_.split) state.flash = state.live;
  const char* violation = send_all(state);
  forget(state);
  return violation;
}

bool Machine::may_send(const State& state, int kind) const {
  if (state.live == state.flash) return true;
  return (kind == kBind && is(Mutant::bind_before_commit)) || (kind == kPreBind && is(Mutant::pre_bind_before_commit));
}

const char* Machine::send(State& state, int kind, int e) const {
  const char* violation = nullptr;
  const auto& rows = state.flash.row;
  const bool phase_is_durable = std::any_of(
      rows.begin(), rows.end(), [&](const Held& row) { return row.epoch == e && row.phase() >= Phase::bind; });
  if (kind == kBind && !phase_is_durable && !is(Mutant::bind_before_commit)) {
    violation = "S3: Bind sent before phase bind was durable";
  }
  if (state.sent[e] != 0 && state.sent[e] != state.placement[e])
    violation = "S2: one epoch was sent with two placements";
  state.sent[e] = state.placement[e];
  state.requests[kind][e - 1] |= mask_of(state.live.sender, floor_of(state, node_of(state.placement[e])));
  // Via a name a request may bring no floor (N12), which is the same as the lowest one. A name that the device does not
  // know is a lost request.
  if (kind != kRelease) state.requests[kind][e - 1] |= mask_of(state.live.sender, 1);
  return violation;
}

const char* Machine::send_all(State& state) const {
  const char* violation = nullptr;
  for (int pod = 0; pod < options_.pods; ++pod) {
    const Held& row = state.live.row[pod];
    const int kind = request_of(row.phase());
    if (row.epoch == 0 || kind < 0 || !may_send(state, kind)) continue;
    if (const char* broken = send(state, kind, row.epoch); broken != nullptr) violation = broken;
  }
  if (!may_send(state, kRelease)) return violation;
  for (int e = 1; e <= options_.epochs; ++e) {
    if (!has(state.live.entries, e)) continue;
    if (const char* broken = send(state, kRelease, e); broken != nullptr) violation = broken;
  }
  for (int node = 0; node < kNodes; ++node) {
    const bool is_asked = has(state.live.waiting | state.past.unheard, node) || is_elsewhere(state, node);
    if (options_.list || is_asked) ask(state, node);
  }
  return violation;
}

void Machine::ask(State& state, int node) const {
  state.lists[node] |= mask_of(state.live.sender, floor_of(state, node));
}

// Relies on what check() asserts: hi and floor are lost only in a wipe, and the gateway matches answers by exact epoch
// and store. For mutants that break this, the affected messages are kept.
void Machine::forget(State& state) const {
  for (int e = 1; e <= options_.epochs; ++e) {
    if (state.sent[e] == 0) continue;
    // In adopt mode a listed slot may still bring the epoch back.
    const bool adopting = state.live.waiting != 0 || state.flash.waiting != 0;
    const bool is_given = e < state.flash.next || is_put_back(state);
    const bool is_known = state.live.knows(e) || state.flash.knows(e) || may_find(state, e);
    const bool dead = !adopting && !is_known && is_given;
    forget_answers(state, e, dead);
    forget_requests(state, e, dead);
  }
  for (int node = 0; node < kNodes; ++node) forget_lists(state, node);
  const int superseded = options_.unmarked != 0 ? start_on_copy() : kSecond;
  if (state.live.sender != superseded && state.flash.sender != superseded) state.superseded = 0;
}

void Machine::forget_answers(State& state, int e, bool dead) const {
  const std::uint8_t hellos = state.answers[e] & (bit(kHello1) | bit(kHello2));
  if (dead) state.answers[e] = is(Mutant::hello_without_echo) ? hellos : byte(0);
  auto least = static_cast<Phase>(9);
  for (const Ledger* ledger : {&state.live, &state.flash, &state.copy}) {
    if (ledger == &state.copy && options_.unmarked == 0) continue;
    for (const Held& row : ledger->row) {
      if (row.epoch == e) least = std::min(least, row.phase());
    }
  }
  if (least > Phase::prebind) state.answers[e] &= byte(~bit(kPreBound));
  if (least > Phase::bind) state.answers[e] &= byte(~bit(kBound));
  const bool adopting = state.live.waiting != 0 || state.flash.waiting != 0;
  const bool may_be_adopted = least > Phase::release && (adopting || may_find(state, e));
  if (least > Phase::bound && !may_be_adopted) state.answers[e] &= byte(~bit(kFinished));
}

void Machine::forget_requests(State& state, int e, bool dead) const {
  const bool keep = may_go_back(state, node_of(state.sent[e])) || is(Mutant::hi_forgotten_at_reboot) ||
                    is(Mutant::floor_not_durable) || is(Mutant::any_incarnation) || is(Mutant::rejected_without_hi) ||
                    is(Mutant::hello_without_echo) || is(Mutant::any_gateway);
  if (keep) return;
  const Device& device = state.device[node_of(state.sent[e])];
  const bool same = device.incarnation == incarnation_of(state.sent[e]);
  const bool closed =
      device.slot[pod_of(state.sent[e])].epoch != e && (device.high[pod_of(state.sent[e])] >= e || device.floor > e);
  for (auto& of_kind : state.requests) {
    std::uint16_t& requests = of_kind[e - 1];
    for (int sender = kFirst; sender < kUnmarkedSenders && requests != 0; ++sender) {
      const std::uint16_t all = up_to(sender, kFloors);
      if ((requests & all) == 0) continue;
      const bool lost_store = !is_same_store(sender, state.live.sender) && !is_same_store(sender, state.flash.sender);
      const bool overruled = same && device.obeys > 1 + sender;
      // It can only be answered with a Hello that no store waits for, or with a Superseded that is already known.
      if ((lost_store && (!same || overruled)) || (overruled && sender == kSecond) ||
          (overruled && options_.unmarked != 0)) {
        requests &= static_cast<std::uint16_t>(~all);
        continue;
      }
      // A floor that is not above the node's own, or that the node ignores, is equivalent to the lowest one.
      const std::uint16_t old = same ? up_to(sender, std::max<int>(device.floor, 1)) : all;
      if ((requests & old) != 0) requests = static_cast<std::uint16_t>((requests & ~old) | mask_of(sender, 1));
      const bool inert = !same || (closed && device.obeys == 1 + sender);
      if (dead && inert) requests &= static_cast<std::uint16_t>(~old);
    }
  }
}

void Machine::forget_lists(State& state, int node) const {
  const Device& device = state.device[node];
  if (state.listing[node].sender != 0 && state.listing[node].sender < 1 + state.live.sender &&
      state.listing[node].sender < 1 + state.flash.sender) {
    state.listing[node] = {};
    state.past.tells &= byte(~bit(node));
  }
  const bool forgets = may_go_back(state, node) || state.wipes < options_.wipes || is(Mutant::floor_not_durable) ||
                       is(Mutant::any_gateway);
  if (forgets || device.obeys == 0) return;
  for (int sender = kFirst; sender < kUnmarkedSenders; ++sender) {
    if (is_elsewhere(state, node) && sender == start_on_copy()) continue;
    if (device.obeys > 1 + sender) state.lists[node] &= static_cast<std::uint16_t>(~up_to(sender, kFloors));
    // A floor that is not above the node's own has no effect: only the listing matters.
    const std::uint16_t old = up_to(sender, std::max<int>(device.floor, 1));
    if (device.obeys != 1 + sender || (state.lists[node] & old) == 0) continue;
    state.lists[node] = static_cast<std::uint16_t>((state.lists[node] & ~old) | mask_of(sender, 1));
  }
}

}  // namespace berth::model
