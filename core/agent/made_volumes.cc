#include "core/agent/made_volumes.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "core/agent/records.h"
#include "core/api/names.h"
#include "core/check.h"

namespace berth {

namespace {

constexpr int kEntriesAStep = 256;
constexpr Millis kNextStepMs = 10;  // between two steps the loop turns
constexpr Millis kAgainMs = 10'000;

using State = MadeVolume::State;

// The volumes of all slots.
std::set<std::string> names_of(const NodeState& state) {
  std::set<std::string> names;
  for (const auto& [uid, slot] : state.slots) {
    for (const BoundVolume& each : slot.volumes) names.insert(each.volume);
  }
  return names;
}

// Of its pool, which may be gone from the configuration.
std::string root_of(const MadeVolume& volume) { return volume.path.substr(0, volume.path.rfind('/')); }

}  // namespace

bool is_in(const VolumePool& pool, const BoundVolume& volume) { return volume.path == path_in(pool, volume.volume); }

MadeVolumes::MadeVolumes(const Parts& parts, Removed removed) : parts_(parts), removed_(std::move(removed)) {}

MadeVolumes::~MadeVolumes() {
  for (auto& [volume, timer] : steps_) parts_.timers.cancel(timer);
}

void MadeVolumes::restore(std::map<std::string, MadeVolume> volumes) {
  volumes_ = std::move(volumes);
  for (const auto& [name, volume] : volumes_) {
    if (volume.state == State::removing) {
      remove_later(name, 0);
      continue;
    }
    if (volume.bytes == 0) continue;
    const Status limited = parts_.directories->limit(root_of(volume), name, volume.bytes);
    if (limited.is_success()) continue;
    parts_.log.write(Level::warn, "a volume is not limited", {{"volume", name}, {"why", limited.message()}});
  }
  for (const auto& [path, name] : without_record()) {
    parts_.log.write(Level::warn, "this device has no record of what lies in its pool; it is left alone",
                     {{"path", path}});
  }
}

// By path: the name.
std::map<std::string, std::string> MadeVolumes::without_record() const {
  std::map<std::string, std::string> found;
  for (const VolumePool& pool : parts_.pools) {
    for (const std::string& name : parts_.directories->list(pool.root)) {
      if (!volumes_.contains(name) && found.size() < kMaxVolumes) found.emplace(path_in(pool, name), name);
    }
  }
  return found;
}

const VolumePool* MadeVolumes::pool_at(const BoundVolume& volume) const {
  if (!is_valid_name(volume.volume)) return nullptr;  // it is part of a path
  const auto found = std::find_if(parts_.pools.begin(), parts_.pools.end(),
                                  [&volume](const VolumePool& pool) { return is_in(pool, volume); });
  return found == parts_.pools.end() ? nullptr : &*found;
}

std::map<const VolumePool*, Quantity> MadeVolumes::used_by(const std::vector<const Slot*>& slots,
                                                           const std::vector<BoundVolume>& except) const {
  std::set<std::string> counted;
  for (const BoundVolume& each : except) counted.insert(each.volume);
  std::map<const VolumePool*, Quantity> used;
  for (const Slot* slot : slots) {
    for (const BoundVolume& each : slot->volumes) {
      const auto known = volumes_.find(each.volume);
      if (known == volumes_.end() || !counted.insert(each.volume).second) continue;
      Quantity& bytes = used[pool_at(each)];
      bytes = bytes + Quantity(known->second.bytes);
    }
  }
  return used;
}

Status MadeVolumes::admit(const std::vector<BoundVolume>& volumes, const std::vector<const Slot*>& slots) const {
  std::map<const VolumePool*, Quantity> used = used_by(slots, volumes);
  for (const BoundVolume& each : volumes) {
    const VolumePool* pool = pool_at(each);
    const std::string what = "volume " + each.volume + ": ";
    const auto known = volumes_.find(each.volume);
    if (known != volumes_.end() && known->second.state == State::removing) {
      return Status::unschedulable(what + "it is still being removed");
    }
    if (!each.make) continue;
    if (pool == nullptr || pool->storage_class != each.make->storage_class) {
      return Status::unresolvable(what + "this node has no pool of class " + each.make->storage_class + " at " +
                                  each.path);
    }
    if (known == volumes_.end()) {
      if (Status room = check_room(each, *pool); !room.is_success()) return room;
    }
    Quantity& taken = used[pool];
    const std::int64_t free = std::max<std::int64_t>(0, pool->capacity.value() - taken.value());
    if (each.make->bytes > free) {
      return Status::unschedulable(what + "insufficient storage in pool " + pool->root + ": " +
                                   show_bytes(each.make->bytes) + " asked, " + show_bytes(free) + " free");
    }
    taken = taken + Quantity(each.make->bytes);
  }
  return Status::ok();
}

// For one more volume, at its path. Where that cannot be looked at, make() tells why: such a refusal lasts (D6), as
// that of a disk that is missing should.
Status MadeVolumes::check_room(const BoundVolume& volume, const VolumePool& pool) const {
  const std::string what = "volume " + volume.volume + ": ";
  if (volumes_.size() >= kMaxVolumes) {
    return Status::unschedulable(what + "this node has made " + std::to_string(kMaxVolumes) + " volumes already");
  }
  const Result<bool> free = parts_.directories->is_free(pool.root, volume.volume);
  return !free || *free ? Status::ok() : Status::unschedulable(what + not_made_here(volume.path));
}

void MadeVolumes::note_admitted(const std::vector<BoundVolume>& volumes, const Epoch& epoch) {
  for (const BoundVolume& each : volumes) {
    if (pool_at(each) == nullptr) continue;
    const auto [found, is_new] = volumes_.try_emplace(each.volume);
    if (is_new) {
      found->second.path = each.path;
      // One without a record was made before the store was lost: it has data.
      found->second.state = each.make ? State::made : State::kept;
    }
    found->second.claim = each.claim;
    if (each.make) found->second.bytes = each.make->bytes;
    found->second.epoch = epoch;
    save(each.volume);
  }
}

void MadeVolumes::note_bound(const std::vector<BoundVolume>& volumes) {
  for (const BoundVolume& each : volumes) {
    const auto found = volumes_.find(each.volume);
    if (found == volumes_.end() || std::exchange(found->second.state, State::kept) == State::kept) continue;
    save(each.volume);
  }
}

Status MadeVolumes::make(const std::vector<BoundVolume>& volumes) {
  for (const BoundVolume& each : volumes) {
    const auto known = volumes_.find(each.volume);
    if (!each.make || known == volumes_.end() || known->second.state != State::made) continue;
    const VolumePool* pool = pool_at(each);
    if (pool == nullptr) return Status::error("volume " + each.volume + ": its pool is gone from the configuration");
    if (Status made = parts_.directories->make(pool->root, each.volume, each.make->bytes); !made.is_success()) {
      return Status::error("volume " + each.volume + ": " + made.message());
    }
  }
  return Status::ok();
}

// Empty: nothing speaks against it.
std::string_view MadeVolumes::why_not_removed(const Request& request, const NodeState& state) const {
  if (names_of(state).contains(request.volume)) return "a pod has it";
  const auto known = volumes_.find(request.volume);
  if (known == volumes_.end()) {
    // Of one without a record the device knows nothing: it must lie where this agent makes volumes.
    return pool_at({{}, request.volume, request.path}) == nullptr ? "it is in no pool" : "";
  }
  const MadeVolume& volume = known->second;
  if (volume.state == State::removing) return {};
  if (volume.epoch >= request.epoch) return "a later pod has had it";
  return request.path.empty() && volume.state != State::made ? "a pod has used it" : "";
}

// Of an unused volume: whether it is left alone.
bool MadeVolumes::disown(const Request& request) {
  const auto known = volumes_.find(request.volume);
  if (!request.path.empty() || known == volumes_.end() || known->second.state != State::made) return false;
  const Result<bool> free = parts_.directories->is_free(root_of(known->second), request.volume);
  if (free && *free) return false;
  const std::string why = free ? not_made_here(known->second.path) : free.error().message();
  parts_.log.write(Level::warn, "volume not deleted", {{"volume", request.volume}, {"why", why}});
  if (free) end_record(request.volume);
  return true;
}

void MadeVolumes::end_record(const std::string& volume) {
  parts_.turn.store().erase(Table::meta, std::string(kVolumeKeys) + volume);
  volumes_.erase(volume);
}

void MadeVolumes::disown_filled(const NodeState& state) {
  for (const std::string& name : unused(state)) {
    const Result<bool> free = parts_.directories->is_free(root_of(volumes_.at(name)), name);
    if (!free || *free) continue;
    parts_.log.write(Level::warn, "volume disowned",
                     {{"volume", name}, {"why", not_made_here(volumes_.at(name).path)}});
    end_record(name);
  }
}

void MadeVolumes::remove(const Request& request, const NodeState& state) {
  if (const std::string_view why = why_not_removed(request, state); !why.empty()) {
    return parts_.log.write(Level::warn, "volume not deleted", {{"volume", request.volume}, {"why", std::string(why)}});
  }
  if (disown(request)) return;
  const bool is_known = volumes_.contains(request.volume);
  MadeVolume& volume = volumes_[request.volume];
  if (!is_known) volume.path = request.path;
  asked_[request.volume] = {request.gateway, request.gateway_id, request.epoch};
  if (std::exchange(volume.state, State::removing) == State::removing) return;
  volume.epoch = request.epoch;
  save(request.volume);
  parts_.log.write(Level::info, "removing a volume", {{"volume", request.volume}, {"path", volume.path}});
  parts_.turn.after_commit([this, name = request.volume] { remove_some(name); });
}

void MadeVolumes::remove_later(const std::string& volume, Millis delay) {
  steps_[volume] = parts_.timers.at(parts_.clock.now() + delay, [this, volume] { remove_some(volume); });
}

void MadeVolumes::remove_some(const std::string& volume) {
  const Result<bool> gone = parts_.directories->remove(root_of(volumes_.at(volume)), volume, kEntriesAStep);
  if (!gone) {
    parts_.log.write(Level::warn, "volume not removed yet", {{"volume", volume}, {"error", gone.error().message()}});
  }
  if (!gone || !*gone) {
    return remove_later(volume, gone ? kNextStepMs : kAgainMs);
  }
  end_record(volume);
  const auto asked = asked_.extract(volume);
  if (!asked.empty()) removed_(volume, asked.mapped());
  steps_.erase(volume);
}

std::vector<std::string> MadeVolumes::unused(const NodeState& state) const {
  const std::set<std::string> held = names_of(state);
  std::vector<std::string> names;
  for (const auto& [name, volume] : volumes_) {
    if (volume.state != State::made || held.contains(name)) continue;
    names.push_back(name);
    if (names.size() == kMaxUnused) break;
  }
  return names;
}

std::vector<KeptVolume> MadeVolumes::kept(const NodeState& state) const {
  const std::set<std::string> held = names_of(state);
  std::vector<KeptVolume> volumes;
  for (const auto& [name, volume] : volumes_) {
    if (volume.state != State::kept || held.contains(name)) continue;
    volumes.push_back({name, volume.path, volume.claim, volume.bytes});
  }
  for (const auto& [path, name] : without_record()) {
    if (is_valid_name(name)) volumes.push_back({name, path});
  }
  return volumes;
}

void MadeVolumes::save(const std::string& volume) {
  parts_.turn.store().put(Table::meta, std::string(kVolumeKeys) + volume, encode(volumes_.at(volume)));
}

}  // namespace berth
