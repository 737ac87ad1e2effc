// All steps that two gateways, the network and the devices may take, and their names.
#include "tests/model/pair.h"

namespace berth::model {

void PairMachine::for_each_step(const State& state, const Visit& visit) const {
  for (int g = 0; g < kGateways; ++g) {
    visit_claims(state, g, visit);
    if (state.claimant[g].role == Role::serving) visit_rows(state, g, visit);
  }
  visit_network(state, visit);
  for (int node = 0; node < kNodes; ++node) visit_device(state, node, visit);
}

void PairMachine::visit_claims(const State& state, int g, const Visit& visit) const {
  if (is_retired(state, g, 1 + options_.follows)) return;
  const Claimant& own = state.claimant[g];
  const auto step = [&](Step::Kind kind, const auto& change) { offer(state, {kind, byte(g)}, visit, change); };
  if (own.role == Role::down) {
    step(Step::connect, [&](Next& next) { connect(next, g); });
  } else if (state.cuts < options_.cuts) {
    step(Step::cut, [&](Next& next) { lose_link(next, g), ++next.state.cuts; });
  }
  if (state.kills < options_.kills) step(Step::kill, [&](Next& next) { kill(next, g), ++next.state.kills; });
  if (state.will[g] != 0) step(Step::will, [&](Next& next) { tell_will(next, g); });
  if (own.mail[0] != no_mail) {
    offer(state, {Step::read, byte(g), own.mail[0]}, visit, [&](Next& next) { read_mail(next, g); });
  }
  if (own.role == Role::waiting && must_wait(state, g)) {
    step(Step::take_over, [&](Next& next) { next.state.claimant[g].silent = 1, claim(next, g); });
  } else if (own.role == Role::waiting) {
    step(Step::claim, [&](Next& next) { claim(next, g); });
  }
  if (is(Mutant::leader_before_durable) && own.role == Role::serving && own.must_follow != 0) {
    step(Step::follow, [&](Next& next) {
      follow(next, g);
      say_leader(next, g);
    });
  }
}

void PairMachine::visit_rows(const State& state, int g, const Visit& visit) const {
  if (is(Mutant::leader_before_durable) && state.claimant[g].must_follow != 0) return;
  const Ledger& ledger = state.ledger[g];
  const bool has_row = ledger.row[0].epoch != 0;
  const int last = ledger.sender * options_.epochs;
  if (!has_row && ledger.waiting == 0 && ledger.next <= last && ledger.next <= epochs_all()) {
    for (int node = 0; node < (ledger.next == 1 ? 1 : kNodes); ++node) {
      offer(state, {Step::begin, byte(g), ledger.next, byte(node)}, visit, [&](Next& next) { begin(next, g, node); });
    }
  }
  for (const RowEvent event : {RowEvent::leave, RowEvent::remove}) {
    if (options_.minimal || !find_move(ledger.row[0].phase(), event)) continue;
    const Step::Kind kind = event == RowEvent::leave ? Step::leave : Step::remove;
    offer(state, {kind, byte(g)}, visit, [&](Next& next) { move(next, g, event); });
  }
  for (int e = 1; e <= kPairEpochs; ++e) {
    for (int answer = 0; answer < kAnswerBits; ++answer) {
      if (!has(state.answers[g][e], answer)) continue;
      offer(state, {Step::read_answer, byte(g), byte(answer), byte(e)}, visit,
            [&](Next& next) { read_answer(next, g, e, answer, false); });
    }
  }
  for (int node = 0; node < kNodes; ++node) {
    if (state.listing[g][node].sender != ledger.sender || ledger.sender == 0) continue;
    offer(state, {Step::read_listing, byte(g), byte(node)}, visit, [&](Next& next) { read_listing(next, g, node); });
  }
}

void PairMachine::visit_network(const State& state, const Visit& visit) const {
  for (int sender = 0; sender < kIdentities; ++sender) {
    for (int e = 1; e <= kPairEpochs; ++e) {
      for (int kind = kPreBind; kind < kRequestKinds; ++kind) {
        if (!has(state.requests[kind][e], sender)) continue;
        offer(state, {Step::deliver, byte(kind), byte(e), byte(sender)}, visit,
              [&](Next& next) { deliver(next, {kind, e, 1, sender}); });
      }
    }
    for (int node = 0; node < kNodes; ++node) {
      if (!has(state.lists[node], sender)) continue;
      offer(state, {Step::deliver_list, byte(node), byte(sender)}, visit,
            [&](Next& next) { deliver_list(next, node, sender); });
    }
  }
}

void PairMachine::visit_device(const State& state, int node, const Visit& visit) const {
  const Held held = state.device[node].slot[0];
  if (held.epoch == 0) return;
  const auto step = [&](Step::Kind kind, const auto& change) {
    offer(state, {kind, byte(node), held.epoch}, visit, [&](Next& next) { change(next.state.device[node]); });
  };
  const auto move_slot = [&](Device& device, SlotEvent event) { device = rules_.move_slot(device, 0, event); };
  const SlotState slot = held.slot();
  if (slot == SlotState::preparing) step(Step::prepared, [&](Device& to) { move_slot(to, SlotEvent::prepared); });
  if (slot == SlotState::running) step(Step::launch, [&](Device& to) { to.alive |= bit(held.epoch); });
  if (slot == SlotState::stopping) {
    step(Step::stopped, [&](Device& to) {
      move_slot(to, SlotEvent::stopped);
      to.alive &= byte(~bit(held.epoch));
    });
  }
}

std::string describe(const PairStep& step) {
  constexpr const char* kRequests[] = {"PreBind", "Bind", "Release"};
  constexpr const char* kAnswers[] = {"PreBound", "Bound", "Released", "Rejected", "Stale"};
  constexpr const char* kMails[] = {"",
                                    "the other claims",
                                    "the other waits",
                                    "the other serves",
                                    "the other is offline",
                                    "its own claim",
                                    "that it is offline itself",
                                    "Superseded"};
  const auto number = [](int value) { return std::to_string(value); };
  const std::string gateway = "gateway " + number(step.a) + ": ";
  const std::string node = "node " + number(step.a) + ": ";
  const std::string epoch = " epoch " + number(step.b);
  switch (step.kind) {
    case PairStep::connect: return gateway + "connect, and claim";
    case PairStep::cut: return gateway + "connection lost";
    case PairStep::kill: return gateway + "killed";
    case PairStep::will: return "broker: gateway " + number(step.a) + " is offline";
    case PairStep::read:
      return gateway + "reads " +
             (step.b > leader_is ? "that leader is " + number(step.b - leader_is) : kMails[step.b]);
    case PairStep::claim: return gateway + "claim";
    case PairStep::take_over: return gateway + "claim, as the other one has been silent for too long";
    case PairStep::follow: return gateway + "follow";
    case PairStep::begin: return gateway + "begin" + epoch + " on node " + number(step.c);
    case PairStep::leave: return gateway + "leave prebind";
    case PairStep::remove: return gateway + "evict";
    case PairStep::read_answer: return gateway + "read " + kAnswers[step.b] + " epoch " + number(step.c);
    case PairStep::read_listing: return gateway + "read the listing of node " + number(step.b);
    case PairStep::deliver:
      return std::string("network: deliver ") + kRequests[step.a] + epoch + ", identity " + number(step.c + 1);
    case PairStep::deliver_list:
      return "network: deliver List to node " + number(step.a) + ", identity " + number(step.b + 1);
    case PairStep::prepared: return node + "prepared" + epoch;
    case PairStep::launch: return node + "start" + epoch;
    case PairStep::stopped: return node + "stopped" + epoch;
  }
  return "?";
}

}  // namespace berth::model
