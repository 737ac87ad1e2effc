// NodeResourcesFit: a pod fits only where its requests are free (cpu, memory, ephemeral storage, extended resources,
// number of pods), and prefers nodes by their utilization: LeastAllocated by default, MostAllocated, or a shape.
// Points: PreFilter, Filter, PreScore, Score. Cost: the pod's requests summed once, then a few comparisons per node.
// Arguments: NodeResourcesFitArgs (noderesources_arguments.h).
// Requeued by: an assigned pod that is deleted or reduces its requests; a node that is added or gets larger.
// Source: kube-scheduler pkg/scheduler/framework/plugins/noderesources/fit.go.
#pragma once

#include <array>
#include <vector>

#include "core/cache/node_info.h"
#include "core/framework/framework.h"
#include "plugins/noderesources_arguments.h"

namespace berth {

class NodeResourcesFit final : public PreFilterPlugin,
                               public FilterPlugin,
                               public AdmissionPlugin,
                               public PreScorePlugin,
                               public ScorePlugin,
                               public BatchFilterPlugin,
                               public AmountsFilterPlugin,
                               public BatchScorePlugin,
                               public EnqueueExtensions {
 public:
  static constexpr std::string_view kName = "NodeResourcesFit";
  static Result<std::unique_ptr<Plugin>> make(const Json& args, Handle& handle);

  explicit NodeResourcesFit(FitArguments arguments = {}) : arguments_(std::move(arguments)) {}

  std::string_view name() const override { return kName; }
  Reads reads(const Pod&, Point) const override { return Reads::node; }
  bool tells_apart(const Pod& a, const Pod& b) const override { return !requests_same(a, b); }
  Json args() const override { return to_json(arguments_); }
  std::vector<EventWithHint> events_to_register() const override;
  Status pre_filter(CycleState& state, const Pod& pod, const Snapshot& snapshot, PreFilterResult& result) override;
  Status filter(CycleState& state, const Pod& pod, const NodeInfo& node) override;
  Status admit(CycleState& state, const Pod& pod, const NodeInfo& node) override { return filter(state, pod, node); }
  bool filter_rows(CycleState& state, const Pod& pod, const Snapshot& snapshot, const Rows& rows,
                   std::uint8_t* rejects) override;
  bool number_reasons(const CycleState& state, const Snapshot& snapshot, const Rows& rows,
                      std::uint8_t* reasons) override;
  Status filter_amounts(const CycleState& state, const NodeInfo& node, const Resources& requested,
                        std::int64_t pods) override;
  Status pre_score(CycleState& state, const Pod& pod,
                   const std::vector<std::shared_ptr<const NodeInfo>>& feasible) override;
  Status score(CycleState& state, const Pod& pod, const NodeInfo& node, std::int64_t& score) override;
  bool score_rows(CycleState& state, const Pod& pod, const Snapshot& snapshot, const Rows& rows,
                  std::int32_t* scores) override;

 private:
  bool is_ignored(const std::string& resource) const;
  Status rejection(bool unresolvable) const;

  FitArguments arguments_;
  std::vector<InsufficientResource> missing_;  // on the node being filtered
  std::array<Status, 32> rejections_;          // cached status by set of missing kinds; success: not cached yet
};

}  // namespace berth
