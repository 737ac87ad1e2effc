#include "core/workloads/node_view.h"

namespace berth {

ControlledNodePtr node_view(const std::string& name, const DeviceNode& device, Millis silent_since) {
  if (device.node == nullptr) return nullptr;
  auto node = std::make_shared<ControlledNode>();
  static_cast<ObjectMeta&>(node->metadata) = device.node->metadata;
  node->metadata.name = name;
  node->metadata.namespace_.clear();
  node->ready = device.reachable;
  if (!device.reachable) node->silent_since = silent_since;
  node->unschedulable = device.node->unschedulable;
  for (const Taint& taint : device.node->taints.get()) {
    // No pod is evicted from a device that cannot confirm that it has ended.
    if (!device.reachable && taint.effect == TaintEffect::no_execute) continue;
    NodeTaint& seen = node->taints.emplace_back();
    static_cast<Taint&>(seen) = taint;
  }
  return node;
}

bool is_seen_alike(const ControlledNode& a, const ControlledNode& b) {
  return a.ready == b.ready && a.unschedulable == b.unschedulable && a.taints == b.taints &&
         a.metadata.labels.get() == b.metadata.labels.get();
}

}  // namespace berth
