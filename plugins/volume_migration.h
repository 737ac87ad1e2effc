// In-tree cloud disks that a CSI driver serves instead: which driver, whether on this node, and under which handle
// (csi-translation-lib plugins/{aws_ebs,gce_pd,azure_disk,openstack_cinder}.go; nodevolumelimits/utils.go).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/api/objects.h"

namespace berth {

struct InTreePlugin {
  DiskSource::Type type;
  std::string_view name;    // "kubernetes.io/aws-ebs"; also a class's provisioner
  std::string_view driver;  // "ebs.csi.aws.com"
};
// Null: no driver serves such disks.
const InTreePlugin* in_tree_plugin(const DiskSource& disk);
const InTreePlugin* in_tree_plugin(std::string_view name);
// True on every node that has a CSINode, which need not name the plugin any more (isCSIMigrationOn). Null: it has none.
bool is_migrated(const CsiNode* node);

// The driver's handle of the disk. Error: the disk's name has not the form that its plugin knows. `volume`: the
// PersistentVolume it belongs to; null for a disk that a pod names itself.
Result<std::string> csi_handle(const DiskSource& disk, const PersistentVolume* volume);

}  // namespace berth
