// fsGroup: gives all in a volume to a group, which may then read and write it (pkg/volume/volume_linux.go
// SetVolumeOwnership, changeFilePermission).
#pragma once

#include <sys/types.h>

#include <string>

#include "core/status.h"

namespace berth {

struct VolumeGroup {
  gid_t group = 0;  // spec.securityContext.fsGroup
  // fsGroupChangePolicy OnRootMismatch: nothing is looked at if the volume itself has the group and the modes already.
  bool on_root_mismatch = false;
};

// Files become readable and writable for the group, directories usable besides, and what is made in them later gets
// the group. The volume itself comes last, so that one that was interrupted does not look done. What has group and mode
// already is not written. No link is followed. Takes as long as the volume is large.
Status set_volume_group(const std::string& directory, const VolumeGroup& group);

}  // namespace berth
