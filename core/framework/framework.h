// Framework: the plugins of one profile, and the runner that calls each point in order with each status's consequence
// (kube-scheduler framework/runtime/framework.go). Registry: plugin names to makers.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/framework/plugin.h"

namespace berth {

class VolumeLister;

// What plugins may look at besides their arguments. Outlives the plugins.
class Handle {
 public:
  virtual ~Handle() = default;
  virtual const Clock& clock() const = 0;
  virtual const Snapshot& snapshot() const = 0;
  virtual const VolumeLister& volumes() const = 0;
  // Reasons kept for a person: "insufficient memory on n1: 64Mi asked, 40Mi free". May be ignored.
};

// Volume objects by key; null when there is none.
class VolumeLister {
 public:
  virtual ~VolumeLister() = default;
  virtual std::shared_ptr<const PersistentVolumeClaim> claim(const std::string& key) const = 0;
  virtual std::shared_ptr<const PersistentVolume> volume(const std::string& name) const = 0;
  virtual std::shared_ptr<const StorageClass> storage_class(const std::string& name) const = 0;
  // All volumes of a class, by name.
  virtual std::vector<std::shared_ptr<const PersistentVolume>> volumes_of_class(const std::string& name) const = 0;
};

using PluginMaker = std::function<Result<std::unique_ptr<Plugin>>(const Json& args, Handle& handle)>;

class Registry {
 public:
  // Error when the name is taken.
  Status add(std::string_view name, PluginMaker maker);
  Status merge(const Registry& other);
  const PluginMaker* find(std::string_view name) const;
  std::vector<std::string> names() const;

 private:
  std::map<std::string, PluginMaker, std::less<>> makers_;
};

struct ProfilePlugin {
  std::string name;
  std::int64_t weight = 1;  // at Score
  Json args;                // null: defaults
};

struct Profile {
  std::string scheduler_name = "default-scheduler";
  std::vector<ProfilePlugin> plugins;  // in order; each takes part at every point it implements
};

class Framework {
 public:
  static Result<std::unique_ptr<Framework>> make(const Registry& registry, const Profile& profile, Handle& handle);

  const std::string& scheduler_name() const;
  // Each returned status carries the deciding plugin's name.
  Status run_pre_enqueue(const Pod& pod) const;
  bool less(const QueuedPod& a, const QueuedPod& b) const;
  // Events of one plugin; plugins without EnqueueExtensions give the wildcard.
  const std::vector<EventWithHint>& events_of(std::string_view plugin) const;

  Status run_pre_filter(CycleState& state, const Pod& pod, const Snapshot& snapshot, PreFilterResult& result) const;
  Status run_filter(CycleState& state, const Pod& pod, const NodeInfo& node) const;
  Status run_post_filter(CycleState& state, const Pod& pod, const std::map<std::string, Status>& node_statuses,
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
  Status run_reserve(CycleState& state, const Pod& pod, const std::string& node) const;  // does not undo
  void run_unreserve(CycleState& state, const Pod& pod, const std::string& node) const;  // reverse, all
  // Wait: `timeouts` holds one entry per waiting plugin, each at most 15 minutes.
  Status run_permit(CycleState& state, const Pod& pod, const std::string& node,
                    std::map<std::string, Millis>& timeouts) const;
  Status run_pre_bind_pre_flight(CycleState& state, const Pod& pod, const std::string& node) const;
  Status run_pre_bind(CycleState& state, const Pod& pod, const std::string& node, BindRequest& request) const;
  Status run_bind(CycleState& state, const Pod& pod, const std::string& node) const;
  void run_post_bind(CycleState& state, const Pod& pod, const std::string& node) const;
};

}  // namespace berth
