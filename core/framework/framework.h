// Framework: the plugins of one profile, and the runner that calls the extension points and handles the statuses that
// plugins return (kube-scheduler framework/runtime/framework.go). Registry: plugin factories by name.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/framework/binding_points.h"
#include "core/framework/exhaustive_run.h"
#include "core/framework/lister.h"
#include "core/framework/nominator.h"
#include "core/framework/plugin.h"
#include "core/framework/plugin_events.h"
#include "core/framework/point_plugins.h"
#include "core/framework/profile.h"
#include "core/framework/refusals.h"
#include "core/framework/run_recorder.h"
#include "core/framework/waiting_pods.h"
#include "core/metrics.h"

namespace berth {

// What plugins may access besides their arguments. Must outlive the plugins.
class Binder {
 public:
  virtual ~Binder() = default;
  // Whether the placement may be bound; an error gives the reason. The pod is bound by its device's answer.
  virtual Status bind(const Pod& /*pod*/, const std::string& /*node*/) { return {}; }
};

class Handle {
 public:
  virtual ~Handle() = default;
  virtual const Clock& clock() const = 0;
  virtual const Snapshot& snapshot() const = 0;
  virtual const Lister& lister() const = 0;
  virtual const Nominator& nominator() const = 0;
  // Null: plugin calls are not counted.
  virtual Metrics* metrics() { return nullptr; }
  // Uniform in [0, bound) from the scheduler's seed, bound > 0: for choices that upstream makes at random. 0 when there
  // is no random source.
  virtual std::uint64_t draw(std::uint64_t /*bound*/) { return 0; }
  // For DefaultBinder. Unless overridden, every placement may be bound.
  virtual Binder& binder() { return default_binder_; }
  // Pods waiting at Permit, in all profiles: to list, allow and reject.
  WaitingPods& waiting_pods() { return waiting_pods_; }
  const WaitingPods& waiting_pods() const { return waiting_pods_; }
  // What devices have refused, in all profiles.
  Refusals& refusals() { return refusals_; }
  const Refusals& refusals() const { return refusals_; }

 private:
  WaitingPods waiting_pods_;
  Refusals refusals_;
  Binder default_binder_;
};

using PluginMaker = std::function<Result<std::unique_ptr<Plugin>>(const Json& args, Handle& handle)>;

class Registry {
 public:
  // Fails when the name is already registered.
  Status add(std::string_view name, PluginMaker maker);
  Status merge(const Registry& other);
  const PluginMaker* find(std::string_view name) const;
  std::vector<std::string> names() const;
  // The error text for an unknown name; lists the registered ones.
  std::string not_known(std::string_view name) const;

 private:
  std::map<std::string, PluginMaker, std::less<>> makers_;
};

class Framework {
 public:
  // What a FrameworkBuilder has made and validated.
  struct Parts {
    Profile completed;
    std::map<std::string, std::unique_ptr<Plugin>, std::less<>> plugins;
    PointPlugins points;
    BindingPlugins binding;
    PluginEvents events;
    RunRecorder recorder;
  };
  explicit Framework(Parts parts);
  // Creates each plugin once, at most kPluginsMax, and adds it to its points. An error starts with the configuration
  // path of the faulty entry, if the profile has one.
  static Result<std::unique_ptr<Framework>> make(const Registry& registry, const Profile& profile, Handle& handle);

  const std::string& scheduler_name() const { return completed_.scheduler_name; }
  bool has_filter() const { return !plugins_.filter.empty(); }
  bool has_post_filter() const { return !plugins_.post_filter.empty(); }
  // Of a PostFilter plugin: PostFilterPlugin::reads_state().
  bool post_filter_reads_state(const Pod& pod) const;
  bool has_score() const { return !plugins_.score.empty(); }
  // The effective profile: every point with exactly its plugins and weights, arguments with all defaults. A framework
  // made from it is identical.
  const Profile& completed() const { return completed_; }
  // Each returned status carries the name of the plugin that decided. `first` (the plugin that last gated the pod) is
  // called before the others.
  Status run_pre_enqueue(const Pod& pod, std::string_view first = {}) const;
  bool less(const QueuedPod& a, const QueuedPod& b) const;
  // See PluginEvents.
  const std::vector<EventWithHint>& events_of(std::string_view plugin) const { return events_.of(plugin); }
  bool is_of_interest(const ClusterEvent& event) const { return events_.is_of_interest(event); }

