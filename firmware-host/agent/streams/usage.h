// Usage: what processes use, from control groups where they have one, as the kubelet tells it (pkg/kubelet/server/stats
// by cAdvisor): the memory's working set is what is used without the inactive part of the page cache.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "firmware-host/agent/containers/pod_cgroup.h"

namespace berth {

struct Usage {
  std::uint64_t cpu_ns = 0;  // since it began
  std::uint64_t memory_bytes = 0;
};

// Of a group and all below it, in a hierarchy of either version. None: there is no such group, or no such controller.
// "" is the machine.
std::optional<Usage> usage_of_cgroup(const std::string& path, const std::string& root = kCgroupRoot);
// Of processes without a group of their own, and of children that they have waited for; memory is what is resident and
// theirs alone. Those that have exited count nothing.
Usage usage_of_processes(const std::vector<pid_t>& processes, const std::string& proc = "/proc");

}  // namespace berth
