// The world around the scheduler while it is measured: objects in memory, no transport, no storage, a clock that moves
// when the queue waits for it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/scheduler/scheduler.h"

namespace berth::bench {

class World final : public SchedulerHost, public Lister {
 public:
  explicit World(bool remembers);
  static Result<std::shared_ptr<const Node>> make_node(const Json& manifest);
  void add_node(const std::shared_ptr<const Node>& node);
  Status add_volume(const Json& manifest);
  Status add_claim(const Json& manifest);
  Status add_storage_class(const Json& manifest);
  // A pod that no node has; queued, unless `node` is given, where it runs then.
  Result<std::shared_ptr<const Pod>> make_pod(const Json& manifest) const;
  void queue_pod(const std::shared_ptr<const Pod>& pod);
  void place_pod(const std::shared_ptr<const Pod>& pod, const std::string& node);
  // The node goes and comes back.
  void replace_node(std::size_t number);
  // The node becomes another of its name, in place.
  void change_node(std::size_t number, const std::shared_ptr<const Node>& changed);

  // The binding cycle, answered at once by a device that agrees. False: it failed, and the pod is queued again.
  bool finish(BindingCycle& cycle);
  // The victims chosen in the attempt before are gone. Gives the uid of the pod that they made room for; empty: none.
  std::string remove_victims();
  // On to when the queue has something to do; false: it never will by time alone.
  bool wait_for_queue();
  bool is_placed(const std::string& uid) const { return !pending_.contains(uid); }

  Scheduler& scheduler() { return *scheduler_; }
  std::size_t node_count() const { return nodes_.size(); }

  std::shared_ptr<const Pod> find_unplaced(const Pod& pod) const override;
  void record_event(const Pod&, const SchedulingEvent&) override {}
  std::optional<PodCondition> condition_of(const Pod&) const override { return {}; }
  void patch_status(const Pod& pod, const StatusPatch& patch) override;
  Status bind(const Pod&, const std::string&) override { return {}; }
  Status evict(const Pod& victim, const Pod& preemptor) override;

  std::shared_ptr<const PersistentVolumeClaim> claim(const std::string& key) const override;
  std::shared_ptr<const PersistentVolume> volume(const std::string& name) const override;
  std::shared_ptr<const StorageClass> storage_class(const std::string& name) const override;
  std::vector<std::shared_ptr<const PersistentVolume>> volumes_of_class(const std::string& name) const override;
  std::uint64_t volumes_version() const override { return volumes_version_; }
  bool has_csi_nodes() const override { return false; }

 private:
  struct VirtualClock final : public Clock {
    Millis now() const override { return time; }
    Millis wall() const override { return time; }
    Millis time = 0;
  };
  template <class T>
  using Shelf = std::map<std::string, std::shared_ptr<const T>>;
  void bind_volumes(const PlacementRequest& request);

  VirtualClock clock_;
  std::unique_ptr<Scheduler> scheduler_;
  std::vector<std::shared_ptr<const Node>> nodes_;
  Shelf<Pod> pending_;
  std::vector<std::shared_ptr<const Pod>> victims_;
  std::string preemptor_;
  Shelf<PersistentVolume> volumes_;
  std::uint64_t volumes_version_ = 1;
  std::map<std::string, std::vector<std::shared_ptr<const PersistentVolume>>> of_class_;
  Shelf<PersistentVolumeClaim> claims_;
  Shelf<StorageClass> classes_;
};

}  // namespace berth::bench
