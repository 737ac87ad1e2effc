// OciContainer: a container with nothing left to decide, and its config.json for an OCI runtime, crun or runc
// (runtime-spec 1.0.2, configuration, and its Linux part).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/json/json.h"
#include "core/status.h"
#include "firmware-host/agent/oci/image_user.h"

namespace berth {

struct OciMount {
  std::string source;
  std::string destination;  // absolute, in the container
  bool read_only = false;
  std::string propagation = "rprivate";  // or rslave, rshared
};

// A device of the machine that a privileged container has.
struct OciDevice {
  std::string path;
  char type = 'c';  // or 'b'
  std::int64_t major = 0, minor = 0;
  std::uint32_t mode = 0600, user = 0, group = 0;
};

// The namespaces of a container: a path joins one, an empty path makes one of its own, none shares the machine's.
struct OciNamespaces {
  std::optional<std::string> network = std::string();
  std::optional<std::string> ipc = std::string();
  std::optional<std::string> uts = std::string();
  std::optional<std::string> pid = std::string();
};

struct OciContainer {
  std::string root;  // the directory that is its root file system
  bool read_only_root = false;
  std::vector<std::string> argv;  // not empty
  std::vector<std::string> env;   // "NAME=value"
  std::string directory = "/";    // working directory
  UserIds user;
  std::vector<std::string> capabilities;
  bool no_new_privileges = false;
  bool privileged = false;     // neither hidden paths nor a read-only /sys, and all devices
  bool proc_unmasked = false;  // no hidden paths
  std::string hostname;        // of a UTS namespace of its own; empty: left as it is
  bool own_cgroups = false;    // a namespace of control groups: it sees its own alone
  std::string cgroup;          // below the hierarchy's root: "/berth/pod1/main"
  OciNamespaces namespaces;
  std::vector<OciMount> mounts;  // of the pod, in this order
  std::vector<OciDevice> devices;
  Json seccomp;    // null: unconfined
  Json resources;  // linux.resources
  int oom_score_adj = 0;
  std::vector<std::pair<std::string, std::string>> sysctls;
  std::vector<std::pair<std::string, std::string>> annotations;
};

Json oci_spec(const OciContainer& container);

// The devices below this directory, as a privileged container gets them: not terminals' and shared memory's own file
// systems, and no console (containerd, pkg/oci/utils_unix.go getDevices). An error: the directory cannot be read.
Result<std::vector<OciDevice>> devices_below(const std::string& directory);

}  // namespace berth
