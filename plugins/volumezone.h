// VolumeZone: a pod fits only nodes in the zone and region given by the labels of its bound volumes.
// Points: PreFilter (Skip if no volume has such labels), Filter. Cost: a few labels per node.
// Requeued by: an added class with WaitForFirstConsumer, nodes added or relabelled, claims of the pod, volumes that are
// added or change their zone.
// Source: kube-scheduler pkg/scheduler/framework/plugins/volumezone/volume_zone.go.
#pragma once

#include "core/api/pod.h"
#include "core/framework/framework.h"

namespace berth {

class VolumeZone final : public PreFilterPlugin, public FilterPlugin, public EnqueueExtensions {
 public:
  static constexpr std::string_view kName = "VolumeZone";
  static Result<std::unique_ptr<Plugin>> make(const Json& args, Handle& handle);
  explicit VolumeZone(Handle& handle) : handle_(handle) {}

  std::string_view name() const override { return kName; }
  Reads reads(const Pod& pod, Point) const override { return pod.volumes.empty() ? Reads::node : Reads::anything; }
  bool tells_apart(const Pod& a, const Pod& b) const override { return !a.volumes.empty() || !b.volumes.empty(); }
  std::vector<EventWithHint> events_to_register() const override;
  Status pre_filter(CycleState& state, const Pod& pod, const Snapshot& snapshot, PreFilterResult& result) override;
  Status filter(CycleState& state, const Pod& pod, const NodeInfo& node) override;

 private:
  Handle& handle_;
};

}  // namespace berth
