// TaintToleration: keeps pods off nodes with a NoSchedule or NoExecute taint they do not tolerate, and prefers nodes
// with few untolerated PreferNoSchedule taints. A pod that names its node is kept away by NoExecute, as by a kubelet,
// and by the gateway's own taints: that node cannot be asked. Points: Filter, PreScore, Score (reversed: the most
// taints score 0). Cost: taints x tolerations per node. Requeued by: a node that is added or whose taints are now
// tolerated; a new toleration of the pod itself. Source: kube-scheduler
// pkg/scheduler/framework/plugins/tainttoleration/taint_toleration.go.
#pragma once

#include "core/api/pod.h"
#include "core/framework/framework.h"

namespace berth {

class TaintToleration final : public FilterPlugin,
                              public BatchFilterPlugin,
                              public AdmissionPlugin,
                              public PreScorePlugin,
                              public ScorePlugin,
                              public BatchScorePlugin,
                              public NormalizeScorePlugin,
                              public EnqueueExtensions {
 public:
  static constexpr std::string_view kName = "TaintToleration";
  static Result<std::unique_ptr<Plugin>> make(const Json& args, Handle& handle);

  std::string_view name() const override { return kName; }
  Reads reads(const Pod&, Point) const override { return Reads::node_object; }
  bool tells_apart(const Pod& a, const Pod& b) const override { return a.spec->tolerations != b.spec->tolerations; }
  std::vector<EventWithHint> events_to_register() const override;
  Status filter(CycleState& state, const Pod& pod, const NodeInfo& node) override;
  bool filter_rows(CycleState& state, const Pod& pod, const Snapshot& snapshot, const Rows& rows,
                   std::uint8_t* rejects) override;
  Status admit(CycleState& state, const Pod& pod, const NodeInfo& node) override;
  Status pre_score(CycleState& state, const Pod& pod,
                   const std::vector<std::shared_ptr<const NodeInfo>>& feasible) override;
  Status score(CycleState& state, const Pod& pod, const NodeInfo& node, std::int64_t& score) override;
  bool score_rows(CycleState& state, const Pod& pod, const Snapshot& snapshot, const Rows& rows,
                  std::int32_t* scores) override;
  Status normalize(CycleState& state, const Pod& pod, std::vector<NodeScore>& scores) override;
};

}  // namespace berth
