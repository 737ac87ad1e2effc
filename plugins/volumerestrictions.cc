#include "plugins/volumerestrictions.h"

#include <algorithm>

#include "core/api/pod.h"
#include "core/api/volume.h"
#include "plugins/no_arguments.h"
#include "plugins/volume_claims.h"

namespace berth {

namespace {

const Status kDiskTaken = Status::unschedulable("node(s) had no available disk");
const Status kClaimTaken = Status::unschedulable(
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod");

using Type = DiskSource::Type;

bool is_restricted(const DiskSource& disk) {
  return disk.type == Type::gce_persistent_disk || disk.type == Type::aws_elastic_block_store ||
         disk.type == Type::iscsi || disk.type == Type::rbd;
}

bool is_same_disk(const DiskSource& a, const DiskSource& b) {
  if (a.type != b.type || a.id != b.id) return false;
  if (a.type != Type::rbd) return true;
  return a.pool == b.pool && std::any_of(a.monitors.begin(), a.monitors.end(), [&b](const std::string& monitor) {
           return std::find(b.monitors.begin(), b.monitors.end(), monitor) != b.monitors.end();
         });
}

bool collide(const DiskSource& a, const DiskSource& b) {
  if (!is_restricted(a) || !is_same_disk(a, b)) return false;
  return a.type == Type::aws_elastic_block_store || !a.read_only || !b.read_only;  // EBS cannot be shared by readers
}

bool collide(const Pod& pod, const Pod& other) {
  return std::any_of(pod.volumes.begin(), pod.volumes.end(), [&other](const PodVolume& mine) {
    return std::any_of(other.volumes.begin(), other.volumes.end(),
                       [&mine](const PodVolume& theirs) { return collide(mine.disk, theirs.disk); });
  });
}

bool disks_are_free(const Pod& pod, const NodeInfo& node) {
  return std::none_of(node.pods.begin(), node.pods.end(), [&pod](const auto& placed) { return collide(pod, *placed); });
}

// The pod's ReadWriteOncePod claims, and the number of their uses by existing pods.
struct ExclusiveClaims final : StateEntry {
  std::set<std::string> names;
  std::int64_t uses = 0;
  std::unique_ptr<StateEntry> clone() const override { return std::make_unique<ExclusiveClaims>(*this); }
  // By name only, as upstream: in a dry run a pod of another namespace counts too.
  std::int64_t uses_by(const Pod& pod) const {
    return std::count_if(pod.volumes.begin(), pod.volumes.end(),
                         [this](const PodVolume& volume) { return names.contains(volume.claim_name); });
  }
};

Result<std::set<std::string>> exclusive_claims(const Lister& lister, const Pod& pod) {
  std::set<std::string> names;
  for (const PodVolume& volume : pod.volumes) {
    if (volume.claim_name.empty()) continue;
    const auto claim = lister.claim(pod.metadata.namespace_ + "/" + volume.claim_name);
    if (claim == nullptr) return Status::unresolvable(claim_not_found(volume.claim_name));
    const auto& modes = claim->access_modes;
    if (std::find(modes.begin(), modes.end(), "ReadWriteOncePod") != modes.end()) names.insert(volume.claim_name);
  }
  return names;
}

// The number of claims in use by existing pods.
std::int64_t count_used(const std::set<std::string>& claims, std::string_view name_space, const Snapshot& snapshot) {
  std::set<std::string> used;
  if (claims.empty()) return 0;
  for (const auto& node : snapshot.nodes()) {
    for (const auto& placed : node->pods) {
      if (placed->metadata.namespace_ != name_space) continue;
      for (const PodVolume& volume : placed->volumes) {
        if (claims.contains(volume.claim_name)) used.insert(volume.claim_name);
      }
    }
  }
  return static_cast<std::int64_t>(used.size());
}

Hint after_disk_user_deleted(const Pod& pod, const EventObjects& objects) {
  if (objects.old_pod == nullptr) return Hint::queue;
  const Pod& deleted = *objects.old_pod;
  if (deleted.metadata.namespace_ != pod.metadata.namespace_) return Hint::skip;
  if (collide(pod, deleted)) return Hint::queue;
  const bool shares = std::any_of(deleted.volumes.begin(), deleted.volumes.end(), [&pod](const PodVolume& theirs) {
    return !theirs.claim_name.empty() &&
           std::any_of(pod.volumes.begin(), pod.volumes.end(),
                       [&theirs](const PodVolume& mine) { return mine.claim_name == theirs.claim_name; });
  });
  return shares ? Hint::queue : Hint::skip;
}

}  // namespace

Result<std::unique_ptr<Plugin>> VolumeRestrictions::make(const Json& args, Handle& handle) {
  return make_without_arguments<VolumeRestrictions>(args, handle);
}

std::vector<EventWithHint> VolumeRestrictions::events_to_register() const {
  return {{{EventResource::pod, kDelete, "PodDelete"}, after_disk_user_deleted},
          {{EventResource::node, kAdd, "NodeAdd"}, nullptr},
          {{EventResource::persistent_volume_claim, kAdd, "PvcAdd"}, after_named_claim}};
}

Status VolumeRestrictions::pre_filter(CycleState& state, const Pod& pod, const Snapshot& snapshot, PreFilterResult&) {
  Result<std::set<std::string>> exclusive = exclusive_claims(handle_.lister(), pod);
  if (!exclusive) return exclusive.error();
  auto claims = std::make_unique<ExclusiveClaims>();
  claims->uses = count_used(*exclusive, pod.metadata.namespace_, snapshot);
  claims->names = std::move(*exclusive);
  const bool has_disks = std::any_of(pod.volumes.begin(), pod.volumes.end(),
                                     [](const PodVolume& volume) { return is_restricted(volume.disk); });
  if (!has_disks && claims->uses == 0) return Status::skip();
  state.write(std::move(claims));
  return {};
}

Status VolumeRestrictions::add_pod(CycleState& state, const Pod&, const Pod& added, const NodeInfo&) {
  auto* claims = state.edit<ExclusiveClaims>();
  if (claims == nullptr) return Status::error("PreFilter did not run");
  claims->uses += claims->uses_by(added);
  return {};
}

Status VolumeRestrictions::remove_pod(CycleState& state, const Pod&, const Pod& removed, const NodeInfo&) {
  auto* claims = state.edit<ExclusiveClaims>();
  if (claims == nullptr) return Status::error("PreFilter did not run");
  claims->uses -= claims->uses_by(removed);
  return {};
}

Status VolumeRestrictions::filter(CycleState& state, const Pod& pod, const NodeInfo& node) {
  if (!disks_are_free(pod, node)) return kDiskTaken;
  const auto* claims = state.read<ExclusiveClaims>();
  if (claims == nullptr) return Status::error("PreFilter did not run");
  return claims->uses > 0 ? kClaimTaken : Status();
}

}  // namespace berth
