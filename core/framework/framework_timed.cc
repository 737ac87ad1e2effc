// The runner's public interface: runs each point and records how long it took.
#include "core/api/pod.h"
#include "core/framework/framework.h"

namespace berth {

template <class Run>
Status Framework::timed(std::string_view point, Run run) const {
  if (metrics_ == nullptr) return run();
  const std::int64_t began_us = clock_->now_us();
  Status status = run();
  metrics_->point_duration.at({point, to_string(status.code()), scheduler_name_})
      .observe(seconds_between(began_us, clock_->now_us()));
  return status;
}

Status Framework::run_pre_enqueue(const Pod& pod, std::string_view first) const {
  return timed("PreEnqueue", [&] { return pre_enqueue(pod, first); });
}

Status Framework::run_pre_filter(CycleState& state, const Pod& pod, const Snapshot& snapshot,
                                 PreFilterResult& result) const {
  return timed("PreFilter", [&] { return pre_filter(state, pod, snapshot, result); });
}

Status Framework::run_filters(const std::function<Status()>& over_all_nodes) const {
  return timed("Filter", [&] { return over_all_nodes(); });
}

Status Framework::run_as(std::string_view point, const std::function<Status()>& run) const {
  return timed(point, [&] { return run(); });
}

Status Framework::run_post_filter(CycleState& state, const Pod& pod, const NodeStatuses& node_statuses,
                                  PostFilterResult& result) const {
  return timed("PostFilter", [&] { return post_filter(state, pod, node_statuses, result); });
}

Status Framework::run_pre_score(CycleState& state, const Pod& pod,
                                const std::vector<std::shared_ptr<const NodeInfo>>& feasible) const {
  return timed("PreScore", [&] { return pre_score(state, pod, feasible); });
}

Status Framework::run_score(CycleState& state, const Pod& pod,
                            const std::vector<std::shared_ptr<const NodeInfo>>& feasible,
                            std::vector<PluginScores>& per_plugin, std::vector<NodeScore>& totals) const {
  return timed("Score", [&] { return score(state, pod, feasible, per_plugin, totals); });
}

Status Framework::run_reserve(CycleState& state, const Pod& pod, const std::string& node) const {
  return timed("Reserve", [&] { return reserve(state, pod, node); });
}

void Framework::run_unreserve(CycleState& state, const Pod& pod, const std::string& node) const {
  static_cast<void>(timed("Unreserve", [&] {
    unreserve(state, pod, node);
    return Status();
  }));
}

Status Framework::run_permit(CycleState& state, const Pod& pod, const std::string& node,
                             std::map<std::string, Millis>& timeouts) const {
  return timed("Permit", [&] { return permit(state, pod, node, timeouts); });
}

Status Framework::run_pre_bind(CycleState& state, const Pod& pod, const std::string& node,
                               PlacementRequest& request) const {
  return timed("PreBind", [&] { return pre_bind(state, pod, node, request); });
}

Status Framework::run_bind(CycleState& state, const Pod& pod, const std::string& node) const {
  return timed("Bind", [&] { return bind(state, pod, node); });
}

void Framework::run_post_bind(CycleState& state, const Pod& pod, const std::string& node) const {
  static_cast<void>(timed("PostBind", [&] {
    post_bind(state, pod, node);
    return Status();
  }));
}

}  // namespace berth
