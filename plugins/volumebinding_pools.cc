#include "plugins/volumebinding_pools.h"

#include <algorithm>
#include <utility>

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

void PoolUse::add(const std::string& storage_class, std::shared_ptr<VolumeIndex> volumes,
                  const AssumedVolumes& assumed) {
  const std::uint64_t seen = volumes->made_changes().made();
  classes_[storage_class] = {std::move(volumes), seen};
  assumed_ = &assumed;
  assumed_seen_ = assumed.node_changes().made();
}

bool PoolUse::has_room(const Node& node, const PersistentVolumeClaim& claim, const Quantity& more,
                       bool is_selected) const {
  const std::string storage_class = class_of(claim);
  const std::string& name = node.metadata.name;
  const VolumePool* pool = pool_of(node, storage_class);
  if (pool == nullptr) return false;
  Quantity taken = more;
  const VolumeIndex::MadeVolumes* const made = classes_.at(storage_class).volumes->made_on(name);
  if (made != nullptr) {
    for (const auto& [volume, each] : *made) taken = taken + each.size;
  }
  bool is_counted = false;  // the claim itself
  assumed_->for_each_on(name, [&](const std::string& key, const AssumedVolumes::ToProvision& what) {
    if (what.storage_class != storage_class) return;
    const bool is_made = made != nullptr && std::any_of(made->begin(), made->end(),
                                                        [&key](const auto& each) { return each.second.claim == key; });
    if (!is_made) taken = taken + what.size;
    is_counted = is_counted || (is_selected && key == claim.metadata.key());
  });
  if (!is_counted) taken = taken + claim.request;
  return taken <= pool->capacity;
}

bool PoolUse::is_promised(const Node& node, const PersistentVolumeClaim& claim) const {
  if (assumed_ == nullptr) return false;
  const std::string* const promised = assumed_->node_of(claim.metadata.key());
  return promised != nullptr && *promised == node.metadata.name;
}

bool PoolUse::changed(const Lister& lister, std::vector<std::string>& nodes) {
  if (assumed_ == nullptr) return true;
  bool are_known = assumed_->node_changes().since(assumed_seen_, nodes);
  assumed_seen_ = assumed_->node_changes().made();
  for (auto& [name, of_class] : classes_) {
    of_class.volumes->follow(lister, *assumed_);
    are_known = of_class.volumes->made_changes().since(of_class.seen, nodes) && are_known;
    of_class.seen = of_class.volumes->made_changes().made();
  }
  return are_known;
}

}  // namespace berth
