// Which gateway serves (P13): what core/gateway/leadership.cc and other_gateways.cc do, step by step.
#include <algorithm>

#include "tests/model/pair.h"

namespace berth::model {

namespace {

constexpr std::uint8_t kOfEarlierRun = 2;  // the broker tells of it under another topic once the next run has come

bool is_active(std::uint8_t mail) { return mail == other_claims || mail == other_serves; }

// What is said again before it was read changes nothing.
void post(std::array<std::uint8_t, kMail>& mail, std::uint8_t text, bool& is_possible) {
  auto* const end = std::find(mail.begin(), mail.end(), no_mail);
  if (end != mail.begin() && *(end - 1) == text) return;
  if (end == mail.end()) {
    is_possible = false;
  } else {
    *end = text;
  }
}

}  // namespace

void PairMachine::say(Next& next, int g, std::uint8_t mail) const {
  next.state.retained[g] = mail;
  Claimant& other = next.state.claimant[1 - g];
  if (other.role != Role::down) post(other.mail, mail, next.is_possible);
}

void PairMachine::connect(Next& next, int g) const {
  State& state = next.state;
  Claimant& own = state.claimant[g];
  own.silent = 0;
  if (state.will[g] == kOfEarlierRun) state.will[g] = 0;
  if (state.retained[1 - g] != no_mail) post(own.mail, state.retained[1 - g], next.is_possible);
  if (state.leader != 0) post(own.mail, byte(leader_is + state.leader), next.is_possible);
  claim(next, g);
}

void PairMachine::claim(Next& next, int g) const {
  next.state.claimant[g].role = Role::claiming;
  say(next, g, other_claims);
  post(next.state.claimant[g].mail, own_claim, next.is_possible);
  if (is(Mutant::serve_without_claim_order)) decide(next, g);
}

void PairMachine::lose_link(Next& next, int g) const {
  Claimant& own = next.state.claimant[g];
  own.role = Role::down;
  own.mail = {};
  own.silent = own.leader_said = own.took_over = 0;
  next.state.listing[g] = {};  // what was asked for in that session
  next.state.will[g] = 1;
}

void PairMachine::kill(Next& next, int g) const {
  if (next.state.claimant[g].role != Role::down) lose_link(next, g);
  next.state.claimant[g] = {};
  if (next.state.will[g] != 0) next.state.will[g] = kOfEarlierRun;
}

void PairMachine::tell_will(Next& next, int g) const {
  next.state.will[g] = 0;
  say(next, g, other_offline);
  Claimant& own = next.state.claimant[g];
  if (own.role == Role::down) return;
  next.state.late_will = 1;
  post(own.mail, own_offline, next.is_possible);
}

bool PairMachine::must_wait(const State& state, int g) const {
  const Claimant& own = state.claimant[g];
  const bool has_rival = is_active(own.other) && own.silent == 0;
  const bool waits_for_leader = own.leader != 0 && state.owner(own.leader) != g && own.silent == 0;
  return has_rival || waits_for_leader;
}

bool PairMachine::was_itself(const State& state, int g) const {
  const int leader = state.claimant[g].leader;
  if (leader == 0 || is(Mutant::leader_not_read)) return true;
  return state.owner(leader) == g && leader == state.ledger[g].sender;
}

void PairMachine::decide(Next& next, int g) const {
  if (!must_wait(next.state, g)) return serve(next, g);
  next.state.claimant[g].role = Role::waiting;
  say(next, g, other_waits);
}

void PairMachine::serve(Next& next, int g) const {
  Claimant& own = next.state.claimant[g];
  const bool follows = own.must_follow != 0 || !was_itself(next.state, g);
  own.role = Role::serving;
  own.leader_said = 0;
  own.took_over = own.silent;
  if (follows && !is(Mutant::leader_before_durable)) follow(next, g);
  say(next, g, other_serves);
  if (next.state.ledger[g].sender != 0) say_leader(next, g);
  if (follows && is(Mutant::leader_before_durable)) own.must_follow = 1;  // later, in a step of its own
}

// Another store id and a higher term; what the own store knows stays, except for promises that were given.
void PairMachine::follow(Next& next, int g) const {
  State& state = next.state;
  if (state.identities == next.limit) {
    next.is_possible = false;
    return;
  }
  const int identity = ++state.identities;
  if (g == 1) state.of_second |= bit(identity);
  Ledger& ledger = state.ledger[g];
  ledger.sender = byte(identity);
  ledger.next = byte(std::min((identity - 1) * options_.epochs, epochs_all()) + 1);
  ledger.waiting = is(Mutant::follow_without_adopt_mode) ? byte(0) : byte((1 << kNodes) - 1);
  Held& row = ledger.row[0];
  state.old[g] = row.phase() == Phase::bound ? bit(row.epoch) : byte(0);
  if (row.phase() == Phase::prebind && !is(Mutant::promises_kept_when_following)) move_row(ledger, 0, RowEvent::leave);
  if (!is(Mutant::same_store_id_when_following)) state.answers[g] = {};
  state.listing[g] = {};
}

// Before the first message to anybody else. Whom it follows is durable by then.
void PairMachine::say_leader(Next& next, int g) const {
  Claimant& own = next.state.claimant[g];
  own.leader_said = 1;
  own.must_follow = 0;
  next.state.leader = next.state.ledger[g].sender;
  const std::uint8_t text = byte(leader_is + next.state.leader);
  post(own.mail, text, next.is_possible);
  Claimant& other = next.state.claimant[1 - g];
  if (other.role != Role::down) post(other.mail, text, next.is_possible);
}

void PairMachine::step_down(Next& next, int g) const {
  next.state.listing[g] = {};
  next.state.claimant[g].took_over = next.state.claimant[g].leader_said = 0;
  claim(next, g);
}

// To be read at another time would be the same.
bool PairMachine::reads_at_once(const State& state, int g) const {
  const Claimant& own = state.claimant[g];
  const std::uint8_t mail = own.mail[0];
  if (mail == no_mail || mail == own_claim) return false;
  if (own.role != Role::serving) return true;
  return mail == overruled || mail == other_waits || mail == other_offline ||
         mail == leader_is + state.ledger[g].sender;
}

void PairMachine::read_mail(Next& next, int g) const {
  Claimant& own = next.state.claimant[g];
  const std::uint8_t mail = own.mail[0];
  std::shift_left(own.mail.begin(), own.mail.end(), 1);
  own.mail.back() = no_mail;
  const bool serves = own.role == Role::serving;
  if (mail == own_claim) {
    if (own.role == Role::claiming) decide(next, g);
  } else if (mail == own_offline) {
    if (serves) say(next, g, other_serves);
  } else if (mail == overruled) {
    if (serves) next.violation = "P13: the gateway serves, and a device says that it obeys another one";
  } else if (mail > leader_is) {
    own.leader = byte(mail - leader_is);
    if (!serves || own.leader_said == 0 || own.leader == next.state.ledger[g].sender) return;
    if (is(Mutant::serve_beside_another)) return;
    own.must_follow = 1;
    step_down(next, g);
  } else {
    read_other(next, g, mail);
  }
}

void PairMachine::read_other(Next& next, int g, std::uint8_t mail) const {
  Claimant& own = next.state.claimant[g];
  own.other = is_active(mail) ? mail : byte(no_mail);
  if (mail == other_serves) own.must_follow = 1;
  if (mail != other_waits) own.silent = 0;
  if (own.role != Role::serving || own.other == no_mail) return;
  if (mail == other_serves && !is(Mutant::serve_beside_another)) return step_down(next, g);
  say(next, g, other_serves);
}

}  // namespace berth::model
