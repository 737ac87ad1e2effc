// NodeName: a pod with spec.nodeName fits only that node. Such pods are not scheduled (core/scheduler/named_node.h),
// but wait for the node by this plugin's event. Point: Filter. Cost: one comparison. Requeued by: a node that is added.
// Source: kube-scheduler pkg/scheduler/framework/plugins/nodename/node_name.go.
#pragma once

#include "core/api/pod.h"
#include "core/framework/framework.h"

namespace berth {

class NodeName final : public FilterPlugin, public EnqueueExtensions {
 public:
  static constexpr std::string_view kName = "NodeName";
  static Result<std::unique_ptr<Plugin>> make(const Json& args, Handle& handle);

  std::string_view name() const override { return kName; }
  Reads reads(const Pod&, Point) const override { return Reads::node_object; }
  bool tells_apart(const Pod& a, const Pod& b) const override { return a.node_name != b.node_name; }
  bool accepts_all(const CycleState&, const Pod& pod) const override { return pod.node_name.empty(); }
  std::vector<EventWithHint> events_to_register() const override;
  Status filter(CycleState& state, const Pod& pod, const NodeInfo& node) override;
};

}  // namespace berth
