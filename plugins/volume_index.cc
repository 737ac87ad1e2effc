#include "plugins/volume_index.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "core/api/node.h"
#include "core/api/volume.h"
#include "core/api/volume_match.h"
#include "core/framework/change_log.h"
#include "plugins/volumebinding_match.h"

namespace berth {

namespace {

// The hosts that the volume's affinity names; nullopt if it may match by other labels.
std::optional<std::set<std::string>> named_hosts(const PersistentVolume& volume) {
  if (!volume.node_affinity) return std::nullopt;
  std::set<std::string> hosts;
  for (const NodeSelectorTerm& term : volume.node_affinity->terms) {
    const auto named =
        std::find_if(term.match_expressions.begin(), term.match_expressions.end(), [](const Requirement& requirement) {
          return requirement.key == kHostLabel && requirement.op == Requirement::Operator::in;
        });
    if (named == term.match_expressions.end()) return std::nullopt;
    hosts.insert(named->values.begin(), named->values.end());
  }
  return hosts;
}

// Of a volume with named_hosts(): its affinity asks for nothing else.
bool asks_for_host_alone(const PersistentVolume& volume) {
  const auto& terms = volume.node_affinity->terms;
  return std::all_of(terms.begin(), terms.end(), [](const NodeSelectorTerm& term) {
    return term.match_expressions.size() == 1 && term.match_fields.empty();
  });
}

}  // namespace

bool VolumeIndex::Smaller::operator()(const Volume& a, const Volume& b) const {
  if (a->capacity != b->capacity) return a->capacity < b->capacity;
  return a->metadata.name < b->metadata.name;
}

bool VolumeIndex::build(const Lister& volumes, const AssumedVolumes& assumed, std::size_t most) {
  if (!changes_seen_) {
    const ChangeLog* const changes = volumes.volume_changes();
    if (changes == nullptr) return false;
    changes_seen_ = changes->made();  // what happens from here on follow() will see
    to_add_ = volumes.volumes_of_class(storage_class_);
    by_name_.reserve(to_add_.size());
    free_by_host_.reserve(to_add_.size());
  }
  for (; most > 0 && !to_add_.empty(); --most) {
    const Volume volume = std::move(to_add_.back());
    to_add_.pop_back();
    replace(volume->metadata.name, volume, assumed);
  }
  return !to_add_.empty();
}

void VolumeIndex::follow(const Lister& volumes, const AssumedVolumes& assumed) {
  build(volumes, assumed, static_cast<std::size_t>(-1));
  follow_volumes(volumes, assumed);
  if (assumptions_seen_ == assumed.changes().made()) return;
  std::vector<std::string> names;
  if (!assumptions_seen_ || !assumed.changes().since(*assumptions_seen_, names)) {
    for (const auto& [name, claim] : assumed_claims_) names.push_back(name);
    for (const auto& [name, assumption] : assumed.claims()) names.push_back(name);
  }
  assumptions_seen_ = assumed.changes().made();
  for (const std::string& name : names) {
    const auto found = by_name_.find(name);
    if (found == by_name_.end()) continue;
    const auto known = assumed_claims_.find(name);
    if (assumed.claim_of(name) == (known == assumed_claims_.end() ? std::string() : known->second)) continue;
    const Volume volume = found->second;
    remove(volume);
    add(volume, assumed);
  }
}

// By name where the lister knows which have changed; otherwise all are compared.
void VolumeIndex::follow_volumes(const Lister& volumes, const AssumedVolumes& assumed) {
  const ChangeLog* changes = volumes.volume_changes();
  if (changes != nullptr && changes_seen_ == changes->made()) return;
  std::vector<std::string> names;
  if (changes != nullptr && changes_seen_ && changes->since(*changes_seen_, names)) {
    for (const std::string& name : names) {
      const Volume volume = volumes.volume(name);
      const bool is_here = volume != nullptr && volume->storage_class_name == storage_class_;
      replace(name, is_here ? volume : nullptr, assumed);
    }
  } else {
    const std::vector<Volume> after = volumes.volumes_of_class(storage_class_);
    std::unordered_set<std::string_view> names_after;
    if (!by_name_.empty()) {
      for (const Volume& volume : after) names_after.insert(volume->metadata.name);
    }
    const std::vector<std::pair<std::string, Volume>> before(by_name_.begin(), by_name_.end());
    for (const auto& [name, volume] : before) {
      if (!names_after.contains(name)) replace(name, nullptr, assumed);
    }
    for (const Volume& volume : after) replace(volume->metadata.name, volume, assumed);
  }
  if (changes != nullptr) changes_seen_ = changes->made();
}

// Objects are immutable: another version is another object.
void VolumeIndex::replace(const std::string& name, const Volume& volume, const AssumedVolumes& assumed) {
  const auto found = by_name_.find(name);
  const Volume before = found == by_name_.end() ? nullptr : found->second;
  if (before == volume) return;
  if (before != nullptr) remove(before);
  if (volume != nullptr) add(volume, assumed);
}

void VolumeIndex::add(const Volume& volume, const AssumedVolumes& assumed) {
  const std::string& name = volume->metadata.name;
  by_name_[name] = volume;
  note_made(*volume, true);
  std::string claim = assumed.claim_of(name);
  if (!claim.empty()) assumed_claims_[name] = claim;
  if (!volume->claim_ref.empty()) claim = volume->claim_ref;
  if (claim.empty()) {
    put_free(volume, true);
  } else {
    reserved_[claim][name] = volume;
  }
}

void VolumeIndex::remove(const Volume& volume) {
  const std::string& name = volume->metadata.name;
  by_name_.erase(name);
  note_made(*volume, false);
  std::string claim = volume->claim_ref;
  if (const auto entry = assumed_claims_.find(name); entry != assumed_claims_.end()) {
    if (claim.empty()) claim = entry->second;
    assumed_claims_.erase(entry);
  }
  if (claim.empty()) {
    put_free(volume, false);
    return;
  }
  const auto reserved = reserved_.find(claim);
  reserved->second.erase(name);
  if (reserved->second.empty()) reserved_.erase(reserved);
}

void VolumeIndex::note_made(const PersistentVolume& volume, bool is_there) {
  const auto& annotations = volume.metadata.annotations;
  const auto maker = annotations.find(std::string(kProvisionedBy));
  const auto node = annotations.find(std::string(kOfferedBy));
  if (maker == annotations.end() || maker->second != StorageClass::kLocalProvisioner) return;
  if (node == annotations.end()) return;
  made_changes_.note(node->second);
  if (is_there) {
    made_[node->second][volume.metadata.name] = {volume.capacity, volume.claim_ref};
    return;
  }
  const auto here = made_.find(node->second);
  here->second.erase(volume.metadata.name);
  if (here->second.empty()) made_.erase(here);
}

const VolumeIndex::MadeVolumes* VolumeIndex::made_on(const std::string& node) const {
  const auto found = made_.find(node);
  return found == made_.end() ? nullptr : &found->second;
}

void VolumeIndex::put_free(const Volume& volume, bool is_free) {
  const std::optional<std::set<std::string>> hosts = named_hosts(*volume);
  if (!hosts) {
    if (is_free) {
      free_anywhere_.insert(volume);
    } else {
      free_anywhere_.erase(volume);
    }
    note_change_anywhere();
    return;
  }
  for (const std::string& host : *hosts) {
    Volumes& here = free_by_host_[host];
    if (is_free) {
      here.insert(volume);
    } else {
      here.erase(volume);
    }
    if (here.empty()) free_by_host_.erase(host);
    note_change(host);
  }
}

void VolumeIndex::note_change(const std::string& host) {
  changed_hosts_.push_back(host);
  if (changed_hosts_.size() <= kHostsKept) return;
  changed_hosts_.pop_front();
  ++forgotten_;
}

void VolumeIndex::note_change_anywhere() {
  forgotten_ += changed_hosts_.size() + 1;
  changed_hosts_.clear();
}

bool VolumeIndex::changed_since(std::uint64_t& seen, std::vector<std::string>& hosts) const {
  const std::uint64_t from = std::exchange(seen, this->seen());
  if (from < forgotten_) return false;
  hosts.insert(hosts.end(), changed_hosts_.begin() + static_cast<std::ptrdiff_t>(from - forgotten_),
               changed_hosts_.end());
  return true;
}

std::vector<VolumeIndex::HostWithVolume> VolumeIndex::hosts_for(const PersistentVolumeClaim& claim) const {
  std::vector<HostWithVolume> hosts;
  for (const auto& [host, volumes] : free_by_host_) {
    bool any = false;
    bool sure = false;
    for (auto each = volumes.lower_bound(claim.request); each != volumes.end() && !sure; ++each) {
      if (!is_free_for(**each, claim)) continue;
      any = true;
      sure = asks_for_host_alone(**each);
    }
    if (any) hosts.push_back({host, sure});
  }
  return hosts;
}

std::shared_ptr<const PersistentVolume> VolumeIndex::reserved_for(const PersistentVolumeClaim& claim) const {
  const auto reserved = reserved_.find(claim.metadata.key());
  if (reserved == reserved_.end()) return nullptr;
  for (const auto& [name, volume] : reserved->second) {
    // An assumption names the claim only; a claimRef may also have a uid.
    const bool mine =
        volume->claim_ref.empty() || volume->claim_ref_uid.empty() || volume->claim_ref_uid == claim.metadata.uid;
    if (mine && can_hold(*volume, claim)) return volume;
  }
  return nullptr;
}

std::shared_ptr<const PersistentVolume> VolumeIndex::smallest_for(const PersistentVolumeClaim& claim, const Node& node,
                                                                  const std::set<std::string>& taken) const {
  const auto first_of = [&](const Volumes& volumes) -> Volume {
    for (auto each = volumes.lower_bound(claim.request); each != volumes.end(); ++each) {
      if (!taken.contains((*each)->metadata.name) && fits(**each, claim, node)) return *each;
    }
    return nullptr;
  };
  Volume best = first_of(free_anywhere_);
  const auto label = node.metadata.labels.find(kHostLabel);
  const auto here = label == node.metadata.labels.end() ? free_by_host_.end() : free_by_host_.find(label->second);
  if (here == free_by_host_.end()) return best;
  Volume local = first_of(here->second);
  if (best == nullptr || (local != nullptr && Smaller()(local, best))) return local;
  return best;
}

}  // namespace berth
