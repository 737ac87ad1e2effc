// The runner's public interface: runs each point and records how long it took.
#include "core/api/pod.h"
#include "core/framework/framework.h"

namespace berth {

Status Framework::run_pre_enqueue(const Pod& pod, std::string_view first) const {
  return recorder_.timed("PreEnqueue", [&] { return pre_enqueue(pod, first); });
}

Status Framework::run_pre_filter(CycleState& state, const Pod& pod, const Snapshot& snapshot,
                                 PreFilterResult& result) const {
  return recorder_.timed("PreFilter", [&] { return pre_filter(state, pod, snapshot, result); });
}

Status Framework::run_filters(const std::function<Status()>& over_all_nodes) const {
  return recorder_.timed("Filter", over_all_nodes);
}

Status Framework::run_as(std::string_view point, const std::function<Status()>& run) const {
  return recorder_.timed(point, run);
}

Status Framework::run_post_filter(CycleState& state, const Pod& pod, const NodeStatuses& node_statuses,
                                  PostFilterResult& result) const {
  return recorder_.timed("PostFilter", [&] { return post_filter(state, pod, node_statuses, result); });
}

Status Framework::run_pre_score(CycleState& state, const Pod& pod,
                                const std::vector<std::shared_ptr<const NodeInfo>>& feasible) const {
  return recorder_.timed("PreScore", [&] { return pre_score(state, pod, feasible); });
}

Status Framework::run_score(CycleState& state, const Pod& pod,
                            const std::vector<std::shared_ptr<const NodeInfo>>& feasible,
                            std::vector<PluginScores>& per_plugin, std::vector<NodeScore>& totals) const {
  return recorder_.timed("Score", [&] { return score(state, pod, feasible, per_plugin, totals); });
}

}  // namespace berth
