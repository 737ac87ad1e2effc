// A subPath of a volume, mounted so that nothing in the volume can lead out of it: what a container has written there,
// a symbolic link to /etc say, is not followed beyond the volume, not even when it is replaced meanwhile.
#pragma once

#include <string>

#include "core/status.h"

namespace berth {

// Binds <volume>/<subpath> to `target`, which is made, as a directory or a file like what it shows. Directories that
// are missing in the volume are made (kubelet volumemanager: SafeMakeDir), with the volume's mode and owner. For a
// process in a mount namespace of its own (sandbox.h), which drops the mount in the end. An error names the subPath.
Status bind_subpath(const std::string& volume, const std::string& subpath, const std::string& target);

}  // namespace berth
