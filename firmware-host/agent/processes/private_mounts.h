// A view of the machine's files for one run of one container: its own /tmp, the pod's volumes at their mountPath, all
// else as the machine has it. Made by bubblewrap as a mount namespace, which the caller then owns; no process of
// bubblewrap is left in it, and it goes with the last process and descriptor that has it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/status.h"
#include "firmware-host/agent/descriptor.h"
#include "firmware-host/agent/oci/oci_spec.h"

namespace berth {

inline constexpr const char* kPrivateTmp = "/tmp";

struct PrivateMounts {
  bool read_only_root = false;
  std::int64_t tmp_bytes = 64 << 20;  // most that /tmp takes of memory
  std::vector<OciMount> mounts;       // destinations absolute, without links and '..', none in another one
  // Directories that are seen where they are, whatever hides them.
  std::vector<std::string> kept;
};

// Whether the file system of the machine has what `path` ("/etc/app") needs to be mounted at, without anything being
// made there: it exists, or lies in /tmp or in a directory below / that the machine does not have.
bool is_mountable(const std::string& path);

// What bwrap(1) is run with; `root`: the entries of / by name.
std::vector<std::string> bwrap_arguments(const PrivateMounts& mounts, const std::vector<std::string>& root);

// Waits for it: some ten milliseconds, and ten seconds at most. For a process that is root, in a mount namespace of its
// own or not; sources are seen as there. An error has what bubblewrap says.
Result<Descriptor> make_private_mounts(const std::string& bwrap, const PrivateMounts& mounts);

}  // namespace berth
