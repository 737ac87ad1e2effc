// VolumeBinding: a pod goes only to a node where its claims' local volumes are, or where free ones fit, and takes them.
// Points: PreFilter (Skip without claims), Filter, Reserve, PreBindPreFlight, PreBind (adds VolumeGrants), PostBind.
// Cost: the volumes of a class once per attempt, then those of one node per node.
// Woken by: classes, claims of the pod, volumes, nodes added or relabelled, and pods that gave volumes back.
// Source: kube-scheduler pkg/scheduler/framework/plugins/volumebinding. There is no dynamic provisioning.
#pragma once

#include "core/framework/framework.h"
#include "plugins/volumebinding_assumed.h"

namespace berth {

class VolumeBinding final : public PreFilterPlugin,
                            public FilterPlugin,
                            public ReservePlugin,
                            public PreBindPlugin,
                            public PostBindPlugin,
                            public EnqueueExtensions {
 public:
  static constexpr std::string_view kName = "VolumeBinding";
  // Plugins of one maker and one handle (a gateway's profiles) share what they assume.
  static PluginMaker maker();
  VolumeBinding(Handle& handle, std::shared_ptr<AssumedVolumes> assumed);

  std::string_view name() const override { return kName; }
  std::vector<EventWithHint> events_to_register() const override;
  Status pre_filter(CycleState& state, const Pod& pod, const Snapshot& snapshot, PreFilterResult& result) override;
  Status filter(CycleState& state, const Pod& pod, const NodeInfo& node) override;
  Status reserve(CycleState& state, const Pod& pod, const std::string& node) override;
  void unreserve(CycleState& state, const Pod& pod, const std::string& node) override;
  void restore(CycleState&, const Pod&, const std::string&, const std::vector<VolumeGrant>& grants) override;
  Status pre_bind_pre_flight(CycleState& state, const Pod& pod, const std::string& node) override;
  Status pre_bind(CycleState& state, const Pod& pod, const std::string& node, BindRequest& request) override;
  void post_bind(CycleState& state, const Pod& pod, const std::string& node) override;

 private:
  Handle& handle_;
  std::shared_ptr<AssumedVolumes> assumed_;
};

}  // namespace berth
