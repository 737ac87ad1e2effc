// VolumeBinder: which claims and volumes are each other's, as rows, release list and the objects' own halves of a
// binding have it; which are reserved; and deleted claims and volumes that wait for their users.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/placement/context.h"
#include "core/placement/events.h"
#include "core/placement/object_changes.h"
#include "core/placement/provisioned_volumes.h"
#include "core/placement/state.h"

namespace berth {

class VolumeBinder {
 public:
  static constexpr std::string_view kRecord = "doomed";  // of Table::meta: terminating_ and bound_by_slots_

  // All outlive it.
  VolumeBinder(const PlacementContext& context, const PlacementState& state, ObjectChanges& changes,
               ProvisionedVolumes& provisioned, PlacementEvents& events);

  Status load(const RecordView& record);
  // Marks what load() brought as being deleted.
  void restore();

  // The claims and volumes are Bound, now or as soon as both are known; `holder`: a pod uid, or a release_key().
  void hold(const std::string& holder, const std::vector<BoundVolume>& bound_volumes);
  void hold(const Row& row);
  // It has ended. A claim that nothing but slots has bound, to a volume that nobody knows, is free: the volume was
  // deleted before the store that knew of it was lost. One that came back bound waits for its volume.
  void forget_holder(const std::string& holder);
  // Nothing binds the claim any more: a deleted one, whose name the next claim may take.
  void forget_claim(const std::string& claim);

  // Reserved by a row in prebind: whatever is reported of the volume meanwhile, it stays until the device has answered,
  // since the row may be about to bind it.
  bool is_reserved(const std::string& volume) const;
  // A row in prebind has ended: what was reported of its volumes while they were reserved is carried out.
  void unreserve(const Row& row);
  // Nothing speaks against it: no row is about to bind either of them, neither is being deleted or another's, and no
  // node has still to say what its slots hold.
  bool may_bind(const BoundVolume& bound_volume) const;
  // The volume is another claim's, or the claim has another volume.
  bool is_taken(const BoundVolume& bound_volume) const;
  // Claim and volume become each other's; false: nothing changed.
  bool bind(const BoundVolume& bound_volume);
  // Two nodes reported one pod: the node of its earlier place was forgotten, and the claim's data there given up,
  // before the store that knew of it was lost. The claim moves with the row that was found, and the volume that it had
  // waits for the operator.
  void move_claims(const Row& found);
  // The row has ended. What its claims are bound to goes, where another pod runs with the claim and another volume: the
  // claim is bound to that one.
  void pass_on_claims(const Row& ended);
  // Likewise, the store is an older copy of itself and may know claim and volume as they were bound then, or has known
  // the slot only as an orphan until now.
  void correct_copy(const Row& found);
  // A pod of the same name, from before a lost store, takes the place of this one: claims that this one was given here
  // are bound to what the found one uses.
  void displace(const Row& row, const std::vector<BoundVolume>& found);
  // The claim may be bound again, elsewhere.
  void unbind(const std::shared_ptr<const PersistentVolumeClaim>& claim);

  // To an unbound claim that says nothing of its class. False: it does, or there is no default.
  bool assign_default_class(const std::shared_ptr<const PersistentVolumeClaim>& claim);

  // The node was forgotten: claims that were to be provisioned there may be provisioned elsewhere.
  void deselect(const std::string& node);

  // A claim is about to be accepted for the first time: makes its half of a binding fit what is known.
  void settle_claim(const std::string& key, Json& manifest);
  // A volume or claim was accepted: the two halves of a binding may arrive one after the other.
  void join_halves(Kind kind, const std::string& key);
  // After adopt mode: halves that had to wait for the reports of the nodes.
  void join_waiting_halves();

  // The delete of a volume or claim was accepted; it is carried out when no pod uses the object.
  void begin_delete(Kind kind, const std::string& key);
  bool is_terminating(Kind kind, const std::string& key) const { return terminating_.contains({kind, key}); }
  void delete_unused();

 private:
  void move_claim(const Row& found, const BoundVolume& bound_volume);
  void disprove_promises(const std::string& volume, const std::string& claim);
  using IsIt = std::function<bool(const BoundVolume&)>;

  bool is_reserved(const IsIt& is_it) const;
  bool is_used(const std::string& claim) const;
  bool is_volume_of_another(const BoundVolume& bound_volume) const;
  // The row of another pod is bound and names the claim.
  bool is_run_with(const std::string& claim, std::string_view except_uid) const;
  bool must_wait(const std::string& claim) const;
  void join_half(Kind kind, const std::string& key);
  void replace(const std::shared_ptr<const PersistentVolumeClaim>& claim, PersistentVolumeClaim next);
  void give_up_volume(const BoundVolume& bound_volume);
  void release(const std::string& volume, const std::string& claim);
  void offer_again(const PersistentVolume& deleted);
  void save_pending();

  const PlacementContext& context_;
  const PlacementState& state_;
  ObjectChanges& changes_;
  ProvisionedVolumes& provisioned_;
  PlacementEvents& events_;
  // By holder: claim or volume is not known yet.
  std::map<std::string, std::vector<BoundVolume>> awaited_;
  // Claim and volume: bound because a slot has them, while the volume is not known. Durable, since nothing else tells
  // such a claim from one that came back bound, whose volume may still come.
  std::set<std::pair<std::string, std::string>> bound_by_slots_;
  std::set<std::pair<Kind, std::string>> terminating_;  // volumes and claims whose delete waits for their users
};

}  // namespace berth
