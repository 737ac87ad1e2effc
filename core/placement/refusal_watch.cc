#include "core/placement/refusal_watch.h"

#include <algorithm>

namespace berth {

namespace {

// So many nodes are tried at once after each other; then the pod backs off as after any other failure, or a pod that
// nobody takes would ask a whole fleet within seconds.
constexpr std::size_t kTriedAtOnce = 3;
constexpr ClusterEvent kRefusalEnded{EventResource::node, kUpdateNodeCondition, "DeviceRefusalEnded"};

}  // namespace

RefusalWatch::RefusalWatch(const PlacementContext& context, Scheduler& scheduler, ObjectChanges& changes)
    : context_(context), scheduler_(scheduler), changes_(changes) {
  scheduler_.refusals().set_limits({context.options.refusal_ms, context.options.refusal_ms_max});
}

void RefusalWatch::note_rejected(const Pod& pod, const std::string& node, const std::string& incarnation,
                                 const Refusal& refusal) {
  const DeviceNode* device = context_.nodes.find(node);
  if (device == nullptr || device->incarnation != incarnation) return;
  Refusals& refusals = scheduler_.refusals();
  // One that nobody remembers would let the node be tried again at once.
  if (!refusals.note(pod, node, refusal.reason, context_.clock.now(), refusal.lasts)) return;
  incarnations_[node] = incarnation;
  if (is_filtered(pod) && refusals.count(pod) <= kTriedAtOnce) scheduler_.queue().activate({std::string(pod.uid())});
}

// Otherwise the pod might go to the same node again, as fast as that can refuse it.
bool RefusalWatch::is_filtered(const Pod& pod) const {
  const Framework* framework = scheduler_.framework_of(pod);
  return framework != nullptr && std::any_of(framework->filters().begin(), framework->filters().end(),
                                             [](const auto& filter) { return filter.name == Refusals::kFilter; });
}

void RefusalWatch::forget(const std::string& node) {
  incarnations_.erase(node);
  if (scheduler_.refusals().forget(node)) wake(node);
}

void RefusalWatch::note_incarnation(const std::string& node, const std::string& incarnation) {
  const auto known = incarnations_.find(node);
  if (known != incarnations_.end() && known->second != incarnation) forget(node);
}

void RefusalWatch::end_of_volumes() {
  for (const std::string& node : scheduler_.refusals().end_of_volumes()) wake(node);
}

void RefusalWatch::tick() {
  for (const std::string& node : scheduler_.refusals().end_due(context_.clock.now())) wake(node);
}

void RefusalWatch::wake(const std::string& node) {
  const DeviceNode* device = context_.nodes.find(node);
  if (device == nullptr || device->node == nullptr) return;
  EventObjects objects;
  objects.old_node = objects.new_node = device->node;
  changes_.wake(kRefusalEnded, objects);
}

}  // namespace berth
