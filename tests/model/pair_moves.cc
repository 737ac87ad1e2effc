// What two gateways and their devices do, and what is implied after each step.
#include "tests/model/pair.h"

namespace berth::model {

PairMachine::PairMachine(const Options& options)
    : options_(options),
      rules_(options.mutant, {{1, "first"}, {2, "second"}, {3, "third"}, {4, "fourth"}, {5, "fifth"}}) {}

PairState PairMachine::first() const {
  State state;
  state.ledger[0].sender = 1;
  return state;
}

void PairMachine::begin(Next& next, int g, int node) const {
  Ledger& ledger = next.state.ledger[g];
  const int e = ledger.next++;
  next.state.sent[e] = make_placement(0, node, 0);
  ledger.row[0] = {byte(e), byte(static_cast<int>(find_move(Phase::none, RowEvent::begin)->to))};
}

// A placement that has provably ended is ignored in a listing that was asked for before.
void PairMachine::move(Next& next, int g, RowEvent event) const {
  const int ended = move_row(next.state.ledger[g], 0, event);
  for (Listing& listing : next.state.listing[g]) {
    if (ended != 0 && listing.slot[0].epoch == ended) listing.slot[0] = {};
  }
}

void PairMachine::read_answer(Next& next, int g, int e, int answer, bool promise_passed) const {
  State& state = next.state;
  Ledger& ledger = state.ledger[g];
  if (has(ledger.entries, e) && rules_.meaning(state.sent[e], kEntry, e, state.sent[e], e, answer, false) != 0) {
    ledger.entries &= byte(~bit(e));
    for (Listing& listing : state.listing[g]) {
      if (listing.slot[0].epoch == e) listing.slot[0] = {};
    }
  }
  const Held& row = ledger.row[0];
  if (row.epoch == 0) return;
  const int event =
      rules_.meaning(state.sent[row.epoch], row.state, row.epoch, state.sent[e], e, answer, promise_passed);
  if (event != 0) move(next, g, static_cast<RowEvent>(event - 1));
}

void PairMachine::read_listing(Next& next, int g, int node) const {
  const Held slot = next.state.listing[g][node].slot[0];
  next.state.listing[g][node] = {};
  Ledger& ledger = next.state.ledger[g];
  next.state.old[g] &= byte(~bit(slot.epoch));
  if (slot.epoch != 0 && !ledger.knows(slot.epoch)) adopt_slot(ledger, 0, slot);
  ledger.waiting &= byte(~bit(node));
}

void PairMachine::deliver(Next& next, const Asked& asked) const {
  State& state = next.state;
  Device& device = state.device[node_of(state.sent[asked.e])];
  const Reply& reply = rules_.decide_once(device, 0, asked, true, true);
  if (!reply.repeats) next.violation = "S6: a duplicate changes the store or gets a different answer";
  const std::uint8_t alive = device.alive;
  device = reply.device;
  device.alive = alive;
  if (reply.superseded) return overrule(state, asked.sender);
  if (reply.answer == kAnswerBits) return;
  const int owner = state.owner(1 + asked.sender);
  const bool is_current = state.ledger[owner].sender == 1 + asked.sender;
  if (is_current || is(Mutant::same_store_id_when_following)) state.answers[owner][asked.e] |= bit(reply.answer);
  if (is_final(reply.answer)) state.finals |= bit(asked.e);
}

// The answer Superseded to an identity that its gateway still has.
void PairMachine::overrule(State& state, int sender) const {
  const int owner = state.owner(1 + sender);
  Claimant& claimant = state.claimant[owner];
  if (state.ledger[owner].sender != 1 + sender || claimant.role == Role::down) return;
  for (std::uint8_t& mail : claimant.mail) {
    if (mail != no_mail && mail != overruled) continue;
    mail = overruled;
    return;
  }
}

void PairMachine::deliver_list(Next& next, int node, int sender) const {
  State& state = next.state;
  Device& device = state.device[node];
  const Reply& reply = rules_.decide_once(device, 0, {kList, 0, 1, sender}, true, true);
  const std::uint8_t alive = device.alive;
  device = reply.device;
  device.alive = alive;
  if (reply.superseded) return overrule(state, sender);
  const int owner = state.owner(1 + sender);
  if (state.ledger[owner].sender != 1 + sender) return;
  if (state.claimant[owner].role == Role::serving) state.listing[owner][node] = {byte(1 + sender), device.slot};
}

// The one that serves sends, behind `leader`; messages that can no longer change anything are removed.
void PairMachine::settle(Next& next) const {
  State& state = next.state;
  for (int g = 0; g < kGateways; ++g) {
    while (next.is_possible && reads_at_once(state, g)) read_mail(next, g);
  }
  for (int g = 0; g < kGateways; ++g) {
    send(state, g);
    retire(state, g, next.limit);
  }
  forget(state);
}

void PairMachine::send(State& state, int g) const {
  const Claimant& own = state.claimant[g];
  const Ledger& ledger = state.ledger[g];
  if (own.role != Role::serving || own.leader_said == 0 || own.must_follow != 0) return;
  const std::uint8_t sender = bit(ledger.sender - 1);
  const Held& row = ledger.row[0];
  // A Bind that was decided before must not start a pod that has been placed elsewhere since.
  const bool holds_back = ledger.waiting != 0 && row.phase() == Phase::bind && !is(Mutant::bind_while_following);
  if (row.epoch != 0 && !holds_back) state.requests[request_of(row.phase())][row.epoch] |= sender;
  for (int e = 1; e <= kPairEpochs; ++e) {
    if (has(ledger.entries, e)) state.requests[kRelease][e] |= sender;
  }
  for (int node = 0; node < kNodes; ++node) {
    if (has(ledger.waiting, node)) state.lists[node] |= sender;
  }
}

// One that would have to follow, when no more of that is explored: its claims end nowhere.
bool PairMachine::is_retired(const State& state, int g, int limit) const {
  const Claimant& own = state.claimant[g];
  if (state.identities < limit || own.role == Role::serving) return false;
  const int leader = own.role == Role::claiming ? own.leader : state.leader;
  const bool was_other = leader != 0 && leader != state.ledger[g].sender && !is(Mutant::leader_not_read);
  return was_other || (own.must_follow != 0 && state.kills == options_.kills);
}

void PairMachine::retire(State& state, int g, int limit) const {
  if (!is_retired(state, g, limit)) return;
  Ledger& ledger = state.ledger[g];
  ledger = {.sender = ledger.sender, .waiting = (1 << kNodes) - 1};
  state.answers[g] = {};
  state.old[g] = state.will[g] = 0;
  state.claimant[g] = {.must_follow = 1};
}

void PairMachine::forget(State& state) const {
  for (int e = 1; e <= kPairEpochs; ++e) {
    for (int g = 0; g < kGateways; ++g) forget_answers(state, g, e);
    if (state.sent[e] != 0) forget_requests(state, e);
  }
  for (int node = 0; node < kNodes; ++node) {
    for (int sender = 0; sender < kIdentities; ++sender) {
      const int owner = state.owner(1 + sender);
      const bool is_current = state.ledger[owner].sender == 1 + sender && state.claimant[owner].role == Role::serving;
      if (!is_current && state.device[node].obeys >= 1 + sender) state.lists[node] &= byte(~bit(sender));
    }
  }
}

void PairMachine::forget_answers(State& state, int g, int e) const {
  const Ledger& ledger = state.ledger[g];
  std::uint8_t& answers = state.answers[g][e];
  const Phase phase = ledger.row[0].epoch == e ? ledger.row[0].phase() : Phase::none;
  if (phase != Phase::prebind) answers &= byte(~bit(kPreBound));
  if (phase != Phase::prebind && phase != Phase::bind) answers &= byte(~bit(kBound));
  // In adopt mode a listed slot may still bring the epoch back.
  if (!ledger.knows(e) && ledger.waiting == 0) answers = 0;
}

// A request that a device does not obey any more is answered Superseded, which counts for the one that serves only.
void PairMachine::forget_requests(State& state, int e) const {
  const Device& device = state.device[node_of(state.sent[e])];
  const bool is_closed = device.slot[0].epoch != e && device.high[0] >= e;
  for (int sender = 0; sender < kIdentities; ++sender) {
    const int owner = state.owner(1 + sender);
    const Ledger& ledger = state.ledger[owner];
    const bool is_current = ledger.sender == 1 + sender;
    const bool is_dead = !is_current || (!ledger.knows(e) && ledger.waiting == 0);
    const bool is_refused = device.obeys > 1 + sender && !(is_current && state.claimant[owner].role == Role::serving);
    const bool has_no_effect = is_refused || (device.obeys == 1 + sender && is_closed && is_dead);
    if (!has_no_effect || is(Mutant::same_store_id_when_following)) continue;
    for (auto& of_kind : state.requests) of_kind[e] &= byte(~bit(sender));
  }
}

}  // namespace berth::model
