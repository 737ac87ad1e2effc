#include "plugins/nodeaffinity.h"

#include <algorithm>
#include <iterator>

#include "plugins/no_arguments.h"

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

Hint after_node_change(const Pod& pod, const EventObjects& objects) {
  if (objects.new_node == nullptr) return Hint::queue;
  const bool fitted = objects.old_node != nullptr && fits(pod, *objects.old_node);
  return !fitted && fits(pod, *objects.new_node) ? Hint::queue : Hint::skip;
}

}  // namespace

Result<std::unique_ptr<Plugin>> NodeAffinity::make(const Json& args, Handle&) {
  return make_without_arguments<NodeAffinity>(args);
}

std::vector<EventWithHint> NodeAffinity::events_to_register() const {
  return {{{EventResource::node, kAdd | kUpdateNodeLabel, "NodeAddOrLabel"}, after_node_change}};
}

Status NodeAffinity::pre_filter(CycleState&, const Pod& pod, const Snapshot&, PreFilterResult& result) {
  if (!pod.required_node_affinity) return pod.node_selector.empty() ? Status::skip() : Status();
  std::set<std::string> names;
  for (const NodeSelectorTerm& term : pod.required_node_affinity->terms) {
    std::optional<std::set<std::string>> mine = named_nodes(term);
    if (!mine) return {};  // this term alone may match any node
    names.merge(*mine);
  }
  if (pod.required_node_affinity->terms.empty()) return {};
  if (names.empty()) return Status::unresolvable("pod affinity terms conflict");
  result.node_names = std::move(names);
  return {};
}

Status NodeAffinity::filter(CycleState&, const Pod& pod, const NodeInfo& node) {
  if (fits(pod, *node.node)) return {};
  return Status::unresolvable("node(s) didn't match Pod's node affinity/selector");
}

}  // namespace berth
