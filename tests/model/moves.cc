// The effect of each step.
#include <algorithm>
#include <utility>

#include "tests/model/model.h"

namespace berth::model {

namespace {

bool is_charged(const Held& held) {
  Slot slot;
  slot.state = held.slot();
  slot.finished_before_stop = held.state == kStoppingFinished;
  return held.epoch != 0 && slot.is_charged();
}

}  // namespace

State Machine::commit(State state) const {
  state.flash = state.live;
  return state;
}

State Machine::crash(State state) const {
  state.live = state.flash;
  state.listing = {};  // listings requested before the crash are ignored
  for (int e = state.live.next; e <= kMaxEpochs; ++e) state.placement[e] = 0;
  if (is(Mutant::adopt_mode_not_durable)) state.live.waiting = 0;
  return state;
}

// A new store replaces the lost one: it knows the nodes from the operator's list, and the pods from their manifests.
State Machine::lose_store(State state) const {
  state = crash(state);
  state.live = {};
  state.live.next = state.flash.next;
  state.live.sender = kSecond;
  state.live.waiting = kAllNodes;
  state.flash = state.live;
  state.answers = {};
  ++state.losses;
  return state;
}

// The store is an earlier copy of itself. Its mark says so at the start (P11): it takes another store id and a term
// above all that were used, keeps what the copy knows, and asks every node. Epochs of that term are above all earlier
// ones.
State Machine::roll_back(State state) const {
  const int next = state.flash.next;
  state = crash(state);
  state.live = state.copy;
  state.copy = {.next = 0};
  if (!is(Mutant::older_store_unnoticed)) {
    state.live.next = byte(next);
    state.live.sender = kSecondRaised;
    state.live.waiting = is(Mutant::older_store_places_at_once) ? byte(0) : kAllNodes;
    state.answers = {};
  }
  for (int pod = 0; pod < options_.pods; ++pod) {
    Held& row = state.live.row[pod];
    if (row.phase() == Phase::bound) state.from_copy |= bit(row.epoch);
    // The lost time may have given the promise up and placed the pod elsewhere, or have bound it: the listings tell.
    const bool forgets = row.phase() == Phase::prebind && !is(Mutant::older_store_unnoticed);
    if (forgets && !is(Mutant::older_store_keeps_promises)) row = {};
  }
  state.flash = state.live;
  return state;
}

bool Machine::may_raise(const State& state) const {
  return state.superseded != 0 && state.live.sender == (options_.unmarked != 0 ? start_on_copy() : kSecond);
}

// Superseded was read (P3, P8).
State Machine::raise_term(State state) const {
  if (options_.unmarked != 0) return hear_of_later_start(state);
  state.superseded = 0;
  if (is(Mutant::superseded_for_stale)) {
    state.live.waiting = 0;
    return state;
  }
  state.live.sender = kSecondRaised;
  state.live.waiting = kAllNodes;
  return state;
}

// A placement has provably ended. A listing requested earlier may still contain it; that part is ignored.
State Machine::end_epoch(State state, int e) const {
  for (Listing& listing : state.listing) {
    for (Held& slot : listing.slot) {
      if (slot.epoch == e && !is(Mutant::old_listing_believed)) slot = {};
    }
  }
  return state;
}

// Applies an event to a row, with its effects on release list and listings.
State Machine::give_up(State state, int pod, RowEvent event) const {
  Ledger& ledger = state.live;
  Held& held = ledger.row[pod];
  if (is(Mutant::place_elsewhere_from_bind) && event == RowEvent::remove) {
    ledger.entries |= bit(held.epoch);
    held = {};
    return state;
  }
  const int ended = move_row(ledger, pod, event, !is(Mutant::leave_without_entry));
  return ended == 0 ? state : end_epoch(state, ended);
}

// Each pod requests so much that a node can hold only one.
bool Machine::has_room(const Device& device, int pod) const {
  return is(Mutant::admission_blind) || !is_charged(device.slot[1 - pod]);
}

State Machine::deliver(State state, const Asked& asked, bool refuse, const char** violation) const {
  const std::uint8_t sent = state.sent[asked.e];
  Device& device = state.device[node_of(sent)];
  const bool same = device.incarnation == incarnation_of(sent) || is(Mutant::any_incarnation);
  const bool admit = !refuse && has_room(device, pod_of(sent));
  const Reply& reply = rules_.decide_once(device, pod_of(sent), asked, same, admit);
  if (!reply.repeats) *violation = "S6: a duplicate changes the store or gets a different answer";
  if (is_put_back(state)) note_stray_stop(state, asked, device.slot, reply.device.slot);
  device.slot = reply.device.slot;
  device.high = reply.device.high;
  device.floor = reply.device.floor;
  device.obeys = reply.device.obeys;
  device.proofs = reply.device.proofs;
  const bool asks_second_store = options_.unmarked == 0 && asked.sender == kSecond;
  if (reply.superseded && state.live.sender == kSecond && asks_second_store) state.superseded = 1;
  if (reply.answer == kAnswerBits) return state;
  const bool to_this_store = is_same_store(asked.sender, state.live.sender);
  int answer = reply.answer;
  if (answer == kHello1 && device.incarnation != 1) answer = kHello2;
  if (to_this_store) state.answers[asked.e] |= bit(answer);
  if (is_final(answer)) state.finals |= bit(asked.e);
  return state;
}

State Machine::deliver_list(State state, int node, const Asked& asked, bool answered) const {
  Device& device = state.device[node];
  const Reply& reply = rules_.decide_once(device, 0, asked, true, true);
  device.high = reply.device.high;
  device.floor = reply.device.floor;
  device.obeys = reply.device.obeys;
  device.proofs = reply.device.proofs;
  if (reply.superseded) {
    const bool is_believed = options_.unmarked == 0 ? asked.sender == kSecond : (device.proofs & kOfObeyed) != 0;
    if (is_believed && asked.sender == state.live.sender) state.superseded = 1;
    return state;
  }
  if (options_.unmarked != 0 && asked.sender == later_start()) state.past.knows |= bit(node);
  if (asked.told && has(state.behind, node)) return wipe(state, node);
  if (answered) {
    state.listing[node] = {byte(1 + asked.sender), device.slot};
    state.past.tells &= byte(~bit(node));
    if ((device.proofs & kOfEarlier) != 0) state.past.tells |= bit(node);
  }
  return state;
}

// Only a listing requested in the current term counts (P8).
State Machine::read_listing(State state, int node) const {
  const Listing listing = state.listing[node];
  state.listing[node] = {};
  if (listing.sender != 1 + state.live.sender) return state;
  note_listing(state, node);
  if (has(std::exchange(state.past.tells, byte(state.past.tells & ~bit(node))), node) && is_put_back(state) &&
      is_news(state)) {
    state = hear_of_later_start(state);
    if (state.live.waiting != 0) return state;  // and asks again
  }
  for (int pod = 0; pod < kPods; ++pod) {
    const Held slot = listing.slot[pod];
    if (slot.epoch == 0) continue;
    if (state.live.row[pod].epoch == slot.epoch) {
      // The outcome is in the pod's status, which is requested.
      if (slot.slot() == SlotState::finished) state.answers[slot.epoch] |= bit(kFinished);
      if (is_put_back(state)) state = find_promise(state, pod, slot);
    } else if (!has(state.live.entries, slot.epoch)) {
      state.placement[slot.epoch] = state.sent[slot.epoch];  // no other incarnation of the node can hold it
      if (is_put_back(state)) {
        state = find_slot(state, node, pod, slot);
      } else {
        adopt_slot(state.live, pod, slot);
      }
    } else if (is_put_back(state)) {
      hold_pod_of(state, slot);
    }
  }
  state.live.waiting &= byte(~bit(node));
  state.past.unheard &= byte(~bit(node));
  if (is(Mutant::first_listing_is_enough)) state.live.waiting = 0;
  return state;
}

State Machine::receive(State state, int e, int answer, bool promise_passed) const {
  for (int entry = 1; entry <= options_.epochs; ++entry) {
    if (!has(state.live.entries, entry)) continue;
    if (rules_.meaning(state.placement[entry], kEntry, entry, state.sent[e], e, answer, false) == 0) continue;
    state.live.entries &= byte(~bit(entry));
    state.past.ending &= byte(~bit(entry));
    state = end_epoch(state, entry);
  }
  for (int pod = 0; pod < options_.pods; ++pod) {
    const Held& row = state.live.row[pod];
    if (row.epoch == 0) continue;
    const int event =
        rules_.meaning(state.placement[row.epoch], row.state, row.epoch, state.sent[e], e, answer, promise_passed);
    if (event != 0) return give_up(state, pod, static_cast<RowEvent>(event - 1));
  }
  return state;
}

State Machine::unsolicited_hello(State state, int pod, int incarnation) const {
  const Held& row = state.live.row[pod];
  if (!rules_.is_unsolicited_accepted(state.placement[row.epoch], row.epoch, row.phase(), incarnation)) return state;
  return give_up(state, pod, RowEvent::hello);
}

State Machine::move_slot(State state, int node, int pod, SlotEvent event) const {
  state.device[node] = rules_.move_slot(state.device[node], pod, event);
  return state;
}

State Machine::reboot(State state, int node) const {
  Device& device = state.device[node];
  device.alive = 0;
  for (int pod = 0; pod < options_.pods; ++pod) {
    const SlotState slot = device.slot[pod].slot();
    if (slot == SlotState::preparing || slot == SlotState::prepared) device = rules_.clear(device, pod);
    if (is(Mutant::hi_forgotten_at_reboot)) device.high[pod] = 0;
  }
  if (is(Mutant::floor_not_durable)) device.floor = 0;
  return state;
}

// A new store; processes survive.
State Machine::wipe(State state, int node) const {
  Device& device = state.device[node];
  const Device before = device;
  device = {};
  device.incarnation = byte(before.incarnation + 1);
  device.booting = 1;
  device.alive = before.alive;
  state.behind &= byte(~bit(node));
  state.past.knows &= byte(~bit(node));
  return state;
}

// The device starts on an earlier copy of its store. With a mark beside it that is known, and the store counts as lost
// (N8). Without, it goes on: what the copy says is running is started, until the gateway tells how far it had come.
State Machine::roll_back_device(State state, bool has_mark) const {
  const int node = state.kept_of - 1;
  Device& device = state.device[node];
  const std::uint8_t alive = device.alive;
  if (!has_mark) device = state.kept;
  state.kept = {};
  state.kept_of = 0;
  ++state.node_rollbacks;
  if (has_mark) return wipe(state, node);
  device.alive = 0;
  for (const Held& slot : device.slot) {
    if (slot.epoch == 0) continue;
    // What no slot names is stopped at the start.
    if (slot.slot() == SlotState::running || slot.slot() == SlotState::stopping)
      device.alive |= alive & bit(slot.epoch);
    if (!is(Mutant::older_node_store_unnoticed)) state.ghosts |= bit(slot.epoch);
  }
  if (!is(Mutant::older_node_store_unnoticed)) state.behind |= bit(node);
  return state;
}

State Machine::sweep(State state, int node) const {
  state.device[node].booting = 0;
  if (!is(Mutant::survivors_kept) && !is(Mutant::older_node_store_unswept)) state.device[node].alive = 0;
  for (int e = 1; e <= kMaxEpochs; ++e) {
    if (node_of(state.sent[e]) == node) state.ghosts &= byte(~bit(e));
  }
  return state;
}

}  // namespace berth::model
