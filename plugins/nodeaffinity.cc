#include "plugins/nodeaffinity.h"

#include <algorithm>
#include <iterator>

#include "core/api/decode.h"

namespace berth {

namespace {

bool fits(const Pod& pod, const Node& node) {
  const Labels& labels = node.metadata.labels;
  for (const auto& [key, value] : pod.node_selector) {
    auto found = labels.find(key);
    if (found == labels.end() || found->second != value) return false;
  }
  return !pod.required_node_affinity || matches(*pod.required_node_affinity, labels, node.metadata.name);
}

// The nodes a term names by metadata.name; none when it names no node.
std::optional<std::set<std::string>> named_nodes(const NodeSelectorTerm& term) {
  std::optional<std::set<std::string>> names;
  for (const Requirement& field : term.match_fields) {
    if (field.key != "metadata.name" || field.op != Requirement::Operator::in) continue;
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

bool fits_added(const NodeAffinity::Added& added, const Node& node) {
  return !added.required || matches(*added.required, node.metadata.labels, node.metadata.name);
}

std::int64_t weight_of(const std::vector<PreferredNodeTerm>& terms, const Node& node) {
  std::int64_t sum = 0;
  for (const PreferredNodeTerm& term : terms) {
    if (term.weight == 0) continue;
    if (matches(NodeSelector{{term.preference}}, node.metadata.labels, node.metadata.name)) sum += term.weight;
  }
  return sum;
}

Result<NodeAffinity::Added> read_arguments(const Json& args) {
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
  Result<Added> added = read_arguments(args);
  if (!added) return added.error();
  return std::unique_ptr<Plugin>(std::make_unique<NodeAffinity>(std::move(*added), args));
}

// A node that fits now is worth a try when it did not before. Upstream asks of the node before only what the pod itself
// requires, and so lets a pod sleep when a node comes to match the added affinity.
std::vector<EventWithHint> NodeAffinity::events_to_register() const {
  const auto after_node_change = [added = added_](const Pod& pod, const EventObjects& objects) {
    if (objects.new_node == nullptr) return Hint::queue;
    if (!fits_added(added, *objects.new_node) || !fits(pod, *objects.new_node)) return Hint::skip;
    if (objects.old_node == nullptr) return Hint::queue;
    return fits_added(added, *objects.old_node) && fits(pod, *objects.old_node) ? Hint::skip : Hint::queue;
  };
  return {{{EventResource::node, kAdd | kUpdateNodeLabel, "NodeAddOrLabel"}, after_node_change}};
}

Status NodeAffinity::pre_filter(CycleState&, const Pod& pod, const Snapshot&, PreFilterResult& result) {
  const bool asks_nothing = !pod.required_node_affinity && pod.node_selector.empty();
  if (asks_nothing && !added_.required) return Status::skip();
  if (!pod.required_node_affinity || pod.required_node_affinity->terms.empty()) return {};
  std::set<std::string> names;
  for (const NodeSelectorTerm& term : pod.required_node_affinity->terms) {
    std::optional<std::set<std::string>> mine = named_nodes(term);
    if (!mine) return {};  // this term alone may match any node
    names.merge(*mine);
  }
  if (names.empty()) return Status::unresolvable("pod affinity terms conflict");
  result.node_names = std::move(names);
  return {};
}

Status NodeAffinity::filter(CycleState&, const Pod& pod, const NodeInfo& node) {
  if (!fits_added(added_, *node.node))
    return Status::unresolvable("node(s) didn't match scheduler-enforced node affinity");
  if (fits(pod, *node.node)) return {};
  return Status::unresolvable("node(s) didn't match Pod's node affinity/selector");
}

Status NodeAffinity::pre_score(CycleState&, const Pod& pod, const std::vector<std::shared_ptr<const NodeInfo>>&) {
  return pod.preferred_node_affinity.empty() && added_.preferred.empty() ? Status::skip() : Status();
}

Status NodeAffinity::score(CycleState&, const Pod& pod, const NodeInfo& node, std::int64_t& score) {
  score = weight_of(added_.preferred, *node.node) + weight_of(pod.preferred_node_affinity, *node.node);
  return {};
}

Status NodeAffinity::normalize(CycleState&, const Pod&, std::vector<NodeScore>& scores) {
  std::int64_t most = 0;
  for (const NodeScore& each : scores) most = std::max(most, each.score);
  if (most == 0) return {};
  for (NodeScore& each : scores) each.score = each.score * kMaxScore / most;
  return {};
}

}  // namespace berth
