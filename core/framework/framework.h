// Framework: the plugins of one profile, and the runner that calls each point in order with each status's consequence
// (kube-scheduler framework/runtime/framework.go). Registry: plugin names to makers.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/framework/nominator.h"
#include "core/framework/plugin.h"
#include "core/framework/profile.h"
#include "core/framework/waiting_pods.h"
#include "core/metrics.h"

namespace berth {

// The objects that plugins look at; null or empty when there is none. What no object was given for stays empty.
class Lister {
 public:
  virtual ~Lister() = default;
  virtual std::shared_ptr<const PersistentVolumeClaim> claim(const std::string& key) const = 0;
  virtual std::shared_ptr<const PersistentVolume> volume(const std::string& name) const = 0;
  virtual std::shared_ptr<const StorageClass> storage_class(const std::string& name) const = 0;
  // All volumes of a class, by name.
  virtual std::vector<std::shared_ptr<const PersistentVolume>> volumes_of_class(const std::string& name) const = 0;
  // Another number after each change of a volume; 0: nobody counts them.
  virtual std::uint64_t volumes_version() const { return 0; }
  virtual std::shared_ptr<const CsiNode> csi_node(const std::string& /*node*/) const { return nullptr; }
  // False: csi_node() has none for any node.
  virtual bool has_csi_nodes() const { return true; }
  virtual std::shared_ptr<const CsiDriver> csi_driver(const std::string& /*name*/) const { return nullptr; }
  virtual std::vector<std::shared_ptr<const CsiStorageCapacity>> csi_storage_capacities() const { return {}; }
  // A namespace without an object has no labels.
  virtual std::shared_ptr<const Namespace> name_space(std::string_view /*name*/) const { return nullptr; }
  virtual std::vector<std::shared_ptr<const Service>> services(std::string_view /*name_space*/) const { return {}; }
  virtual std::vector<std::shared_ptr<const PodDisruptionBudget>> disruption_budgets() const { return {}; }
};

// What plugins may look at and ask for besides their arguments. Outlives the plugins.
class Handle {
 public:
  virtual ~Handle() = default;
  virtual const Clock& clock() const = 0;
  virtual const Snapshot& snapshot() const = 0;
  virtual const Lister& lister() const = 0;
  virtual const Nominator& nominator() const = 0;
  // Where calls of plugins are counted; null: nowhere.
  virtual Metrics* metrics() { return nullptr; }
  // Uniform in [0, bound) from the scheduler's seed, bound > 0: for choices that upstream leaves to chance. Without a
  // source of chance it answers 0, the first.
  virtual std::uint64_t draw(std::uint64_t /*bound*/) { return 0; }
  // DefaultBinder's question: may the placement become a binding? An error says why not.
  virtual Status bind(const Pod& /*pod*/, const std::string& /*node*/) { return {}; }
  // Pods held back at Permit, of every profile: to list, allow and reject.
  WaitingPods& waiting_pods() { return waiting_pods_; }
  const WaitingPods& waiting_pods() const { return waiting_pods_; }

 private:
  WaitingPods waiting_pods_;
};

using PluginMaker = std::function<Result<std::unique_ptr<Plugin>>(const Json& args, Handle& handle)>;

class Registry {
 public:
  // Error when the name is taken.
  Status add(std::string_view name, PluginMaker maker);
  Status merge(const Registry& other);
  const PluginMaker* find(std::string_view name) const;
  std::vector<std::string> names() const;
  // What to say of a name that is not there: names those that are.
  std::string not_known(std::string_view name) const;

 private:
  std::map<std::string, PluginMaker, std::less<>> makers_;
};

class Framework {
 public:
  // Makes each plugin once, at most kPluginsMax, and lists it at its points. An error begins with the path that the
  // profile gives to what is wrong, if any.
  static Result<std::unique_ptr<Framework>> make(const Registry& registry, const Profile& profile, Handle& handle);

  const std::string& scheduler_name() const;
  bool has_filter() const { return !filter_.empty(); }
  bool has_post_filter() const { return !post_filter_.empty(); }
  bool has_score() const { return !score_.empty(); }
  // The profile as it runs: every point with exactly its plugins and weights, arguments with all defaults. To make one
  // from it gives the same again.
  const Profile& completed() const { return completed_; }
  // Each returned status carries the deciding plugin's name. `first` (the plugin that gated the pod last) is asked
  // before the others.
  Status run_pre_enqueue(const Pod& pod, std::string_view first = {}) const;
  bool less(const QueuedPod& a, const QueuedPod& b) const;
  // Events of one plugin; plugins without EnqueueExtensions give the wildcard, unknown ones none. Who asks for Node/Add
  // also gets UpdateNodeTaint, as upstream.
  const std::vector<EventWithHint>& events_of(std::string_view plugin) const;
  // True when some plugin registered an event that `event` matches.
  bool is_of_interest(const ClusterEvent& event) const;

