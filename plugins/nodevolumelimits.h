// NodeVolumeLimits: keeps a pod off a node whose CSI driver may attach no more volumes (CSINode's allocatable.count).
// Points: PreFilter (Skip without claims and cloud disks), Filter. Cost: volumes of all pods of the node, for nodes
// with a limit only. Requeued by: CSINodes that are added or raise a count, deleted pods that had volumes, added claims
// of the pod, and deleted attachments. Source: kube-scheduler pkg/scheduler/framework/plugins/nodevolumelimits/csi.go.
// VolumeAttachments are not counted, because only pods attach volumes here.
#pragma once

#include <map>
#include <optional>

#include "core/api/pod.h"
#include "core/framework/framework.h"

namespace berth {

class NodeVolumeLimits final : public PreFilterPlugin, public FilterPlugin, public EnqueueExtensions {
 public:
  static constexpr std::string_view kName = "NodeVolumeLimits";
  static Result<std::unique_ptr<Plugin>> make(const Json& args, Handle& handle);
  explicit NodeVolumeLimits(Handle& handle) : handle_(handle) {}

  std::string_view name() const override { return kName; }
  Reads reads(const Pod& pod, Point) const override { return pod.volumes.empty() ? Reads::node : Reads::anything; }
  bool tells_apart(const Pod& a, const Pod& b) const override { return !a.volumes.empty() || !b.volumes.empty(); }
  std::vector<EventWithHint> events_to_register() const override;
  Status pre_filter(CycleState& state, const Pod& pod, const Snapshot& snapshot, PreFilterResult& result) override;
  Status filter(CycleState& state, const Pod& pod, const NodeInfo& node) override;
  bool accepts_all(const CycleState& state, const Pod& pod) const override;

 private:
  Handle& handle_;
};

}  // namespace berth
