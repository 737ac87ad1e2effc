#include "plugins/volumebinding_pools.h"

#include <algorithm>

#include "plugins/volume_claims.h"

namespace berth {

const VolumePool* pool_of(const Node& node, const std::string& storage_class) {
  const std::vector<VolumePool>& pools = node.volume_pools.get();
  const auto found = std::find_if(pools.begin(), pools.end(), [&storage_class](const VolumePool& pool) {
    return pool.storage_class == storage_class;
  });
  return found == pools.end() ? nullptr : &*found;
}

BoundVolume volume_to_make(const PersistentVolumeClaim& claim, const VolumePool& pool) {
  const std::string name = "pvc-" + std::string(claim.metadata.uid);
  return {claim.metadata.key(), name, path_in(pool, name), VolumeToMake{pool.storage_class, claim.request.value()}};
}

void PoolUse::count(const Lister& lister, const AssumedVolumes& assumed, const std::string& storage_class) {
  if (!classes_.insert(storage_class).second) return;
  for (const auto& volume : lister.volumes_of_class(storage_class)) {
    const auto& annotations = volume->metadata.annotations;
    const auto maker = annotations.find(std::string(kProvisionedBy));
    const auto node = annotations.find(std::string(kOfferedBy));
    if (maker == annotations.end() || maker->second != StorageClass::kLocalProvisioner) continue;
    if (node != annotations.end()) take(node->second, storage_class, volume->capacity);
  }
  for (const auto& [key, assumption] : assumed.nodes()) {
    const auto claim = lister.claim(key);
    if (claim == nullptr || class_of(*claim) != storage_class || !claim->volume_name.empty()) continue;
    take(assumption.to, storage_class, claim->request);
    assumed_.insert(key);
  }
}

void PoolUse::take(const std::string& node, const std::string& storage_class, const Quantity& bytes) {
  Quantity& used = used_[{node, storage_class}];
  used = used + bytes;
}

bool PoolUse::has_room(const Node& node, const PersistentVolumeClaim& claim, const Quantity& more) const {
  const std::string storage_class = class_of(claim);
  const VolumePool* pool = pool_of(node, storage_class);
  if (pool == nullptr) return false;
  const auto used = used_.find({node.metadata.name, storage_class});
  const Quantity taken = used == used_.end() ? Quantity() : used->second;
  const Quantity asked = assumed_.contains(claim.metadata.key()) ? Quantity() : claim.request;
  return taken + more + asked <= pool->capacity;
}

}  // namespace berth
