// VolumeRestrictions: keeps a pod off nodes with pods that use the same disk, if the disk allows only one pod or only
// readers; a ReadWriteOncePod claim in use keeps a pod off every node.
// Points: PreFilter (Skip if no conflict is possible; AddPod/RemovePod), Filter. Cost: for such claims all pods once
// per attempt; for such disks the pods of each node. Requeued by: deleted pods that used the disk or claim, added
// nodes, added claims of the pod. Source: kube-scheduler
// pkg/scheduler/framework/plugins/volumerestrictions/volume_restrictions.go.
#pragma once

#include "core/api/pod.h"
#include "core/framework/framework.h"

namespace berth {

class VolumeRestrictions final : public PreFilterPlugin, public FilterPlugin, public EnqueueExtensions {
 public:
  static constexpr std::string_view kName = "VolumeRestrictions";
  static Result<std::unique_ptr<Plugin>> make(const Json& args, Handle& handle);
  explicit VolumeRestrictions(Handle& handle) : handle_(handle) {}

  std::string_view name() const override { return kName; }
  Reads reads(const Pod& pod, Point) const override { return pod.volumes.empty() ? Reads::node : Reads::anything; }
  bool tells_apart(const Pod& a, const Pod& b) const override { return !a.volumes.empty() || !b.volumes.empty(); }
  std::vector<EventWithHint> events_to_register() const override;
  Status pre_filter(CycleState& state, const Pod& pod, const Snapshot& snapshot, PreFilterResult& result) override;
  Status add_pod(CycleState& state, const Pod& pod, const Pod& added, const NodeInfo& node) override;
  Status remove_pod(CycleState& state, const Pod& pod, const Pod& removed, const NodeInfo& node) override;
  Status filter(CycleState& state, const Pod& pod, const NodeInfo& node) override;

 private:
  Handle& handle_;
};

}  // namespace berth
