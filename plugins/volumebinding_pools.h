// Pools of devices: how much room one has left for another volume (volumebinding/binder.go hasEnoughCapacity, with what
// the gateway knows instead of CSIStorageCapacity: the pool that the device reports, less the volumes that exist there
// and those that are about to).
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "core/api/node.h"
#include "core/api/volume.h"
#include "core/framework/framework.h"
#include "plugins/volumebinding_assumed.h"

namespace berth {

// Null: the node's device has none of this class.
const VolumePool* pool_of(const Node& node, const std::string& storage_class);

// The volume that the node's device is to make for the claim, whose class it has a pool of.
BoundVolume volume_to_make(const PersistentVolumeClaim& claim, const VolumePool& pool);

// What is taken of all pools of some classes, as of one attempt.
class PoolUse {
 public:
  // Counts what exists of the class, once, and the claims that are assumed to be made. Cost: the volumes of the class.
  void count(const Lister& lister, const AssumedVolumes& assumed, const std::string& storage_class);
  // Whether the node has room for the claim beside `more` bytes of the same pod.
  bool has_room(const Node& node, const PersistentVolumeClaim& claim, const Quantity& more) const;

 private:
  void take(const std::string& node, const std::string& storage_class, const Quantity& bytes);

  std::set<std::string> classes_;
  std::map<std::pair<std::string, std::string>, Quantity> used_;  // by node and class
  std::set<std::string> assumed_;                                 // claims that are counted
};

}  // namespace berth
