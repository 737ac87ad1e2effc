// All steps that gateway, network and devices may take.
#include <algorithm>

#include "tests/model/model.h"

namespace berth::model {

void Machine::for_each_step(const State& state, const Visit& visit) const {
  const Visit settled = [&](const Step& step, const State& next, const char* violation) {
    if (violation == nullptr && next == state) return;
    State after = next;
    const char* implied = settle(after);
    if (violation == nullptr) violation = implied;
    if (!(after == state) || violation != nullptr) visit(step, after, violation);
  };
  visit_gateway(state, settled);
  visit_network(state, settled);
  for (int node = 0; node < kNodes; ++node) visit_device(state, node, settled);
}

void Machine::visit_begin(const State& state, const Visit& visit) const {
  const int e = state.live.next;
  if (e > options_.epochs || state.live.waiting != 0) return;
  if (is_put_back(state) && state.past.reserved != 0 && e >= state.past.later) return;
  const bool is_first = e == 1 && !is_put_back(state);
  for (int pod = 0; pod < options_.pods; ++pod) {
    if (is_first && pod != 0) break;  // pods and nodes are symmetric: the first used is number 0
    if (state.live.row[pod].epoch != 0 || has(state.live.gone, pod) || is_held(state, pod)) continue;
    for (int node = 0; node < kNodes; ++node) {
      if (is_first && node != 0) break;
      // The incarnation that the gateway knows may be outdated.
      for (int incarnation = 0; incarnation <= state.device[node].incarnation; ++incarnation) {
        State next = state;
        next.placement[e] = make_placement(pod, node, incarnation);
        next.live.next = byte(e + 1);
        if (is_blind(state)) next.past.blind |= bit(e);
        next.live.row[pod] = {byte(e), byte(static_cast<int>(find_move(Phase::none, RowEvent::begin)->to))};
        visit({Step::begin, byte(e), byte(node), byte(incarnation), byte(pod)}, next, nullptr);
      }
    }
  }
}

// Actions of operators, deadlines and other pods that end a placement.
void Machine::visit_operator_actions(const State& state, int pod, const Visit& visit) const {
  const Phase phase = state.live.row[pod].phase();
  for (const RowEvent event : {RowEvent::leave, RowEvent::remove}) {
    if (!find_move(phase, event)) continue;
    const Step::Kind kind = event == RowEvent::leave ? Step::leave : Step::remove;
    visit({kind, byte(pod)}, give_up(state, pod, event), nullptr);
  }
  if (has(state.live.gone, pod)) return;
  State next = state;
  if (find_move(phase, RowEvent::leave)) next = give_up(next, pod, RowEvent::leave);
  if (find_move(phase, RowEvent::remove)) next = give_up(next, pod, RowEvent::remove);
  next.live.gone |= bit(pod);
  visit({Step::erase_pod, byte(pod)}, next, nullptr);
}

void Machine::visit_faults_of_gateway(const State& state, const Visit& visit) const {
  const bool forgets = is(Mutant::adopt_mode_not_durable) && state.live.waiting != 0;
  if ((!(state.live == state.flash) && !options_.minimal) || forgets) visit({Step::crash}, crash(state), nullptr);
  if (state.losses < options_.losses && may_fail(state)) {
    State next = lose_store(state);
    count_fault(next);
    visit({Step::lose_store}, next, nullptr);
  }
  if (state.rollbacks < options_.rollbacks && may_fail(state)) {
    State next = state;
    if (state.copy.next == 0) {
      next.copy = state.flash;
      visit({Step::copy_store}, next, nullptr);
    } else {
      next = options_.unmarked != 0 ? put_back(next) : roll_back(next);
      ++next.rollbacks;
      count_fault(next);
      visit({Step::roll_back}, next, nullptr);
    }
  }
  visit_restart(state, visit);
  for (int e = 1; e <= options_.epochs; ++e) {
    if (!has(state.live.entries, e) || !is(Mutant::drop_release_entry_by_time)) continue;
    State next = state;
    next.live.entries &= byte(~bit(e));
    visit({Step::forget_entry, byte(e)}, next, nullptr);
  }
}

void Machine::visit_gateway(const State& state, const Visit& visit) const {
  if (!(state.live == state.flash)) visit({Step::commit}, commit(state), nullptr);
  visit_faults_of_gateway(state, visit);
  visit_begin(state, visit);
  for (int pod = 0; pod < options_.pods && !options_.minimal; ++pod) visit_operator_actions(state, pod, visit);
  if (may_raise(state)) visit({Step::raise_term}, raise_term(state), nullptr);
  for (int node = 0; node < kNodes; ++node) {
    if (state.listing[node].sender == 0) continue;
    const State next = read_listing(state, node);
    visit({Step::read_listing, byte(node)}, next, changes_row_of_another(state, next, node));
  }
}

void Machine::visit_lists(const State& state, const Visit& visit) const {
  for (int node = 0; node < kNodes; ++node) {
    if (state.device[node].booting != 0) continue;
    for (int at = 0; state.lists[node] >> at != 0; ++at) {
      if (!has(state.lists[node], at)) continue;
      const Asked asked{kList, 0, at % kFloors + 1, at / kFloors};
      for (const bool answered : {false, true}) {
        const Step step{Step::deliver_list, byte(node), byte(asked.floor), byte(asked.sender), byte(answered ? 1 : 0)};
        visit(step, deliver_list(state, node, asked, answered), nullptr);
      }
      if (!has(state.behind, node)) continue;
      Asked telling = asked;
      telling.told = true;
      visit({Step::deliver_list, byte(node), byte(asked.floor), byte(asked.sender), 2},
            deliver_list(state, node, telling, false), nullptr);
    }
  }
}

void Machine::visit_requests(const State& state, int e, const Visit& visit) const {
  const int node = node_of(state.sent[e]);
  if (state.sent[e] == 0 || state.device[node].booting != 0) return;
  for (int kind = kPreBind; kind < kRequestKinds; ++kind) {
    const unsigned requests = state.requests[kind][e - 1];
    for (int at = 0; requests >> at != 0; ++at) {
      if (!has(requests, at)) continue;
      const Asked asked{kind, e, at % kFloors + 1, at / kFloors};
      const bool has_its_list = state.device[node].obeys == 1 + asked.sender;
      if (options_.unmarked == 2 && asked.sender == later_start() && !has_its_list) continue;
      for (const bool refuse : {false, true}) {
        if (refuse && (kind != kPreBind || options_.minimal || !may_fail(state))) continue;
        const char* violation = nullptr;
        State next = deliver(state, asked, refuse, &violation);
        if (refuse) count_fault(next);
        const int more = asked.sender << 1 | (refuse ? 1 : 0);
        visit({Step::deliver, byte(kind), byte(e), byte(asked.floor), byte(more)}, next, violation);
      }
    }
  }
}

void Machine::visit_network(const State& state, const Visit& visit) const {
  visit_lists(state, visit);
  for (int e = 1; e <= options_.epochs; ++e) {
    visit_requests(state, e, visit);
    for (int answer = 0; answer < kAnswerBits; ++answer) {
      if (!has(state.answers[e], answer)) continue;
      for (int passed = 0; passed <= (answer == kPreBound && !options_.minimal ? 1 : 0); ++passed) {
        visit({Step::receive, byte(answer), byte(e), byte(passed)}, receive(state, e, answer, passed != 0), nullptr);
      }
    }
  }
  for (int pod = 0; pod < options_.pods; ++pod) {
    const Held& row = state.live.row[pod];
    if (row.epoch == 0) continue;
    const int node = node_of(state.placement[row.epoch]);
    for (int incarnation = 0; incarnation <= state.device[node].incarnation; ++incarnation) {
      visit({Step::unsolicited_hello, byte(pod), byte(node), byte(incarnation)},
            unsolicited_hello(state, pod, incarnation), nullptr);
    }
  }
}

void Machine::visit_node_rollback(const State& state, int node, const Visit& visit) const {
  if (state.node_rollbacks >= options_.node_rollbacks || !may_fail(state) || state.device[node].booting != 0) return;
  if (state.kept_of == 0) {
    State next = state;
    next.kept = state.device[node];
    next.kept.alive = 0;
    next.kept_of = byte(1 + node);
    visit({Step::copy_device, byte(node)}, next, nullptr);
  }
  if (state.kept_of != 1 + node) return;
  for (const bool has_mark : {false, true}) {
    State next = roll_back_device(state, has_mark);
    count_fault(next);
    visit({Step::roll_back_device, byte(node), byte(has_mark ? 1 : 0)}, next, nullptr);
  }
}

void Machine::visit_device(const State& state, int node, const Visit& visit) const {
  const Device& device = state.device[node];
  if (state.wipes < options_.wipes && may_fail(state)) {
    State next = wipe(state, node);
    count_fault(next);
    ++next.wipes;
    visit({Step::wipe, byte(node)}, next, nullptr);
  }
  visit_node_rollback(state, node, visit);
  if (device.booting != 0) visit({Step::sweep, byte(node)}, sweep(state, node), nullptr);
  if (!options_.minimal && may_fail(state)) {
    State next = reboot(state, node);
    if (!(next == state)) count_fault(next);
    visit({Step::reboot, byte(node)}, next, nullptr);
  }
  for (int pod = 0; pod < options_.pods; ++pod) {
    visit_slot(state, node, pod, visit);
    if (!options_.minimal && may_fail(state)) visit_slot_faults(state, node, pod, visit);
  }
}

void Machine::visit_slot(const State& state, int node, int pod, const Visit& visit) const {
  const SlotState slot = state.device[node].slot[pod].slot();
  const int e = state.device[node].slot[pod].epoch;
  if (e == 0) return;
  const auto step = [&](Step::Kind kind, const State& next) { visit({kind, byte(node), byte(e)}, next, nullptr); };
  if (slot == SlotState::preparing) step(Step::prepared, move_slot(state, node, pod, SlotEvent::prepared));
  if (slot == SlotState::running && !has(state.device[node].alive, e)) {
    State next = state;
    next.device[node].alive |= bit(e);
    if (has(state.behind, node)) next.ghosts |= bit(e);  // it may have promised not to run this any more
    step(Step::launch, next);
  }
  if (!options_.minimal && slot == SlotState::running && has(state.device[node].alive, e)) {
    State next = move_slot(state, node, pod, SlotEvent::exited);
    next.device[node].alive &= byte(~bit(e));
    next.answers[e] |= bit(kFinished);
    step(Step::finish, next);
  }
  // During its grace period a workload may keep running for any time.
  if (slot == SlotState::stopping) {
    State next = move_slot(state, node, pod, SlotEvent::stopped);
    next.device[node].alive &= byte(~bit(e));
    step(Step::stopped, next);
  }
}

void Machine::visit_slot_faults(const State& state, int node, int pod, const Visit& visit) const {
  const SlotState slot = state.device[node].slot[pod].slot();
  const int e = state.device[node].slot[pod].epoch;
  if (slot == SlotState::preparing) {
    State next = move_slot(state, node, pod, SlotEvent::failed);
    count_fault(next);
    // Rejected goes to the store that asked; a lost store does not receive it.
    const bool to_this_store = is_same_store(state.device[node].obeys - 1, state.live.sender);
    if (to_this_store) next.answers[e] |= bit(kRejected);
    next.finals |= bit(e);
    visit({Step::prepare_failed, byte(node), byte(e)}, next, nullptr);
  }
  if (slot == SlotState::preparing || slot == SlotState::prepared) {
    State next = move_slot(state, node, pod, SlotEvent::undo);
    count_fault(next);
    visit({Step::promise_end, byte(node), byte(e)}, next, nullptr);
  }
}

}  // namespace berth::model
