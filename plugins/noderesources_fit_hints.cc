// Which events may make a pod fit that NodeResourcesFit has rejected.
#include <algorithm>

#include "core/api/node.h"
#include "core/api/pod.h"
#include "plugins/noderesources_fit.h"

namespace berth {

namespace {

// Whether there is more of a resource that the pod requests than there was.
bool has_more(const Resources& asked, const Resources& before, const Resources& after) {
  if (asked.milli_cpu > 0 && after.milli_cpu > before.milli_cpu) return true;
  if (asked.memory > 0 && after.memory > before.memory) return true;
  if (asked.ephemeral_storage > 0 && after.ephemeral_storage > before.ephemeral_storage) return true;
  const auto amount = [](const Resources& in, const std::string& name) {
    const auto found = in.scalar.find(name);
    return found == in.scalar.end() ? 0 : found->second;
  };
  return std::any_of(asked.scalar.begin(), asked.scalar.end(), [&](const auto& entry) {
    return entry.second > 0 && amount(after, entry.first) > amount(before, entry.first);
  });
}

// The pod must fit the empty node, and the node must be new or have more of a resource that the pod requests.
Hint after_allocatable_change(const Pod& pod, const EventObjects& objects) {
  if (objects.new_node == nullptr) return Hint::queue;
  const Resources asked = pod_requests(pod);
  const Resources after = to_resources(objects.new_node->allocatable);
  std::vector<InsufficientResource> missing;
  fits_resources(asked, {}, 0, after, missing);
  if (!missing.empty()) return Hint::skip;
  if (objects.old_node == nullptr) return Hint::queue;
  const Resources before = to_resources(objects.old_node->allocatable);
  return after.allowed_pods > before.allowed_pods || has_more(asked, before, after) ? Hint::queue : Hint::skip;
}

// Deleting or shrinking a pod without a node frees nothing, unless it is the waiting pod itself that shrinks.
Hint after_requests_change(const Pod& pod, const EventObjects& objects) {
  const Pod* before = objects.old_pod.get();
  const Pod* after = objects.new_pod.get();
  if (before == nullptr) return Hint::queue;
  if (after == nullptr) {
    return before->node_name.empty() && before->nominated_node_name.empty() ? Hint::skip : Hint::queue;
  }
  if (after->uid() == pod.uid()) return Hint::queue;
  if (after->node_name.empty()) return Hint::skip;
  // What it no longer requests is there for others.
  return has_more(pod_requests(pod), pod_requests(*after), pod_requests(*before)) ? Hint::queue : Hint::skip;
}

}  // namespace

std::vector<EventWithHint> NodeResourcesFit::events_to_register() const {
  return {{{EventResource::pod, kDelete | kUpdatePodScaleDown, "PodDeleteOrScaleDown"}, after_requests_change},
          {{EventResource::node, kAdd | kUpdateNodeAllocatable, "NodeAddOrAllocatable"}, after_allocatable_change}};
}

}  // namespace berth
