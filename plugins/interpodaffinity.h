// InterPodAffinity: places a pod in the topology domain of the pods that match its affinity terms, and away from those
// that match its anti-affinity terms and those whose required anti-affinity matches the pod.
// Points: PreFilter, Filter, PreScore, Score.
// Cost: PreFilter and PreScore visit the existing pods that have terms, and all pods if this one has terms; Filter is
// one lookup per term or label. Requeued by: an assigned pod that is added or changes labels and now matches the
// affinity; one that is deleted or changes labels and no longer matches the anti-affinity; a node that is added, or
// whose topology labels change. Arguments: hardPodAffinityWeight (0..100, default 1): what a required affinity of an
// existing pod adds to the score of a pod that matches it; ignorePreferredTermsOfExistingPods: score only pods that
// have preferred terms themselves. Source: kube-scheduler
// pkg/scheduler/framework/plugins/interpodaffinity/{plugin,filtering,scoring}.go.
#pragma once

#include "core/framework/framework.h"
#include "plugins/interpodaffinity_terms.h"

namespace berth {

class InterPodAffinity final : public PreFilterPlugin,
                               public FilterPlugin,
                               public PreScorePlugin,
                               public ScorePlugin,
                               public NormalizeScorePlugin,
                               public SummingPlugin,
                               public EnqueueExtensions {
 public:
  static constexpr std::string_view kName = "InterPodAffinity";
  struct Arguments {
    std::int32_t hard_pod_affinity_weight = 1;
    bool ignore_preferred_terms_of_existing_pods = false;
  };
  static Result<std::unique_ptr<Plugin>> make(const Json& args, Handle& handle);
  InterPodAffinity(const Arguments& arguments, Handle& handle) : arguments_(arguments), handle_(handle) {}

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
  Status change(CycleState& state, const Pod& pod, const Pod& changed, const NodeInfo& node, std::int64_t amount) const;
  // Adds the contribution of existing pods, so many like this one, to the scores of their topology domains.
  void weigh(TopologyCounts& scores, const Pod& pod, const Labels& labels_of_namespace, const Pod& existing,
             const Node& node, NamespaceLabels& namespaces, std::int64_t times) const;

  Arguments arguments_;
  Handle& handle_;
};

}  // namespace berth
