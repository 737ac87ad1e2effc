#include "plugins/nodeunschedulable.h"

#include "core/api/node.h"
#include "core/api/pod.h"
#include "plugins/no_arguments.h"

namespace berth {

namespace {

const Status kCordoned = Status::unresolvable("node(s) were unschedulable");

bool tolerates_unschedulable(const Pod& pod) {
  static const Taint kUnschedulable{"node.kubernetes.io/unschedulable", "", TaintEffect::no_schedule};
  return tolerates(pod.spec->tolerations, kUnschedulable);
}

// A pod rejected here does not tolerate the taint, so only a node that is now schedulable helps.
Hint after_cordon_change(const Pod&, const EventObjects& objects) {
  if (objects.new_node == nullptr) return Hint::queue;
  const bool was_schedulable = objects.old_node != nullptr && !objects.old_node->unschedulable;
  return !was_schedulable && !objects.new_node->unschedulable ? Hint::queue : Hint::skip;
}

Hint after_cordon_toleration_change(const Pod& pod, const EventObjects& objects) {
  if (objects.new_pod == nullptr) return Hint::queue;
  return objects.new_pod->uid() == pod.uid() && tolerates_unschedulable(*objects.new_pod) ? Hint::queue : Hint::skip;
}

}  // namespace

Result<std::unique_ptr<Plugin>> NodeUnschedulable::make(const Json& args, Handle&) {
  return make_without_arguments<NodeUnschedulable>(args);
}

std::vector<EventWithHint> NodeUnschedulable::events_to_register() const {
  return {{{EventResource::node, kAdd | kUpdateNodeTaint, "NodeAddOrTaint"}, after_cordon_change},
          {{EventResource::pod, kUpdatePodToleration, "PodTolerationUpdate"}, after_cordon_toleration_change}};
}

Status NodeUnschedulable::filter(CycleState&, const Pod& pod, const NodeInfo& node) {
  if (!node.node->unschedulable || tolerates_unschedulable(pod)) return {};
  return kCordoned;
}

bool NodeUnschedulable::filter_rows(CycleState&, const Pod& pod, const Snapshot& snapshot, const Rows& rows,
                                    std::uint8_t* rejects) {
  const NodeColumns::Marks& cordoned = snapshot.columns().unschedulable();
  if (cordoned.count == 0 || tolerates_unschedulable(pod)) return true;
  for (std::size_t row = 0; row < rows.size(); ++row) rejects[row] |= cordoned.nodes[rows[row]];
  return true;
}

}  // namespace berth
