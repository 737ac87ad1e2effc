// The gateway's store is put back together with its mark, as with a copy of the whole card (P11, P12). Nothing shows it
// at the start. What does later: a slot that this store cannot have given, of one pod; and of the whole lost time a
// node that has obeyed a later start, if there was one. Each start is a new term of one store: no epoch is given twice.
//
// The term of the start on the copy is random. If it is above that of the later start, nodes obey it and list whom they
// obeyed before; its epochs are above all that were given. If it is below, they answer Superseded, and its epochs are
// between those of the first term and those of the later one (`reserved`). There a node hears of the later start by its
// List first, so that what it answers is proven: that one node's term alone rises otherwise is not explored.
#include "core/handshake/term_history.h"
#include "tests/model/model.h"

namespace berth::model {

namespace {

bool is_alive(const Held& slot) { return slot.slot() == SlotState::running || slot.slot() == SlotState::stopping; }

std::uint64_t term_of(int sender) { return 1 + static_cast<std::uint64_t>(sender); }

}  // namespace

// Of two terms the higher one is the higher index.
int Machine::later_start() const { return options_.unmarked == 1 ? 1 : 2; }
int Machine::start_on_copy() const { return options_.unmarked == 1 ? 2 : 1; }

// What this identity knows of the terms of its store; the start on the copy found its journal at this position.
TermHistory Machine::terms_of(int sender, int position) const {
  const auto at = static_cast<std::uint64_t>(position);
  TermHistory terms;
  terms.begin(term_of(kFirst), 1);
  if (sender == start_on_copy() || sender == kKnowing) terms.begin(term_of(start_on_copy()), at);
  if (sender != kKnowing) return terms;
  terms.note_lost(term_of(later_start()), at);
  terms.begin(term_of(kKnowing), at);
  return terms;
}

// P12: a proof of the later start is believed once.
bool Machine::is_news(const State& state) const {
  const int sender = state.live.sender;
  return !terms_of(sender, state.live.next).may_contain(term_of(later_start()), term_of(sender));
}

// The node goes on obeying the later start, and answers Superseded.
bool Machine::is_elsewhere(const State& state, int node) const {
  return is_put_back(state) && state.live.sender == start_on_copy() && state.device[node].obeys > 1 + start_on_copy();
}

// What is placed now may run elsewhere already, because the lost time placed it. Ends when a node could tell of the
// later start, or when all have listed and none can obey it any more.
bool Machine::is_blind(const State& state) const {
  if (!is_put_back(state) || has(state.past.knows, kNodes)) return false;
  return state.past.unheard != 0 || (options_.unmarked == 2 && state.past.later != 0);
}

// The gateway knows nothing of this epoch, and may yet: from its copy, or from a node.
bool Machine::may_find(const State& state, int e) const {
  if (state.copy.next != 0) return options_.unmarked != 0 && state.copy.knows(e);
  const bool is_open = state.past.unheard != 0 || state.live.waiting != 0 || is_blind(state);
  return is_put_back(state) && has(state.past.lost, e) && is_open;
}

bool Machine::is_held(const State& state, int pod) const {
  for (int e = 1; e <= options_.epochs; ++e) {
    if (has(state.past.ending, e) && pod_of(state.placement[e]) == pod) return true;
  }
  return false;
}

// Of a later start there are lists in the network: they bring its proof.
void Machine::visit_restart(const State& state, const Visit& visit) const {
  if (options_.unmarked == 0 || state.copy.next == 0 || state.live.sender != kFirst) return;
  const int most = options_.unmarked == 1 ? 0 : options_.epochs + 1 - state.live.next;
  for (int reserved = 0; reserved <= most; ++reserved) {
    State next = state;
    next.listing = {};
    next.live.sender = byte(later_start());
    if (options_.unmarked == 2) next.past.reserved = next.live.next;
    next.live.next = byte(next.live.next + reserved);
    next.past.later = next.live.next;
    for (int node = 0; node < kNodes; ++node) ask(next, node);
    visit({Step::restart, byte(reserved)}, next, nullptr);
  }
}

State Machine::put_back(State state) const {
  PutBack& past = state.past;
  const int next = state.live.next;
  const TermHistory terms = terms_of(start_on_copy(), state.copy.next);
  for (int e = 1; e <= options_.epochs; ++e) {
    const int giver = past.later != 0 && e >= past.later ? later_start() : int{kFirst};
    const Epoch epoch{term_of(giver), static_cast<std::uint64_t>(e)};
    const bool is_ours = terms.origin_of(epoch, static_cast<std::uint64_t>(next)) == EpochOrigin::ours;
    if (state.sent[e] != 0 && !is_ours) past.lost |= bit(e);
  }
  state.live = state.copy;
  state.copy = {.next = 0};
  state.listing = {};
  if (!is(Mutant::put_back_term_repeats)) {
    state.live.sender = byte(start_on_copy());
    state.live.next = past.reserved != 0 ? past.reserved : byte(next);
  }
  past.top = byte(next);
  past.unheard = kAllNodes;
  for (const Held& row : state.live.row) {
    if (row.epoch == 0) continue;
    state.from_copy |= bit(row.epoch);
    // The lost time may have bound it, and this one may give it up, or bind it although the pod was placed elsewhere.
    if (row.phase() != Phase::prebind) continue;
    past.lost |= bit(row.epoch);
    past.blind |= bit(row.epoch);
  }
  return state;
}

// A node has reported the later start (P12): the own term rises above it, and nothing is placed until all have listed.
State Machine::hear_of_later_start(State state) const {
  state.superseded = 0;
  state.past.knows |= bit(kNodes);
  for (const Held& row : state.live.row) {
    if (row.phase() == Phase::prebind) state.past.given_up |= bit(row.epoch);  // its Bind never leaves
  }
  if (is(Mutant::later_start_unheard) || !is_news(state)) return state;
  if (!is(Mutant::later_start_not_exceeded)) state.live.sender = kKnowing;
  state.live.next = state.past.reserved != 0 ? state.past.top : state.live.next;
  state.live.waiting = is(Mutant::later_start_places_at_once) ? byte(0) : kAllNodes;
  state.past.reserved = state.past.unheard = state.past.tells = 0;
  state.listing = {};
  for (int pod = 0; pod < options_.pods && !is(Mutant::later_start_keeps_promises); ++pod) {
    if (state.live.row[pod].phase() == Phase::prebind) state = give_up(state, pod, RowEvent::leave);
  }
  return state;
}

// The node has obeyed the later start, whatever it lists. With the lower term on the copy it says Superseded from then
// on, and a listing is from before.
void Machine::note_listing(State& state, int node) const {
  if (is_put_back(state) && options_.unmarked == 1 && has(state.past.knows, node)) state.past.knows |= bit(kNodes);
}

// A slot of a promise that this store gave up: the lost time bound it. The pod is placed again once it has ended.
void Machine::hold_pod_of(State& state, const Held& slot) const {
  if (is_alive(slot) && !is(Mutant::promise_of_the_past_forgotten)) state.past.ending |= bit(slot.epoch);
}

// A slot of a row, which may be a promise that the lost time bound.
State Machine::find_promise(State state, int pod, Held slot) const {
  const bool is_bound = is_alive(slot) || slot.slot() == SlotState::finished;
  if (state.live.row[pod].phase() != Phase::prebind || !is_bound) return state;
  const bool is_stopping = slot.slot() == SlotState::stopping;
  state = give_up(state, pod, is_stopping ? RowEvent::leave : RowEvent::pre_bound);
  if (is_stopping) hold_pod_of(state, slot);
  return state;
}

// A slot ends by a request that the later start sent, or by one of a promise that was given blindly to the node on
// which the pod ran. What its row says is out of date until the node answers the next Bind with Stale.
void Machine::note_stray_stop(State& state, const Asked& asked, const Slots& before, const Slots& after) const {
  for (int pod = 0; pod < options_.pods; ++pod) {
    const int e = before[pod].epoch;
    const bool is_stray = asked.sender == later_start() || (asked.e != e && has(state.past.blind, asked.e));
    if (is_stray && after[pod] != before[pod]) state.from_copy |= bit(e);
  }
}

// A listed slot that neither row nor entry explains, at a gateway whose store may be an older copy. As
// Comparison::compare() and adopt_slot() have it.
State Machine::find_slot(State state, int node, int pod, Held slot) const {
  Ledger& ledger = state.live;
  Held& row = ledger.row[pod];
  const bool is_open = ledger.waiting != 0 || is(Mutant::foreign_slot_takes_row);
  const bool is_given = !has(state.past.lost, slot.epoch);
  const bool is_unbound = slot.slot() == SlotState::preparing || slot.slot() == SlotState::prepared;
  bool is_released = is_unbound || (!is_open && is_given);
  for (int e = slot.epoch + 1; e <= options_.epochs; ++e) {
    const std::uint8_t placement = state.placement[e];
    if (has(ledger.entries, e) && pod_of(placement) == pod && node_of(placement) == node) is_released = true;
  }
  if (row.epoch != 0 && (!is_open || row.epoch > slot.epoch || !is_alive(slot))) is_released = true;
  if (row.epoch == 0 && has(ledger.gone, pod) && (!is_open || slot.slot() != SlotState::finished)) is_released = true;
  if (is_released) {
    ledger.entries |= bit(slot.epoch);
    if (is_alive(slot) && !is(Mutant::found_slot_not_waited_for)) state.past.ending |= bit(slot.epoch);
    return state;
  }
  if (row.epoch != 0) {
    ledger.entries |= bit(row.epoch);
    if (row.phase() != Phase::prebind && !is(Mutant::found_slot_not_waited_for)) state.past.ending |= bit(row.epoch);
  }
  const bool keeps_running = slot.slot() == SlotState::running && !has(ledger.gone, pod);
  const RowEvent event = keeps_running ? RowEvent::found_running : RowEvent::found_ending;
  row = {slot.epoch, byte(static_cast<int>(find_move(Phase::none, event)->to))};
  if (slot.slot() == SlotState::finished) ledger.gone |= bit(pod);
  return state;
}

}  // namespace berth::model
