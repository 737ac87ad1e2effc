#include "core/placement/takeover.h"

#include <algorithm>
#include <utility>

#include "core/placement/retired.h"

namespace berth {

namespace {

void forget_old(std::vector<Millis>& times, Millis now) {
  std::erase_if(times, [now](Millis at) { return now - at >= NodeLimits::kWindowMs; });
}

}  // namespace

bool Takeover::counts_for_others(const std::string& node) const {
  const DeviceNode* device = context_.nodes.find(node);
  return device != nullptr && quarantine_of(device->holds).empty() &&
         !is_retired(*context_.identity, context_.nodes, node);
}

void Takeover::take_superseded(const Answer& answer) {
  if (context_.nodes.find(answer.node) == nullptr) return;
  // It counts as the answer to a List of this session. Another one was delayed, or nobody asked: the node is asked.
  if (!parts_.listings.is_open(answer.node)) {
    if (context_.mirror.barrier().is_synced()) parts_.listings.start(answer.node);
    return;
  }
  const std::optional<Proven> proven = read(answer.node, answer.gateway_id.store_id, answer.proof);
  if (proven && (is_news(*proven) || is_in_the_way(*proven))) take_proof(answer.node, *proven);
  const GatewayId towards = context_.nodes.id_towards(answer.node, context_.identity->id);
  if (answer.gateway_id.term >= towards.term && answer.gateway_id != towards) take_node(answer);
}

std::optional<Takeover::Proven> Takeover::read(const std::string& node, const std::string& store_id,
                                               const std::string& proof) const {
  if (!context_.options.proof_key || is_retired(*context_.identity, context_.nodes, node)) return std::nullopt;
  const auto term = read_proof(*context_.options.proof_key, store_id, node, proof);
  return term ? std::optional(Proven{*term, store_id}) : std::nullopt;
}

// Each is believed once, since it is remembered.
bool Takeover::is_news(const Proven& proven) const {
  const Identity& own = *context_.identity;
  if (proven.store_id == own.id.store_id) return !own.terms.may_contain(proven.term, own.id.term);
  return std::find(own.former.begin(), own.former.end(), proven.store_id) == own.former.end();
}

bool Takeover::is_in_the_way(const Proven& proven) const {
  const GatewayId& own = context_.identity->id;
  return proven.store_id != own.store_id && proven.term >= own.term;
}

bool Takeover::is_covered(const Proven& proven) const {
  const Identity& own = *context_.identity;
  const bool is_known_to_be_older = proven.store_id != own.id.store_id || own.rolled_back;
  return own.adopting && proven.term < own.id.term && is_known_to_be_older;
}

void Takeover::remember(const Proven& proven) {
  Identity& own = context_.identity.edit();
  if (proven.store_id == own.id.store_id) return own.terms.note_lost(proven.term, context_.store.next_position());
  own.note_former(proven.store_id);
}

void Takeover::take_proofs_kept() {
  for (auto at = proofs_kept_.begin(); at != proofs_kept_.end();) {
    const auto& [node, proven] = *at;
    if (!counts_for_others(node)) {
      ++at;
      continue;
    }
    if (is_news(proven) || is_in_the_way(proven)) take_proof(node, proven);
    at = proofs_kept_.erase(at);
  }
}

// A gateway of this machine has had a term that this one knows nothing of: with this store id it was this store, which
// is an older copy (P11); otherwise its store was lost, or a copy of the machine has served. What that one placed is
// known to the nodes only (P8).
void Takeover::take_proof(const std::string& node, const Proven& proven) {
  if (!counts_for_others(node)) {
    // It obeys this gateway from now on, and may not say that again.
    Proven& kept = proofs_kept_[node];
    if (proven.term >= kept.term) kept = proven;
    return;
  }
  const bool is_covered_already = is_covered(proven);
  remember(proven);
  if (is_covered_already) return;
  Identity& identity = context_.identity.edit();
  const bool is_ours = proven.store_id == identity.id.store_id;
  const bool was_settled = !identity.is_new && !identity.adopting;  // it did not lack what a lost store knew
  identity.id.term = std::max(identity.id.term, proven.term) + 1;
  identity.terms.begin(identity.id.term, context_.store.next_position());
  context_.log.write(Level::error,
                     is_ours ? "a node has obeyed a later state of this store: it is an older copy of itself"
                             : "a node has obeyed another store of this gateway, which was lost or is that of a copy",
                     {{"node", node},
                      {"store", proven.store_id},
                      {"term", std::to_string(proven.term)},
                      {"newTerm", std::to_string(identity.id.term)}});
  if (is_ours || was_settled) {
    identity.rolled_back = true;
    parts_.comparison.give_up_promises();
  }
  parts_.adopt_mode.enter();
}

void Takeover::take_node(const Answer& answer) {
  const std::string& node = answer.node;
  if (answer.gateway_id.term >= kTermMax) {
    return parts_.nodes.quarantine(node, Hold::term,
                                   "it obeys store " + answer.gateway_id.store_id + " under term " +
                                       std::to_string(answer.gateway_id.term) +
                                       ", which cannot be exceeded; wipe the state of its agent");
  }
  std::vector<Millis>& times = times_[node];
  forget_old(times, context_.clock.now());
  if (times.size() >= context_.options.node_limits.takeovers_per_hour) {
    return parts_.nodes.quarantine(
        node, Hold::takeovers,
        excess_text("it goes on obeying others, last store " + answer.gateway_id.store_id, "takeovers_per_hour",
                    std::to_string(context_.options.node_limits.takeovers_per_hour)));
  }
  times.push_back(context_.clock.now());
  context_.nodes.raise_term(node, answer.gateway_id.term, context_.identity->id);
  tell(answer);
  obeyed_.insert_or_assign(node, answer.gateway_id);
  if (context_.identity->adopting && counts_for_others(node)) {
    // What it answered before is not what it has now.
    parts_.nodes.adopted().erase(node);
    context_.identity.edit().adopt_nodes.insert(node);
  }
  parts_.nodes.ask_everything(node);
}

// In adopt mode each node may still obey the gateway before this one.
void Takeover::tell(const Answer& answer) {
  const std::string& node = answer.node;
  const bool is_expected = context_.identity->adopting || is_retired(*context_.identity, context_.nodes, node);
  context_.log.write(
      is_expected ? Level::info : Level::warn, "the node obeyed another gateway",
      {{"node", node}, {"store", answer.gateway_id.store_id}, {"term", std::to_string(answer.gateway_id.term)}});
  if (is_expected) return;
  DeviceNode& device = *context_.nodes.find(node);
  device.taken_over = "it obeyed the gateway of store " + answer.gateway_id.store_id + ", term " +
                      std::to_string(answer.gateway_id.term) + ", without a proof that this gateway gave";
  context_.publisher.mark(Kind::node, node);
  context_.events.record({Kind::node, node, "Warning", "NodeTakenOver", device.taken_over, node});
}

// The node obeys this gateway now, so no term is to be exceeded.
void Takeover::take_obeyed_before(const Answer& answer) {
  for (const ObeyedGateway& before : answer.obeyed_before) {
    const std::optional<Proven> proven = read(answer.node, before.store_id, before.proof);
    if (!proven || !is_news(*proven)) continue;
    const Identity& own = *context_.identity;
    if (own.adopting && proven->store_id != own.id.store_id) {
      remember(*proven);
    } else {
      take_proof(answer.node, *proven);
    }
  }
}

void Takeover::note_slots(const Answer& answer) {
  if (!parts_.listings.is_page_of_open(answer)) return;
  if (answer.gateway_id != context_.nodes.id_towards(answer.node, context_.identity->id)) return;
  take_obeyed_before(answer);
  parts_.nodes.quarantine(answer.node, Hold::term, {});
  // P15: only of a node that obeys this gateway now. One that goes on naming others is no word against a new store.
  const auto obeyed = obeyed_.extract(answer.node);
  if (!obeyed.empty() && counts_for_others(answer.node))
    parts_.adopt_mode.note_foreign_store(answer.node, obeyed.mapped());
}

void Takeover::tick() {
  take_proofs_kept();
  for (auto at = times_.begin(); at != times_.end();) {
    auto& [node, times] = *at;
    forget_old(times, context_.clock.now());
    if (times.size() < context_.options.node_limits.takeovers_per_hour) {
      parts_.nodes.quarantine(node, Hold::takeovers, {});
    }
    DeviceNode* device = context_.nodes.find(node);
    if (times.empty() && device != nullptr && !std::exchange(device->taken_over, {}).empty()) {
      context_.publisher.mark(Kind::node, node);
    }
    at = times.empty() ? times_.erase(at) : std::next(at);
  }
}

}  // namespace berth
