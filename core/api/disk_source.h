// DiskSource: the disk behind a volume, of a pod or of a PersistentVolume.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace berth {

// The fields of in-line disk sources that determine whether two pods may share the disk (VolumeRestrictions) and how
// many a node can attach (NodeVolumeLimits).
struct DiskSource {
  enum class Type { none, gce_persistent_disk, aws_elastic_block_store, iscsi, rbd, csi, azure_disk, cinder };
  Type type = Type::none;
  std::string id;  // pdName, volumeID, iqn, image; csi: driver
  std::string pool;
  std::vector<std::string> monitors;  // rbd
  bool read_only = false;
  bool operator==(const DiskSource&) const = default;
};

}  // namespace berth
