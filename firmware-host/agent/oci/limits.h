// The limits of a container: from requests and limits of its manifest to linux.resources of an OCI runtime
// (runtime-spec, Linux container configuration), as the kubelet does it (pkg/kubelet/cm/helpers_linux.go,
// pkg/kubelet/qos/policy.go).
#pragma once

#include <cstdint>
#include <optional>

#include "core/api/qos_class.h"
#include "core/json/json.h"
#include "core/status.h"

namespace berth {

// What a container asks for and may have at most. None: not said.
struct Amounts {
  std::optional<std::int64_t> milli_cpu;
  std::optional<std::int64_t> memory_bytes;
};
struct ContainerLimits {
  Amounts requests;  // those that follow from limits included
  Amounts limits;
};

// Of a container's `resources`; an error names the field below it.
Result<ContainerLimits> limits_of(const Json& resources, const std::string& path);

// What the kubelet writes: 0 asked is the least that there is.
std::int64_t cpu_shares(std::int64_t milli_cpu);
// Microseconds per period; the least that the kernel takes is 1,000.
std::int64_t cpu_quota_us(std::int64_t milli_cpu, std::int64_t period_us);

// Of spec as a manifest has it, by the rule of core/api/qos_class.h.
QosClass qos_class_of(const Json& pod_spec);

// Which processes the kernel ends first when memory runs out. `capacity`: the node's memory in bytes.
int oom_score_adj(QosClass qos, std::int64_t memory_request, std::int64_t capacity, bool is_critical);

// linux.resources. `pids`: most processes; 0: no limit.
Json resources_json(const ContainerLimits& limits, std::int64_t pids);

}  // namespace berth
