// What InterPodAffinity keeps between its points: sums over nodes, of one attempt or of a class of pods.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/framework/cycle_state.h"
#include "plugins/interpodaffinity_terms.h"

namespace berth::neighbourhood {

// Pods on nodes, counted at the topology values of their nodes.
struct Neighbours final : StateEntry {
  TopologyCounts refusing;     // whose required anti-affinity means this pod, once per term
  TopologyCounts wanted;       // whom all of this pod's required affinity terms mean, once per term
  TopologyCounts unwanted;     // whom this pod's required anti-affinity means, once per term
  Labels labels_of_namespace;  // of this pod
  std::unique_ptr<StateEntry> clone() const override { return std::make_unique<Neighbours>(*this); }

  void count_refusing(const Pod& pod, const Pod& other, const Node& node, std::int64_t amount) {
    for (const PodAffinityTerm& term : other.affinity->pod_anti_affinity.required) {
      if (means(term, other, pod, labels_of_namespace)) refusing.add_and_drop_zero(node, term.topology_key, amount);
    }
  }
  void count_meant(const Pod& pod, const Pod& other, const Node& node, std::int64_t amount,
                   NamespaceLabels& namespaces) {
    if (all_mean(pod.affinity->pod_affinity.required, pod, other, namespaces)) {
      for (const PodAffinityTerm& term : pod.affinity->pod_affinity.required) {
        wanted.add_and_drop_zero(node, term.topology_key, amount);
      }
    }
    for (const PodAffinityTerm& term : pod.affinity->pod_anti_affinity.required) {
      if (means(term, pod, other, namespaces)) unwanted.add_and_drop_zero(node, term.topology_key, amount);
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
