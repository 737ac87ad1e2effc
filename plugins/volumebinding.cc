#include "plugins/volumebinding.h"

#include <algorithm>

#include "plugins/volumebinding_match.h"

namespace berth {

namespace {

constexpr const char* kNoMatch = "node(s) didn't find available persistent volumes to bind";
constexpr const char* kElsewhere = "node(s) didn't match PersistentVolume's node affinity";
constexpr const char* kVolumeGone = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)";

using Claim = std::shared_ptr<const PersistentVolumeClaim>;
using Volume = std::shared_ptr<const PersistentVolume>;

// A claim to be bound when its pod is placed (WaitForFirstConsumer).
struct DelayedClaim {
  Claim claim;
  std::shared_ptr<const VolumeIndex> candidates;
  Volume reserved;  // its claimRef names this claim; null: none
};

struct PodVolumes final : StateEntry {
  std::vector<std::pair<Claim, Volume>> bound;             // null volume: it does not exist
  std::vector<DelayedClaim> delayed;                       // by ascending size
  std::map<std::string, std::vector<VolumeGrant>> chosen;  // for `delayed`, by node; written by Filter
  std::unique_ptr<StateEntry> clone() const override { return std::make_unique<PodVolumes>(*this); }
};

VolumeGrant grant(const PersistentVolumeClaim& claim, const PersistentVolume& volume) {
  return {claim.metadata.key(), volume.metadata.name, volume.local_path};
}

// Keys of the claims a pod uses, each once, in the order named.
std::vector<std::string> claim_keys(const Pod& pod) {
  std::vector<std::string> keys;
  for (const PodVolume& volume : pod.volumes) {
    if (volume.claim_name.empty()) continue;
    std::string key = pod.metadata.namespace_ + "/" + volume.claim_name;
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(std::move(key));
  }
  return keys;
}

std::string_view name_in(const std::string& key) { return std::string_view(key).substr(key.find('/') + 1); }

Status check_claim(const PersistentVolumeClaim* claim, const std::string& key) {
  const std::string quoted = "persistentvolumeclaim \"" + std::string(name_in(key)) + "\" ";
  if (claim == nullptr) return Status::unresolvable(quoted + "not found");
  if (claim->phase == "Lost") {
    return Status::unresolvable(quoted + "bound to non-existent persistentvolume \"" + claim->volume_name + "\"");
  }
  if (is_deleting(claim->manifest)) return Status::unresolvable(quoted + "is being deleted");
  return {};
}

bool waits_for_consumer(const Lister& volumes, const PersistentVolumeClaim& claim) {
  const auto storage_class = volumes.storage_class(class_of(claim));
  return storage_class != nullptr && storage_class->wait_for_first_consumer && claim.volume_name.empty();
}

void take_delayed(const Lister& volumes, const AssumedVolumes& assumed, const std::vector<Claim>& claims,
                  PodVolumes& found) {
  std::multimap<Quantity, Claim> by_size;  // equal ones in the order the pod names them
  for (const Claim& claim : claims) by_size.emplace(claim->request, claim);
  std::map<std::string, std::shared_ptr<const VolumeIndex>> by_class;
  for (const auto& [size, claim] : by_size) {
    std::shared_ptr<const VolumeIndex>& index = by_class[class_of(*claim)];
    if (index == nullptr) index = std::make_shared<VolumeIndex>(volumes, assumed, class_of(*claim));
    found.delayed.push_back({claim, index, index->reserved_for(*claim)});
  }
}

// Why the node does not suit the claims that have their volumes; null: it does.
const char* bound_fit(const PodVolumes& volumes, const Node& node) {
  for (const auto& [claim, volume] : volumes.bound) {
    if (volume == nullptr) return kVolumeGone;
    if (!reaches(*volume, node)) return kElsewhere;
  }
  return nullptr;
}

// Chooses a volume on the node for each claim that has none; false when one finds none. A claim that carries
// volume.kubernetes.io/selected-node waits for a provisioner, and there is none.
bool match_delayed(const PodVolumes& volumes, const Node& node, std::vector<VolumeGrant>& chosen) {
  std::set<std::string> taken;
  for (const DelayedClaim& delayed : volumes.delayed) {
    if (delayed.claim->metadata.annotations.contains("volume.kubernetes.io/selected-node")) return false;
    Volume volume = delayed.reserved;
    if (volume == nullptr) {
      volume = delayed.candidates->smallest_for(*delayed.claim, node, taken);
    } else if (!reaches(*volume, node)) {
      return false;
    }
    if (volume == nullptr) return false;
    taken.insert(volume->metadata.name);
    chosen.push_back(grant(*delayed.claim, *volume));
  }
  return true;
}

Hint after_claim_change(const Pod& pod, const EventObjects& objects) {
  if (objects.new_claim == nullptr) return Hint::queue;
  const std::vector<std::string> keys = claim_keys(pod);
  return std::find(keys.begin(), keys.end(), objects.new_claim->metadata.key()) != keys.end() ? Hint::queue
                                                                                              : Hint::skip;
}

}  // namespace

