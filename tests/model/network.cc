// What goes without saying after a step: a decision is committed, what may be sent is in the network, and messages that
// can change nothing any more are forgotten, so that states that differ in them alone are one.
#include <algorithm>

#include "tests/model/model.h"

namespace berth::model {

namespace {

std::uint16_t mask_of(int speaker, int floor) {
  return static_cast<std::uint16_t>(1 << (speaker * kFloors + floor - 1));
}

// All floors of one speaker up to this one.
std::uint16_t up_to(int speaker, int floor) {
  return static_cast<std::uint16_t>(((1 << floor) - 1) << (speaker * kFloors));
}

// P10: the lowest epoch of any live row or release-list entry of that node; with none, the next epoch.
int floor_of(const State& state, int node) {
  for (int e = 1; e < state.live.next; ++e) {
    if (state.live.knows(e) && node_of(state.place[e]) == node) return e;
  }
  return state.live.next;
}

// The request that a row in this phase resends, or -1.
int request_of(Phase phase) {
  switch (phase) {
    case Phase::prebind: return kPreBind;
    case Phase::bind:
    case Phase::bound: return kBind;  // bound: the comparison asks again
    case Phase::release: return kRelease;
    case Phase::none: return -1;
  }
  return -1;
}

}  // namespace

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
  if (state.sent[e] != 0 && state.sent[e] != state.place[e]) violation = "S2: one epoch was sent to two places";
  state.sent[e] = state.place[e];
  state.requests[kind][e - 1] |= mask_of(state.live.speaker, floor_of(state, node_of(state.place[e])));
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
    if (!options_.list && !has(state.live.waiting, node)) continue;
    state.lists[node] |= mask_of(state.live.speaker, floor_of(state, node));
  }
  return violation;
}

// It leans on what check() asserts: hi and floor are never lost but by a wipe, and the gateway reads an answer by its
// exact epoch and its store. Where a mutant breaks that, nothing of the kind is forgotten.
void Machine::forget(State& state) const {
  for (int e = 1; e <= options_.epochs; ++e) {
    if (state.sent[e] == 0) continue;
    // In adopt mode a slot may still make it known again.
    const bool adopting = state.live.waiting != 0 || state.flash.waiting != 0;
    const bool dead = !adopting && !state.live.knows(e) && !state.flash.knows(e) && e < state.flash.next;
    forget_answers(state, e, dead);
    forget_requests(state, e, dead);
  }
  for (int node = 0; node < kNodes; ++node) forget_lists(state, node);
  if (state.live.speaker != kSecond && state.flash.speaker != kSecond) state.superseded = 0;
}

void Machine::forget_answers(State& state, int e, bool dead) const {
  const std::uint8_t hellos = state.answers[e] & (bit(kHello1) | bit(kHello2));
  if (dead) state.answers[e] = is(Mutant::hello_without_echo) ? hellos : byte(0);
  auto least = static_cast<Phase>(9);
  for (const Ledger* ledger : {&state.live, &state.flash}) {
    for (const Held& row : ledger->row) {
      if (row.epoch == e) least = std::min(least, row.phase());
    }
  }
  if (least > Phase::prebind) state.answers[e] &= byte(~bit(kPreBound));
  if (least > Phase::bind) state.answers[e] &= byte(~bit(kBound));
  const bool may_be_adopted = least > Phase::release && (state.live.waiting != 0 || state.flash.waiting != 0);
  if (least > Phase::bound && !may_be_adopted) state.answers[e] &= byte(~bit(kFinished));
}

void Machine::forget_requests(State& state, int e, bool dead) const {
  const bool keep = is(Mutant::hi_forgotten_at_reboot) || is(Mutant::floor_not_durable) ||
                    is(Mutant::any_incarnation) || is(Mutant::rejected_without_hi) || is(Mutant::hello_without_echo) ||
                    is(Mutant::any_gateway);
  if (keep) return;
  const Device& device = state.device[node_of(state.sent[e])];
  const bool same = device.incarnation == incarnation_of(state.sent[e]);
  const bool closed =
      device.slot[pod_of(state.sent[e])].epoch != e && (device.high[pod_of(state.sent[e])] >= e || device.floor > e);
  for (auto& of_kind : state.requests) {
    std::uint16_t& requests = of_kind[e - 1];
    for (int speaker = kFirst; speaker < kSpeakers && requests != 0; ++speaker) {
      const std::uint16_t all = up_to(speaker, kFloors);
      if ((requests & all) == 0) continue;
      const bool lost_store = speaker == kFirst && state.live.speaker != kFirst && state.flash.speaker != kFirst;
      const bool overruled = same && device.obeys > 1 + speaker;
      // Its only answers are a Hello that no store waits for, or a Superseded that tells nothing new.
      if ((lost_store && (!same || overruled)) || (overruled && speaker == kSecond)) {
        requests &= static_cast<std::uint16_t>(~all);
        continue;
      }
      // A floor that the node has, or will not look at, is as good as the lowest.
      const std::uint16_t old = same ? up_to(speaker, std::max<int>(device.floor, 1)) : all;
      if ((requests & old) != 0) requests = static_cast<std::uint16_t>((requests & ~old) | mask_of(speaker, 1));
      const bool inert = !same || (closed && device.obeys == 1 + speaker);
      if (dead && inert) requests &= static_cast<std::uint16_t>(~old);
    }
  }
}

void Machine::forget_lists(State& state, int node) const {
  const Device& device = state.device[node];
  if (state.listing[node].speaker != 0 && state.listing[node].speaker < 1 + state.live.speaker &&
      state.listing[node].speaker < 1 + state.flash.speaker) {
    state.listing[node] = {};
  }
  const bool forgets = state.wipes < options_.wipes || is(Mutant::floor_not_durable) || is(Mutant::any_gateway);
  if (forgets || device.obeys == 0) return;
  for (int speaker = kFirst; speaker < kSpeakers; ++speaker) {
    if (device.obeys > 1 + speaker) state.lists[node] &= static_cast<std::uint16_t>(~up_to(speaker, kFloors));
    // A floor that the node has already is as good as any: what counts is that it lists.
    const std::uint16_t old = up_to(speaker, std::max<int>(device.floor, 1));
    if (device.obeys != 1 + speaker || (state.lists[node] & old) == 0) continue;
    state.lists[node] = static_cast<std::uint16_t>((state.lists[node] & ~old) | mask_of(speaker, 1));
  }
}

}  // namespace berth::model
