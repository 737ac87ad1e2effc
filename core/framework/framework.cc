// The runner: calls the plugins of each extension point and handles the statuses they return.
#include "core/framework/framework.h"

#include <algorithm>
#include <iterator>

#include "core/api/pod.h"
#include "core/framework/framework_builder.h"
#include "core/framework/plugin_faults.h"

namespace berth {

namespace {

std::string join(const std::set<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : " ") + name;
  return text;
}

void narrow(PreFilterResult& total, const PreFilterResult& mine, const Text& plugin) {
  if (!mine.node_names) return;
  total.plugins.insert(plugin);
  if (!total.node_names) {
    total.node_names = mine.node_names;
    return;
  }
  std::set<std::string> both;
  std::set_intersection(total.node_names->begin(), total.node_names->end(), mine.node_names->begin(),
                        mine.node_names->end(), std::inserter(both, both.end()));
  total.node_names = std::move(both);
}

Status nothing_left(const PreFilterResult& result) {
  if (result.plugins.size() == 1) {
    return Status::unresolvable("node(s) didn't satisfy plugin " + *result.plugins.begin());
  }
  return Status::unresolvable("node(s) didn't satisfy plugin(s) [" + join(result.plugins) + "] simultaneously");
}

}  // namespace

Framework::Framework(Parts parts)
    : completed_(std::move(parts.completed)),
      owned_(std::move(parts.plugins)),
      plugins_(std::move(parts.points)),
      events_(std::move(parts.events)),
      recorder_(parts.recorder),
      binding_(std::move(parts.binding), std::move(parts.recorder)) {}

Result<std::unique_ptr<Framework>> Framework::make(const Registry& registry, const Profile& profile, Handle& handle) {
  return FrameworkBuilder(registry, profile, handle).build();
}

Status Framework::pre_enqueue(const Pod& pod, std::string_view first) const {
  auto ask = [&pod](const PointPlugin<PreEnqueuePlugin>& entry) -> Status {
    Status status = entry.plugin->pre_enqueue(pod);
    if (status.is_success()) return status;
    return rejected_or_fault("PreEnqueue", entry.name, std::move(status));
  };
  for (const auto& entry : plugins_.pre_enqueue) {
    if (entry.name != first) continue;
    if (Status status = ask(entry); !status.is_success()) return status;
  }
  for (const auto& entry : plugins_.pre_enqueue) {
    if (entry.name == first) continue;
    if (Status status = ask(entry); !status.is_success()) return status;
  }
  return {};
}

bool Framework::less(const QueuedPod& a, const QueuedPod& b) const {
  return plugins_.queue_sort.front().plugin->less(a, b);
}

Status Framework::pre_filter(CycleState& state, const Pod& pod, const Snapshot& snapshot,
                             PreFilterResult& result) const {
  state.skip_filter.reset();
  Status rejection;
  for (const auto& entry : plugins_.pre_filter) {
    PreFilterResult mine;
    Status status = recorder_.measured(state, entry, "PreFilter",
                                       [&] { return entry.plugin->pre_filter(state, pod, snapshot, mine); });
    if (status.is_skip()) {
      state.skip_filter.set(entry.number);
      continue;
    }
    if (status.code() == Code::unresolvable) {
      result.plugins.clear();  // the plugins that narrowed the nodes did not cause this rejection
      return std::move(status).with_plugin(entry.name);
    }
    if (status.code() == Code::unschedulable) {
      // Preemption may follow and needs the state of all plugins; the last rejection is the one reported.
      rejection = std::move(status).with_plugin(entry.name);
      continue;
    }
    if (!status.is_success()) return fault(running("PreFilter", entry.name), entry.name, status);
    narrow(result, mine, entry.name);
    if (result.node_names && result.node_names->empty()) return nothing_left(result);
  }
  return rejection;
}

Status Framework::run_filter(CycleState& state, const Pod& pod, const NodeInfo& node) const {
  for (const auto& entry : plugins_.filter) {
    if (state.skip_filter.test(entry.number)) continue;
    Status status = recorder_.measured(state, entry, "Filter", [&] { return entry.plugin->filter(state, pod, node); });
    if (status.is_success()) continue;
    if (!status.is_rejected()) return fault("running \"" + entry.name + "\" filter plugin", entry.name, status);
    return std::move(status).with_plugin(entry.name);
  }
  return {};
}

Status Framework::run_add_pod(CycleState& state, const Pod& pod, const Pod& added, const NodeInfo& node) const {
  for (const auto& entry : plugins_.pre_filter) {
    if (state.skip_filter.test(entry.number)) continue;
    Status status = recorder_.measured(state, entry, "PreFilterExtensionAddPod",
                                       [&] { return entry.plugin->add_pod(state, pod, added, node); });
    if (!status.is_success()) return fault(running("AddPod on PreFilter", entry.name), entry.name, status);
  }
  return {};
}

Status Framework::run_remove_pod(CycleState& state, const Pod& pod, const Pod& removed, const NodeInfo& node) const {
  for (const auto& entry : plugins_.pre_filter) {
    if (state.skip_filter.test(entry.number)) continue;
    Status status = recorder_.measured(state, entry, "PreFilterExtensionRemovePod",
                                       [&] { return entry.plugin->remove_pod(state, pod, removed, node); });
    if (!status.is_success()) return fault(running("RemovePod on PreFilter", entry.name), entry.name, status);
  }
  return {};
}

