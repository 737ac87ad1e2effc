// The sandbox of a pod: the namespaces that its containers share. A process enters it, the keeper, and holds them for
// as long as it lives; its mounts are in a namespace of its own, and go with it, whatever it dies of.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "core/status.h"
#include "firmware-host/agent/oci/oci_spec.h"

namespace berth {

struct SandboxOptions {
  std::string directory;      // which is there: a tmpfs is mounted on it, with shm/ in it
  std::string hostname;       // empty: stays the machine's
  bool host_network = false;  // spec.hostNetwork; also keeps the machine's host name
  bool host_ipc = false;      // spec.hostIPC
  bool host_pid = false;      // spec.hostPID
};

// Moves this process, which has one thread, into new namespaces. Mounts of the machine go on to appear here, none of
// here appear there. The loopback interface is up. An error: some of it may be done; the process is of no use any more.
Status enter_sandbox(const SandboxOptions& options);

// For the containers of a pod whose keeper, which has entered, is this process. Each has processes of its own, unless
// the machine's are shared.
OciNamespaces namespaces_in_sandbox(const SandboxOptions& options, pid_t keeper);
// What /dev/shm of these containers is.
OciMount shared_memory_of(const SandboxOptions& options);

// Mounts at <directory>/root what a container sees as its root: the layers of its image, the lowest one first, and on
// top of them what it writes, in <directory>/upper (overlayfs; Linux, filesystems/overlayfs.rst). The directory is
// there, its path absolute; what is missing in it is made. An error names what is wrong. The working directory of this
// process is another one meanwhile.
Status mount_root(const std::vector<std::string>& layers, const std::string& directory);

}  // namespace berth
