// In-tree cloud disks that are served by a CSI driver: which driver, whether on this node, and the volume handle
// (csi-translation-lib plugins/{aws_ebs,gce_pd,azure_disk,openstack_cinder}.go; nodevolumelimits/utils.go).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/api/disk_source.h"
#include "core/status.h"

namespace berth {

struct CsiNode;
struct PersistentVolume;

struct InTreePlugin {
  DiskSource::Type type;
  std::string_view name;    // "kubernetes.io/aws-ebs"; also used as a class's provisioner
  std::string_view driver;  // "ebs.csi.aws.com"
};
// Null: no driver serves such disks.
const InTreePlugin* in_tree_plugin(const DiskSource& disk);
const InTreePlugin* in_tree_plugin(std::string_view name);
// True on every node that has a CSINode (isCSIMigrationOn; the CSINode no longer needs to name the plugin). Null: none.
bool is_migrated(const CsiNode* node);

// The driver's handle of the disk. Error: invalid disk name. `volume`: the PersistentVolume that it belongs to; null
// for a disk in a pod's spec.
Result<std::string> csi_handle(const DiskSource& disk, const PersistentVolume* volume);

}  // namespace berth
