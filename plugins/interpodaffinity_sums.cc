// InterPodAffinity for a class of pods: the counts of PreFilter and PreScore, updated as pods come and go.
#include <algorithm>
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

void InterPodAffinity::begin_sums(CycleState& state, const Pod& pod, const Snapshot&, Domains& domains) {
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

// Nothing: what nodes are there makes no difference without pods.
void InterPodAffinity::sum_node(CycleState&, const Pod&, const Node&, std::int64_t) {}

void InterPodAffinity::filter_kinds(const CycleState&, const Pod& pod, KindFilter& filter) const {
  const auto add = [&filter](const PodAffinityTerm& term) {
    if (term.label_selector) filter.let_selected_pass(*term.label_selector);
  };
  for (const PodAffinity* own : {&pod.affinity->pod_affinity, &pod.affinity->pod_anti_affinity}) {
    for (const PodAffinityTerm& term : own->required) add(term);
    for (const WeightedPodAffinityTerm& each : own->preferred) add(each.term);
  }
  filter.let_selecting_pass(pod.metadata.labels);
}

bool InterPodAffinity::counts_pod(CycleState& state, const Pod& pod, const Pod& other) const {
  NamespaceLabels& namespaces = state.edit<Terms>()->namespaces;
  const Labels& labels_of_namespace = state.read<Neighbours>()->labels_of_namespace;
  const auto is_matched = [&](const PodAffinityTerm& term) { return term_matches(term, pod, other, namespaces); };
  const auto matches_pod = [&](const PodAffinityTerm& term) {
    return term_matches(term, other, pod, labels_of_namespace);
  };
  const auto any = [](const PodAffinity& of, const auto& matches_term) {
    return std::any_of(of.required.begin(), of.required.end(), matches_term) ||
           std::any_of(of.preferred.begin(), of.preferred.end(),
                       [&](const WeightedPodAffinityTerm& each) { return matches_term(each.term); });
  };
  return any(pod.affinity->pod_affinity, is_matched) || any(pod.affinity->pod_anti_affinity, is_matched) ||
         any(other.affinity->pod_affinity, matches_pod) || any(other.affinity->pod_anti_affinity, matches_pod);
}

void InterPodAffinity::sum_pods(CycleState& state, const Pod& pod, const Node& node, const Pod& other,
                                std::int64_t pods, Domains& domains) {
  auto* terms = state.edit<Terms>();
  auto* neighbours = state.edit<Neighbours>();
  TopologyCounts& scores = state.edit<Preferences>()->scores;
  neighbours->count_existing_terms(pod, other, node, pods);
  if (has_required_terms(pod)) neighbours->count_own_terms(pod, other, node, pods, terms->namespaces);
  weigh(scores, pod, neighbours->labels_of_namespace, other, node, terms->namespaces, pods);
  const auto watch = [&](const std::string& key) {
    if (terms->keys.insert(key).second) domains.watch(key);
  };
  neighbours->existing_anti_affinity_counts.for_each_key(watch);
  scores.for_each_key(watch);
}

bool InterPodAffinity::has_traits(const CycleState& state, const Domains& domains) const {
  const std::set<std::string>& keys = state.read<Terms>()->keys;
  return std::any_of(keys.begin(), keys.end(), [&domains](const std::string& key) { return domains.is_per_node(key); });
}

// What is counted in the domains that are this node's alone.
void InterPodAffinity::add_traits(const CycleState& state, const Pod&, const NodeInfo& node, const Domains& domains,
                                  Traits& traits) const {
  const auto* neighbours = state.read<Neighbours>();
  const TopologyCounts& scores = state.read<Preferences>()->scores;
  for (const std::string& key : state.read<Terms>()->keys) {
    if (!domains.is_per_node(key)) continue;
    const auto label = node.node->metadata.labels.find(key);
    const bool has_label = label != node.node->metadata.labels.end();
    const auto count = [&](const TopologyCounts& counts) { return has_label ? counts.at(key, label->second) : 0; };
    traits.push_back(count(neighbours->affinity_counts) > 0 ? 1 : 0);
    traits.push_back(count(neighbours->anti_affinity_counts) > 0 ? 1 : 0);
    traits.push_back(count(neighbours->existing_anti_affinity_counts) > 0 ? 1 : 0);
    traits.push_back(count(scores));
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
