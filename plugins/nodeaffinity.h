// NodeAffinity: a pod goes only to nodes that match its nodeSelector and required node affinity.
// Points: PreFilter (narrows to named nodes when every term names some; Skip without either), Filter.
// Cost: the pod's requirements per node. Preferred terms are not scored.
// Woken by: a node added or whose labels now match.
// Source: kube-scheduler pkg/scheduler/framework/plugins/nodeaffinity/node_affinity.go.
#pragma once

#include "core/framework/framework.h"

namespace berth {

class NodeAffinity final : public PreFilterPlugin, public FilterPlugin, public EnqueueExtensions {
 public:
  static constexpr std::string_view kName = "NodeAffinity";
  static Result<std::unique_ptr<Plugin>> make(const Json& args, Handle& handle);

  std::string_view name() const override { return kName; }
  std::vector<EventWithHint> events_to_register() const override;
  Status pre_filter(CycleState& state, const Pod& pod, const Snapshot& snapshot, PreFilterResult& result) override;
  Status filter(CycleState& state, const Pod& pod, const NodeInfo& node) override;
};

}  // namespace berth
