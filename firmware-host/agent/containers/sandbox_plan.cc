#include "firmware-host/agent/containers/sandbox_plan.h"

#include <sys/prctl.h>

#include <algorithm>
#include <fstream>
#include <utility>

#include "core/json/members.h"
#include "firmware-host/agent/containers/keeper_objects.h"
#include "firmware-host/agent/containers/pod_cgroup.h"
#include "firmware-host/agent/oci/capabilities.h"
#include "firmware-host/agent/pod_directory.h"

namespace berth {

namespace {

unsigned last_capability() {
  std::ifstream file("/proc/sys/kernel/cap_last_cap");
  unsigned last = 0;
  file >> last;
  return last;
}

// Of this process, a bit each.
std::uint64_t bounding_set() {
  std::uint64_t set = 0;
  for (unsigned number = 0; number < 64; ++number) {
    if (prctl(PR_CAPBSET_READ, number) == 1) set |= std::uint64_t{1} << number;
  }
  return set;
}

Status no_memory_controller(const std::string& resources, const std::string& node) {
  return Status::error(resources + ".limits.memory: the kernel of node " + node +
                       " has no memory controller; add cgroup_enable=memory cgroup_memory=1 to its command line");
}

}  // namespace

Result<SandboxPlan> begin_sandbox(const PodFacts& facts, const Site& site, const Workload& workload,
                                  const MachineMemory& memory, const KeeperObjects* objects) {
  const Json& spec = member(facts.pod, "spec");
  SandboxPlan sandbox;
  sandbox.pod = facts.pod;
  sandbox.tag = facts.tag;
  sandbox.tag_text = workload.tag;
  sandbox.node = facts.node;
  sandbox.host_ips = facts.host_ips;
  sandbox.allocatable = facts.allocatable;
  if (objects != nullptr) {
    sandbox.objects = objects->text_of(facts.tag, facts.pod);
    sandbox.objects_file = objects->file_of(facts.tag);
  }
  sandbox.directory = site.pod_directory;
  const std::string name = directory_name(facts.tag);
  sandbox.cgroup = cgroup_of_node(site.fleet, site.node) + "/" + name;
  const Result<PodLimits> limits = pod_limits_of(spec);
  if (!limits) return limits.error();
  sandbox.limits = *limits;
  const Json& own_limits = member(member(spec, "resources"), "limits");
  if (!member(own_limits, "memory").is_null() && !memory.is_limitable) {
    return no_memory_controller("spec.resources", site.node);
  }
  sandbox.id = name;
  std::replace(sandbox.id.begin(), sandbox.id.end(), '@', '_');
  return sandbox;
}

Result<Allowance> allowance_of(const Json& pod_spec, const Json& container, const std::string& path,
                               const std::string& node, const MachineMemory& memory) {
  Allowance allowance;
  Result<Security> security = security_of(pod_spec, container, path);
  if (!security) return security.error();
  allowance.security = std::move(*security);
  Result<std::vector<std::string>> capabilities =
      capabilities_of(allowance.security, last_capability(), bounding_set());
  if (!capabilities) return Status::error(path + ".securityContext.capabilities: " + capabilities.error().message());
  allowance.capabilities = std::move(*capabilities);
  const Result<ContainerLimits> limits = limits_of(member(container, "resources"), path + ".resources");
  if (!limits) return limits.error();
  if (limits->limits.memory_bytes.value_or(0) > 0 && !memory.is_limitable) {
    return no_memory_controller(path + ".resources", node);
  }
  allowance.limits = *limits;
  const Result<std::int64_t> spare = spare_memory_per_container(pod_spec);
  if (!spare) return spare.error();
  const Json& priority = member(pod_spec, "priority");
  constexpr std::int64_t kCritical = 2'000'000'000;  // scheduling.SystemCriticalPriority
  allowance.oom_score_adj = oom_score_adj(qos_class_of(pod_spec), limits->requests.memory_bytes.value_or(0) + *spare,
                                          memory.bytes, priority.is_integer() && priority.as_int() >= kCritical);
  return allowance;
}

}  // namespace berth
