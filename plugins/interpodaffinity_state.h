// The state of InterPodAffinity between its extension points: sums over nodes, for one attempt or a class of pods.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/api/pod.h"
#include "core/framework/cycle_state.h"
#include "plugins/interpodaffinity_terms.h"

namespace berth::neighbourhood {

// Existing pods, counted by the topology values of their nodes.
struct Neighbours final : StateEntry {
  TopologyCounts
      existing_anti_affinity_counts;    // pods with required anti-affinity that matches this pod, once per term
  TopologyCounts affinity_counts;       // pods that match all required affinity terms of this pod, once per term
  TopologyCounts anti_affinity_counts;  // pods that match a required anti-affinity term, once per term
  Labels labels_of_namespace;           // of this pod's namespace
  std::unique_ptr<StateEntry> clone() const override { return std::make_unique<Neighbours>(*this); }

  // Counts the required anti-affinity terms of `other` that match `pod`.
  void count_existing_terms(const Pod& pod, const Pod& other, const Node& node, std::int64_t amount) {
    for (const PodAffinityTerm& term : other.affinity->pod_anti_affinity.required) {
      if (!term_matches(term, other, pod, labels_of_namespace)) continue;
      existing_anti_affinity_counts.add_and_drop_zero(node, term.topology_key, amount);
    }
  }
  // Counts the required terms of `pod` that `other` matches.
  void count_own_terms(const Pod& pod, const Pod& other, const Node& node, std::int64_t amount,
                       NamespaceLabels& namespaces) {
    if (all_terms_match(pod.affinity->pod_affinity.required, pod, other, namespaces)) {
      for (const PodAffinityTerm& term : pod.affinity->pod_affinity.required) {
        affinity_counts.add_and_drop_zero(node, term.topology_key, amount);
      }
    }
    for (const PodAffinityTerm& term : pod.affinity->pod_anti_affinity.required) {
      if (!term_matches(term, pod, other, namespaces)) continue;
      anti_affinity_counts.add_and_drop_zero(node, term.topology_key, amount);
    }
  }
};

struct Preferences final : StateEntry {
  TopologyCounts scores;
  std::unique_ptr<StateEntry> clone() const override { return std::make_unique<Preferences>(*this); }
};

inline Labels labels_of(std::string_view name_space, NamespaceLabels& namespaces) {
  const Labels* labels = namespaces.find(name_space);
  return labels == nullptr ? Labels() : *labels;
}

}  // namespace berth::neighbourhood
