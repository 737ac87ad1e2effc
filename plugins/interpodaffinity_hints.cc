// The events of InterPodAffinity and their hints. They use only the objects of the event: as in upstream, a
// namespaceSelector is matched as if no namespace had labels.
#include <algorithm>

#include "core/api/node.h"
#include "core/api/pod.h"
#include "plugins/interpodaffinity.h"

namespace berth {

namespace {

Hint after_neighbour_change(const Pod& pod, const EventObjects& objects) {
  const Pod* before = objects.old_pod.get();
  const Pod* after = objects.new_pod.get();
  if (before == nullptr && after == nullptr) return Hint::queue;
  // A pod without a node is in no topology domain.
  if ((before != nullptr && before->node_name.empty()) || (after != nullptr && after->node_name.empty())) {
    return Hint::skip;
  }
  const Labels none;
  auto attracts = [&](const Pod& other) {
    return all_terms_match(pod.affinity->pod_affinity.required, pod, other, none);
  };
  auto repels = [&](const Pod& other) {
    return all_terms_match(pod.affinity->pod_anti_affinity.required, pod, other, none);
  };
  if (before == nullptr) return attracts(*after) ? Hint::queue : Hint::skip;
  if (after == nullptr) return repels(*before) ? Hint::queue : Hint::skip;
  const bool helps = (!attracts(*before) && attracts(*after)) || (repels(*before) && !repels(*after));
  return helps ? Hint::queue : Hint::skip;
}

Hint after_topology_change(const Pod& pod, const EventObjects& objects) {
  if (objects.new_node == nullptr) return Hint::queue;
  const Labels& after = objects.new_node->metadata.labels;
  const auto& affinity = pod.affinity->pod_affinity.required;
  const auto& anti_affinity = pod.affinity->pod_anti_affinity.required;
  if (objects.old_node == nullptr) {
    const bool has_key = std::any_of(affinity.begin(), affinity.end(), [&after](const PodAffinityTerm& term) {
      return after.contains(term.topology_key);
    });
    return has_key || !anti_affinity.empty() ? Hint::queue : Hint::skip;
  }
  const Labels& before = objects.old_node->metadata.labels;
  // A topology label that is added or changed may satisfy the affinity, one that is removed or changed the
  // anti-affinity.
  const bool helps_affinity = std::any_of(affinity.begin(), affinity.end(), [&](const PodAffinityTerm& term) {
    auto was = before.find(term.topology_key);
    auto is = after.find(term.topology_key);
    return is != after.end() && (was == before.end() || was->second != is->second);
  });
  const bool helps_anti_affinity =
      std::any_of(anti_affinity.begin(), anti_affinity.end(), [&](const PodAffinityTerm& term) {
        auto was = before.find(term.topology_key);
        auto is = after.find(term.topology_key);
        return was != before.end() && (is == after.end() || was->second != is->second);
      });
  return helps_affinity || helps_anti_affinity ? Hint::queue : Hint::skip;
}

}  // namespace

std::vector<EventWithHint> InterPodAffinity::events_to_register() const {
  return {{{EventResource::pod, kAdd | kDelete | kUpdatePodLabel, "PodChange"}, after_neighbour_change},
          {{EventResource::node, kAdd | kUpdateNodeLabel, "NodeAddOrLabel"}, after_topology_change}};
}

}  // namespace berth
