// ReleaseList: placements that were given up without an answer, and slots found without a row. Each takes
// its resources on the node in the cache until the node has answered its Release (P6). Among them are the orphans:
// workloads found in adopt mode whose object is not there. Nothing is asked of the device for an orphan until the
// operator deletes its uid or applies its pod, and until then a pod of that uid is placed nowhere.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/placement/context.h"
#include "core/placement/events.h"
#include "core/placement/listings.h"
#include "core/placement/object_changes.h"
#include "core/placement/state.h"
#include "core/placement/volume_binder.h"

namespace berth {

class ReleaseList {
 public:
  // All outlive it.
  ReleaseList(const PlacementContext& context, PlacementState& state, Cache& cache, RequestSender& sender,
              Listings& listings, VolumeBinder& volumes, ProvisionedVolumes& provisioned, ObjectChanges& changes,
              PlacementEvents& events);
  ~ReleaseList();
  ReleaseList(const ReleaseList&) = delete;
  ReleaseList& operator=(const ReleaseList&) = delete;

  // As read from the store.
  void restore(ReleaseEntry entry);
  // After a restart: names of entries that a damaged store has lost go, and the entries hold their volumes again.
  void recover();
  // Durable with this turn, and requested. `may_run`: the pod is placed nowhere else before the answer.
  void add(ReleaseEntry entry, bool may_run);
  // The slot of this entry may run, and has this name: no other pod of it is placed meanwhile (P14).
  void hold_name(const std::string& key, const std::string& pod);
  bool contains(const std::string& key) const { return state_.releases.contains(key); }
  // A Release of this uid and a later epoch is under way: the node stops an older slot with it.
  bool ends_older(const std::string& node, std::string_view uid, const Epoch& epoch) const;
  // How many entries the node has.
  std::size_t count_of(const std::string& node) const;
  // The node's answer, or the operator, has ended the entry.
  void end(const std::string& key);
  // True when the answer ends an entry.
  bool take_answer(const Answer& answer);
  // Requests all entries of the node again, from the first delay on.
  void resend(const std::string& node);
  // True while something of this uid may run that no row names, or a workload holds the pod's name.
  bool may_run_elsewhere(const Pod& pod) const;
  // The workload that keeps the pod from being placed by its name; null: none.
  const ReleaseEntry* holder_of_name(const Pod& pod) const;

  void add_orphan(const ReleaseEntry& entry, const std::string& key);
  // Keys of the orphans of this name.
  std::vector<std::string> orphans_named(const std::string& pod) const;
  // The orphan is to become a pod: its node is asked what it holds.
  void keep_orphan(const std::string& key);
  // The operator does not want it: it is released.
  void release_orphan(const std::string& key);
  // The operator deleted the uid: its orphans are released. True when there were any.
  bool release_orphans(std::string_view uid);
  // Its object is there: what the devices have now decides.
  void list_nodes_of_orphans(std::string_view uid);
  // The epoch moves from the release list to a row, or is gone from its node.
  void forget_orphan(const std::string& key);
  // A complete listing of the node does not have the others.
  void forget_orphans_not_in(const std::string& node, const std::set<std::string>& keys);

 private:
  void request(const std::string& key);
  void drop(const std::string& key);
  std::vector<std::string> orphans_of(std::string_view uid) const;

  const PlacementContext& context_;
  PlacementState& state_;
  Cache& cache_;
  RequestSender& sender_;
  Listings& listings_;
  VolumeBinder& volumes_;
  ProvisionedVolumes& provisioned_;
  ObjectChanges& changes_;
  PlacementEvents& events_;
};

}  // namespace berth
