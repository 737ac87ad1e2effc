// Every step that gateway, network and devices may take.
#include <algorithm>

#include "tests/model/model.h"

namespace berth::model {

namespace {

int node_of(std::uint8_t place) { return (place - 1) / 4; }
int incarnation_of(std::uint8_t place) { return (place - 1) % 4; }
std::uint8_t bit(int index) { return static_cast<std::uint8_t>(1u << index); }
std::uint8_t byte(int value) { return static_cast<std::uint8_t>(value); }
bool has(std::uint8_t mask, int index) { return ((mask >> index) & 1) != 0; }

// P10: the lowest epoch of any live row or release-list entry of that node; with none, the next epoch.
int floor_of(const State& state, int node) {
  for (int e = 1; e < state.live.next; ++e) {
    if (state.live.knows(e) && node_of(state.place[e]) == node) return e;
  }
  return state.live.next;
}

std::uint8_t& requests_of(State& state, int type, int e) { return state.requests[type + 3 * (e - 1)]; }

// The request that a row in this phase resends, or -1.
int request_of(std::uint8_t phase) {
  switch (static_cast<Phase>(phase)) {
    case Phase::prebind: return kPreBind;
    case Phase::bind:
    case Phase::bound: return kBind;  // bound: the comparison asks again
    case Phase::release: return kRelease;
    case Phase::none: return -1;
  }
  return -1;
}

}  // namespace

Machine::Machine(const Options& options) : options_(options) {}

State Machine::commit(State state) const {
  state.flash = state.live;
  return state;
}

State Machine::crash(State state) const {
  state.live = state.flash;
  for (int e = state.live.next; e <= kMaxEpochs; ++e) state.place[e] = 0;
  return state;
}

bool Machine::may_send(const State& state, int type) const {
  if (state.live == state.flash) return true;
  return (type == kBind && is(Mutant::bind_before_commit)) || (type == kPreBind && is(Mutant::pre_bind_before_commit));
}

State Machine::send(State state, int type, int e, const char** violation) const {
  const bool phase_is_durable = state.flash.epoch == e && static_cast<Phase>(state.flash.phase) >= Phase::bind;
  if (type == kBind && !phase_is_durable && !is(Mutant::bind_before_commit)) {
    *violation = "S3: Bind sent before phase bind was durable";
  }
  if (state.sent[e] != 0 && state.sent[e] != state.place[e]) *violation = "S2: one epoch was sent to two places";
  state.sent[e] = state.place[e];
  requests_of(state, type, e) |= bit(floor_of(state, node_of(state.place[e])));
  return state;
}

State Machine::deliver(State state, int type, int e, int floor, bool admit, const char** violation) const {
  Device& device = state.device[node_of(state.sent[e])];
  const bool same = device.incarnation == incarnation_of(state.sent[e]) || is(Mutant::any_incarnation);
  const Reply reply = decide_once(device, type, e, floor, same, admit);
  if (!reply.repeats) *violation = "S6: a duplicate changes the store or is answered otherwise";
  device = reply.device;
  if (reply.answer == kAnswerBits) return state;
  if (reply.answer == kHello1) {
    state.answers[e] |= bit(device.incarnation == 1 ? kHello1 : kHello2);
    return state;
  }
  state.answers[e] |= bit(reply.answer);
  if (reply.answer == kReleased || reply.answer == kRejected || reply.answer == kStale) state.finals |= bit(e);
  return state;
}

State Machine::reboot(State state, int node) const {
  Device& device = state.device[node];
  device.alive = 0;
  const auto slot = static_cast<SlotState>(device.slot_state);
  if (slot == SlotState::preparing || slot == SlotState::prepared) device = clear(device);
  if (is(Mutant::hi_forgotten_at_reboot)) device.high = 0;
  if (is(Mutant::floor_not_durable)) device.floor = 0;
  return state;
}

State Machine::sweep(State state, int node) const {
  state.device[node].booting = 0;
  if (!is(Mutant::survivors_kept)) state.device[node].alive = 0;
  return state;
}

void Machine::for_each_step(const State& state, const Visit& visit) const {
  const Visit reduced = [&](const Step& step, const State& next, const char* violation) {
    State smaller = next;
    reduce(smaller);
    if (!(smaller == state) || violation != nullptr) visit(step, smaller, violation);
  };
  visit_gateway(state, reduced);
  visit_network(state, reduced);
  for (int node = 0; node < kNodes; ++node) visit_device(state, node, reduced);
}

void Machine::visit_begin(const State& state, const Visit& visit) const {
  const int e = state.live.next;
  if (state.live.phase != 0 || state.live.gone != 0 || e > options_.epochs) return;
  for (int node = 0; node < kNodes; ++node) {
    if (e == 1 && node != 0) break;  // the nodes are alike: the first is called 0
    // What the gateway believes of the incarnation may be old.
    for (int incarnation = 0; incarnation <= state.device[node].incarnation; ++incarnation) {
      State next = state;
      next.live.epoch = byte(e);
      next.place[e] = byte(1 + node * 4 + incarnation);
      next.live.next = byte(e + 1);
      next.live.phase = byte(static_cast<int>(find_move(Phase::none, RowEvent::begin)->to));
      visit({Step::begin, byte(e), byte(node), byte(incarnation)}, next, nullptr);
    }
  }
}

void Machine::visit_gateway(const State& state, const Visit& visit) const {
  if (!(state.live == state.flash)) {
    visit({Step::commit}, commit(state), nullptr);
    if (!options_.calm) visit({Step::crash}, crash(state), nullptr);
  }
  visit_begin(state, visit);
  if (options_.calm) return;
  const auto phase = static_cast<Phase>(state.live.phase);
  for (const RowEvent event : {RowEvent::leave, RowEvent::remove}) {
    if (!find_move(phase, event)) continue;
    const Step::Kind kind = event == RowEvent::leave ? Step::leave : Step::remove;
    visit({kind}, give_up(state, event), nullptr);
  }
  if (state.live.gone == 0) {
    State next = state;
    if (find_move(phase, RowEvent::leave)) next = give_up(next, RowEvent::leave);
    if (find_move(phase, RowEvent::remove)) next = give_up(next, RowEvent::remove);
    next.live.gone = 1;
    visit({Step::erase_pod}, next, nullptr);
  }
  for (int e = 1; e <= options_.epochs; ++e) {
    if (!has(state.live.entries, e) || !is(Mutant::drop_release_entry_by_time)) continue;
    State next = state;
    next.live.entries &= byte(~bit(e));
    visit({Step::forget_entry, byte(e)}, next, nullptr);
  }
}

void Machine::visit_lists(const State& state, const Visit& visit) const {
  for (int node = 0; node < kNodes && options_.list; ++node) {
    if (may_send(state, kRelease)) {
      State next = state;
      next.lists[node] |= bit(floor_of(state, node));
      visit({Step::send_list, byte(node)}, next, nullptr);
    }
    if (state.device[node].booting != 0) continue;
    for (int floor = 1; state.lists[node] >> floor != 0; ++floor) {
      if (!has(state.lists[node], floor)) continue;
      visit({Step::deliver_list, byte(node), byte(floor)}, deliver_list(state, node, floor), nullptr);
    }
  }
}

void Machine::visit_network(const State& state, const Visit& visit) const {
  visit_lists(state, visit);
  const int row_request = request_of(state.live.phase);
  for (int e = 1; e <= options_.epochs; ++e) {
    for (int type = kPreBind; type <= kRelease; ++type) {
      const bool row_asks = state.live.epoch == e && row_request == type;
      const bool entry_asks = type == kRelease && has(state.live.entries, e);
      // The comparison: what the ledger does not know and a node still holds is released.
      const bool orphan = type == kRelease && state.sent[e] != 0 && !state.live.knows(e) &&
                          state.device[node_of(state.sent[e])].slot_epoch == e;
      if ((row_asks || entry_asks || orphan) && may_send(state, type)) {
        const char* violation = nullptr;
        const State next = send(state, type, e, &violation);
        visit({Step::send, byte(type), byte(e)}, next, violation);
      }
      const std::uint8_t floors = state.requests[type + 3 * (e - 1)];
      for (int floor = 1; floors >> floor != 0; ++floor) {
        if (!has(floors, floor) || state.device[node_of(state.sent[e])].booting != 0) continue;
        for (int admit = type == kPreBind && !options_.calm ? 0 : 1; admit <= 1; ++admit) {
          const char* violation = nullptr;
          const State next = deliver(state, type, e, floor, admit != 0, &violation);
          visit({Step::deliver, byte(type), byte(e), byte(floor), byte(admit)}, next, violation);
        }
      }
    }
    for (int answer = 0; answer < kAnswerBits; ++answer) {
      if (!has(state.answers[e], answer)) continue;
      for (int passed = 0; passed <= (answer == kPreBound && !options_.calm ? 1 : 0); ++passed) {
        visit({Step::receive, byte(answer), byte(e), byte(passed)}, receive(state, e, answer, passed != 0), nullptr);
      }
    }
  }
}

void Machine::visit_device(const State& state, int node, const Visit& visit) const {
  const Device& device = state.device[node];
  const auto slot = static_cast<SlotState>(device.slot_state);
  const int e = device.slot_epoch;
  const auto step = [&](Step::Kind kind, const State& next) { visit({kind, byte(node), byte(e)}, next, nullptr); };
  if (state.wipes < options_.wipes) {
    State next = state;
    next.device[node] = {};
    next.device[node].incarnation = byte(device.incarnation + 1);
    next.device[node].booting = 1;
    next.device[node].alive = device.alive;
    ++next.wipes;
    step(Step::wipe, next);
  }
  if (device.booting != 0) step(Step::sweep, sweep(state, node));
  if (slot == SlotState::preparing) step(Step::prepared, move_slot(state, node, SlotEvent::prepared));
  if (slot == SlotState::running && !has(device.alive, e)) {
    State next = state;
    next.device[node].alive |= bit(e);
    step(Step::launch, next);
  }
  if (options_.calm) return;
  step(Step::reboot, reboot(state, node));
  if (slot == SlotState::preparing) {
    State next = move_slot(state, node, SlotEvent::failed);
    next.answers[e] |= bit(kRejected);
    next.finals |= bit(e);
    step(Step::prepare_failed, next);
  }
  if (slot == SlotState::preparing || slot == SlotState::prepared) {
    step(Step::promise_end, move_slot(state, node, SlotEvent::undo));
  }
  if (slot == SlotState::running && has(device.alive, e)) {
    State next = move_slot(state, node, SlotEvent::exited);
    next.device[node].alive &= byte(~bit(e));
    next.answers[e] |= bit(kFinished);
    step(Step::finish, next);
  }
  if (slot == SlotState::stopping) {
    State next = move_slot(state, node, SlotEvent::stopped);
    next.device[node].alive &= byte(~bit(e));
    step(Step::stopped, next);
  }
}

// Forgets messages that can change nothing any more, so that states that differ in them alone are one. It leans on what
// check() asserts: hi and floor are never lost but by a wipe, and the gateway reads an answer by its exact epoch. Where
// a mutant breaks that, nothing of the kind is forgotten.
void Machine::reduce(State& state) const {
  const bool keep_requests = is(Mutant::hi_forgotten_at_reboot) || is(Mutant::floor_not_durable) ||
                             is(Mutant::any_incarnation) || is(Mutant::rejected_without_hi) ||
                             is(Mutant::hello_without_echo);
  for (int node = 0; node < kNodes; ++node) {
    // A floor that the node has already changes nothing, unless the node forgets.
    const bool forgets = state.wipes < options_.wipes || is(Mutant::floor_not_durable);
    if (!forgets) state.lists[node] &= byte(~((2u << state.device[node].floor) - 1));
  }
  for (int e = 1; e <= options_.epochs; ++e) {
    if (state.sent[e] == 0) continue;
    const bool row_known = state.live.epoch == e || state.flash.epoch == e;
    const bool dead = !state.live.knows(e) && !state.flash.knows(e) && e < state.flash.next;
    const Device& device = state.device[node_of(state.sent[e])];
    const bool same = device.incarnation == incarnation_of(state.sent[e]);
    const std::uint8_t hellos = state.answers[e] & (bit(kHello1) | bit(kHello2));
    if (dead) state.answers[e] = is(Mutant::hello_without_echo) ? hellos : byte(0);
    const auto least = static_cast<Phase>(std::min(state.live.epoch == e ? state.live.phase : byte(9),
                                                   state.flash.epoch == e ? state.flash.phase : byte(9)));
    if (!row_known || least > Phase::prebind) state.answers[e] &= byte(~bit(kPreBound));
    if (!row_known || least > Phase::bind) state.answers[e] &= byte(~bit(kBound));
    if (!row_known || least > Phase::bound) state.answers[e] &= byte(~bit(kFinished));
    if (keep_requests) continue;
    const bool closed = device.slot_epoch != e && (device.high >= e || device.floor > e);
    for (int type = kPreBind; type <= kRelease; ++type) {
      std::uint8_t& floors = requests_of(state, type, e);
      if (floors == 0) continue;
      // A floor that the node has, or will not look at, is as good as the lowest.
      const std::uint8_t old = same ? byte((2u << device.floor) - 1) : byte(0xff);
      if ((floors & old) != 0) floors = byte((floors & ~old) | bit(1));
      if (dead && (closed || !same)) floors &= byte(~old);
    }
  }
}

}  // namespace berth::model
