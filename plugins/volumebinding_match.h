// Which volume a claim gets on a node: the rules, apart from the plugin
// (component-helpers storage/volume/pv_helpers.go FindMatchingVolume).
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/framework/framework.h"
#include "plugins/volumebinding_assumed.h"

namespace berth {

// By the volume's nodeAffinity. Labels alone decide: matchFields hold everywhere (component-helpers storage/volume
// CheckNodeAffinity, scheduling/corev1/nodeaffinity).
bool reaches(const PersistentVolume& volume, const Node& node);

// The volumes of one class as one attempt sees them: found by node where their affinity names hosts.
class VolumeIndex {
 public:
  VolumeIndex(const Lister& volumes, const AssumedVolumes& assumed, const std::string& storage_class);

  // The volume reserved for this claim (claimRef, or assumed for it) that can hold it; null: none.
  std::shared_ptr<const PersistentVolume> reserved_for(const PersistentVolumeClaim& claim) const;
  // The smallest free volume that fits the claim on the node, by (capacity, name); null: none. `taken`: names chosen
  // for other claims of the pod.
  std::shared_ptr<const PersistentVolume> smallest_for(const PersistentVolumeClaim& claim, const Node& node,
                                                       const std::set<std::string>& taken) const;

 private:
  using Volumes = std::vector<std::shared_ptr<const PersistentVolume>>;
  struct Reserved {
    std::shared_ptr<const PersistentVolume> volume;
    std::string claim;
    std::string claim_uid;  // empty: any
  };
  std::vector<Reserved> reserved_;
  std::map<std::string, Volumes> by_host_;
  Volumes anywhere_;
};

}  // namespace berth
