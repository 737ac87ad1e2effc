#include "core/api/gated_update.h"

#include <algorithm>

namespace berth {

namespace {

using Terms = std::vector<NodeSelectorTerm>;

Terms required_terms(const Pod& pod) {
  const auto& required = pod.affinity.get().required_node_affinity;
  return required ? required->terms : Terms{};
}

// validateNodeSelectorMutation
Status check_node_selector(const Labels& before, const Labels& next) {
  for (const auto& [key, value] : before) {
    const auto found = next.find(key);
    if (found != next.end() && found->second == value) continue;
    return Status::error("spec.nodeSelector: only additions are allowed while the pod is gated; \"" + std::string(key) +
                         "\" must stay \"" + std::string(value) + "\"");
  }
  return {};
}

bool begins_with(const std::vector<Requirement>& next, const std::vector<Requirement>& before) {
  return next.size() >= before.size() && std::equal(before.begin(), before.end(), next.begin());
}

// validateNodeSelectorTermHasOnlyAdditions
bool only_adds(const NodeSelectorTerm& before, const NodeSelectorTerm& next) {
  const bool matched_nothing = before.match_expressions.empty() && before.match_fields.empty();
  if (matched_nothing) return next == before;
  return begins_with(next.match_expressions, before.match_expressions) &&
         begins_with(next.match_fields, before.match_fields);
}

// validateNodeAffinityMutation
Status check_node_affinity(const Terms& before, const Terms& next) {
  const std::string path =
      "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms";
  if (before.empty()) return {};
  if (before.size() != next.size()) {
    return Status::error(path + ": no additions or deletions to a non-empty list are allowed");
  }
  for (std::size_t at = 0; at < before.size(); ++at) {
    if (only_adds(before[at], next[at])) continue;
    return Status::error(path + "[" + std::to_string(at) +
                         "]: only additions are allowed while the pod is gated; keep what is there, in its order");
  }
  return {};
}

}  // namespace

Status check_gated_update(const Pod& before, const Pod& next) {
  if (Status allowed = check_node_selector(before.node_selector.get(), next.node_selector.get());
      !allowed.is_success()) {
    return allowed;
  }
  return check_node_affinity(required_terms(before), required_terms(next));
}

}  // namespace berth
