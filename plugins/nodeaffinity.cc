#include "plugins/nodeaffinity.h"

#include <algorithm>
#include <iterator>

#include "core/api/decode_parts.h"
#include "core/api/node.h"
#include "plugins/node_label_rows.h"

namespace berth {

namespace {

const Status kNotAsEnforced = Status::unresolvable("node(s) didn't match scheduler-enforced node affinity");
const Status kNotAsAsked = Status::unresolvable("node(s) didn't match Pod's node affinity/selector");

bool fits_own(const Pod& pod, const Node& node) {
  const Labels& labels = node.metadata.labels;
  for (const auto& [key, value] : pod.node_selector) {
    auto found = labels.find(key);
    if (found == labels.end() || found->second != value) return false;
  }
  return !pod.affinity->required_node_affinity ||
         matches(*pod.affinity->required_node_affinity, labels, node.metadata.name);
}

bool is_of_names(const Requirement& field) {
  return field.key == "metadata.name" && field.op == Requirement::Operator::in;
}

// The nodes that a term names by metadata.name; nullopt if it names none.
std::optional<std::set<std::string>> named_nodes(const NodeSelectorTerm& term) {
  std::optional<std::set<std::string>> names;
  for (const Requirement& field : term.match_fields) {
    if (!is_of_names(field)) continue;
    std::set<std::string> mine(field.values.begin(), field.values.end());
    if (names) {
      std::set<std::string> both;
      std::set_intersection(names->begin(), names->end(), mine.begin(), mine.end(), std::inserter(both, both.end()));
      mine = std::move(both);
    }
    names = std::move(mine);
  }
  return names;
}

// To read a label's values takes longer than to ask fewer nodes than this.
constexpr std::size_t kFewRows = 16;
bool are_few(const Rows& rows) { return !rows.are_all() && rows.size() < kFewRows; }

// True if the pod's terms use labels only: node names have no column.
bool is_about_labels(const Pod& pod) {
  const std::vector<NodeSelectorTerm> none;
  const auto& terms = pod.affinity->required_node_affinity ? pod.affinity->required_node_affinity->terms : none;
  return std::all_of(terms.begin(), terms.end(), [](const auto& term) { return term.match_fields.empty(); });
}

bool are_about_labels(const std::vector<PreferredNodeTerm>& terms) {
  return std::all_of(terms.begin(), terms.end(), [](const auto& term) { return term.preference.match_fields.empty(); });
}

bool fits_added(const NodeAffinity::Added& added, const Node& node) {
  return !added.required || matches(*added.required, node.metadata.labels, node.metadata.name);
}

std::int64_t weight_of(const std::vector<PreferredNodeTerm>& terms, const Node& node) {
  std::int64_t sum = 0;
  for (const PreferredNodeTerm& term : terms) {
    if (term.weight == 0) continue;
    if (matches(term.preference, node.metadata.labels, node.metadata.name)) sum += term.weight;
  }
  return sum;
}

Result<NodeAffinity::Added> read_added_affinity(const Json& args) {
  NodeAffinity::Added added;
  if (args.is_null()) return added;
  Findings findings(Findings::Unknown::refuse);
  FieldReader reader(args, "args", findings);
  reader.read_object("addedAffinity", [&](FieldReader& affinity) {
    affinity.read_object("requiredDuringSchedulingIgnoredDuringExecution", [&](FieldReader& selector) {
      decode::read_node_selector(selector, added.required.emplace());
    });
    decode::read_preferred_node_terms(affinity, added.preferred);
  });
  reader.finish();
  if (findings.has_errors()) return findings.status();
  return added;
}

}  // namespace

Result<std::unique_ptr<Plugin>> NodeAffinity::make(const Json& args, Handle&) {
  Result<Added> added = read_added_affinity(args);
  if (!added) return added.error();
  return std::unique_ptr<Plugin>(std::make_unique<NodeAffinity>(std::move(*added), args));
}

// Requeues if the node fits now and did not before. Upstream checks only the pod's own requirements for the old node,
// and so does not requeue a pod when a node starts to match the added affinity.
std::vector<EventWithHint> NodeAffinity::events_to_register() const {
  const auto after_node_change = [added = added_](const Pod& pod, const EventObjects& objects) {
    if (objects.new_node == nullptr) return Hint::queue;
    if (!fits_added(added, *objects.new_node) || !fits_own(pod, *objects.new_node)) return Hint::skip;
    if (objects.old_node == nullptr) return Hint::queue;
    return fits_added(added, *objects.old_node) && fits_own(pod, *objects.old_node) ? Hint::skip : Hint::queue;
  };
  return {{{EventResource::node, kAdd | kUpdateNodeLabel, "NodeAddOrLabel"}, after_node_change}};
}

Status NodeAffinity::pre_filter(CycleState&, const Pod& pod, const Snapshot&, PreFilterResult& result) {
  const bool asks_nothing = !pod.affinity->required_node_affinity && pod.node_selector.empty();
  if (asks_nothing && !added_.required) return Status::skip();
  if (!pod.affinity->required_node_affinity || pod.affinity->required_node_affinity->terms.empty()) return {};
  std::set<std::string> names;
  for (const NodeSelectorTerm& term : pod.affinity->required_node_affinity->terms) {
    std::optional<std::set<std::string>> mine = named_nodes(term);
    if (!mine) return {};  // this term alone may match any node
    names.merge(*mine);
  }
  if (names.empty()) return Status::unresolvable("pod affinity terms conflict");
  result.node_names = std::move(names);
  return {};
}

Status NodeAffinity::filter(CycleState&, const Pod& pod, const NodeInfo& node) {
  if (!fits_added(added_, *node.node)) return kNotAsEnforced;
  if (fits_own(pod, *node.node)) return {};
  return kNotAsAsked;
}

bool NodeAffinity::tells_apart(const Pod& a, const Pod& b) const {
  return a.node_selector != b.node_selector ||
         a.affinity->required_node_affinity != b.affinity->required_node_affinity ||
         a.affinity->preferred_node_affinity != b.affinity->preferred_node_affinity;
}

bool NodeAffinity::names_nodes(const Pod& pod) const {
  if (!pod.affinity->required_node_affinity) return false;
  const auto& terms = pod.affinity->required_node_affinity->terms;
  const auto names_some = [](const NodeSelectorTerm& term) {
    return std::any_of(term.match_fields.begin(), term.match_fields.end(), is_of_names);
  };
  return !terms.empty() && std::all_of(terms.begin(), terms.end(), names_some);
}

bool NodeAffinity::filter_rows(CycleState&, const Pod& pod, const Snapshot& snapshot, const Rows& rows,
                               std::uint8_t* rejects) {
  if (added_.required || !is_about_labels(pod) || are_few(rows)) return false;
  if (pod.affinity->required_node_affinity) {
    std::vector<std::uint8_t> none_met(rows.size(), 1);
    std::vector<std::uint8_t> unmet;
    for (const NodeSelectorTerm& term : pod.affinity->required_node_affinity->terms) {
      if (term.match_expressions.empty()) continue;
      unmet.assign(rows.size(), 0);
      for (const Requirement& each : term.match_expressions) mark_unmet(each, snapshot, rows, unmet.data());
      for (std::size_t row = 0; row < rows.size(); ++row) none_met[row] &= unmet[row];
    }
    for (std::size_t row = 0; row < rows.size(); ++row) rejects[row] |= none_met[row];
  }
  for (const auto& [key, value] : pod.node_selector) {
    mark_unmet({key, Requirement::Operator::in, {value}}, snapshot, rows, rejects);
  }
  return true;
}

Status NodeAffinity::pre_score(CycleState&, const Pod& pod, const std::vector<std::shared_ptr<const NodeInfo>>&) {
  return pod.affinity->preferred_node_affinity.empty() && added_.preferred.empty() ? Status::skip() : Status();
}

Status NodeAffinity::score(CycleState&, const Pod& pod, const NodeInfo& node, std::int64_t& score) {
  score = weight_of(added_.preferred, *node.node) + weight_of(pod.affinity->preferred_node_affinity, *node.node);
  return {};
}

bool NodeAffinity::score_rows(CycleState&, const Pod& pod, const Snapshot& snapshot, const Rows& rows,
                              std::int32_t* scores) {
  const auto& own = pod.affinity->preferred_node_affinity;
  if (are_few(rows) || !are_about_labels(own) || !are_about_labels(added_.preferred)) return false;
  std::fill(scores, scores + rows.size(), 0);
  add_weights(added_.preferred, snapshot, rows, scores);
  add_weights(own, snapshot, rows, scores);
  return true;
}

Status NodeAffinity::normalize(CycleState&, const Pod&, std::vector<NodeScore>& scores) {
  std::int64_t most = 0;
  for (const NodeScore& each : scores) most = std::max(most, each.score);
  if (most == 0) return {};
  for (NodeScore& each : scores) each.score = each.score * kMaxScore / most;
  return {};
}

}  // namespace berth
