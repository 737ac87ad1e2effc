#include "core/scheduler/needs.h"

#include <algorithm>

#include "core/api/pod.h"

namespace berth {

void NeedsOfPods::note(const Pod& pod) {
  for (const auto& [key, value] : pod.node_selector.get()) note_key(key);
  if (!pod.volumes.empty()) note_key("kubernetes.io/hostname");  // local volumes
  const auto note_term = [this](const NodeSelectorTerm& term) {
    for (const Requirement& each : term.match_expressions) note_key(each.key);
  };
  const Affinity& affinity = *pod.affinity;
  if (affinity.required_node_affinity) {
    for (const NodeSelectorTerm& term : affinity.required_node_affinity->terms) note_term(term);
  }
  for (const PreferredNodeTerm& each : affinity.preferred_node_affinity) note_term(each.preference);
  for (const PodAffinity* pods : {&affinity.pod_affinity, &affinity.pod_anti_affinity}) {
    for (const PodAffinityTerm& term : pods->required) note_key(term.topology_key);
    for (const WeightedPodAffinityTerm& each : pods->preferred) note_key(each.term.topology_key);
    pod_kinds_ = pod_kinds_ || !pods->empty();
  }
  for (const TopologySpreadConstraint& each : pod.spec->topology_spread_constraints) {
    note_key(each.topology_key);
    pod_kinds_ = true;
  }
}

void NeedsOfPods::note_key(const std::string& key) {
  if (label_keys_.size() == kKeys) return;
  if (std::find(label_keys_.begin(), label_keys_.end(), key) == label_keys_.end()) label_keys_.push_back(key);
}

}  // namespace berth