Status Framework::run_filter_with_nominated(CycleState& state, const Pod& pod, const NodeInfo& node,
                                            const Nominator& nominator) const {
  std::vector<PodPtr> expected;
  for (const auto& nominated : nominator.pods_on(node.name())) {
    if (nominated->priority >= pod.priority && nominated->uid() != pod.uid()) expected.push_back(nominated);
  }
  if (!expected.empty()) {
    CycleState trial_state = state.clone();
    NodeInfo trial = node;
    for (const auto& nominated : expected) {
      trial.add_pod(nominated);
      if (Status status = run_add_pod(trial_state, pod, *nominated, trial); !status.is_success()) return status;
    }
    if (Status status = run_filter(trial_state, pod, trial); !status.is_success()) return status;
  }
  return run_filter(state, pod, node);
}

bool Framework::post_filter_reads_state(const Pod& pod) const {
  return std::any_of(plugins_.post_filter.begin(), plugins_.post_filter.end(),
                     [&pod](const auto& entry) { return entry.plugin->reads_state(pod); });
}

Status Framework::post_filter(CycleState& state, const Pod& pod, const NodeStatuses& node_statuses,
                              PostFilterResult& result) const {
  Status rejection(Code::unschedulable, std::vector<std::string>{});
  for (const auto& entry : plugins_.post_filter) {
    PostFilterResult mine;
    Status status = recorder_.measured(
        state, entry, "PostFilter", [&] { return entry.plugin->post_filter(*this, state, pod, node_statuses, mine); });
    if (status.is_success() || status.code() == Code::unresolvable) {
      result = std::move(mine);
      return std::move(status).with_plugin(entry.name);
    }
    if (!status.is_rejected()) {
      result = {};
      if (status.code() == Code::error) return std::move(status).with_plugin(entry.name);
      return fault(running("PostFilter", entry.name), entry.name, status);
    }
    if (mine.nominated_node) result = std::move(mine);
    for (const std::string& reason : status.reasons()) rejection.add_reason(reason);
    if (rejection.plugin().empty()) rejection.set_plugin(entry.name);
  }
  return rejection;
}

Status Framework::pre_score(CycleState& state, const Pod& pod,
                            const std::vector<std::shared_ptr<const NodeInfo>>& feasible) const {
  state.skip_score.reset();
  for (const auto& entry : plugins_.pre_score) {
    Status status =
        recorder_.measured(state, entry, "PreScore", [&] { return entry.plugin->pre_score(state, pod, feasible); });
    if (status.is_skip()) {
      state.skip_score.set(entry.number);
    } else if (!status.is_success()) {
      return fault(running("PreScore", entry.name), entry.name, status);
    }
  }
  return {};
}

Status Framework::score_nodes(CycleState& state, const Pod& pod,
                              const std::vector<std::shared_ptr<const NodeInfo>>& feasible,
                              const std::vector<const PointPlugin<ScorePlugin>*>& plugins,
                              std::vector<PluginScores>& per_plugin) const {
  for (const auto& node : feasible) {
    for (std::size_t i = 0; i < plugins.size(); ++i) {
      std::int64_t score = 0;
      const Status status = recorder_.measured(state, *plugins[i], "Score",
                                               [&] { return plugins[i]->plugin->score(state, pod, *node, score); });
      const Text& name = plugins[i]->name;
      if (!status.is_success()) {
        return fault("running Score plugins: plugin \"" + name + "\" failed with", name, status);
      }
      per_plugin[i].scores.push_back({node->name(), score});
    }
  }
  return {};
}

Status Framework::score(CycleState& state, const Pod& pod, const std::vector<std::shared_ptr<const NodeInfo>>& feasible,
                        std::vector<PluginScores>& per_plugin, std::vector<NodeScore>& totals) const {
  std::vector<const PointPlugin<ScorePlugin>*> plugins;
  per_plugin.clear();
  for (const auto& entry : plugins_.score) {
    if (state.skip_score.test(entry.number)) continue;
    plugins.push_back(&entry);
    per_plugin.push_back({entry.name, entry.weight, {}});
  }
  if (Status status = score_nodes(state, pod, feasible, plugins, per_plugin); !status.is_success()) return status;
  for (std::size_t i = 0; i < plugins.size(); ++i) {
    if (plugins[i]->normalizing == nullptr) continue;
    const Text& name = plugins[i]->name;
    const Status status = recorder_.measured(state, *plugins[i], "ScoreExtensionNormalize", [&] {
      return plugins[i]->normalizing->normalize(state, pod, per_plugin[i].scores);
    });
    if (!status.is_success()) {
      return fault("running Normalize on Score plugins: plugin \"" + name + "\" failed with", name, status);
    }
  }
  totals.clear();
  for (std::size_t node = 0; node < feasible.size(); ++node) {
    totals.push_back({feasible[node]->name(), 0});
    for (const PluginScores& scores : per_plugin) {
      const std::int64_t score = scores.scores[node].score;
      if (score < 0 || score > ScorePlugin::kMaxScore) {
        return Status::error("applying score defaultWeights on Score plugins: plugin \"" + scores.plugin +
                             "\" returns an invalid score " + std::to_string(score) +
                             ", it should in the range of [0, 100] after normalizing")
            .with_plugin(scores.plugin);
      }
      totals[node].score += score * scores.weight;
    }
  }
  return {};
}

}  // namespace berth
