// NodeUnschedulable: keeps pods off nodes with spec.unschedulable (cordoned), unless they tolerate the taint
// node.kubernetes.io/unschedulable:NoSchedule.
// Point: Filter. Cost: a flag; the pod's tolerations on cordoned nodes.
// Requeued by: a node that is added or becomes schedulable; a new toleration of the pod itself.
// Source: kube-scheduler pkg/scheduler/framework/plugins/nodeunschedulable/node_unschedulable.go.
#pragma once

#include "core/api/pod.h"
#include "core/framework/framework.h"

namespace berth {

class NodeUnschedulable final : public FilterPlugin, public BatchFilterPlugin, public EnqueueExtensions {
 public:
  static constexpr std::string_view kName = "NodeUnschedulable";
  static Result<std::unique_ptr<Plugin>> make(const Json& args, Handle& handle);

  std::string_view name() const override { return kName; }
  Reads reads(const Pod&, Point) const override { return Reads::node_object; }
  bool tells_apart(const Pod& a, const Pod& b) const override { return a.spec->tolerations != b.spec->tolerations; }
  std::vector<EventWithHint> events_to_register() const override;
  Status filter(CycleState& state, const Pod& pod, const NodeInfo& node) override;
  bool filter_rows(CycleState& state, const Pod& pod, const Snapshot& snapshot, const Rows& rows,
                   std::uint8_t* rejects) override;
};

}  // namespace berth
