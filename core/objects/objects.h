// Objects: every Kubernetes object the gateway has accepted, typed in memory and durable in Table::object. The gateway
// is their owner (core/handshake/rules.md); this room keeps them and knows nothing of nodes or rows.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/api/kind.h"
#include "core/api/manifest.h"
#include "core/api/pod.h"
#include "core/api/volume.h"
#include "core/clock.h"
#include "core/framework/lister.h"
#include "core/framework/queued_pod.h"
#include "core/handshake/messages.h"
#include "core/key_index.h"
#include "core/objects/disruption.h"
#include "core/objects/report.h"
#include "core/slot_pool.h"
#include "core/store.h"

namespace berth {

// The condition PodScheduled of a pod.
struct PodCondition {
  bool status = false;
  std::string reason;  // "Unschedulable": rejected; "SchedulerError": all else that failed
  std::string message;
  bool operator==(const PodCondition&) const = default;
};

// A pod and what the gateway keeps of it, apart from its binding.
struct PodEntry {
  Text key;  // "<namespace>/<name>", as in pods()
  std::shared_ptr<const Pod> pod;
  Millis arrived = 0;     // when it was accepted, on the clock's scale: the order of those that were never tried
  bool deleting = false;  // a delete was accepted; it completes when the row is gone
  bool finished = false;  // every container ended for good; never scheduled again
  std::uint32_t seen_session = 0;   // with the broker: it is known what that retains of the pod
  std::uint32_t order_session = 0;  // likewise: it retains the operator's order, not our mirror
  Report observed;                  // what the device last reported for the present epoch
  Text disruption;                  // not empty: preempted; the message of condition DisruptionTarget
  Manifest successor;               // of the pod that takes this name once the row is gone; null: none
  bool unsaved = false;             // its record is behind, to save writes
  // What few pods have: why the last attempt failed; the queue position as the store has it.
  std::unique_ptr<PodCondition> condition;
  std::unique_ptr<QueuePosition> position;
};

class Objects final : public Lister {
 public:
  explicit Objects(Store& store) : store_(store) {}

  // Tells by uid which pods run where they were placed, for disruption_of(); until then none does.
  void count_running_by(std::function<bool(std::string_view uid)> is_running) { is_running_ = std::move(is_running); }

  // Takes one record of Table::object in.
  Status load(const RecordView& record);

  // Pods by "<namespace>/<name>". The pointer lives until the pod is erased.
  PodEntry* find_pod(const std::string& key);
  const PodEntry* find_pod(const std::string& key) const;
  PodEntry* find_pod_by_uid(std::string_view uid);
  const PodEntry* find_pod_by_uid(std::string_view uid) const;
  using Pods = std::map<Text, PodEntry, std::less<>>;
  const Pods& pods() const { return pods_; }
  Text key_of(const Pod& pod) const;  // held once, if the pod is there

  // To sort by when many pods are looked up by uid: near numbers lie near each other in memory. A uid that no pod has
  // may be given that of another.
  std::uint32_t place_of_uid(std::string_view uid) const;
  PodEntry& put_pod(std::shared_ptr<const Pod> pod);        // new, or a new version of the same uid
  void save_pod(const std::string& key);                    // stages the entry as it is now
  void set_successor(PodEntry& entry, Manifest successor);  // staged by save_pod(); null: none
  void erase_pod(const std::string& key);
  // Keys of pods whose name another one waits for, as loaded or last saved, and that one's uid.
  const std::map<std::string, std::string>& names_awaited() const { return names_awaited_; }

  // The operator's overlay of a node; null when there is none.
  const Json* overlay(const std::string& node) const;

  // The other kinds. Replaces; the typed form was decoded from `object.manifest`.
  template <class T>
  void put(T object);
  // Null when there is none.
  template <class T>
  std::shared_ptr<const T> find(const std::string& key) const {
    const auto found = shelf<T>().find(key);
    return found == shelf<T>().end() ? nullptr : found->second;
  }
  void put_overlay(const std::string& node, Json manifest);
  void erase(Kind kind, const std::string& key);
  // Shows the object, of a kind other than pods and nodes, as being deleted until it is put again without that. Not
  // stored; no effect when there is none.
  void mark_deleting(Kind kind, const std::string& key);
  // The stored manifest of any kind; null, or none, when there is none.
  bool has(Kind kind, const std::string& key) const;
  Json manifest(Kind kind, const std::string& key) const;
  std::optional<std::string> text(Kind kind, const std::string& key) const;
  std::vector<std::string> keys(Kind kind) const;
  // The key behind `key` in their order; of "" the first. None: it is the last.
  std::optional<std::string> next_key(Kind kind, const std::string& key) const;
  // The one marked globalDefault with the highest value; null when there is none.
  std::shared_ptr<const PriorityClass> default_priority_class() const;