  Status run_pre_filter(CycleState& state, const Pod& pod, const Snapshot& snapshot, PreFilterResult& result) const;
  Status run_filter(CycleState& state, const Pod& pod, const NodeInfo& node) const;
  // Runs `over_all_nodes` and records its duration as that of Filter.
  Status run_filters(const std::function<Status()>& over_all_nodes) const;
  // Runs Filter with the pods nominated to the node that have at least this pod's priority added to it and, if that
  // passes, again without them, since they may never arrive (runtime/framework.go RunFilterPluginsWithNominatedPods).
  // `state` and `node` are unchanged.
  Status run_filter_with_nominated(CycleState& state, const Pod& pod, const NodeInfo& node,
                                   const Nominator& nominator) const;
  // Notify the PreFilter plugins that did not skip of a pod added to, or removed from, a trial copy of the node.
  Status run_add_pod(CycleState& state, const Pod& pod, const Pod& added, const NodeInfo& node) const;
  Status run_remove_pod(CycleState& state, const Pod& pod, const Pod& removed, const NodeInfo& node) const;
  Status run_post_filter(CycleState& state, const Pod& pod, const NodeStatuses& node_statuses,
                         PostFilterResult& result) const;
  Status run_pre_score(CycleState& state, const Pod& pod,
                       const std::vector<std::shared_ptr<const NodeInfo>>& feasible) const;
  struct PluginScores {
    std::string plugin;
    std::int64_t weight = 1;
    std::vector<NodeScore> scores;  // normalized, not weighted; in the order of the feasible nodes
  };
  Status run_score(CycleState& state, const Pod& pod, const std::vector<std::shared_ptr<const NodeInfo>>& feasible,
                   std::vector<PluginScores>& per_plugin, std::vector<NodeScore>& totals) const;
  // The plugins of a point, in order, for code that caches their results (NodeEvaluator) and calls them
  // itself, timed by run_as() as the point.
  template <class T>
  using Named = PointPlugin<T>;
  const PluginList<PreFilterPlugin>& pre_filters() const { return plugins_.pre_filter; }
  const PluginList<FilterPlugin>& filters() const { return plugins_.filter; }
  const PluginList<PreScorePlugin>& pre_scores() const { return plugins_.pre_score; }
  const PluginList<ScorePlugin>& scores() const { return plugins_.score; }
  const std::vector<SummingPlugin*>& summing() const { return plugins_.summing; }
  Status run_as(std::string_view point, const std::function<Status()>& run) const;
  // For explanations.
  ExhaustiveRun exhaustive_run() const { return ExhaustiveRun(plugins_); }

  // What follows the choice of a node.
  const BindingPoints& binding() const { return binding_; }

 private:
  // framework_timed.cc: each run_ function calls one of these and records its duration.
  Status pre_enqueue(const Pod& pod, std::string_view first) const;
  Status pre_filter(CycleState& state, const Pod& pod, const Snapshot& snapshot, PreFilterResult& result) const;
  Status post_filter(CycleState& state, const Pod& pod, const NodeStatuses& node_statuses,
                     PostFilterResult& result) const;
  Status pre_score(CycleState& state, const Pod& pod,
                   const std::vector<std::shared_ptr<const NodeInfo>>& feasible) const;
  Status score(CycleState& state, const Pod& pod, const std::vector<std::shared_ptr<const NodeInfo>>& feasible,
               std::vector<PluginScores>& per_plugin, std::vector<NodeScore>& totals) const;
  Status score_nodes(CycleState& state, const Pod& pod, const std::vector<std::shared_ptr<const NodeInfo>>& feasible,
                     const std::vector<const PointPlugin<ScorePlugin>*>& plugins,
                     std::vector<PluginScores>& per_plugin) const;

  Profile completed_;
  std::map<std::string, std::unique_ptr<Plugin>, std::less<>> owned_;  // by name
  PointPlugins plugins_;
  PluginEvents events_;
  RunRecorder recorder_;
  BindingPoints binding_;
};

}  // namespace berth
