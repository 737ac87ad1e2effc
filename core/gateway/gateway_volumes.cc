// What rows, release lists and halves of bindings say of claims and volumes: which are reserved, which are to be each
// other's, and when that ends.
#include <algorithm>
#include <utility>

#include "core/gateway/gateway.h"
#include "core/objects/object_events.h"

namespace berth {

namespace {

bool is_bound_to(const std::vector<BoundVolume>& bound_volumes, const std::string& claim, const std::string& volume) {
  return std::any_of(bound_volumes.begin(), bound_volumes.end(), [&](const BoundVolume& bound_volume) {
    return bound_volume.claim == claim && bound_volume.volume == volume;
  });
}

}  // namespace

// After a lost store a device tells what its slots hold before claims and volumes have come back, or as they come: a
// claim must not be given another volume meanwhile.
void Gateway::hold_volumes(const Row& row) {
  if (row.phase != Phase::prebind) hold_volumes(row.uid, row.volumes);
}

void Gateway::hold_volumes(const std::string& holder, const std::vector<BoundVolume>& bound_volumes) {
  for (const BoundVolume& bound_volume : bound_volumes) bind_volume(bound_volume);
  for (const BoundVolume& bound_volume : bound_volumes) {
    if (objects_.is_bound(bound_volume)) continue;
    leave_volume(bound_volume);
    awaited_volumes_[holder].push_back(bound_volume);
  }
}

// A device may use it, or has used it, for a claim that is bound to another one by now: its data waits for the
// operator.
void Gateway::leave_volume(const BoundVolume& bound_volume) {
  const auto claim = objects_.claim(bound_volume.claim);
  if (claim == nullptr || claim->phase != "Bound" || claim->volume_name == bound_volume.volume) return;
  const auto volume = objects_.volume(bound_volume.volume);
  if (volume == nullptr || volume->phase == "Released" || is_reserved(bound_volume.volume)) return;
  if (volume->claim_ref.empty()) objects_.keep_volume(bound_volume);
  release_volume(bound_volume.volume, bound_volume.claim);
}

// Until the device has answered it stays, whatever is said of it meanwhile: the row may be about to bind it.
bool Gateway::is_reserved(const std::function<bool(const BoundVolume&)>& is_it) const {
  return std::any_of(bindings_.begin(), bindings_.end(), [&is_it](const auto& entry) {
    const Row& row = entry.second.row;
    return row.phase == Phase::prebind && std::any_of(row.volumes.begin(), row.volumes.end(), is_it);
  });
}

bool Gateway::is_reserved(const std::string& volume) const {
  return is_reserved([&volume](const BoundVolume& bound_volume) { return bound_volume.volume == volume; });
}

// What was said of them while they were reserved is carried out.
void Gateway::let_go_of_volumes(const Row& row) {
  if (row.volumes.empty()) return;
  if (nodes_.find(row.node) != nullptr) refresh_local_volumes(row.node);
  delete_unused_volumes();
  join_waiting_halves();
}

// A claim and a volume of one binding may come one after the other.
void Gateway::join_halves(Kind kind, const std::string& key) {
  if (kind == Kind::persistent_volume || kind == Kind::persistent_volume_claim) join_half(kind, key);
  // A row's before what is about to be released: two nodes may have told of one pod.
  for (const bool of_row : {true, false}) {
    for (const auto& [holder, bound_volumes] : awaited_volumes_) {
      if (bindings_.contains(holder) != of_row) continue;
      for (const BoundVolume& bound_volume : bound_volumes) bind_volume(bound_volume);
    }
  }
  for (const auto& [holder, bound_volumes] : awaited_volumes_) {
    for (const BoundVolume& bound_volume : bound_volumes) leave_volume(bound_volume);
  }
}

void Gateway::join_half(Kind kind, const std::string& key) {
  const auto half = objects_.half_binding(kind, key);
  if (half && !is_spoken_for(half->claim)) bind_volume(*half);
}

// A provisioner that was not heard makes a second volume for its claim: whichever comes first may not be the one that
// a device was given. Until the device has answered, and every device when the gateway learns anew, it is not joined.
bool Gateway::is_spoken_for(const std::string& claim) const {
  if (!objects_.claim(claim)->volume_name.empty()) return false;
  if (identity_.adopting) return true;
  return is_reserved([&claim](const BoundVolume& bound_volume) { return bound_volume.claim == claim; });
}

// A claim that comes back bound, later than its volume: that was free until now. Of a row whose device was only asked
// it is taken back, since the claim's data is on it; what another claim is bound to stays with that one.
void Gateway::settle_claim(const std::string& key, Json& manifest) {
  const Json* status = manifest.find("status");
  const Json* phase = status == nullptr ? nullptr : status->find("phase");
  Json* spec = manifest.find("spec");
  const Json* named = spec == nullptr ? nullptr : spec->find("volumeName");
  if (phase == nullptr || *phase != Json("Bound") || named == nullptr || !named->is_string()) return;  // null is none
  const std::string volume = named->as_string();
  const auto is_given = [&](const BoundVolume& bound_volume) {
    return bound_volume.volume == volume && bound_volume.claim != key;
  };
  std::vector<std::string> uids;
  for (const auto& [uid, binding] : bindings_) {
    const Row& row = binding.row;
    if (row.phase == Phase::prebind && std::any_of(row.volumes.begin(), row.volumes.end(), is_given)) {
      uids.push_back(uid);
    }
  }
  for (std::string_view uid : uids) {
    bindings_.at(uid).edit().reason = "volume " + volume + " turned out to be that of claim " + key;
    feed(uid, RowEvent::leave);
  }
  if (!is_taken({key, volume, {}})) return;
  log_.write(Level::warn, "a claim came bound to a volume that is another claim's; it is unbound now",
             {{"claim", key}, {"volume", volume}});
  spec->erase("volumeName");
  manifest.erase("status");
}

// Two nodes tell of one pod: the earlier one was forgotten, and the claim's data there given up, before the store that
// knew it was lost. The claim goes with the row, and the volume it had waits for the operator.
void Gateway::move_claims(const Row& found) {
  const auto had_before = [&](const std::string& claim, const std::string& volume) {
    const auto known = bindings_.find(found.uid);
    const bool in_row = known != bindings_.end() && known->second.row.epoch < found.epoch &&
                        is_bound_to(known->second.row.volumes, claim, volume);
    return in_row || std::any_of(releases_.begin(), releases_.end(), [&](const auto& release) {
             const ReleaseEntry& entry = release.second.entry;
             return entry.uid == found.uid && entry.epoch != found.epoch && is_bound_to(entry.volumes, claim, volume);
           });
  };
  for (const BoundVolume& bound_volume : found.volumes) {
    const auto claim = objects_.claim(bound_volume.claim);
    if (claim == nullptr || claim->phase != "Bound" || claim->volume_name == bound_volume.volume) continue;
    const std::string before = claim->volume_name;
    if (!had_before(bound_volume.claim, before) || is_volume_of_another(bound_volume)) continue;
    log_.write(
        Level::warn, "two nodes told of one pod: its claim has the later one's volume, the other one is released",
        {{"pod", found.pod}, {"claim", bound_volume.claim}, {"volume", bound_volume.volume}, {"released", before}});
    release_volume(before, bound_volume.claim);
    unbind_claim(claim);
  }
  for (const BoundVolume& bound_volume : found.volumes)
    bind_volume(bound_volume);  // before the other place holds what it has
}

void Gateway::join_waiting_halves() {
  for (const std::string& key : objects_.keys(Kind::persistent_volume)) {
    if (!objects_.volume(key)->claim_ref.empty()) join_half(Kind::persistent_volume, key);
  }
}

bool Gateway::is_taken(const BoundVolume& bound_volume) const {
  const auto claim = objects_.claim(bound_volume.claim);
  if (claim != nullptr && claim->phase == "Bound" && claim->volume_name != bound_volume.volume) return true;
  return is_volume_of_another(bound_volume);
}

bool Gateway::is_volume_of_another(const BoundVolume& bound_volume) const {
  const auto volume = objects_.volume(bound_volume.volume);
  if (volume == nullptr || volume->phase != "Bound" || volume->claim_ref == bound_volume.claim) return false;
  const auto other = objects_.claim(volume->claim_ref);
  return other != nullptr && other->phase == "Bound" && other->volume_name == bound_volume.volume;
}

// Waiting pods hear of it as of upstream's two writes: the volume's, then the claim's.
bool Gateway::bind_volume(const BoundVolume& bound_volume) {
  if (is_taken(bound_volume)) return false;
  EventObjects of_volume, of_claim;
  note_old(of_volume, objects_, Kind::persistent_volume, bound_volume.volume);
  note_old(of_claim, objects_, Kind::persistent_volume_claim, bound_volume.claim);
  objects_.bind_volumes({bound_volume});
  note_new(of_volume, objects_, Kind::persistent_volume, bound_volume.volume);
  note_new(of_claim, objects_, Kind::persistent_volume_claim, bound_volume.claim);
  const bool volume_changed = of_volume.old_volume != of_volume.new_volume;
  const bool claim_changed = of_claim.old_claim != of_claim.new_claim;
  if (volume_changed) {
    publisher_.mark(Kind::persistent_volume, bound_volume.volume);
    wake(*event_of(Kind::persistent_volume, kUpdate), of_volume);
  }
  if (claim_changed) {
    publisher_.mark(Kind::persistent_volume_claim, bound_volume.claim);
    wake(*event_of(Kind::persistent_volume_claim, kUpdate), of_claim);
  }
  return volume_changed || claim_changed;
}

// A workload that no object tells of may run with it: on a release list, or in a row whose object is lost.
bool Gateway::is_used(const std::string& claim) const {
  const auto names = [&claim](const std::vector<BoundVolume>& bound_volumes) {
    return std::any_of(bound_volumes.begin(), bound_volumes.end(),
                       [&claim](const BoundVolume& bound_volume) { return bound_volume.claim == claim; });
  };
  return !objects_.pods_using(claim).empty() ||
         std::any_of(releases_.begin(), releases_.end(),
                     [&names](const auto& release) { return names(release.second.entry.volumes); }) ||
         std::any_of(bindings_.begin(), bindings_.end(), [&](const auto& entry) {
           const Row& row = entry.second.row;
           return row.phase != Phase::none && names(row.volumes) && objects_.find_pod_by_uid(row.uid) == nullptr;
         });
}

// The next claim of that name is another one: the row of a pod that has finished must not bind it. False: the store has
// no room to say so, later then.
bool Gateway::drop_awaited_volumes_of(const std::string& claim) {
  for (auto& [uid, binding] : bindings_) {
    if (binding.row.volumes.empty() || binding.row.phase == Phase::none) continue;
    Row row = binding.row;
    if (std::erase_if(row.volumes, [&claim](const BoundVolume& bound_volume) { return bound_volume.claim == claim; }) ==
        0)
      continue;
    if (!store_.begin(uid, encode(row), static_cast<int>(row.phase)).is_success()) return false;
    binding.row.volumes = std::move(row.volumes);
  }
  for (auto& [holder, bound_volumes] : awaited_volumes_) {
    std::erase_if(bound_volumes, [&claim](const BoundVolume& bound_volume) { return bound_volume.claim == claim; });
  }
  return true;
}

}  // namespace berth
