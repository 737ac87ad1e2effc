// The cluster of a controller case: what the product's controllers see and write, by the rules of the recorded world.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/controllers/cluster_access.h"
#include "tests/conformance/world_store.h"

namespace berth {

class World final : public ClusterAccess {
 public:
  explicit World(Millis start) : store_(start) {}

  WorldStore& store() { return store_; }
  const WorldStore& store() const { return store_; }
  // Creations of pods are refused while so many unfinished ones exist; none: no limit.
  void limit_pods(std::optional<std::int64_t> max) { pod_limit_ = max; }

  // The scale subresource of the custom resource Widget of this name.
  void set_scale(const std::string& widget, std::int32_t replicas) { widgets_[widget] = replicas; }
  // The hashes in the names of recorded ReplicaSets and ControllerRevisions, in the order in which they were created:
  // ours are called the same. Some hashes were computed without anything being created.
  void expect_hashes(std::vector<std::string> called) { expected_hashes_ = std::move(called); }

  // What controllers have done since the last call: "create Pod web-01", "event ReplicaSet web Normal ...".
  std::multiset<std::string> take_actions();

  Millis now() const override { return store_.now(); }
  ObjectPtr find(std::string_view kind, const ObjectKey& key) const override;
  std::vector<ObjectPtr> list(std::string_view kind, std::string_view name_space) const override;
  std::vector<ControlledPodPtr> pods_of(std::string_view name_space, std::string_view controller_uid) const override;
  bool knows(std::string_view kind) const override { return store_.knows(kind); }
  Result<std::optional<Scale>> scale_of(const OwnerReference& owner, std::string_view name_space) const override;
  WriteResult create(std::string_view kind, std::string_view name_space, Json object) override;
  WriteResult patch(const ControlledObject& object, const Json& merge) override;
  WriteResult patch_status(const ControlledObject& object, const Json& merge) override;
  WriteResult remove(const ControlledObject& object, const DeleteOptions& options) override;
  void record(const ControlledObject& about, WorkloadEvent event) override;

 private:
  bool is_over_limit() const;
  // Hashes of templates are called h1, h2 ..., here and in the records.
  void learn_hash(std::string_view kind, const Json& object);
  std::string with_short_hashes(std::string text) const;
  Json with_short_hashes(const Json& value) const;

  WorldStore store_;
  std::optional<std::int64_t> pod_limit_;
  std::map<std::string, std::string> hashes_;  // as computed -> as called
  std::map<std::string, std::int32_t> widgets_;
  std::vector<std::string> expected_hashes_;
  std::multiset<std::string> actions_;
};

// The names of actions and events in take_actions().
std::string name_action(std::string_view what, std::string_view kind, std::string_view name);
std::string name_event(std::string_view kind, std::string_view name, std::string_view type, std::string_view reason,
                       std::string_view message);

}  // namespace berth