PluginMaker VolumeBinding::maker() {
  auto shared = std::make_shared<std::map<const Handle*, std::weak_ptr<AssumedVolumes>>>();
  return [shared](const Json& args, Handle& handle) -> Result<std::unique_ptr<Plugin>> {
    const bool empty = args.is_null() || (args.is_object() && args.as_object().empty());
    if (!empty) return Status::error("args: this plugin takes none; remove them");
    std::erase_if(*shared, [](const auto& entry) { return entry.second.expired(); });
    std::shared_ptr<AssumedVolumes> assumed = (*shared)[&handle].lock();
    if (assumed == nullptr) {
      assumed = std::make_shared<AssumedVolumes>();
      (*shared)[&handle] = assumed;
    }
    return std::unique_ptr<Plugin>(std::make_unique<VolumeBinding>(handle, std::move(assumed)));
  };
}

VolumeBinding::VolumeBinding(Handle& handle, std::shared_ptr<AssumedVolumes> assumed)
    : handle_(handle), assumed_(std::move(assumed)) {}

std::vector<EventWithHint> VolumeBinding::events_to_register() const {
  auto uses_claims = [](const Pod& pod, const EventObjects&) {
    return claim_keys(pod).empty() ? Hint::skip : Hint::queue;
  };
  return {{{EventResource::storage_class, kAdd | kUpdate, "StorageClassChange"}, nullptr},
          {{EventResource::persistent_volume_claim, kAdd | kUpdate, "PvcChange"}, after_claim_change},
          {{EventResource::persistent_volume, kAdd | kUpdate, "PvChange"}, nullptr},
          {{EventResource::node, kAdd | kUpdateNodeLabel, "NodeAddOrLabel"}, nullptr},
          // Upstream hears of a promise taken back through the volume object; here nothing was written to it.
          {{EventResource::assigned_pod, kDelete, "AssignedPodDelete"}, uses_claims}};
}

Status VolumeBinding::pre_filter(CycleState& state, const Pod& pod, const Snapshot&, PreFilterResult&) {
  const Lister& volumes = handle_.lister();
  const std::vector<std::string> keys = claim_keys(pod);
  if (keys.empty()) return Status::skip();
  std::vector<Claim> claims;
  for (const std::string& key : keys) {
    claims.push_back(volumes.claim(key));
    if (Status status = check_claim(claims.back().get(), key); !status.is_success()) return status;
  }
  assumed_->prune(volumes);
  auto found = std::make_unique<PodVolumes>();
  std::vector<Claim> delayed;
  for (Claim& claim : claims) {
    if (is_bound(*claim)) {
      found->bound.emplace_back(claim, volumes.volume(claim->volume_name));
    } else if (waits_for_consumer(volumes, *claim)) {
      delayed.push_back(std::move(claim));
    } else {
      return Status::unresolvable("pod has unbound immediate PersistentVolumeClaims");
    }
  }
  take_delayed(volumes, *assumed_, delayed, *found);
  state.write(kName, std::move(found));
  return {};
}

Status VolumeBinding::filter(CycleState& state, const Pod&, const NodeInfo& node) {
  auto* volumes = state.read<PodVolumes>(kName);
  if (volumes == nullptr) return Status::error("PreFilter did not run");
  std::vector<std::string> reasons;
  if (const char* reason = bound_fit(*volumes, *node.node)) reasons.emplace_back(reason);
  std::vector<VolumeGrant> chosen;
  if (!match_delayed(*volumes, *node.node, chosen)) reasons.emplace_back(kNoMatch);
  if (!reasons.empty()) return {Code::unresolvable, std::move(reasons)};
  volumes->chosen[node.name()] = std::move(chosen);
  return {};
}

Status VolumeBinding::reserve(CycleState& state, const Pod& pod, const std::string& node) {
  const auto* volumes = state.read<PodVolumes>(kName);
  if (volumes == nullptr) return {};  // PreFilter: no claims
  const auto chosen = volumes->chosen.find(node);
  if (chosen == volumes->chosen.end()) return Status::error("Filter did not accept node " + node);
  for (const VolumeGrant& each : chosen->second) {
    if (assumed_->assume(each.volume, each.claim, pod.uid())) continue;
    return Status::error("persistentvolume \"" + each.volume + "\" is promised to claim " +
                         assumed_->claim_of(each.volume));
  }
  return {};
}

void VolumeBinding::unreserve(CycleState&, const Pod& pod, const std::string&) { assumed_->drop(pod.uid()); }

void VolumeBinding::restore(CycleState&, const Pod& pod, const std::string&, const std::vector<VolumeGrant>& grants) {
  for (const VolumeGrant& each : grants) {
    const Claim claim = handle_.lister().claim(each.claim);
    if (claim != nullptr && is_bound(*claim)) continue;
    assumed_->assume(each.volume, each.claim, pod.uid());
  }
}

Status VolumeBinding::pre_bind_pre_flight(CycleState& state, const Pod&, const std::string&) {
  return state.read<PodVolumes>(kName) == nullptr ? Status::skip() : Status();
}

Status VolumeBinding::pre_bind(CycleState& state, const Pod&, const std::string& node, BindRequest& request) {
  const auto* volumes = state.read<PodVolumes>(kName);
  if (volumes == nullptr) return {};
  for (const auto& [claim, volume] : volumes->bound) {
    if (volume != nullptr) request.volumes.push_back(grant(*claim, *volume));
  }
  const auto chosen = volumes->chosen.find(node);
  if (chosen == volumes->chosen.end()) return Status::error("Filter did not accept node " + node);
  request.volumes.insert(request.volumes.end(), chosen->second.begin(), chosen->second.end());
  return {};
}

// The volume objects tell of the binding from here on.
void VolumeBinding::post_bind(CycleState&, const Pod& pod, const std::string&) { assumed_->drop(pod.uid()); }

}  // namespace berth
