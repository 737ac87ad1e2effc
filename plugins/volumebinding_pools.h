// Pools of devices: how much room one has left for another volume (volumebinding/binder.go hasEnoughCapacity, with what
// the gateway knows instead of CSIStorageCapacity: the pool that the device reports, less the volumes that exist there
// and those that are about to).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/api/node.h"
#include "core/api/volume.h"
#include "core/framework/framework.h"
#include "plugins/volume_index.h"
#include "plugins/volumebinding_assumed.h"

namespace berth {

// Null: the node's device has none of this class.
const VolumePool* pool_of(const Node& node, const std::string& storage_class);

// The volume that the node's device is to make for the claim, whose class it has a pool of.
BoundVolume volume_to_make(const PersistentVolumeClaim& claim, const VolumePool& pool);

// What is taken of all pools of some classes, by volumes that exist and by claims that are assumed to be made.
class PoolUse {
 public:
  // `volumes`: those of the class, up to date for as long as has_room() is asked. Both outlive it.
  void add(const std::string& storage_class, std::shared_ptr<VolumeIndex> volumes, const AssumedVolumes& assumed);
  // Whether the node has room for the claim, whose class was added, beside `more` bytes of the same pod. `is_selected`:
  // a promise to the node may be the claim's own; the claim of a whole class is that of one of its pods.
  bool has_room(const Node& node, const PersistentVolumeClaim& claim, const Quantity& more, bool is_selected) const;
  // Whether the claim is promised to the node, and so counted there already.
  bool is_promised(const Node& node, const PersistentVolumeClaim& claim) const;
  // Appends the names of nodes where that may have changed since the last call or, the first time, since add(). False:
  // it may have on any.
  bool changed(const Lister& lister, std::vector<std::string>& nodes);

 private:
  struct OfClass {
    std::shared_ptr<VolumeIndex> volumes;
    std::uint64_t seen = 0;  // of their made_changes()
  };
  const AssumedVolumes* assumed_ = nullptr;  // null: no class was added
  std::uint64_t assumed_seen_ = 0;           // of its node_changes()
  std::map<std::string, OfClass> classes_;
};

}  // namespace berth
