// The events of InterPodAffinity and their hints. They look only at the objects of the event: a namespaceSelector is
// matched as if no namespace had labels, as upstream's hints do.
#include <algorithm>

#include "plugins/interpodaffinity.h"

namespace berth {

namespace {

Hint after_pod_change(const Pod& pod, const EventObjects& objects) {
  const Pod* before = objects.old_pod.get();
  const Pod* after = objects.new_pod.get();
  if (before == nullptr && after == nullptr) return Hint::queue;
  // A pod without a node is nobody's neighbour.
  if ((before != nullptr && before->node_name.empty()) || (after != nullptr && after->node_name.empty())) {
    return Hint::skip;
  }
  const Labels none;
  auto wants = [&](const Pod& other) { return all_mean(pod.affinity->pod_affinity.required, pod, other, none); };
  auto avoids = [&](const Pod& other) { return all_mean(pod.affinity->pod_anti_affinity.required, pod, other, none); };
  if (before == nullptr) return wants(*after) ? Hint::queue : Hint::skip;
  if (after == nullptr) return avoids(*before) ? Hint::queue : Hint::skip;
  const bool helps = (!wants(*before) && wants(*after)) || (avoids(*before) && !avoids(*after));
  return helps ? Hint::queue : Hint::skip;
}

Hint after_node_change(const Pod& pod, const EventObjects& objects) {
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
  // The affinity gains where a key comes or changes its value, the anti-affinity where one goes or changes.
  const bool nearer = std::any_of(affinity.begin(), affinity.end(), [&](const PodAffinityTerm& term) {
    auto was = before.find(term.topology_key);
    auto is = after.find(term.topology_key);
    return is != after.end() && (was == before.end() || was->second != is->second);
  });
  const bool farther = std::any_of(anti_affinity.begin(), anti_affinity.end(), [&](const PodAffinityTerm& term) {
    auto was = before.find(term.topology_key);
    auto is = after.find(term.topology_key);
    return was != before.end() && (is == after.end() || was->second != is->second);
  });
  return nearer || farther ? Hint::queue : Hint::skip;
}

}  // namespace

std::vector<EventWithHint> InterPodAffinity::events_to_register() const {
  return {{{EventResource::pod, kAdd | kDelete | kUpdatePodLabel, "PodChange"}, after_pod_change},
          {{EventResource::node, kAdd | kUpdateNodeLabel, "NodeAddOrLabel"}, after_node_change}};
}

}  // namespace berth
