// Helpers for tests of cache, queue, framework and plugins: create objects, a clock set by the test, volume objects in
// maps, and a scripted plugin.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/api/node.h"
#include "core/api/pod.h"
#include "core/api/volume.h"
#include "core/cache/cache.h"
#include "core/check.h"
#include "core/framework/framework.h"

namespace berth {

inline Quantity quantity(std::string_view text) {
  Result<Quantity> parsed = Quantity::parse(text);
  CHECK(parsed.has_value());
  return *parsed;
}

inline ResourceList resources(std::initializer_list<std::pair<std::string, std::string>> entries) {
  ResourceList list;
  for (const auto& [name, amount] : entries) list[name] = quantity(amount);
  return list;
}

inline Pod make_pod(const std::string& name, ResourceList requests = {}) {
  Pod pod;
  pod.metadata.name = name;
  pod.metadata.namespace_ = "default";
  pod.metadata.uid = "uid-" + name;
  Container container;
  container.name = "main";
  container.requests = std::move(requests);
  pod.spec.edit().containers.push_back(std::move(container));
  return pod;
}

inline PodPtr share(Pod pod) { return make_counted<const Pod>(std::move(pod)); }

inline Node make_node(const std::string& name, const std::string& cpu = "4", const std::string& memory = "4Gi",
                      const std::string& pods = "10") {
  Node node;
  node.metadata.name = name;
  node.metadata.labels["kubernetes.io/hostname"] = name;
  node.allocatable = resources({{"cpu", cpu}, {"memory", memory}, {"pods", pods}});
  return node;
}

inline std::shared_ptr<const Node> share(Node node) { return std::make_shared<const Node>(std::move(node)); }

inline NodeInfo info_of(Node node) {
  NodeInfo info;
  info.allocatable = to_resources(node.allocatable);
  info.node = share(std::move(node));
  return info;
}

class FakeClock final : public Clock {
 public:
  Millis now() const override { return now_ms; }
  Millis wall() const override { return 0; }
  Millis now_ms = 0;
};

class FakeVolumes final : public Lister {
 public:
  template <class T>
  static std::shared_ptr<const T> get(const std::map<std::string, T>& all, const std::string& key) {
    auto found = all.find(key);
    return found == all.end() ? nullptr : std::make_shared<const T>(found->second);
  }
  std::shared_ptr<const PersistentVolumeClaim> claim(const std::string& key) const override { return get(claims, key); }
  std::shared_ptr<const PersistentVolume> volume(const std::string& name) const override { return get(volumes, name); }
  std::shared_ptr<const StorageClass> storage_class(const std::string& name) const override {
    return get(classes, name);
  }
  std::vector<std::shared_ptr<const PersistentVolume>> volumes_of_class(const std::string& name) const override {
    std::vector<std::shared_ptr<const PersistentVolume>> found;
    for (const auto& [key, each] : volumes) {
      if (each.storage_class_name != name) continue;
      found.push_back(std::make_shared<const PersistentVolume>(each));
      given[key] = found.back();
    }
    return found;
  }
  std::shared_ptr<const CsiNode> csi_node(const std::string& node) const override { return get(csi_nodes, node); }
  std::shared_ptr<const CsiDriver> csi_driver(const std::string& name) const override { return get(csi_drivers, name); }
  std::vector<std::shared_ptr<const CsiStorageCapacity>> csi_storage_capacities() const override {
    std::vector<std::shared_ptr<const CsiStorageCapacity>> all;
    for (const CsiStorageCapacity& each : capacities) all.push_back(std::make_shared<const CsiStorageCapacity>(each));
    return all;
  }
  std::map<std::string, PersistentVolumeClaim> claims;
  std::map<std::string, PersistentVolume> volumes;
  std::map<std::string, StorageClass> classes;
  std::map<std::string, CsiNode> csi_nodes;
  std::map<std::string, CsiDriver> csi_drivers;
  std::vector<CsiStorageCapacity> capacities;
  mutable std::map<std::string, std::weak_ptr<const PersistentVolume>>
      given;  // returned last by volumes_of_class(), to check that they are released
};

class FakeHandle final : public Handle {
 public:
  const Clock& clock() const override { return clock_of_test; }
  const Snapshot& snapshot() const override { return snapshot_of_test; }
  const Lister& lister() const override { return volumes_of_test; }
  const Nominator& nominator() const override { return nominator_of_test; }
  FakeClock clock_of_test;
  Snapshot snapshot_of_test;
  FakeVolumes volumes_of_test;
  Nominator nominator_of_test;
};

// The script of a plugin that implements every point except QueueSort and events, and records its calls.
struct Script {
  std::map<std::string, Status> answers;  // by point; absent: success
  std::map<std::string, std::int64_t> scores;
  std::int64_t score = 0;
  Millis timeout = 1000;
  std::optional<std::set<std::string>> node_names;
  std::optional<std::string> nominated_node;
};

class ScriptedPlugin final : public PreEnqueuePlugin,
                             public PreFilterPlugin,
                             public FilterPlugin,
                             public PostFilterPlugin,
                             public PreScorePlugin,
                             public ScorePlugin,
                             public NormalizeScorePlugin,
                             public ReservePlugin,
                             public PermitPlugin,
                             public PreBindPlugin,
                             public BindPlugin,
                             public PostBindPlugin {
 public:
  using Nodes = std::vector<std::shared_ptr<const NodeInfo>>;
  ScriptedPlugin(std::string name, const Script& script, std::vector<std::string>& diary)
      : name_(std::move(name)), script_(script), diary_(diary) {}

  std::string_view name() const override { return name_; }
  Status pre_enqueue(const Pod&) override { return answer("PreEnqueue"); }
  Status pre_filter(CycleState&, const Pod&, const Snapshot&, PreFilterResult& result) override {
    result.node_names = script_.node_names;
    return answer("PreFilter");
  }
  Status filter(CycleState&, const Pod&, const NodeInfo& node) override {
    diary_.push_back(name_ + " Filter " + node.name());
    auto found = script_.answers.find("Filter " + node.name());
    return found == script_.answers.end() ? quiet("Filter") : found->second;
  }
  Status post_filter(const Framework&, CycleState&, const Pod&, const NodeStatuses&,
                     PostFilterResult& result) override {
    result.nominated_node = script_.nominated_node;
    return answer("PostFilter");
  }
  Status pre_score(CycleState&, const Pod&, const Nodes&) override { return answer("PreScore"); }
  Status score(CycleState&, const Pod&, const NodeInfo& node, std::int64_t& score) override {
    auto found = script_.scores.find(node.name());
    score = found == script_.scores.end() ? script_.score : found->second;
    return answer("Score");
  }
  Status normalize(CycleState&, const Pod&, std::vector<NodeScore>&) override { return quiet("Normalize"); }
  Status reserve(CycleState&, const Pod&, const std::string&) override { return answer("Reserve"); }
  void unreserve(CycleState&, const Pod&, const std::string&) override { diary_.push_back(name_ + " Unreserve"); }
  void restore(CycleState&, const Pod&, const std::string&, const std::vector<BoundVolume>& bound_volumes) override {
    diary_.push_back(name_ + " Restore " + std::to_string(bound_volumes.size()));
  }
  Status permit(CycleState&, const Pod&, const std::string&, Millis& timeout) override {
    timeout = script_.timeout;
    return answer("Permit");
  }
  Status pre_bind_pre_flight(CycleState&, const Pod&, const std::string&) override { return answer("PreFlight"); }
  Status pre_bind(CycleState&, const Pod&, const std::string&, PlacementRequest& request) override {
    request.volumes.push_back({"default/" + name_, "", ""});
    return answer("PreBind");
  }
  Status bind(CycleState&, const Pod&, const std::string&) override { return answer("Bind"); }
  void post_bind(CycleState&, const Pod&, const std::string&) override { diary_.push_back(name_ + " PostBind"); }

 private:
  Status quiet(const std::string& point) const {
    auto found = script_.answers.find(point);
    return found == script_.answers.end() ? Status() : found->second;
  }
  Status answer(const std::string& point) {
    diary_.push_back(name_ + " " + point);
    return quiet(point);
  }
  std::string name_;
  const Script& script_;
  std::vector<std::string>& diary_;
};

class ByPriority final : public QueueSortPlugin {
 public:
  std::string_view name() const override { return "ByPriority"; }
  bool less(const QueuedPod& a, const QueuedPod& b) const override {
    if (a.pod->priority != b.pod->priority) return a.pod->priority > b.pod->priority;
    return a.timestamp < b.timestamp;
  }
};

// A framework with scripted plugins "a" and "b" and a queue sort; they share scripts and the record of calls.
struct ScriptedFramework {
  explicit ScriptedFramework(const std::vector<std::string>& names = {"a", "b"}) {
    CHECK(registry
              .add("ByPriority",
                   [](const Json&, Handle&) { return Result<std::unique_ptr<Plugin>>(std::make_unique<ByPriority>()); })
              .is_success());
    profile.enable("ByPriority");
    for (const std::string& name : names) {
      CHECK(registry
                .add(name,
                     [this, name](const Json&, Handle&) {
                       return Result<std::unique_ptr<Plugin>>(
                           std::make_unique<ScriptedPlugin>(name, scripts[name], diary));
                     })
                .is_success());
      profile.enable(name);
    }
  }
  const Framework& get() {
    if (framework == nullptr) {
      Result<std::unique_ptr<Framework>> made = Framework::make(registry, profile, handle);
      CHECK(made.has_value());
      framework = std::move(*made);
    }
    return *framework;
  }
  FakeHandle handle;
  Registry registry;
  Profile profile;
  std::map<std::string, Script> scripts;
  std::vector<std::string> diary;
  std::unique_ptr<Framework> framework;
};

}  // namespace berth
