// NodeCapabilities: keeps a pod off nodes whose runtime cannot do what it asks for (core/api/features.h). A node whose
// device does not say what its runtime can do takes every pod, and may refuse it (DeviceRefusals).
// Points: Filter. Cost: a few look-ups for pods that ask for something.
// Requeued by: a node that is added, or whose features change, and now has what the pod needs.
// Source: as NodeDeclaredFeatures (kube-scheduler pkg/scheduler/framework/plugins/nodedeclaredfeatures), whose features
// are those of kubelets; here a node that declares nothing is no reason.
#pragma once

#include "core/api/pod.h"
#include "core/framework/framework.h"

namespace berth {

class NodeCapabilities final : public FilterPlugin, public AdmissionPlugin, public EnqueueExtensions {
 public:
  static constexpr std::string_view kName = "NodeCapabilities";
  static Result<std::unique_ptr<Plugin>> make(const Json& args, Handle& handle);

  std::string_view name() const override { return kName; }
  Reads reads(const Pod&, Point) const override { return Reads::node_object; }
  bool tells_apart(const Pod& a, const Pod& b) const override { return a.spec->needs != b.spec->needs; }
  bool accepts_all(const CycleState&, const Pod& pod) const override { return pod.spec->needs.empty(); }
  std::vector<EventWithHint> events_to_register() const override;
  Status filter(CycleState& state, const Pod& pod, const NodeInfo& node) override;
  Status admit(CycleState& state, const Pod& pod, const NodeInfo& node) override { return filter(state, pod, node); }
};

}  // namespace berth
