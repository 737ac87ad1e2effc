#include "plugins/interpodaffinity.h"

#include <algorithm>
#include <limits>
#include <span>

#include "core/api/node.h"
#include "core/api/pod.h"
#include "core/json/field_reader.h"
#include "plugins/interpodaffinity_state.h"

namespace berth {

using namespace neighbourhood;

namespace {

const Status kNoAffinity = Status::unresolvable("node(s) didn't match pod affinity rules");
const Status kAntiAffinity = Status::unschedulable("node(s) didn't match pod anti-affinity rules");
const Status kExistingAntiAffinity = Status::unschedulable("node(s) didn't satisfy existing pods anti-affinity rules");

bool satisfies_affinity(const Neighbours& neighbours, const Pod& pod, const Node& node, NamespaceLabels& namespaces) {
  bool all_match = true;
  for (const PodAffinityTerm& term : pod.affinity->pod_affinity.required) {
    auto label = node.metadata.labels.find(term.topology_key);
    if (label == node.metadata.labels.end()) return false;
    if (neighbours.affinity_counts.at(term.topology_key, label->second) <= 0) all_match = false;
  }
  // The first pod of a group with affinity to itself may go anywhere, otherwise none could ever start.
  return all_match || (neighbours.affinity_counts.empty() &&
                       all_terms_match(pod.affinity->pod_affinity.required, pod, pod, namespaces));
}

bool satisfies_anti_affinity(const Neighbours& neighbours, const Pod& pod, const Node& node) {
  const auto& terms = pod.affinity->pod_anti_affinity.required;
  return std::none_of(terms.begin(), terms.end(), [&](const PodAffinityTerm& term) {
    auto label = node.metadata.labels.find(term.topology_key);
    return label != node.metadata.labels.end() &&
           neighbours.anti_affinity_counts.at(term.topology_key, label->second) > 0;
  });
}

}  // namespace

// apis/config/validation ValidateInterPodAffinityArgs.
Result<std::unique_ptr<Plugin>> InterPodAffinity::make(const Json& args, Handle& handle) {
  Findings findings(Findings::Unknown::refuse);
  const Json none = Json::object();
  FieldReader reader(args.is_null() ? none : args, "args", findings);
  Arguments arguments;
  std::string type;
  reader.read_enum("apiVersion", {"kubescheduler.config.k8s.io/v1"}, type);
  reader.read_enum("kind", {"InterPodAffinityArgs"}, type);
  reader.read_int32("hardPodAffinityWeight", arguments.hard_pod_affinity_weight, 0, 100);
  reader.read_bool("ignorePreferredTermsOfExistingPods", arguments.ignore_preferred_terms_of_existing_pods);
  reader.finish();
  if (findings.has_errors()) return findings.status();
  return std::unique_ptr<Plugin>(std::make_unique<InterPodAffinity>(arguments, handle));
}

Json InterPodAffinity::args() const {
  return Json(
      Json::Object{{"hardPodAffinityWeight", Json(arguments_.hard_pod_affinity_weight)},
                   {"ignorePreferredTermsOfExistingPods", Json(arguments_.ignore_preferred_terms_of_existing_pods)}});
}

Status InterPodAffinity::pre_filter(CycleState& state, const Pod& pod, const Snapshot& snapshot, PreFilterResult&) {
  NamespaceLabels namespaces(handle_.lister());
  auto neighbours = std::make_unique<Neighbours>();
  neighbours->labels_of_namespace = labels_of(pod.metadata.namespace_, namespaces);
  const bool has_terms =
      !pod.affinity->pod_affinity.required.empty() || !pod.affinity->pod_anti_affinity.required.empty();
  if (!has_terms && snapshot.pods_with_affinity() == 0) return Status::skip();
  for (const std::shared_ptr<const NodeInfo>& node : snapshot.nodes()) {
    for (const PodPtr& existing : node->pods_with_required_anti_affinity.get()) {
      neighbours->count_existing_terms(pod, *existing, *node->node, 1);
    }
    if (!has_terms) continue;
    for (const PodPtr& existing : node->pods) {
      neighbours->count_own_terms(pod, *existing, *node->node, 1, namespaces);
    }
  }
  if (!has_terms && neighbours->existing_anti_affinity_counts.empty()) return Status::skip();
  state.write(std::move(neighbours));
  return {};
}

Status InterPodAffinity::change(CycleState& state, const Pod& pod, const Pod& changed, const NodeInfo& node,
                                std::int64_t amount) const {
  auto* neighbours = state.edit<Neighbours>();
  if (neighbours == nullptr) return Status::error("PreFilter did not run");
  NamespaceLabels namespaces(handle_.lister());
  neighbours->count_existing_terms(pod, changed, *node.node, amount);
  neighbours->count_own_terms(pod, changed, *node.node, amount, namespaces);
  return {};
}

Status InterPodAffinity::add_pod(CycleState& state, const Pod& pod, const Pod& added, const NodeInfo& node) {
  return change(state, pod, added, node, 1);
}

Status InterPodAffinity::remove_pod(CycleState& state, const Pod& pod, const Pod& removed, const NodeInfo& node) {
  return change(state, pod, removed, node, -1);
}

Status InterPodAffinity::filter(CycleState& state, const Pod& pod, const NodeInfo& node) {
  const auto* neighbours = state.read<Neighbours>();
  if (neighbours == nullptr) return Status::error("PreFilter did not run");
  NamespaceLabels namespaces(handle_.lister());
  if (!satisfies_affinity(*neighbours, pod, *node.node, namespaces)) return kNoAffinity;
  if (!satisfies_anti_affinity(*neighbours, pod, *node.node)) return kAntiAffinity;
  if (neighbours->existing_anti_affinity_counts.any_positive(*node.node)) return kExistingAntiAffinity;
  return {};
}

void InterPodAffinity::weigh(TopologyCounts& scores, const Pod& pod, const Labels& labels_of_namespace,
                             const Pod& existing, const Node& node, NamespaceLabels& namespaces,
                             std::int64_t times) const {
  const auto add = [&](const std::string& topology_key, std::int64_t weight) {
    scores.add(node, topology_key, weight, times);
  };
  for (const WeightedPodAffinityTerm& each : pod.affinity->pod_affinity.preferred) {
    if (term_matches(each.term, pod, existing, namespaces)) add(each.term.topology_key, each.weight);
  }
  for (const WeightedPodAffinityTerm& each : pod.affinity->pod_anti_affinity.preferred) {
    if (term_matches(each.term, pod, existing, namespaces)) add(each.term.topology_key, -each.weight);
  }
  if (arguments_.hard_pod_affinity_weight > 0) {
    for (const PodAffinityTerm& term : existing.affinity->pod_affinity.required) {
      if (!term_matches(term, existing, pod, labels_of_namespace)) continue;
      add(term.topology_key, arguments_.hard_pod_affinity_weight);
    }
  }
  for (const WeightedPodAffinityTerm& each : existing.affinity->pod_affinity.preferred) {
    if (term_matches(each.term, existing, pod, labels_of_namespace)) add(each.term.topology_key, each.weight);
  }
  for (const WeightedPodAffinityTerm& each : existing.affinity->pod_anti_affinity.preferred) {
    if (term_matches(each.term, existing, pod, labels_of_namespace)) add(each.term.topology_key, -each.weight);
  }
}

Status InterPodAffinity::pre_score(CycleState& state, const Pod& pod,
                                   const std::vector<std::shared_ptr<const NodeInfo>>&) {
  const bool has_preferences =
      !pod.affinity->pod_affinity.preferred.empty() || !pod.affinity->pod_anti_affinity.preferred.empty();
  const bool ignores_others =
      arguments_.ignore_preferred_terms_of_existing_pods || handle_.snapshot().pods_with_affinity() == 0;
  if (!has_preferences && ignores_others) return Status::skip();
  NamespaceLabels namespaces(handle_.lister());
  const Labels labels_of_namespace = labels_of(pod.metadata.namespace_, namespaces);
  auto preferences = std::make_unique<Preferences>();
  for (const std::shared_ptr<const NodeInfo>& node : handle_.snapshot().nodes()) {
    const std::span<const PodPtr> few = node->pods_with_affinity.get();
    for (const PodPtr& existing : has_preferences ? std::span<const PodPtr>(node->pods) : few) {
      weigh(preferences->scores, pod, labels_of_namespace, *existing, *node->node, namespaces, 1);
    }
  }
  if (preferences->scores.empty()) return Status::skip();
  state.write(std::move(preferences));
  return {};
}

Status InterPodAffinity::score(CycleState& state, const Pod&, const NodeInfo& node, std::int64_t& score) {
  const auto* preferences = state.read<Preferences>();
  if (preferences == nullptr) return Status::error("PreScore did not run");
  score = preferences->scores.sum(*node.node);
  return {};
}

Status InterPodAffinity::normalize(CycleState&, const Pod&, std::vector<NodeScore>& scores) {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  std::int64_t most = std::numeric_limits<std::int64_t>::min();
  for (const NodeScore& score : scores) {
    least = std::min(least, score.score);
    most = std::max(most, score.score);
  }
  for (NodeScore& score : scores) {
    // As upstream: divide first, in floating point, then truncate.
    score.score =
        most == least
            ? 0
            : static_cast<std::int64_t>(static_cast<double>(kMaxScore) *
                                        (static_cast<double>(score.score - least) / static_cast<double>(most - least)));
  }
  return {};
}

}  // namespace berth
