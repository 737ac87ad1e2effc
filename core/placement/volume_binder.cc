#include "core/placement/volume_binder.h"

#include <algorithm>
#include <utility>

#include "core/objects/look_ups.h"
#include "core/objects/volume_bindings.h"

namespace berth {

namespace {

bool is_bound_to(const std::vector<BoundVolume>& bound_volumes, const std::string& claim, const std::string& volume) {
  return std::any_of(bound_volumes.begin(), bound_volumes.end(), [&](const BoundVolume& bound_volume) {
    return bound_volume.claim == claim && bound_volume.volume == volume;
  });
}

}  // namespace

VolumeBinder::VolumeBinder(const PlacementContext& context, const PlacementState& state, ObjectChanges& changes,
                           ProvisionedVolumes& provisioned, PlacementEvents& events)
    : context_(context), state_(state), changes_(changes), provisioned_(provisioned), events_(events) {}

// After a lost store a device may report what its slots hold before claims and volumes are back: a claim must not be
// given another volume meanwhile.
void VolumeBinder::hold(const Row& row) {
  if (row.phase != Phase::prebind) hold(row.uid, row.volumes);
}

void VolumeBinder::hold(const std::string& holder, const std::vector<BoundVolume>& bound_volumes) {
  for (const BoundVolume& bound_volume : bound_volumes) bind(bound_volume);
  for (const BoundVolume& bound_volume : bound_volumes) {
    if (VolumeBindings(context_.objects).is_bound(bound_volume)) continue;
    give_up_volume(bound_volume);
    awaited_[holder].push_back(bound_volume);
  }
}

// A device may use the volume, or has used it, for a claim that is bound to another one by now: its data waits for the
// operator.
void VolumeBinder::give_up_volume(const BoundVolume& bound_volume) {
  const auto claim = context_.objects.claim(bound_volume.claim);
  if (claim == nullptr || claim->phase != "Bound" || claim->volume_name == bound_volume.volume) return;
  const auto volume = context_.objects.volume(bound_volume.volume);
  if (volume == nullptr || volume->phase == "Released" || is_reserved(bound_volume.volume)) return;
  if (volume->claim_ref.empty()) VolumeBindings(context_.objects).keep_volume(bound_volume);
  release(bound_volume.volume, bound_volume.claim);
}

bool VolumeBinder::is_reserved(const std::function<bool(const BoundVolume&)>& is_it) const {
  return std::any_of(state_.bindings.begin(), state_.bindings.end(), [&is_it](const auto& entry) {
    const Row& row = entry.second.row;
    return row.phase == Phase::prebind && std::any_of(row.volumes.begin(), row.volumes.end(), is_it);
  });
}

bool VolumeBinder::is_reserved(const std::string& volume) const {
  return is_reserved([&volume](const BoundVolume& bound_volume) { return bound_volume.volume == volume; });
}

void VolumeBinder::forget_holder(const std::string& holder) {
  const auto ended = awaited_.extract(holder);
  if (ended.empty()) return;
  for (const BoundVolume& bound_volume : ended.mapped()) {
    const auto claim = context_.objects.claim(bound_volume.claim);
    if (claim == nullptr || claim->volume_name != bound_volume.volume || context_.identity->adopting) continue;
    if (!bound_by_slots_.contains({bound_volume.claim, bound_volume.volume})) continue;
    const bool is_held = std::any_of(awaited_.begin(), awaited_.end(), [&](const auto& other) {
      return is_bound_to(other.second, bound_volume.claim, bound_volume.volume);
    });
    if (is_held) continue;
    bound_by_slots_.erase({bound_volume.claim, bound_volume.volume});
    save_pending();
    unbind(claim);
  }
}

void VolumeBinder::unreserve(const Row& row) {
  if (row.volumes.empty()) return;
  events_.local_volumes_freed(row.node);
  delete_unused();
  join_waiting_halves();
}

// Waiting pods are woken as by upstream's two writes: the volume's, then the claim's. The mirror tells a gateway that
// lost its store which data is whose.
bool VolumeBinder::bind(const BoundVolume& bound_volume) {
  if (is_taken(bound_volume)) return false;
  EventObjects of_volume, of_claim;
  note_old(of_volume, context_.objects, Kind::persistent_volume, bound_volume.volume);
  note_old(of_claim, context_.objects, Kind::persistent_volume_claim, bound_volume.claim);
  VolumeBindings(context_.objects).bind_volumes({bound_volume});
  note_new(of_volume, context_.objects, Kind::persistent_volume, bound_volume.volume);
  note_new(of_claim, context_.objects, Kind::persistent_volume_claim, bound_volume.claim);
  const bool volume_changed = of_volume.old_volume != of_volume.new_volume;
  const bool claim_changed = of_claim.old_claim != of_claim.new_claim;
  if (volume_changed) {
    context_.publisher.mirror(Kind::persistent_volume, bound_volume.volume);
    context_.publisher.mark(Kind::persistent_volume, bound_volume.volume);
    changes_.wake(*event_of(Kind::persistent_volume, kUpdate), of_volume);
  }
  const std::pair pair(bound_volume.claim, bound_volume.volume);
  const bool is_by_slot = of_volume.new_volume == nullptr && claim_changed;
  const bool was_by_slot = of_volume.new_volume != nullptr && bound_by_slots_.erase(pair) > 0;
  if (was_by_slot || (is_by_slot && bound_by_slots_.insert(pair).second)) save_pending();
  if (claim_changed) {
    context_.events.record({Kind::persistent_volume_claim,
                            bound_volume.claim,
                            "Normal",
                            "Bound",
                            "bound to volume " + bound_volume.volume,
                            {}});
    context_.publisher.mirror(Kind::persistent_volume_claim, bound_volume.claim);
    context_.publisher.mark(Kind::persistent_volume_claim, bound_volume.claim);
    changes_.wake(*event_of(Kind::persistent_volume_claim, kUpdate), of_claim);
  }
  return volume_changed || claim_changed;
}

bool VolumeBinder::may_bind(const BoundVolume& bound_volume) const {
  return !must_wait(bound_volume.claim) && !is_reserved(bound_volume.volume) && !is_taken(bound_volume) &&
         !is_terminating(Kind::persistent_volume_claim, bound_volume.claim) &&
         !is_terminating(Kind::persistent_volume, bound_volume.volume);
}

bool VolumeBinder::is_taken(const BoundVolume& bound_volume) const {
  const auto claim = context_.objects.claim(bound_volume.claim);
  if (claim != nullptr && claim->phase == "Bound" && claim->volume_name != bound_volume.volume) return true;
  return is_volume_of_another(bound_volume);
}

bool VolumeBinder::is_volume_of_another(const BoundVolume& bound_volume) const {
  const auto volume = context_.objects.volume(bound_volume.volume);
  if (volume == nullptr || volume->phase != "Bound" || volume->claim_ref == bound_volume.claim) return false;
  const auto other = context_.objects.claim(volume->claim_ref);
  return other != nullptr && other->phase == "Bound" && other->volume_name == bound_volume.volume;
}

// As upstream's pvc-protection (podUsesPVC), a pod without a place does not count: with a claim that is being deleted
// it gets none. In adopt mode it may have one. A workload without an object may run with it: one on the release list,
// or of a row whose object is lost.
bool VolumeBinder::is_used(const std::string& claim) const {
  const auto names = [&claim](const std::vector<BoundVolume>& bound_volumes) {
    return std::any_of(bound_volumes.begin(), bound_volumes.end(),
                       [&claim](const BoundVolume& bound_volume) { return bound_volume.claim == claim; });
  };
  const std::vector<const Pod*> pods = pods_using(context_.objects, claim);
  const auto has_place = [this](const Pod* pod) {
    return context_.identity->adopting || !pod->node_name.empty() || state_.find(pod->uid()) != nullptr;
  };
  return std::any_of(pods.begin(), pods.end(), has_place) ||
         std::any_of(state_.releases.begin(), state_.releases.end(),
                     [&names](const auto& release) { return names(release.second.entry.volumes); }) ||
         std::any_of(state_.bindings.begin(), state_.bindings.end(), [&](const auto& entry) {
           const Row& row = entry.second.row;
           return row.phase != Phase::none && names(row.volumes) &&
                  context_.objects.pods().find_by_uid(row.uid) == nullptr;
         });
}

void VolumeBinder::unbind(const std::shared_ptr<const PersistentVolumeClaim>& claim) {
  PersistentVolumeClaim free = *claim;
  free.volume_name.clear();
  free.phase = "Pending";
  if (Json* spec = free.manifest.find("spec")) spec->erase("volumeName");
  free.manifest.set("status", Json(Json::Object{{"phase", Json("Pending")}}));
  replace(claim, std::move(free));
}

bool VolumeBinder::assign_default_class(const std::shared_ptr<const PersistentVolumeClaim>& claim) {
  const auto storage_class = default_storage_class(context_.objects);
  if (claim->storage_class_name || storage_class == nullptr || must_wait(claim->metadata.key())) return false;
  PersistentVolumeClaim assigned = *claim;
  assigned.storage_class_name = storage_class->metadata.name;
  Json* spec = assigned.manifest.find("spec");
  spec->erase("storageClassName");  // null
  spec->set("storageClassName", storage_class->metadata.name);
  replace(claim, std::move(assigned));
  return true;
}

void VolumeBinder::replace(const std::shared_ptr<const PersistentVolumeClaim>& claim, PersistentVolumeClaim next) {
  const std::string key = claim->metadata.key();
  EventObjects objects;
  objects.old_claim = claim;
  context_.objects.put(std::move(next));
  objects.new_claim = context_.objects.claim(key);
  context_.publisher.mirror(Kind::persistent_volume_claim, key);
  context_.publisher.mark(Kind::persistent_volume_claim, key);
  changes_.wake({EventResource::persistent_volume_claim, kUpdate, "PersistentVolumeClaimUpdate"}, objects);
}

// Otherwise no provisioner would ever answer, and VolumeBinding would look at no other node.
void VolumeBinder::deselect(const std::string& node) {
  for (const std::string& key : context_.objects.keys(Kind::persistent_volume_claim)) {
    EventObjects objects;
    note_old(objects, context_.objects, Kind::persistent_volume_claim, key);
    if (!VolumeBindings(context_.objects).deselect_node(key, node)) continue;
    note_new(objects, context_.objects, Kind::persistent_volume_claim, key);
    context_.publisher.mirror(Kind::persistent_volume_claim, key);
    changes_.wake(*event_of(Kind::persistent_volume_claim, kUpdate), objects);
  }
}

// A row whose device was only asked gives the volume back, since the data of another claim is on it.
void VolumeBinder::disprove_promises(const std::string& volume, const std::string& claim) {
  const auto is_given = [&](const BoundVolume& bound_volume) {
    return bound_volume.volume == volume && bound_volume.claim != claim;
  };
  std::vector<std::string> uids;
  for (const auto& [uid, binding] : state_.bindings) {
    const Row& row = binding.row;
    if (row.phase == Phase::prebind && std::any_of(row.volumes.begin(), row.volumes.end(), is_given)) {
      uids.push_back(uid);
    }
  }
  for (std::string_view uid : uids) {
    events_.prebind_disproved(uid, "volume " + volume + " turned out to be that of claim " + claim);
  }
}

// A claim may come back bound later than its volume, which was free until now; a volume that was given to another claim
// stays with that one, or keeps its data for whoever decides about it (upstream: a claim is Lost, not Bound, whose
// volume refers to another, syncBoundClaim).
void VolumeBinder::settle_claim(const std::string& key, Json& manifest) {
  const Json* status = manifest.find("status");
  const Json* phase = status == nullptr ? nullptr : status->find("phase");
  Json* spec = manifest.find("spec");
  const Json* named = spec == nullptr ? nullptr : spec->find("volumeName");
  if (phase == nullptr || *phase != Json("Bound") || named == nullptr || !named->is_string()) return;  // null: none
  const std::string volume = named->as_string();
  disprove_promises(volume, key);
  const auto known = context_.objects.volume(volume);
  if (known == nullptr || known->claim_ref.empty() || known->claim_ref == key) return;
  context_.log.write(Level::warn, "a claim arrived bound to another claim's volume; it is unbound now",
                     {{"claim", key}, {"volume", volume}});
  spec->erase("volumeName");
  manifest.erase("status");
}

// P11: the copy may know the volume as that of a claim that was deleted in the time it lost. A device gives a volume of
// its own to one claim at a time, so what it runs tells whose it is now. A claim that another pod runs with stays with
// that one: a device that lies takes none.
void VolumeBinder::correct_copy(const Row& found) {
  for (const BoundVolume& bound_volume : found.volumes) {
    const auto volume = context_.objects.volume(bound_volume.volume);
    if (volume == nullptr || !is_offered_by(*volume, found.node)) continue;
    const auto claim = context_.objects.claim(bound_volume.claim);
    const bool moved = claim != nullptr && claim->phase == "Bound" && claim->volume_name != bound_volume.volume;
    const bool given = is_volume_of_another(bound_volume);
    if ((!moved && !given) || is_run_with(bound_volume.claim, found.uid)) continue;
    context_.log.write(Level::warn, "claim and volume were bound otherwise since this copy of the store was made",
                       {{"claim", bound_volume.claim}, {"volume", bound_volume.volume}});
    if (given) unbind(context_.objects.claim(volume->claim_ref));
    if (!moved) continue;
    release(claim->volume_name, bound_volume.claim);
    unbind(claim);
  }
}

bool VolumeBinder::is_run_with(const std::string& claim, std::string_view except_uid) const {
  return std::any_of(state_.bindings.begin(), state_.bindings.end(), [&](const auto& entry) {
    const Row& row = entry.second.row;
    const auto names = [&claim](const BoundVolume& bound_volume) { return bound_volume.claim == claim; };
    return row.uid != except_uid && row.phase == Phase::bound &&
           std::any_of(row.volumes.begin(), row.volumes.end(), names);
  });
}

void VolumeBinder::move_claims(const Row& found) {
  const auto had_before = [&](const std::string& claim, const std::string& volume) {
    const auto known = state_.bindings.find(found.uid);
    const bool in_row = known != state_.bindings.end() && known->second.row.epoch < found.epoch &&
                        is_bound_to(known->second.row.volumes, claim, volume);
    return in_row || std::any_of(state_.releases.begin(), state_.releases.end(), [&](const auto& release) {
             const ReleaseEntry& entry = release.second.entry;
             return entry.uid == found.uid && entry.epoch != found.epoch && is_bound_to(entry.volumes, claim, volume);
           });
  };
  // Only a pod that is being released has the claim with the other volume, while this one runs.
  const auto is_left = [&](const std::string& claim, const std::string& volume) {
    return found.phase == Phase::bound && !is_run_with(claim, found.uid) &&
           std::any_of(state_.bindings.begin(), state_.bindings.end(), [&](const auto& entry) {
             const Row& row = entry.second.row;
             return row.uid != found.uid && row.phase == Phase::release && is_bound_to(row.volumes, claim, volume);
           });
  };
  for (const BoundVolume& bound_volume : found.volumes) {
    const auto claim = context_.objects.claim(bound_volume.claim);
    if (claim == nullptr || claim->phase != "Bound" || claim->volume_name == bound_volume.volume) continue;
    const std::string before = claim->volume_name;
    if (had_before(bound_volume.claim, before) || is_left(bound_volume.claim, before)) move_claim(found, bound_volume);
  }
  for (const BoundVolume& bound_volume : found.volumes)
    bind(bound_volume);  // before the other node's slot holds what it has
}

// The claim leaves the volume that it is bound to; `found` has it with this one.
void VolumeBinder::move_claim(const Row& found, const BoundVolume& bound_volume) {
  if (is_volume_of_another(bound_volume)) return;
  const auto claim = context_.objects.claim(bound_volume.claim);
  const std::string before = claim->volume_name;
  context_.log.write(
      Level::warn, "two nodes reported one claim: it keeps the volume of the pod that runs, the other is released",
      {{"pod", found.pod}, {"claim", bound_volume.claim}, {"volume", bound_volume.volume}, {"released", before}});
  release(before, bound_volume.claim);
  unbind(claim);
}

void VolumeBinder::pass_on_claims(const Row& ended) {
  for (const BoundVolume& left : ended.volumes) {
    const auto claim = context_.objects.claim(left.claim);
    if (claim == nullptr || claim->phase != "Bound" || claim->volume_name != left.volume) continue;
    for (const auto& [holder, awaited] : awaited_) {  // that the claim is bound to another volume is awaited to change
      const auto binding = state_.bindings.find(holder);
      if (binding == state_.bindings.end() || binding->second.row.phase != Phase::bound) continue;
      const auto has = std::find_if(awaited.begin(), awaited.end(), [&](const BoundVolume& bound_volume) {
        return bound_volume.claim == left.claim && bound_volume.volume != left.volume;
      });
      if (has == awaited.end()) continue;
      move_claim(binding->second.row, *has);
      bind(*has);
      break;
    }
  }
}

void VolumeBinder::displace(const Row& row, const std::vector<BoundVolume>& found) {
  for (const BoundVolume& bound_volume : found) {
    const auto claim = context_.objects.claim(bound_volume.claim);
    if (claim == nullptr || claim->phase != "Bound" || claim->volume_name == bound_volume.volume) continue;
    const std::string given = claim->volume_name;
    if (!is_bound_to(row.volumes, bound_volume.claim, given) || is_volume_of_another(bound_volume)) continue;
    context_.log.write(
        Level::warn, "a claim goes back to the volume that has its data; the other one is released",
        {{"pod", row.pod}, {"claim", bound_volume.claim}, {"volume", bound_volume.volume}, {"released", given}});
    release(given, bound_volume.claim);
    unbind(claim);
  }
  for (const BoundVolume& bound_volume : found) {
    disprove_promises(bound_volume.volume, bound_volume.claim);
    bind(bound_volume);
  }
}

void VolumeBinder::join_halves(Kind kind, const std::string& key) {
  if (kind == Kind::persistent_volume || kind == Kind::persistent_volume_claim) join_half(kind, key);
  // Rows go before release-list entries: two nodes may have reported one pod.
  for (const bool of_row : {true, false}) {
    for (const auto& [holder, bound_volumes] : awaited_) {
      if (state_.bindings.contains(holder) != of_row) continue;
      for (const BoundVolume& bound_volume : bound_volumes) bind(bound_volume);
    }
  }
  for (const auto& [holder, bound_volumes] : awaited_) {
    for (const BoundVolume& bound_volume : bound_volumes) give_up_volume(bound_volume);
  }
}

// Of several claims that name a volume, the first that it satisfies gets it.
void VolumeBinder::join_half(Kind kind, const std::string& key) {
  const VolumeBindings bindings(context_.objects);
  for (const BoundVolume& half : bindings.half_bindings(kind, key)) {
    if (must_wait(half.claim)) continue;
    const std::string mismatch = bindings.mismatch_of(half);
    if (mismatch.empty() && bind(half)) return;
    if (mismatch.empty()) continue;
    context_.events.record({Kind::persistent_volume_claim, half.claim, "Warning", "VolumeMismatch", mismatch, {}});
  }
}

// A provisioner whose first volume went unnoticed makes a second one for its claim, and the first to arrive may not be
// the one that a device was given. It is joined once the device has answered; in adopt mode, once every device has.
bool VolumeBinder::must_wait(const std::string& claim) const {
  if (!context_.objects.claim(claim)->volume_name.empty()) return false;
  if (context_.identity->adopting) return true;
  return is_reserved([&claim](const BoundVolume& bound_volume) { return bound_volume.claim == claim; });
}

void VolumeBinder::join_waiting_halves() {
  for (const std::string& key : context_.objects.keys(Kind::persistent_volume)) {
    if (!context_.objects.volume(key)->claim_ref.empty()) join_half(Kind::persistent_volume, key);
  }
}

void VolumeBinder::forget_claim(const std::string& claim) {
  if (std::erase_if(bound_by_slots_, [&claim](const auto& pair) { return pair.first == claim; }) > 0) save_pending();
  for (auto& [holder, bound_volumes] : awaited_) {
    std::erase_if(bound_volumes, [&claim](const BoundVolume& bound_volume) { return bound_volume.claim == claim; });
  }
}

}  // namespace berth
