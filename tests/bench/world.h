// The scheduler's host during a measurement: objects in memory, no transport and no storage, and a clock that is
// advanced when the queue waits for it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/api/node.h"
#include "core/api/pod.h"
#include "core/api/volume.h"
#include "core/framework/change_log.h"
#include "core/scheduler/scheduler.h"

namespace berth::bench {

class World final : public SchedulerHost, public Lister {
 public:
  // `undeclared`: see add_undeclared().
  World(bool fast, const std::string& undeclared);  // by the fast path, or by the plugins alone
  static Result<std::shared_ptr<const Node>> make_node(const Json& manifest);
  void add_node(const std::shared_ptr<const Node>& node);
  Status add_volume(const Json& manifest);
  Status add_claim(const Json& manifest);
  Status add_storage_class(const Json& manifest);
  // Decodes a pod, which is then queued or placed.
  static Result<PodPtr> make_pod(const Json& manifest);
  void queue_pod(const PodPtr& pod);
  void place_pod(const PodPtr& pod, const std::string& node);
  // Removes the node and adds it again.
  void replace_node(std::size_t number);
  // Updates the node of this name.
  void change_node(const std::shared_ptr<const Node>& changed);
  // The pod of this key is gone, wherever it was; no effect when there is none.
  void delete_pod(const std::string& key);

  // Runs the binding cycle, with a device that accepts at once. False: it failed, and the pod is queued again.
  bool finish(BindingCycle& cycle);
  // Removes the victims of the previous attempt. Returns the uid of their preemptor; empty if there are none.
  std::string remove_victims();
  // Advances the clock until the queue has something to do. False: time alone will never give it something.
  bool wait_for_queue();
  bool is_placed(const std::string& uid) const { return !pending_.contains(uid); }

  Scheduler& scheduler() { return *scheduler_; }
  std::size_t node_count() const { return nodes_.size(); }

  PodPtr find_unplaced(const Pod& pod) const override;
  void record_event(const Pod&, const SchedulingEvent&) override {}
  std::optional<PodCondition> condition_of(const Pod&) const override { return {}; }
  void patch_status(const Pod& pod, const StatusPatch& patch) override;
  Status evict(const Pod& victim, const Pod& preemptor) override;

  std::shared_ptr<const PersistentVolumeClaim> claim(const std::string& key) const override;
  std::shared_ptr<const PersistentVolume> volume(const std::string& name) const override;
  std::shared_ptr<const StorageClass> storage_class(const std::string& name) const override;
  std::vector<std::shared_ptr<const PersistentVolume>> volumes_of_class(const std::string& name) const override;
  const ChangeLog* volume_changes() const override { return &volume_changes_; }
  bool has_csi_nodes() const override { return false; }

 private:
  struct VirtualClock final : public Clock {
    Millis now() const override { return time; }
    Millis wall() const override { return time; }
    Millis time = 0;
  };
  template <class T>
  using ByKey = std::map<std::string, std::shared_ptr<const T>>;
  void bind_volumes(const PlacementRequest& request, const std::string& node);
  void make_volume(const BoundVolume& made, const std::string& node);

  VirtualClock clock_;
  std::unique_ptr<Scheduler> scheduler_;
  std::vector<std::shared_ptr<const Node>> nodes_;
  std::unordered_map<std::string, std::size_t> node_numbers_;  // by name: in nodes_
  std::map<std::string, PodPtr> pending_;                      // by uid
  std::unordered_map<std::string, PodPtr> pods_;               // by key: all
  std::vector<PodPtr> victims_;
  std::string preemptor_;
  ByKey<PersistentVolume> volumes_;
  ChangeLog volume_changes_;
  std::map<std::string, std::vector<std::shared_ptr<const PersistentVolume>>> of_class_;
  ByKey<PersistentVolumeClaim> claims_;
  ByKey<StorageClass> classes_;
};

}  // namespace berth::bench
