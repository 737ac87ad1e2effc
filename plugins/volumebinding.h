// VolumeBinding: a pod fits only a node where its claims' volumes are, where free volumes match, or where a provisioner
// can create them; Reserve assumes them. Points: PreFilter (Skip without claims), Filter, PreScore and Score (skipped:
// the feature gate StorageCapacityScoring is off), Reserve, PreBindPreFlight, PreBind (adds bound volumes; waits for
// provisioners), PostBind. Cost: once per attempt the volumes that have changed, then per node those of the node.
// Requeued by: classes, claims of the pod, volumes, nodes added or relabelled, CSINodes, CSIDrivers and
// CSIStorageCapacities that may allow more. Arguments: bindTimeoutSeconds (600). Source: kube-scheduler
// pkg/scheduler/framework/plugins/volumebinding.
#pragma once

#include "core/api/pod.h"
#include "core/framework/framework.h"
#include "plugins/volume_index.h"
#include "plugins/volumebinding_assumed.h"
#include "plugins/volumebinding_fit.h"

namespace berth {

class VolumeBinding final : public PreFilterPlugin,
                            public FilterPlugin,
                            public AdmissionPlugin,
                            public PreScorePlugin,
                            public ScorePlugin,
                            public ReservePlugin,
                            public PreBindPlugin,
                            public PostBindPlugin,
                            public EnqueueExtensions,
                            public BatchFilterPlugin,
                            public TrackingPlugin {
 public:
  static constexpr std::string_view kName = "VolumeBinding";
  struct Arguments {
    std::int64_t bind_timeout_seconds = 600;
  };
  // Plugins of one maker and one handle (the profiles of a gateway) share their assumed volumes.
  static PluginMaker maker();
  VolumeBinding(Arguments arguments, Handle& handle, std::shared_ptr<AssumedVolumes> assumed);

  // The decision of Filter for a node that it accepted; null: none, or PreFilter skipped.
  static const PodVolumes* decision(const CycleState& state, const std::string& node);

  std::string_view name() const override { return kName; }
  Reads reads(const Pod& pod, Point point) const override {
    const bool scores = point == Point::pre_score || point == Point::score;
    return scores || pod.volumes.empty() ? Reads::node : Reads::objects;
  }
  bool tells_apart(const Pod& a, const Pod& b) const override { return !a.volumes.empty() || !b.volumes.empty(); }
  Json args() const override;
  std::vector<EventWithHint> events_to_register() const override;
  Status pre_filter(CycleState& state, const Pod& pod, const Snapshot& snapshot, PreFilterResult& result) override;
  Status filter(CycleState& state, const Pod& pod, const NodeInfo& node) override;
  bool filter_rows(CycleState& state, const Pod& pod, const Snapshot& snapshot, const Rows& rows,
                   std::uint8_t* rejects) override;
  bool number_reasons(const CycleState& state, const Snapshot& snapshot, const Rows& rows,
                      std::uint8_t* reasons) override;
  Status admit(CycleState& state, const Pod& pod, const NodeInfo& node) override { return filter(state, pod, node); }
  Status pre_score(CycleState& state, const Pod& pod,
                   const std::vector<std::shared_ptr<const NodeInfo>>& feasible) override;
  Status score(CycleState& state, const Pod& pod, const NodeInfo& node, std::int64_t& score) override;
  // Only for pods whose claims all have, or need, an existing volume or one that a device makes.
  std::optional<std::string> equivalence_key(const Pod& pod) override;
  bool changed(CycleState& state, const Snapshot& snapshot, std::vector<std::size_t>& indices) override;
  bool prepare(const Pod& pod, std::size_t most) override;
  Status reserve(CycleState& state, const Pod& pod, const std::string& node) override;
  void unreserve(CycleState& state, const Pod& pod, const std::string& node) override;
  void restore(CycleState&, const Pod&, const std::string&, const std::vector<BoundVolume>& bound_volumes) override;
  Status pre_bind_pre_flight(CycleState& state, const Pod& pod, const std::string& node) override;
  Status pre_bind(CycleState& state, const Pod& pod, const std::string& node, PlacementRequest& request) override;
  void post_bind(CycleState& state, const Pod& pod, const std::string& node) override;

 private:
  // `storage_class` must exist. Drops the indexes of deleted classes.
  const std::shared_ptr<VolumeIndex>& index_of(const std::string& storage_class);
  const std::shared_ptr<VolumeIndex>& find_or_make_index(const std::string& storage_class);
  Status provision(const std::vector<std::string>& claims, const std::string& node, std::optional<Millis>& asked_at,
                   PlacementRequest& request) const;
  Status await_provisioned(const std::vector<std::string>& claims, const Node& node, std::optional<Millis>& asked_at,
                           PlacementRequest& request) const;
  Result<BoundVolume> made_by_device(const PersistentVolumeClaim& claim, const Node& node) const;

  Arguments arguments_;
  Handle& handle_;
  std::shared_ptr<AssumedVolumes> assumed_;
  std::map<std::string, std::shared_ptr<VolumeIndex>> indexes_;  // by storage class
};

}  // namespace berth
