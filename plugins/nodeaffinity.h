// NodeAffinity: a pod fits only nodes that match its nodeSelector and required node affinity, and prefers those that
// match its preferred terms. Points: PreFilter (restricts to named nodes if every term names some; Skip without
// requirements), Filter, PreScore (Skip without preferred terms), Score: the sum of the weights of the matching terms.
// Arguments (NodeAffinityArgs): addedAffinity, a node affinity that applies to every pod of the profile in addition.
// Cost: the pod's requirements per node. Requeued by: a node that is added or whose labels now match.
// Source: kube-scheduler pkg/scheduler/framework/plugins/nodeaffinity/node_affinity.go.
#pragma once

#include "core/api/pod.h"
#include "core/framework/framework.h"

namespace berth {

class NodeAffinity final : public PreFilterPlugin,
                           public FilterPlugin,
                           public AdmissionPlugin,
                           public PreScorePlugin,
                           public ScorePlugin,
                           public NormalizeScorePlugin,
                           public BatchFilterPlugin,
                           public BatchScorePlugin,
                           public EnqueueExtensions {
 public:
  static constexpr std::string_view kName = "NodeAffinity";
  static Result<std::unique_ptr<Plugin>> make(const Json& args, Handle& handle);

  // The contents of addedAffinity.
  struct Added {
    std::optional<NodeSelector> required;
    std::vector<PreferredNodeTerm> preferred;
  };
  // `args`: what `added` was read from.
  explicit NodeAffinity(Added added = {}, Json args = {}) : added_(std::move(added)), args_(std::move(args)) {}

  std::string_view name() const override { return kName; }
  Reads reads(const Pod&, Point) const override { return Reads::node_object; }
  bool tells_apart(const Pod& a, const Pod& b) const override;
  bool names_nodes(const Pod& pod) const override;
  Json args() const override { return args_; }
  std::vector<EventWithHint> events_to_register() const override;
  Status pre_filter(CycleState& state, const Pod& pod, const Snapshot& snapshot, PreFilterResult& result) override;
  Status filter(CycleState& state, const Pod& pod, const NodeInfo& node) override;
  Status admit(CycleState& state, const Pod& pod, const NodeInfo& node) override { return filter(state, pod, node); }
  bool filter_rows(CycleState& state, const Pod& pod, const Snapshot& snapshot, const Rows& rows,
                   std::uint8_t* rejects) override;
  Status pre_score(CycleState& state, const Pod& pod,
                   const std::vector<std::shared_ptr<const NodeInfo>>& feasible) override;
  Status score(CycleState& state, const Pod& pod, const NodeInfo& node, std::int64_t& score) override;
  bool score_rows(CycleState& state, const Pod& pod, const Snapshot& snapshot, const Rows& rows,
                  std::int32_t* scores) override;
  Status normalize(CycleState& state, const Pod& pod, std::vector<NodeScore>& scores) override;

 private:
  Added added_;
  Json args_;
};

}  // namespace berth
