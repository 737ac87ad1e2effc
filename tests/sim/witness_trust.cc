// What the gateway believes of its nodes: whom it passes over (D2), and what raises its term or its mode (S13).
#include "tests/sim/witness.h"

#include <algorithm>

namespace berth::sim {

void Witness::note_passed_over(const std::string& node, std::string_view why, Millis now) {
  const auto known = gateway_.alive->nodes().all().find(node);
  if (known == gateway_.alive->nodes().all().end() || device(node)->hostile) return;
  const auto failed = failed_.find(node);
  if (why.starts_with("rejected") && (failed == failed_.end() || failed->second != known->second.incarnation)) {
    news_.passed_over_in_vain.push_back("node " + node +
                                        " is passed over although all that it rejected was for lasting reasons");
  }
  PassedOver& passed_over = passed_over_[node] = {now, known->second.incarnation, {}};
  for (const auto& [uid, binding] : gateway_.alive->bindings()) {
    if (binding.row.node == node) passed_over.last = std::max(passed_over.last, binding.row.epoch);
  }
}

// D2: a node that has just failed gets no new row before its time is over, unless it is another incarnation.
void Witness::check_passed_over(const std::string& node, const Request& request, Millis now) {
  constexpr Millis kLeastMs = 700;  // the simulated gateway's 1000, on a clock that runs fast
  const auto found = passed_over_.find(node);
  if (found == passed_over_.end() || gateway_.alive == nullptr) return;
  const PassedOver& passed_over = found->second;
  if (request.epoch <= passed_over.last || now - passed_over.since >= kLeastMs) return;
  if (request.incarnation != passed_over.incarnation) return;
  news_.asked_too_soon.push_back("node " + node + " is asked to take " + show(request.uid, request.epoch) + " " +
                                 std::to_string(now - passed_over.since) + " ms after it was passed over");
}

// D6: the device has said in its state which of its refusals hold until it says otherwise.
bool Witness::is_lasting(const Answer& answer) const {
  if (gateway_.alive == nullptr || answer.refusals.empty()) return false;
  const auto known = gateway_.alive->nodes().all().find(answer.node);
  return known != gateway_.alive->nodes().all().end() && known->second.refusals == answer.refusals;
}

// D6: the row is still there, since the gateway has not taken the answer yet.
void Witness::note_refused(const Answer& answer) {
  const auto row = gateway_.rows.find(answer.uid);
  if (answer.type != AnswerType::rejected || row == gateway_.rows.end() || device(answer.node)->hostile) return;
  const Row& refused = row->second;
  const bool is_of_row = refused.node == answer.node && refused.epoch == answer.epoch &&
                         refused.incarnation == answer.incarnation && refused.phase == Phase::prebind;
  const auto object = gateway_.contents.find({Table::object, "pods/" + std::string(refused.pod)});
  if (!is_of_row || object == gateway_.contents.end()) return;
  // By its own clock: the simulated gateway's 1000, or the queue's 500 for one that it cannot remember.
  const bool fits = gateway_.alive == nullptr || gateway_.alive->scheduler().refusals().has_capacity(answer.node);
  refused_[{answer.uid, answer.node}] = {gateway_clock_->now(), fits ? 700 : 500, answer.incarnation, object->second};
  if (!fits || !is_lasting(answer)) failed_[answer.node] = answer.incarnation;
}

void Witness::check_refused(const std::string& node, const Request& request, Millis now) {
  const auto found = refused_.find({request.uid, node});
  const auto row = gateway_.rows.find(request.uid);
  if (found == refused_.end() || row == gateway_.rows.end() || now - found->second.since >= found->second.least) return;
  if (request.incarnation != found->second.incarnation) return;
  const auto object = gateway_.contents.find({Table::object, "pods/" + std::string(row->second.pod)});
  if (object == gateway_.contents.end() || object->second != found->second.manifest) return;
  news_.asked_too_soon.push_back("node " + node + " is asked to take " + show(request.uid, request.epoch) + " " +
                                 std::to_string(now - found->second.since) + " ms after it has refused that");
}

// D7
void Witness::check_able(const std::string& node, const Request& request) {
  const DeviceView& view = *device(node);
  if (view.hostile || !view.features || !asks_for_probes(request.pod)) return;
  const Result<Json> pod = Json::parse(request.pod);
  if (!pod) return;
  for (const Need& need : missing_of(needs_of(*pod), *view.features)) {
    news_.asked_in_vain.push_back("node " + node + " is asked to run " + show(request.uid, request.epoch) +
                                  " although it does not support " + to_text(need));
  }
}

void Witness::set_gateway(const Gateway* gateway) {
  gateway_.alive = gateway;
  heard_of_.clear();
  passed_over_.clear();
  failed_.clear();
  refused_.clear();
  follows_ = false;
  if (gateway == nullptr) return;
  ++gateway_starts_;
  explained_term_ = gateway->identity().id.term;
  may_adopt_ = gateway->identity().adopting;
  note_own_terms(*gateway);
}

// Those that lead the gateway's own rise with it at each start.
void Witness::note_own_terms(const Gateway& gateway) {
  const std::uint64_t own = gateway.identity().id.term;
  for (const auto& [name, device] : gateway.nodes().all()) {
    if (!device.term_lead.is_zero()) said_[name] = std::max(said_[name], own + device.term_lead.lead - 1);
  }
  for (const auto& [name, left] : gateway.nodes().left_terms())
    said_[name] = std::max(said_[name], own + left.lead - 1);
}

void Witness::note_incarnation(const std::string& node, std::string_view incarnation) {
  std::erase_if(refused_,
                [&](const auto& each) { return each.first.second == node && each.second.incarnation != incarnation; });
  const auto found = passed_over_.find(node);
  if (found != passed_over_.end() && found->second.incarnation != incarnation) passed_over_.erase(found);
}

// A Hello or a list may have told it too (N1).
void Witness::note_believed_incarnations() {
  if (gateway_.alive == nullptr || (passed_over_.empty() && refused_.empty())) return;
  for (const auto& [name, device] : gateway_.alive->nodes().all()) note_incarnation(name, device.incarnation);
}

// S13: what a node says concerns it alone, unless it returns what a gateway of this machine gave it.
void Witness::note_superseded(const Answer& answer) {
  said_[answer.node] = std::max(said_[answer.node], answer.gateway_id.term);
  const auto given = proofs_given_.find({answer.node, answer.proof});
  if (given == proofs_given_.end() || given->second.store_id != answer.gateway_id.store_id) return;
  explained_term_ = std::max({explained_term_, given->second.term + 1, gateway_.id.term + 1});
  may_adopt_ = true;
}

// A listing tells whom the node has obeyed before; what the gateway knows of itself is no news.
void Witness::note_obeyed_before(const Answer& answer) {
  if (gateway_.alive == nullptr) return;
  const Identity& own = gateway_.alive->identity();
  for (const ObeyedGateway& before : answer.obeyed_before) {
    const auto given = proofs_given_.find({answer.node, before.proof});
    if (given == proofs_given_.end() || given->second.store_id != before.store_id) continue;
    const bool is_ours = before.store_id == own.id.store_id;
    if (is_ours && own.terms.may_contain(given->second.term, own.id.term)) continue;
    // Several may be told in one turn, and each raises the term above it.
    explained_term_ = std::max({explained_term_, given->second.term, gateway_.id.term}) + 1;
    may_adopt_ = true;
  }
}

void Witness::check_authority() {
  if (gateway_.alive == nullptr) return;
  if (gateway_.id.term > explained_term_) {
    news_.unproven.push_back("the gateway's term has risen to " + std::to_string(gateway_.id.term) + ", above " +
                             std::to_string(explained_term_) + ", without a proof");
  }
  if (gateway_.alive != nullptr && std::exchange(own_term_, gateway_.id.term) != gateway_.id.term) {
    note_own_terms(*gateway_.alive);
  }
  if (gateway_.adopting && !may_adopt_) news_.unproven.emplace_back("adopt mode has begun without a proof");
  // That of a quarantined node counts when its quarantine ends.
  may_adopt_ = gateway_.adopting || explained_term_ > gateway_.id.term;
}

}  // namespace berth::sim
