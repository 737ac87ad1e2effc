// Cluster: the objects of the gateway as its controllers see and change them.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/controllers/cluster_access.h"
#include "core/controllers/controlled_node.h"
#include "core/controllers/controller.h"
#include "core/controllers/disruption/eviction.h"
#include "core/workloads/budget_views.h"
#include "core/workloads/claim_writer.h"
#include "core/workloads/pod_views.h"
#include "core/workloads/pod_writer.h"
#include "core/workloads/selector_index.h"
#include "core/workloads/workload_writer.h"

namespace berth {

class Cluster final : public ClusterAccess {
 public:
  // Both outlive it. Observes the store of workloads and what the publisher is told.
  Cluster(const PlacementContext& context, Placement& placement);

  // All that is there now has changed: it was loaded.
  void begin();
  // What has changed since the last call.
  std::vector<ObjectChange> take_changes();
  // As the eviction subresource of the pod does.
  EvictionAnswer evict(const ObjectKey& pod);

  // Runs `writes`, in which at most so many pods are removed; further removals are refused, and then it returns true.
  bool with_removals(int at_most, const std::function<void()>& writes);
  // The time that writes have taken since the last call, on Clock::now_us().
  std::int64_t take_writing_us() { return std::exchange(writing_us_, 0); }
  // Of workloads: some are being deleted, and may wait for what they own.
  bool has_deleted_workload() const { return deleted_workloads_ > 0; }

  Millis now() const override { return context_.clock.wall(); }
  ObjectPtr find(std::string_view kind, const ObjectKey& key) const override;
  std::vector<ObjectPtr> list(std::string_view kind, std::string_view name_space) const override;
  std::vector<ControlledPodPtr> pods_of(std::string_view name_space, std::string_view controller_uid) const override;
  bool knows(std::string_view kind) const override;
  Result<std::optional<Scale>> scale_of(const OwnerReference& owner, std::string_view name_space) const override;
  WriteResult create(std::string_view kind, std::string_view name_space, Json object) override;
  WriteResult patch(const ControlledObject& object, const Json& merge) override;
  WriteResult patch_status(const ControlledObject& object, const Json& merge) override;
  WriteResult remove(const ControlledObject& object, const DeleteOptions& options) override;
  void record(const ControlledObject& about, WorkloadEvent event) override;

 private:
  bool concerns(const Pod& pod) const;
  bool may_be_evicted(const Pod& pod) const;
  void note_pods_of(const std::string& node);
  void note_selected(const ControlledObject& workload);
  void note_namespace(const std::string& budget);
  void note_workload(const ObjectPtr& before, const ObjectPtr& after);
  void refresh_node(const std::string& name);
  WriteResult create_workload(const KindName& kind, std::string_view name_space, Json object);

  const PlacementContext& context_;
  const PlacementState& state_;
  PodViews pods_;
  PodWriter pod_writer_;
  WorkloadWriter writer_;
  ClaimWriter claims_;
  BudgetViews budgets_;
  std::set<std::string, std::less<>> uids_;  // of workloads
  SelectorIndex selectors_;                  // of workloads
  std::size_t deleted_workloads_ = 0;        // that are still there
  std::set<std::string> noted_nodes_;
  std::set<std::string, std::less<>> evicting_nodes_;  // they answer, and have a taint with the effect NoExecute
  std::map<std::string, ControlledNodePtr> nodes_;
  std::vector<ObjectChange> changes_;
  int removals_left_ = std::numeric_limits<int>::max();
  std::int64_t writing_us_ = 0;
};

}  // namespace berth
