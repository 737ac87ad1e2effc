// NodeResourcesBalancedAllocation: prefers nodes whose resources would be used evenly, so that none runs out first.
// Points: PreScore (Skip for a pod without requests), Score: (1 - standard deviation of the used shares) x 100.
// Arguments: NodeResourcesBalancedAllocationArgs (noderesources_arguments.h). Cost: a few divisions per node.
// Source: kube-scheduler pkg/scheduler/framework/plugins/noderesources/balanced_allocation.go.
#pragma once

#include "core/framework/framework.h"
#include "plugins/noderesources_arguments.h"

namespace berth {

class NodeResourcesBalancedAllocation final : public PreScorePlugin, public ScorePlugin, public BatchScorePlugin {
 public:
  static constexpr std::string_view kName = "NodeResourcesBalancedAllocation";
  static Result<std::unique_ptr<Plugin>> make(const Json& args, Handle& handle);
  explicit NodeResourcesBalancedAllocation(std::vector<ScoredResource> resources) : resources_(std::move(resources)) {}

  std::string_view name() const override { return kName; }
  Reads reads(const Pod&, Point) const override { return Reads::node; }
  bool tells_apart(const Pod& a, const Pod& b) const override { return !requests_same(a, b); }
  Json args() const override { return to_json(resources_); }
  Status pre_score(CycleState& state, const Pod& pod,
                   const std::vector<std::shared_ptr<const NodeInfo>>& feasible) override;
  Status score(CycleState& state, const Pod& pod, const NodeInfo& node, std::int64_t& score) override;
  bool score_rows(CycleState& state, const Pod& pod, const Snapshot& snapshot, const Rows& rows,
                  std::int32_t* scores) override;

 private:
  std::vector<ScoredResource> resources_;
};

}  // namespace berth
