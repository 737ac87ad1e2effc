#include "firmware-host/agent/eviction/pod_memory.h"

#include <unistd.h>

#include <cstdint>
#include <fstream>

#include "firmware-host/agent/containers/pod_cgroup.h"
#include "firmware-host/agent/process_tree.h"

namespace berth {

namespace {

// Resident pages of a process; 0: it has ended.
std::int64_t resident_bytes(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/statm");
  std::int64_t all = 0, resident = 0;
  file >> all >> resident;
  return file ? resident * sysconf(_SC_PAGESIZE) : 0;
}

}  // namespace

void measure_pod(PodUse& pod, EvictionSignal signal, const std::string& cgroup, const std::string& tag_text) {
  const bool is_memory = signal == EvictionSignal::memory_available;
  const PodCgroup group(cgroup);
  pod.used = is_memory ? group.working_set() : group.tasks();
  if (pod.used) {
    for (const auto& [name, asked] : pod.containers_asked) {
      if (const auto used = PodCgroup(cgroup + "/" + name).working_set()) pod.containers[name] = *used;
    }
    return;
  }
  const Result<std::vector<Tagged>> processes = find_tagged(tag_text);
  if (!processes) return;
  std::int64_t used = 0;
  for (const Tagged& each : *processes) {
    if (each.tag == tag_text) used += is_memory ? resident_bytes(each.process.pid) : 1;
  }
  pod.used = used;
}

}  // namespace berth
