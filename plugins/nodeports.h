// NodePorts: no two pods on one node use the same port of the node (hostPort), per protocol and address.
// Points: PreFilter (Skip without host ports), Filter. Cost: the pod's ports x those in use on a node.
// Requeued by: a deleted pod that used one of these ports; a node that is added.
// Source: kube-scheduler pkg/scheduler/framework/plugins/nodeports/node_ports.go, framework/types.go HostPortInfo.
#pragma once

#include "core/framework/framework.h"

namespace berth {

class NodePorts final : public PreFilterPlugin, public FilterPlugin, public AdmissionPlugin, public EnqueueExtensions {
 public:
  static constexpr std::string_view kName = "NodePorts";
  static Result<std::unique_ptr<Plugin>> make(const Json& args, Handle& handle);

  std::string_view name() const override { return kName; }
  Reads reads(const Pod&, Point) const override { return Reads::node; }
  bool tells_apart(const Pod& a, const Pod& b) const override;
  std::vector<EventWithHint> events_to_register() const override;
  Status pre_filter(CycleState& state, const Pod& pod, const Snapshot& snapshot, PreFilterResult& result) override;
  Status filter(CycleState& state, const Pod& pod, const NodeInfo& node) override;
  Status admit(CycleState& state, const Pod& pod, const NodeInfo& node) override { return filter(state, pod, node); }
};

}  // namespace berth