  // Makes the bound volumes of a pod Bound (claimRef, volumeName, phases). Staged with the transaction to phase bind.
  // Where one half is not known yet, the other is kept for it.
  void bind_volumes(const std::vector<BoundVolume>& bound_volumes);
  // The volume names the claim, and nothing more; both are known, and the volume names none.
  void keep_volume(const BoundVolume& bound_volume) {
    bind_volume(*volume(bound_volume.volume), bound_volume.claim, nullptr);
  }
  // Both halves are there, and each other's.
  bool is_bound(const BoundVolume& bound_volume) const;
  // A binding that arrived in halves, to be made whole as PersistentVolumes' controller does: a claim that names a free
  // volume, or a volume that names a free claim. Path left out.
  std::optional<BoundVolume> half_binding(Kind kind, const std::string& key) const;
  // Writes into the claim for which node a provisioner is to fill it. False: it is gone, or says so already.
  bool select_node(const std::string& claim, const std::string& node);
  // Keys of the pods that mount the claim and are not finished.
  std::vector<std::string> pods_using(const std::string& claim_key) const;

  std::shared_ptr<const PersistentVolumeClaim> claim(const std::string& key) const override;
  std::shared_ptr<const PersistentVolume> volume(const std::string& name) const override;
  std::shared_ptr<const StorageClass> storage_class(const std::string& name) const override;
  std::vector<std::shared_ptr<const PersistentVolume>> volumes_of_class(const std::string& name) const override;
  std::uint64_t volumes_version() const override { return volumes_version_; }
  std::shared_ptr<const CsiNode> csi_node(const std::string& node) const override;
  bool has_csi_nodes() const override { return !shelf<CsiNode>().empty(); }
  std::shared_ptr<const CsiDriver> csi_driver(const std::string& name) const override;
  std::vector<std::shared_ptr<const CsiStorageCapacity>> csi_storage_capacities() const override;
  std::shared_ptr<const Namespace> name_space(std::string_view name) const override;
  std::vector<std::shared_ptr<const Service>> services(std::string_view name_space) const override;
  // A budget without a status gets one, counted now.
  std::vector<std::shared_ptr<const PodDisruptionBudget>> disruption_budgets() const override;
  // Of one budget, whether or not it has a status.
  Disruption disruption_of(const PodDisruptionBudget& budget) const;

 private:
  template <class T>
  using Shelf = std::map<std::string, std::shared_ptr<const T>>;
  template <class T>
  const Shelf<T>& shelf() const {
    return std::get<Shelf<T>>(shelves_);
  }
  // Calls visit(shelf) with that of a kind other than pods and nodes.
  template <class Shelves, class Visit>
  static void with_shelf(Shelves& shelves, Kind kind, Visit visit);
  KeyIndex::Index find_place(std::string_view uid) const;
  void bind_volume(PersistentVolume volume, const std::string& key, const PersistentVolumeClaim* claim);
  void bind_claim(PersistentVolumeClaim claim, const std::string& volume);
  const Json* find_other(Kind kind, const std::string& key) const;  // of a kind other than pods
  Status load_pod(const Json& stored);
  Status load_packed_pod(std::string_view name, std::string_view stored);
  void stage(Kind kind, const std::string& key, const Json& value);
  void note_change(Kind kind) { volumes_version_ += kind == Kind::persistent_volume ? 1u : 0u; }

  Store& store_;
  std::function<bool(std::string_view uid)> is_running_;
  Pods pods_;
  SlotPool<PodEntry*> places_;
  KeyIndex by_uid_;  // places in places_
  std::map<std::string, Json> overlays_;
  std::uint64_t volumes_version_ = 1;
  std::tuple<Shelf<PersistentVolume>, Shelf<PersistentVolumeClaim>, Shelf<StorageClass>, Shelf<PriorityClass>,
             Shelf<Namespace>, Shelf<Service>, Shelf<PodDisruptionBudget>, Shelf<CsiNode>, Shelf<CsiDriver>,
             Shelf<CsiStorageCapacity>>
      shelves_;
  std::map<std::string, std::string> names_awaited_;
};

}  // namespace berth
