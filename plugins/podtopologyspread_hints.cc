// The events of PodTopologySpread and their hints.
#include <algorithm>

#include "core/api/node.h"
#include "core/api/pod.h"
#include "plugins/podtopologyspread.h"

namespace berth {

namespace {

// Only the pod itself and assigned pods of its namespace can affect the counts of its constraints.
bool is_involved(const Pod& other, const Pod& pod) {
  return other.uid() == pod.uid() || (!other.node_name.empty() && other.metadata.namespace_ == pod.metadata.namespace_);
}

bool matches_any(const std::vector<SpreadConstraint>& constraints, const Labels& labels) {
  return std::any_of(constraints.begin(), constraints.end(),
                     [&labels](const SpreadConstraint& constraint) { return constraint.matches_labels(labels); });
}

Hint after_update(const Pod& pod, const Pod& before, const Pod& after,
                  const std::vector<SpreadConstraint>& constraints) {
  const bool honors_taints = std::any_of(constraints.begin(), constraints.end(),
                                         [](const SpreadConstraint& each) { return each.honor_node_taints; });
  if (pod.uid() == after.uid() && honors_taints && before.spec->tolerations != after.spec->tolerations)
    return Hint::queue;
  const bool match_changed =
      std::any_of(constraints.begin(), constraints.end(), [&before, &after](const SpreadConstraint& each) {
        return each.matches_labels(before.metadata.labels) != each.matches_labels(after.metadata.labels);
      });
  return match_changed ? Hint::queue : Hint::skip;
}

bool have_moved(const Labels& before, const Labels& after, const std::vector<SpreadConstraint>& constraints) {
  return std::any_of(constraints.begin(), constraints.end(), [&before, &after](const SpreadConstraint& constraint) {
    return before.at(constraint.topology_key) != after.at(constraint.topology_key);
  });
}

}  // namespace

std::vector<EventWithHint> PodTopologySpread::events_to_register() const {
  return {{{EventResource::pod, kAdd | kDelete | kUpdatePodLabel | kUpdatePodToleration, "PodChange"},
           [this](const Pod& pod, const EventObjects& objects) { return after_pod_change(pod, objects); }},
          {{EventResource::node, kAdd | kDelete | kUpdateNodeLabel | kUpdateNodeTaint, "NodeChange"},
           [this](const Pod& pod, const EventObjects& objects) { return after_node_change(pod, objects); }}};
}

Hint PodTopologySpread::after_pod_change(const Pod& pod, const EventObjects& objects) const {
  const Pod* before = objects.old_pod.get();
  const Pod* after = objects.new_pod.get();
  if (before == nullptr && after == nullptr) return Hint::queue;
  if (before != nullptr && !is_involved(*before, pod)) return Hint::skip;
  if (after != nullptr && !is_involved(*after, pod)) return Hint::skip;
  const std::vector<SpreadConstraint> constraints = constraints_of(pod, false);
  if (before != nullptr && after != nullptr) return after_update(pod, *before, *after, constraints);
  const Pod& there = after != nullptr ? *after : *before;
  return matches_any(constraints, there.metadata.labels) ? Hint::queue : Hint::skip;
}

Hint PodTopologySpread::after_node_change(const Pod& pod, const EventObjects& objects) const {
  const Node* before = objects.old_node.get();
  const Node* after = objects.new_node.get();
  if (before == nullptr && after == nullptr) return Hint::queue;
  const std::vector<SpreadConstraint> constraints = constraints_of(pod, false);
  const bool counted = before != nullptr && has_all_topology_keys(before->metadata.labels, constraints);
  const bool counts = after != nullptr && has_all_topology_keys(after->metadata.labels, constraints);
  if (before == nullptr) return counts ? Hint::queue : Hint::skip;
  if (after == nullptr) return counted ? Hint::queue : Hint::skip;
  if (counted != counts) return Hint::queue;
  const bool changed = counts && (have_moved(before->metadata.labels, after->metadata.labels, constraints) ||
                                  before->taints != after->taints);
  return changed ? Hint::queue : Hint::skip;
}

}  // namespace berth
