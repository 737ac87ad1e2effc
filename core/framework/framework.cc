// The runner: calls the plugins of each extension point and handles the statuses they return.
#include "core/framework/framework.h"

#include <algorithm>
#include <iterator>

#include "core/api/pod.h"

namespace berth {

namespace {

constexpr Millis kPermitTimeoutMax = 15 * 60 * 1000;

// A status that is not valid at the point fails the attempt with an error; `doing` names the point and the plugin in
// upstream's wording. An unexpected rejection still reports its reasons.
Status fault(const std::string& doing, const Text& plugin, const Status& status) {
  std::string text = status.message();
  if (status.code() != Code::error && !status.is_rejected()) {
    const std::string returned = "returned " + std::string(to_string(status.code())) + ", which is not valid here";
    text = text.empty() ? returned : returned + ": " + text;
  }
  return Status::error(doing + ": " + text).with_plugin(plugin);
}

std::string running(std::string_view point, std::string_view plugin) {
  return "running " + std::string(point) + " plugin \"" + std::string(plugin) + "\"";
}

// Passes rejections on; any other status is an error.
Status rejected_or_fault(std::string_view point, const Text& plugin, Status status) {
  if (!status.is_rejected()) return fault(running(point, plugin), plugin, status);
  status.set_plugin(plugin);
  return status;
}

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

// Counts a call of one plugin, and in sampled cycles records its duration. A Skip does not count as an evaluation.
template <class T, class Call>
Status Framework::measured(const CycleState& state, const Named<T>& entry, std::string_view point, Call call) const {
  const bool sampled = state.sampled && metrics_ != nullptr;
  const std::int64_t began_us = sampled ? clock_->now_us() : 0;
  Status status = call();
  if (entry.evaluations != nullptr && !status.is_skip()) entry.evaluations->add();
  if (sampled) {
    metrics_->plugin_duration.at({entry.name, point, to_string(status.code())})
        .observe(seconds_between(began_us, clock_->now_us()));
  }
  return status;
}

const std::string& Framework::scheduler_name() const { return scheduler_name_; }

Status Framework::pre_enqueue(const Pod& pod, std::string_view first) const {
  auto ask = [&pod](const Named<PreEnqueuePlugin>& entry) -> Status {
    Status status = entry.plugin->pre_enqueue(pod);
    if (status.is_success()) return status;
    return rejected_or_fault("PreEnqueue", entry.name, std::move(status));
  };
  for (const auto& entry : pre_enqueue_) {
    if (entry.name != first) continue;
    if (Status status = ask(entry); !status.is_success()) return status;
  }
  for (const auto& entry : pre_enqueue_) {
    if (entry.name == first) continue;
    if (Status status = ask(entry); !status.is_success()) return status;
  }
  return {};
}

bool Framework::less(const QueuedPod& a, const QueuedPod& b) const { return queue_sort_.front().plugin->less(a, b); }

const std::vector<EventWithHint>& Framework::events_of(std::string_view plugin) const {
  static const std::vector<EventWithHint> kNone;
  auto found = events_.find(plugin);
  return found == events_.end() ? kNone : found->second;
}

bool Framework::is_of_interest(const ClusterEvent& event) const {
  return std::any_of(events_.begin(), events_.end(), [&event](const auto& plugin) {
    return std::any_of(plugin.second.begin(), plugin.second.end(),
                       [&event](const EventWithHint& asked) { return asked.event.matches(event); });
  });
}

Status Framework::pre_filter(CycleState& state, const Pod& pod, const Snapshot& snapshot,
                             PreFilterResult& result) const {
  state.skip_filter.reset();
  Status rejection;
  for (const auto& entry : pre_filter_) {
    PreFilterResult mine;
    Status status =
        measured(state, entry, "PreFilter", [&] { return entry.plugin->pre_filter(state, pod, snapshot, mine); });
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
  for (const auto& entry : filter_) {
    if (state.skip_filter.test(entry.number)) continue;
    Status status = measured(state, entry, "Filter", [&] { return entry.plugin->filter(state, pod, node); });
    if (status.is_success()) continue;
    if (!status.is_rejected()) return fault("running \"" + entry.name + "\" filter plugin", entry.name, status);
    return std::move(status).with_plugin(entry.name);
  }
  return {};
}

Status Framework::run_add_pod(CycleState& state, const Pod& pod, const Pod& added, const NodeInfo& node) const {
  for (const auto& entry : pre_filter_) {
    if (state.skip_filter.test(entry.number)) continue;
    Status status = measured(state, entry, "PreFilterExtensionAddPod",
                             [&] { return entry.plugin->add_pod(state, pod, added, node); });
    if (!status.is_success()) return fault(running("AddPod on PreFilter", entry.name), entry.name, status);
  }
  return {};
}

Status Framework::run_remove_pod(CycleState& state, const Pod& pod, const Pod& removed, const NodeInfo& node) const {
  for (const auto& entry : pre_filter_) {
    if (state.skip_filter.test(entry.number)) continue;
    Status status = measured(state, entry, "PreFilterExtensionRemovePod",
                             [&] { return entry.plugin->remove_pod(state, pod, removed, node); });
    if (!status.is_success()) return fault(running("RemovePod on PreFilter", entry.name), entry.name, status);
  }
  return {};
}

Status Framework::run_filter_with_nominated(CycleState& state, const Pod& pod, const NodeInfo& node,
                                            const Nominator& nominator) const {
  std::vector<std::shared_ptr<const Pod>> expected;
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

Status Framework::post_filter(CycleState& state, const Pod& pod, const NodeStatuses& node_statuses,
                              PostFilterResult& result) const {
  Status rejection(Code::unschedulable, std::vector<std::string>{});
  for (const auto& entry : post_filter_) {
    PostFilterResult mine;
    Status status = measured(state, entry, "PostFilter",
                             [&] { return entry.plugin->post_filter(*this, state, pod, node_statuses, mine); });
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
  for (const auto& entry : pre_score_) {
    Status status = measured(state, entry, "PreScore", [&] { return entry.plugin->pre_score(state, pod, feasible); });
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
                              const std::vector<const Named<ScorePlugin>*>& plugins,
                              std::vector<PluginScores>& per_plugin) const {
  for (const auto& node : feasible) {
    for (std::size_t i = 0; i < plugins.size(); ++i) {
      std::int64_t score = 0;
      const Status status =
          measured(state, *plugins[i], "Score", [&] { return plugins[i]->plugin->score(state, pod, *node, score); });
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
  std::vector<const Named<ScorePlugin>*> plugins;
  per_plugin.clear();
  for (const auto& entry : score_) {
    if (state.skip_score.test(entry.number)) continue;
    plugins.push_back(&entry);
    per_plugin.push_back({entry.name, entry.weight, {}});
  }
  if (Status status = score_nodes(state, pod, feasible, plugins, per_plugin); !status.is_success()) return status;
  for (std::size_t i = 0; i < plugins.size(); ++i) {
    if (plugins[i]->normalizing == nullptr) continue;
    const Text& name = plugins[i]->name;
    const Status status = measured(state, *plugins[i], "ScoreExtensionNormalize", [&] {
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

Status Framework::reserve(CycleState& state, const Pod& pod, const std::string& node) const {
  for (const auto& entry : reserve_) {
    Status status = measured(state, entry, "Reserve", [&] { return entry.plugin->reserve(state, pod, node); });
    if (!status.is_success()) return rejected_or_fault("Reserve", entry.name, std::move(status));
  }
  return {};
}

void Framework::unreserve(CycleState& state, const Pod& pod, const std::string& node) const {
  for (auto entry = reserve_.rbegin(); entry != reserve_.rend(); ++entry) entry->plugin->unreserve(state, pod, node);
}

void Framework::run_restore(CycleState& state, const Pod& pod, const std::string& node,
                            const std::vector<BoundVolume>& bound_volumes) const {
  for (const auto& entry : reserve_) entry.plugin->restore(state, pod, node, bound_volumes);
}

Status Framework::permit(CycleState& state, const Pod& pod, const std::string& node,
                         std::map<std::string, Millis>& timeouts) const {
  timeouts.clear();
  for (const auto& entry : permit_) {
    Millis timeout = 0;
    Status status = measured(state, entry, "Permit", [&] { return entry.plugin->permit(state, pod, node, timeout); });
    if (status.is_wait()) {
      timeouts[entry.name] = std::clamp<Millis>(timeout, 0, kPermitTimeoutMax);
    } else if (!status.is_success()) {
      timeouts.clear();
      return rejected_or_fault("Permit", entry.name, std::move(status));
    }
  }
  if (timeouts.empty()) return {};
  return {Code::wait, "one or more plugins asked to wait and no plugin rejected pod \"" + pod.metadata.key() + "\""};
}

Status Framework::run_pre_bind_pre_flight(CycleState& state, const Pod& pod, const std::string& node) const {
  state.skip_pre_bind.reset();
  for (const auto& entry : pre_bind_) {
    Status status = entry.plugin->pre_bind_pre_flight(state, pod, node);
    if (status.is_skip()) {
      state.skip_pre_bind.set(entry.number);
    } else if (status.code() == Code::error) {
      return fault("running PreBindPreFlight \"" + entry.name + "\"", entry.name, status);
    } else if (!status.is_success()) {
      return Status::error("PreBindPreFlight " + entry.name + " returned \"" + std::string(to_string(status.code())) +
                           "\", which is unsupported. It is supposed to return Success, Skip, or Error status")
          .with_plugin(entry.name);
    }
  }
  return state.skip_pre_bind.count() == pre_bind_.size() ? Status::skip() : Status();
}

Status Framework::pre_bind(CycleState& state, const Pod& pod, const std::string& node,
                           PlacementRequest& request) const {
  for (const auto& entry : pre_bind_) {
    if (state.skip_pre_bind.test(entry.number)) continue;
    Status status =
        measured(state, entry, "PreBind", [&] { return entry.plugin->pre_bind(state, pod, node, request); });
    if (!status.is_success()) return rejected_or_fault("PreBind", entry.name, std::move(status));
    if (!request.provision.empty()) return {};
  }
  return {};
}

Status Framework::bind(CycleState& state, const Pod& pod, const std::string& node) const {
  for (const auto& entry : bind_) {
    Status status = measured(state, entry, "Bind", [&] { return entry.plugin->bind(state, pod, node); });
    if (status.is_skip()) continue;
    if (!status.is_success()) return rejected_or_fault("Bind", entry.name, std::move(status));
    return std::move(status).with_plugin(entry.name);
  }
  return Status::skip();
}

void Framework::post_bind(CycleState& state, const Pod& pod, const std::string& node) const {
  for (const auto& entry : post_bind_) entry.plugin->post_bind(state, pod, node);
}

}  // namespace berth
