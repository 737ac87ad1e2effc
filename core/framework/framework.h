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

#include "core/framework/lister.h"
#include "core/framework/nominator.h"
#include "core/framework/plugin.h"
#include "core/framework/profile.h"
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

 private:
  WaitingPods waiting_pods_;
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
  // Creates each plugin once, at most kPluginsMax, and adds it to its points. An error starts with the configuration
  // path of the faulty entry, if the profile has one.
  static Result<std::unique_ptr<Framework>> make(const Registry& registry, const Profile& profile, Handle& handle);

  const std::string& scheduler_name() const;
  bool has_filter() const { return !filter_.empty(); }
  bool has_post_filter() const { return !post_filter_.empty(); }
  bool has_score() const { return !score_.empty(); }
  // The effective profile: every point with exactly its plugins and weights, arguments with all defaults. A framework
  // made from it is identical.
  const Profile& completed() const { return completed_; }
  // Each returned status carries the name of the plugin that decided. `first` (the plugin that last gated the pod) is
  // called before the others.
  Status run_pre_enqueue(const Pod& pod, std::string_view first = {}) const;
  bool less(const QueuedPod& a, const QueuedPod& b) const;
  // The events registered by a plugin; the wildcard for plugins without EnqueueExtensions, none for unknown ones.
  // Node/Add implies UpdateNodeTaint, as upstream.
  const std::vector<EventWithHint>& events_of(std::string_view plugin) const;
  // True when some plugin registered an event that matches `event`.
  bool is_of_interest(const ClusterEvent& event) const;

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
  struct Named {
    Text name;
    T* plugin = nullptr;
    std::size_t number = 0;  // the same at each point
    std::int64_t weight = 1;
    Counter* evaluations = nullptr;  // null: not counted
    // The same plugin; null: does not implement it.
    NormalizeScorePlugin* normalizing = nullptr;
    SummingPlugin* summing = nullptr;
    TrackingPlugin* tracking = nullptr;
    BatchFilterPlugin* batch_filter = nullptr;
    BatchScorePlugin* batch_score = nullptr;
    void count(std::size_t calls = 1) const {
      if (evaluations != nullptr) evaluations->add(calls);
    }
  };
  const std::vector<Named<PreFilterPlugin>>& pre_filters() const { return pre_filter_; }
  const std::vector<Named<FilterPlugin>>& filters() const { return filter_; }
  const std::vector<Named<PreScorePlugin>>& pre_scores() const { return pre_score_; }
  const std::vector<Named<ScorePlugin>>& scores() const { return score_; }
  // The summing plugins at PreFilter or PreScore, each once.
  const std::vector<SummingPlugin*>& summing() const { return summing_; }
  Status run_as(std::string_view point, const std::function<Status()>& run) const;
  // For explanations; not part of a scheduling decision (framework_explain.cc).
  struct Verdict {
    Status status;                                    // carries the plugin's name, on success too
    std::optional<std::set<std::string>> node_names;  // the nodes that PreFilter allows; none: all
  };
  // The result of every PreFilter plugin, without stopping at the first rejection; plugins that skip are left out. The
  // Filter of a plugin that skipped, rejected or failed is skipped afterwards.
  std::vector<Verdict> ask_every_pre_filter(CycleState& state, const Pod& pod, const Snapshot& snapshot) const;
  // The result of every Filter plugin for the node, in order; skipped plugins are left out.
  std::vector<Status> ask_every_filter(CycleState& state, const Pod& pod, const NodeInfo& node) const;
  // The score that each plugin gives the node before normalization, by plugin; failed ones are left out.
  std::map<std::string, std::int64_t> raw_scores(CycleState& state, const Pod& pod, const NodeInfo& node) const;

  Status run_reserve(CycleState& state, const Pod& pod, const std::string& node) const;  // does not roll back
  void run_unreserve(CycleState& state, const Pod& pod,
                     const std::string& node) const;  // all plugins, in reverse order
  void run_restore(CycleState& state, const Pod& pod, const std::string& node,
                   const std::vector<BoundVolume>& bound_volumes) const;
  // On Wait, `timeouts` has one entry per plugin that waits, each at most 15 minutes.
  Status run_permit(CycleState& state, const Pod& pod, const std::string& node,
                    std::map<std::string, Millis>& timeouts) const;
  // Skip when every PreBind plugin skipped.
  Status run_pre_bind_pre_flight(CycleState& state, const Pod& pod, const std::string& node) const;
  Status run_pre_bind(CycleState& state, const Pod& pod, const std::string& node, PlacementRequest& request) const;
  // Skip when every plugin skipped.
  Status run_bind(CycleState& state, const Pod& pod, const std::string& node) const;
  void run_post_bind(CycleState& state, const Pod& pod, const std::string& node) const;

 private:
  Framework() = default;
  Status make_plugins(const Registry& registry, const Profile& profile, Handle& handle);
  void complete_args(const Profile& profile, const std::string& name, const Plugin& plugin);
  Status add_to_points(const Profile& profile);
  template <class T>
  Status add_to_point(const Profile& profile, Point point, std::vector<Named<T>>& list);
  Status check_points() const;
  Counter* evaluations_of(const std::string& plugin, Point point) const;

  // framework_timed.cc: each run_ function calls one of these and records its duration.
  template <class Run>
  Status timed(std::string_view point, Run run) const;
  Status pre_enqueue(const Pod& pod, std::string_view first) const;
  Status pre_filter(CycleState& state, const Pod& pod, const Snapshot& snapshot, PreFilterResult& result) const;
  Status post_filter(CycleState& state, const Pod& pod, const NodeStatuses& node_statuses,
                     PostFilterResult& result) const;
  Status pre_score(CycleState& state, const Pod& pod,
                   const std::vector<std::shared_ptr<const NodeInfo>>& feasible) const;
  Status score(CycleState& state, const Pod& pod, const std::vector<std::shared_ptr<const NodeInfo>>& feasible,
               std::vector<PluginScores>& per_plugin, std::vector<NodeScore>& totals) const;
  Status reserve(CycleState& state, const Pod& pod, const std::string& node) const;
  void unreserve(CycleState& state, const Pod& pod, const std::string& node) const;
  Status permit(CycleState& state, const Pod& pod, const std::string& node,
                std::map<std::string, Millis>& timeouts) const;
  Status pre_bind(CycleState& state, const Pod& pod, const std::string& node, PlacementRequest& request) const;
  Status bind(CycleState& state, const Pod& pod, const std::string& node) const;
  void post_bind(CycleState& state, const Pod& pod, const std::string& node) const;
  template <class T, class Call>
  Status measured(const CycleState& state, const Named<T>& entry, std::string_view point, Call call) const;

  void register_events(const std::string& name, Plugin& plugin);
  Status score_nodes(CycleState& state, const Pod& pod, const std::vector<std::shared_ptr<const NodeInfo>>& feasible,
                     const std::vector<const Named<ScorePlugin>*>& plugins,
                     std::vector<PluginScores>& per_plugin) const;

  std::string scheduler_name_;
  const Clock* clock_ = nullptr;
  Metrics* metrics_ = nullptr;
  Profile completed_;
  std::map<std::string, std::unique_ptr<Plugin>, std::less<>> plugins_;
  std::vector<Named<PreEnqueuePlugin>> pre_enqueue_;
  std::vector<Named<QueueSortPlugin>> queue_sort_;
  std::vector<Named<PreFilterPlugin>> pre_filter_;
  std::vector<Named<FilterPlugin>> filter_;
  std::vector<Named<PostFilterPlugin>> post_filter_;
  std::vector<Named<PreScorePlugin>> pre_score_;
  std::vector<Named<ScorePlugin>> score_;
  std::vector<Named<ReservePlugin>> reserve_;
  std::vector<Named<PermitPlugin>> permit_;
  std::vector<Named<PreBindPlugin>> pre_bind_;
  std::vector<Named<BindPlugin>> bind_;
  std::vector<Named<PostBindPlugin>> post_bind_;
  std::vector<SummingPlugin*> summing_;
  std::map<std::string, std::vector<EventWithHint>, std::less<>> events_;
};

}  // namespace berth
