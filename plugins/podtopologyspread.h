// PodTopologySpread: keeps the pods that a constraint selects evenly spread over the domains of a topology key
// (DoNotSchedule), or prefers nodes that do so (ScheduleAnyway). A pod without constraints gets the defaults.
// Points: PreFilter, Filter, PreScore, Score (few matching pods give a high score).
// Cost: PreFilter and PreScore visit all nodes and their pods once per constraint; Filter is one lookup per constraint.
// Requeued by: pods of the namespace that are added, deleted or relabelled and match a constraint; the pod's own
// tolerations if it honours taints; nodes with all topology keys that are added or deleted, or change them or their
// taints. Arguments: defaultingType System (hostname maxSkew 3, zone maxSkew 5, both ScheduleAnyway) or List with
// defaultConstraints; both apply to pods that a Service selects.
// Source: kube-scheduler pkg/scheduler/framework/plugins/podtopologyspread/{plugin,filtering,scoring}.go.
#pragma once

#include "core/api/pod.h"
#include "core/framework/framework.h"
#include "plugins/podtopologyspread_constraints.h"

namespace berth {

class PodTopologySpread final : public PreFilterPlugin,
                                public FilterPlugin,
                                public PreScorePlugin,
                                public ScorePlugin,
                                public NormalizeScorePlugin,
                                public SummingPlugin,
                                public EnqueueExtensions {
 public:
  static constexpr std::string_view kName = "PodTopologySpread";
  struct Arguments {
    bool system_defaults = true;
    std::vector<TopologySpreadConstraint> default_constraints;  // System: filled in by make()
  };
  static Result<std::unique_ptr<Plugin>> make(const Json& args, Handle& handle);
  PodTopologySpread(Arguments arguments, Handle& handle) : arguments_(std::move(arguments)), handle_(handle) {}

  std::string_view name() const override { return kName; }
  Reads reads(const Pod&, Point) const override { return Reads::sums; }
  Json args() const override;
  std::vector<EventWithHint> events_to_register() const override;
  Status pre_filter(CycleState& state, const Pod& pod, const Snapshot& snapshot, PreFilterResult& result) override;
  Status add_pod(CycleState& state, const Pod& pod, const Pod& added, const NodeInfo& node) override;
  Status remove_pod(CycleState& state, const Pod& pod, const Pod& removed, const NodeInfo& node) override;
  Status filter(CycleState& state, const Pod& pod, const NodeInfo& node) override;
  Status pre_score(CycleState& state, const Pod& pod,
                   const std::vector<std::shared_ptr<const NodeInfo>>& feasible) override;
  Status score(CycleState& state, const Pod& pod, const NodeInfo& node, std::int64_t& score) override;
  Status normalize(CycleState& state, const Pod& pod, std::vector<NodeScore>& scores) override;
  bool reads_labels(const Pod& pod, const Snapshot& snapshot) const override;
  void begin_sums(CycleState& state, const Pod& pod, const Snapshot& snapshot, Domains& domains) override;
  bool is_idle(const CycleState& state, const Pod& pod, const Snapshot& snapshot) const override;
  bool sums_hold(const CycleState& state, const Pod& pod) const override;
  void sum_node(CycleState& state, const Pod& pod, const Node& node, std::int64_t times) override;
  void filter_kinds(const CycleState& state, const Pod& pod, KindFilter& filter) const override;
  bool counts_pod(CycleState& state, const Pod& pod, const Pod& other) const override;
  void sum_pods(CycleState& state, const Pod& pod, const Node& node, const Pod& other, std::int64_t pods,
                Domains& domains) override;
  bool has_traits(const CycleState& state, const Domains& domains) const override;
  void add_traits(const CycleState& state, const Pod& pod, const NodeInfo& node, const Domains& domains,
                  Traits& traits) const override;
  bool skips_filter(const CycleState& state, const Pod& pod) const override;
  Status pre_score_sums(CycleState& state, const Pod& pod, const std::vector<AlikeNodes>& feasible,
                        const Domains& domains) override;

 private:
  // The pod's own constraints of this kind, or the defaults if it has no constraints of either kind.
  std::vector<SpreadConstraint> constraints_of(const Pod& pod, bool schedule_anyway) const;
  // With the system defaults, nodes without a zone are still spread over by host name.
  bool asks_all_keys(const Pod& pod) const {
    return !pod.spec->topology_spread_constraints.empty() || !arguments_.system_defaults;
  }
  Hint after_pod_change(const Pod& pod, const EventObjects& objects) const;
  Hint after_node_change(const Pod& pod, const EventObjects& objects) const;

  Arguments arguments_;
  Handle& handle_;
};

}  // namespace berth