  Status run_pre_filter(CycleState& state, const Pod& pod, const Snapshot& snapshot, PreFilterResult& result) const;
  Status run_filter(CycleState& state, const Pod& pod, const NodeInfo& node) const;
  // Runs Filter over all nodes; its duration is that of the point.
  Status run_filters(const std::function<Status()>& over_all_nodes) const;
  // Filter as if the pods nominated to the node with at least this pod's priority ran there and, when that passes,
  // again without them: they may never come (runtime/framework.go RunFilterPluginsWithNominatedPods). `state` and
  // `node` are left as they were.
  Status run_filter_with_nominated(CycleState& state, const Pod& pod, const NodeInfo& node,
                                   const Nominator& nominator) const;
  // Tell the PreFilter plugins that were not skipped of a pod put on, or taken from, a trial copy of the node.
  Status run_add_pod(CycleState& state, const Pod& pod, const Pod& added, const NodeInfo& node) const;
  Status run_remove_pod(CycleState& state, const Pod& pod, const Pod& removed, const NodeInfo& node) const;
  Status run_post_filter(CycleState& state, const Pod& pod, const NodeStatuses& node_statuses,
                         PostFilterResult& result) const;
  Status run_pre_score(CycleState& state, const Pod& pod,
                       const std::vector<std::shared_ptr<const NodeInfo>>& feasible) const;
  struct PluginScores {
    std::string plugin;
    std::int64_t weight = 1;
    std::vector<NodeScore> scores;  // normalized, before the weight; in the order of the feasible nodes
  };
  Status run_score(CycleState& state, const Pod& pod, const std::vector<std::shared_ptr<const NodeInfo>>& feasible,
                   std::vector<PluginScores>& per_plugin, std::vector<NodeScore>& totals) const;
  // The plugins themselves, in order, for who keeps their answers (scheduler/class_view.h); its runs are timed as those
  // of the point.
  template <class T>
  struct Named {
    Text name;
    T* plugin = nullptr;
    std::size_t number = 0;  // the same at each point
    std::int64_t weight = 1;
    Counter* evaluations = nullptr;    // null: not counted
    SummingPlugin* summing = nullptr;  // the same plugin; null: it is none
    TrackingPlugin* tracking = nullptr;
    void count(std::size_t calls = 1) const {
      if (evaluations != nullptr) evaluations->add(calls);
    }
  };
  const std::vector<Named<PreFilterPlugin>>& pre_filters() const { return pre_filter_; }
  const std::vector<Named<FilterPlugin>>& filters() const { return filter_; }
  const std::vector<Named<PreScorePlugin>>& pre_scores() const { return pre_score_; }
  const std::vector<Named<ScorePlugin>>& scores() const { return score_; }
  // Those that take part at PreFilter or PreScore, each once.
  const std::vector<SummingPlugin*>& summing() const { return summing_; }
  Status run_as(std::string_view point, const std::function<Status()>& run) const;
  // For explanations, beside the road of a decision (framework_explain.cc).
  struct Verdict {
    Status status;                                    // with the plugin's name, on success too
    std::optional<std::set<std::string>> node_names;  // PreFilter narrowed to these; none: all nodes
  };
  // Every PreFilter plugin's own answer, none ending the round; those that skipped are left out, and so is the Filter
  // of whoever rejected or broke.
  std::vector<Verdict> ask_every_pre_filter(CycleState& state, const Pod& pod, const Snapshot& snapshot) const;
  // Every Filter plugin's own answer about the node, in order; those that skipped are left out.
  std::vector<Status> ask_every_filter(CycleState& state, const Pod& pod, const NodeInfo& node) const;
  // What each plugin of run_score() answers for the node before normalization, by plugin; one that fails is left out.
  std::map<std::string, std::int64_t> raw_scores(CycleState& state, const Pod& pod, const NodeInfo& node) const;

  Status run_reserve(CycleState& state, const Pod& pod, const std::string& node) const;  // does not undo
  void run_unreserve(CycleState& state, const Pod& pod, const std::string& node) const;  // reverse, all
  void run_restore(CycleState& state, const Pod& pod, const std::string& node,
                   const std::vector<BoundVolume>& bound_volumes) const;
  // Wait: `timeouts` holds one entry per waiting plugin, each at most 15 minutes.
  Status run_permit(CycleState& state, const Pod& pod, const std::string& node,
                    std::map<std::string, Millis>& timeouts) const;
  // Skip when no PreBind plugin will do anything.
  Status run_pre_bind_pre_flight(CycleState& state, const Pod& pod, const std::string& node) const;
  Status run_pre_bind(CycleState& state, const Pod& pod, const std::string& node, PlacementRequest& request) const;
  // Skip when every plugin skipped.
  Status run_bind(CycleState& state, const Pod& pod, const std::string& node) const;
  void run_post_bind(CycleState& state, const Pod& pod, const std::string& node) const;

 private:
  Framework() = default;
  Status make_plugins(const Registry& registry, const Profile& profile, Handle& handle);
  void complete_args(const Profile& profile, const std::string& name, const Plugin& plugin);
  Status place_all(const Profile& profile);
  template <class T>
  Status place(const Profile& profile, Point point, std::vector<Named<T>>& list);
  Status check_points() const;
  Counter* evaluations_of(const std::string& plugin, Point point) const;

  // framework_timed.cc: each run_ function is one of these, measured.
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
