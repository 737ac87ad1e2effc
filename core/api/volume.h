// Kinds for volumes: core/v1 PersistentVolume and PersistentVolumeClaim, and those of storage/v1.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/api/disk_source.h"
#include "core/api/metadata.h"
#include "core/api/quantity.h"
#include "core/api/selector.h"
#include "core/json/json.h"

namespace berth {

struct PersistentVolume {
  ObjectMeta metadata;
  Quantity capacity;  // capacity.storage
  std::string storage_class_name;
  std::vector<std::string> access_modes;
  std::string volume_mode = "Filesystem";
  std::string volume_attributes_class_name;
  std::string reclaim_policy = "Retain";
  std::string local_path;
  DiskSource disk = {};
  std::string csi_driver;  // csi.driver; empty: not a CSI volume
  std::string csi_volume_handle;
  std::optional<NodeSelector> node_affinity;  // nodeAffinity.required
  std::string claim_ref;                      // "<namespace>/<name>", empty: none
  std::string claim_ref_uid;
  std::string phase = "Available";  // Available, Bound, Released, Failed
  Json manifest;
};

// Annotations of a volume: the node whose device offers or has made it; the provisioner that made it.
inline constexpr std::string_view kOfferedBy = "berth/offered-by";
inline constexpr std::string_view kProvisionedBy = "pv.kubernetes.io/provisioned-by";

struct PersistentVolumeClaim {
  ObjectMeta metadata;
  Quantity request;  // resources.requests.storage
  std::optional<std::string> storage_class_name;
  std::vector<std::string> access_modes;
  std::string volume_mode = "Filesystem";
  std::string volume_name;
  std::optional<LabelSelector> selector;
  std::string volume_attributes_class_name;
  std::string phase = "Pending";  // Pending, Bound, Lost
  Json manifest;
};

struct StorageClass {
  static constexpr std::string_view kNoProvisioner = "kubernetes.io/no-provisioner";
  // Berth's own: the device that a pod is placed on makes the volume, below its pool of this class.
  static constexpr std::string_view kLocalProvisioner = "berth/local";
  ObjectMeta metadata;
  std::string provisioner;
  bool wait_for_first_consumer = false;  // volumeBindingMode
  std::string reclaim_policy = "Delete";
  std::vector<LabelSelector> allowed_topologies;  // one must match; empty: everywhere
  Json manifest;
};

// storage/v1 CSINode: the CSI drivers of one node.
struct CsiNode {
  struct Driver {
    std::string name;
    std::optional<std::int64_t> attach_limit;  // allocatable.count
  };
  ObjectMeta metadata;  // annotation storage.alpha.kubernetes.io/migrated-plugins: in-tree plugins served by CSI
  std::vector<Driver> drivers;
  Json manifest;
};

// storage/v1 CSIDriver.
struct CsiDriver {
  ObjectMeta metadata;
  bool storage_capacity = false;  // the driver publishes CSIStorageCapacity
  Json manifest;
};

// storage/v1 VolumeAttachment, as far as queueing hints use it. Berth creates none, and users cannot apply any.
struct VolumeAttachment {
  ObjectMeta metadata;
  std::string attacher;  // the CSI driver
};

// storage/v1 CSIStorageCapacity.
struct CsiStorageCapacity {
  ObjectMeta metadata;
  std::string storage_class_name;
  std::optional<LabelSelector> node_topology;  // none: no node
  std::optional<Quantity> capacity;
  std::optional<Quantity> maximum_volume_size;
  Json manifest;
};

}  // namespace berth
