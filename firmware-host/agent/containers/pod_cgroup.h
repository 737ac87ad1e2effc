// PodCgroup: the control group of a pod, in which each container has one: the OCI runtime makes it, or for a process of
// the machine SandboxedStarter, by this class too. It is where the pod's
// processes are found whatever they have done to their session, parent or environment (cgroups(7); Linux,
// admin-guide/cgroup-v2.rst), in a unified hierarchy or in the several ones of version 1.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/agent/runtime.h"
#include "core/status.h"
#include "firmware-host/agent/descriptor.h"
#include "firmware-host/agent/oci/pod_limits.h"

namespace berth {

inline constexpr const char* kCgroupRoot = "/sys/fs/cgroup";

// "/berth/<fleet>.<node>": the control group above those of this node's pods.
std::string cgroup_of_node(const std::string& fleet, const std::string& node);

class PodCgroup {
 public:
  // `path`: below the root of the hierarchy; `root`: where that is mounted.
  explicit PodCgroup(std::string path, std::string root = kCgroupRoot)
      : path_(std::move(path)), root_(std::move(root)) {}

  // Makes it and those above it, with the controllers that limits need, and limits it. An error: a limit cannot be set,
  // and nothing may run in it. May be called again.
  Status make(const PodLimits& limits) const;
  // Takes a limit of memory back that make() has set at some time; where there is no such group there is none. An
  // error: it holds on.
  Status lift_memory_limit() const;
  // Files of the group, one in each hierarchy that has it: a process that writes "0" to all of them is in the group.
  // An error: one cannot be opened.
  Result<std::vector<Descriptor>> open_members() const;
  // Sends SIGKILL to every process in it and below. Returns how many there were. An error: that cannot be told.
  Result<int> kill() const;
  // Removes it and those below it, once no process is left in them. What cannot be removed stays.
  void remove() const;
  // Bytes of memory in use by its processes, caches that the kernel can drop at once left out (cAdvisor's working set).
  // None: there is no such group, or no memory controller.
  std::optional<std::int64_t> working_set() const;
  // How many tasks are in it; none: likewise.
  std::optional<std::int64_t> tasks() const;
  // How often the kernel has ended a process of this container's group since it used too much memory.
  std::int64_t out_of_memory(const std::string& container) const;
  // The groups directly below it that exist, by name.
  static std::vector<std::string> names_below(const std::string& path, const std::string& root = kCgroupRoot);

 private:
  const std::string path_;
  const std::string root_;
};

// Whether memory can be limited: some systems leave that out of the kernel's command line.
bool has_memory_controller(const std::string& root = kCgroupRoot);
// Whether processes can be found and killed by their group: the unified hierarchy, or that of pids.
bool has_control_groups(const std::string& root = kCgroupRoot);

// True with the one hierarchy of version 2 at `root`.
bool is_unified(const std::string& root = kCgroupRoot);

}  // namespace berth
