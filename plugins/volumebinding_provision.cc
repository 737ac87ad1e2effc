#include "plugins/volumebinding_provision.h"

#include <algorithm>

#include "core/api/node.h"
#include "core/api/volume.h"
#include "plugins/volume_claims.h"
#include "plugins/volumebinding_match.h"

namespace berth {

namespace {

// core/v1 helper MatchTopologySelectorTerms: an empty term matches no node.
bool is_allowed(const StorageClass& storage_class, const Node& node) {
  const auto& terms = storage_class.allowed_topologies;
  return terms.empty() || std::any_of(terms.begin(), terms.end(), [&node](const LabelSelector& term) {
           return !term.requirements.empty() && matches(term, node.metadata.labels);
         });
}

bool has_space(const Lister& lister, const StorageClass& storage_class, const PersistentVolumeClaim& claim,
               const Node& node) {
  const auto driver = lister.csi_driver(storage_class.provisioner);
  if (claim.request == Quantity() || driver == nullptr || !driver->storage_capacity) return true;
  const auto capacities = lister.csi_storage_capacities();
  return std::any_of(capacities.begin(), capacities.end(), [&](const auto& capacity) {
    const std::optional<Quantity>& limit = volume_limit(*capacity);
    return capacity->storage_class_name == storage_class.metadata.name && limit &&
           limit->value() >= claim.request.value() && capacity->node_topology &&
           matches(*capacity->node_topology, node.metadata.labels);
  });
}

// A directory can hold neither a block device nor, as with other provisioners, what a selector asks for.
bool is_directory(const PersistentVolumeClaim& claim) { return claim.volume_mode == "Filesystem" && !claim.selector; }

}  // namespace

bool is_made_by_devices(const Lister& lister, const std::string& storage_class) {
  const auto found = lister.storage_class(storage_class);
  return found != nullptr && found->provisioner == StorageClass::kLocalProvisioner;
}

Result<Provisioning> can_provision(const Lister& lister, const PoolUse& pools, const Quantity& more,
                                   const PersistentVolumeClaim& claim, const Node& node, bool is_selected) {
  const std::string name = class_of(claim);
  if (name.empty()) return Status::error("no class for claim \"" + claim.metadata.key() + "\"");
  const auto storage_class = lister.storage_class(name);
  if (storage_class == nullptr) return Status::error("failed to find storage class \"" + name + "\"");
  const std::string& provisioner = storage_class->provisioner;
  const bool has_one = !provisioner.empty() && provisioner != StorageClass::kNoProvisioner;
  if (!has_one || !is_allowed(*storage_class, node)) return Provisioning::impossible;
  if (provisioner == StorageClass::kLocalProvisioner) {
    if (!is_directory(claim)) return Provisioning::impossible;
    return pools.has_room(node, claim, more, is_selected) ? Provisioning::possible : Provisioning::no_space;
  }
  return has_space(lister, *storage_class, claim, node) ? Provisioning::possible : Provisioning::no_space;
}

Result<std::shared_ptr<const PersistentVolume>> provisioned_volume(const Lister& lister, const std::string& claim_key,
                                                                   const Node& node, bool asked) {
  const auto claim = lister.claim(claim_key);
  if (claim == nullptr) {
    return Status::error("failed to check provisioning pvc: could not find v1.PersistentVolumeClaim \"" + claim_key +
                         "\"");
  }
  const std::string* selected = selected_node(*claim);
  if (selected == nullptr && !asked) return std::shared_ptr<const PersistentVolume>();
  if (selected == nullptr || *selected != node.metadata.name) {
    return Status::error("provisioning failed for PVC \"" + claim->metadata.name + "\"");
  }
  if (claim->volume_name.empty()) return std::shared_ptr<const PersistentVolume>();
  auto volume = lister.volume(claim->volume_name);
  if (volume == nullptr) return std::shared_ptr<const PersistentVolume>();
  if (!reaches(*volume, node)) {
    return Status::error("pv \"" + volume->metadata.name + "\" node affinity doesn't match node \"" +
                         node.metadata.name + "\": no matching NodeSelectorTerms");
  }
  return is_bound(*claim) ? volume : std::shared_ptr<const PersistentVolume>();
}

const std::optional<Quantity>& volume_limit(const CsiStorageCapacity& capacity) {
  return capacity.maximum_volume_size ? capacity.maximum_volume_size : capacity.capacity;
}

}  // namespace berth
