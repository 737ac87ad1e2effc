// InterPodAffinity for a class of pods: the counts of PreFilter and PreScore, updated node by node.
#include <set>

#include "core/api/node.h"
#include "core/api/pod.h"
#include "plugins/interpodaffinity.h"
#include "plugins/interpodaffinity_state.h"

namespace berth {

using namespace neighbourhood;

namespace {

// In addition to the counts: the namespaces looked up for them, and the topology keys of all terms involved.
struct Terms final : StateEntry {
  explicit Terms(const Lister& lister) : namespaces(lister) {}
  NamespaceLabels namespaces;
  std::set<std::string> keys;
  std::unique_ptr<StateEntry> clone() const override { return std::make_unique<Terms>(*this); }
};

bool has_required_terms(const Pod& pod) {
  return !pod.affinity->pod_affinity.required.empty() || !pod.affinity->pod_anti_affinity.required.empty();
}

bool has_preferences(const Pod& pod) {
  return !pod.affinity->pod_affinity.preferred.empty() || !pod.affinity->pod_anti_affinity.preferred.empty();
}

}  // namespace

bool InterPodAffinity::reads_labels(const Pod& pod, const Snapshot& snapshot) const {
  return has_required_terms(pod) || has_preferences(pod) || snapshot.pods_with_affinity() > 0;
}

void InterPodAffinity::begin_sums(CycleState& state, const Pod& pod, Domains& domains) {
  auto terms = std::make_unique<Terms>(handle_.lister());
  auto neighbours = std::make_unique<Neighbours>();
  neighbours->labels_of_namespace = labels_of(pod.metadata.namespace_, terms->namespaces);
  for (const PodAffinity* own : {&pod.affinity->pod_affinity, &pod.affinity->pod_anti_affinity}) {
    for (const PodAffinityTerm& term : own->required) terms->keys.insert(term.topology_key);
    for (const WeightedPodAffinityTerm& each : own->preferred) terms->keys.insert(each.term.topology_key);
  }
  for (const std::string& key : terms->keys) domains.watch(key);
  state.write(std::move(terms));
  state.write(std::move(neighbours));
  state.write(std::make_unique<Preferences>());
}

bool InterPodAffinity::is_idle(const CycleState&, const Pod& pod, const Snapshot& snapshot) const {
  return !has_required_terms(pod) && !has_preferences(pod) && snapshot.pods_with_affinity() == 0;
}

bool InterPodAffinity::sums_hold(const CycleState& state, const Pod&) const {
  return state.read<Terms>()->namespaces.hold();
}

void InterPodAffinity::sum(CycleState& state, const Pod& pod, const NodeInfo& node, std::int64_t times,
                           Domains& domains) {
  auto* terms = state.edit<Terms>();
  auto* neighbours = state.edit<Neighbours>();
  TopologyCounts& scores = state.edit<Preferences>()->scores;
  for (const auto& existing : node.pods_with_required_anti_affinity) {
    neighbours->count_existing_terms(pod, *existing, *node.node, times);
  }
  if (has_required_terms(pod)) {
    for (const auto& existing : node.pods) {
      neighbours->count_own_terms(pod, *existing, *node.node, times, terms->namespaces);
    }
  }
  for (const auto& existing : has_preferences(pod) ? node.pods : node.pods_with_affinity) {
    weigh(scores, pod, neighbours->labels_of_namespace, *existing, *node.node, terms->namespaces, times);
  }
  const auto watch = [&](const std::string& key) {
    if (terms->keys.insert(key).second) domains.watch(key);
  };
  neighbours->existing_anti_affinity_counts.for_each_key(watch);
  scores.for_each_key(watch);
}

void InterPodAffinity::add_traits(const CycleState& state, const Pod&, const NodeInfo& node, const Domains& domains,
                                  Traits& traits) const {
  const auto* neighbours = state.read<Neighbours>();
  const TopologyCounts& scores = state.read<Preferences>()->scores;
  for (const std::string& key : state.read<Terms>()->keys) {
    const auto label = node.node->metadata.labels.find(key);
    if (label == node.node->metadata.labels.end() || !domains.is_per_node(key)) {
      traits.push_back(domains.number_of(key, *node.node));
      continue;
    }
    traits.push_back(neighbours->affinity_counts.at(key, label->second) > 0 ? 1 : 0);
    traits.push_back(neighbours->anti_affinity_counts.at(key, label->second) > 0 ? 1 : 0);
    traits.push_back(neighbours->existing_anti_affinity_counts.at(key, label->second) > 0 ? 1 : 0);
    traits.push_back(scores.at(key, label->second));
  }
}

bool InterPodAffinity::skips_filter(const CycleState& state, const Pod& pod) const {
  return !has_required_terms(pod) && state.read<Neighbours>()->existing_anti_affinity_counts.empty();
}

Status InterPodAffinity::pre_score_sums(CycleState& state, const Pod& pod, const std::vector<AlikeNodes>&,
                                        const Domains&) {
  if (arguments_.ignore_preferred_terms_of_existing_pods && !has_preferences(pod)) return Status::skip();
  return state.read<Preferences>()->scores.has_additions() ? Status() : Status::skip();
}

}  // namespace berth
