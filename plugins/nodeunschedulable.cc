#include "plugins/nodeunschedulable.h"

#include "plugins/no_arguments.h"

namespace berth {

namespace {

bool fits(const Pod& pod, const Node& node) {
  static const Taint kUnschedulable{"node.kubernetes.io/unschedulable", "", TaintEffect::no_schedule};
  return !node.unschedulable || tolerates(pod.tolerations, kUnschedulable);
}

Hint after_node_change(const Pod& pod, const EventObjects& objects) {
  if (objects.new_node == nullptr) return Hint::queue;
  const bool fitted = objects.old_node != nullptr && fits(pod, *objects.old_node);
  return !fitted && fits(pod, *objects.new_node) ? Hint::queue : Hint::skip;
}

Hint after_own_change(const Pod& pod, const EventObjects& objects) {
  return objects.new_pod == nullptr || objects.new_pod->uid() == pod.uid() ? Hint::queue : Hint::skip;
}

}  // namespace

Result<std::unique_ptr<Plugin>> NodeUnschedulable::make(const Json& args, Handle&) {
  return make_without_arguments<NodeUnschedulable>(args);
}

std::vector<EventWithHint> NodeUnschedulable::events_to_register() const {
  return {{{EventResource::node, kAdd | kUpdateNodeTaint, "NodeAddOrTaint"}, after_node_change},
          {{EventResource::pod, kUpdatePodToleration, "PodTolerationUpdate"}, after_own_change}};
}

Status NodeUnschedulable::filter(CycleState&, const Pod& pod, const NodeInfo& node) {
  if (fits(pod, *node.node)) return {};
  return Status::unresolvable("node(s) were unschedulable");
}

}  // namespace berth
