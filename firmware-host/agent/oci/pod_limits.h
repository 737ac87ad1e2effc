// The limits of a whole pod: what its control group is given, in which those of its containers are
// (pkg/kubelet/cm/helpers_linux.go, ResourceConfigForPod). A pod whose containers are not all limited has none, unless
// spec.resources says so.
#pragma once

#include <cstdint>
#include <optional>

#include "core/json/json.h"
#include "core/status.h"
#include "firmware-host/agent/oci/limits.h"

namespace berth {

struct PodLimits {
  std::int64_t cpu_shares = 2;  // as cpu_shares()
  std::optional<std::int64_t> milli_cpu;
  std::optional<std::int64_t> memory_bytes;
  std::optional<std::int64_t> pids = {};  // processes and threads
  bool ends_together = false;             // out of memory, all processes of a unified group are killed
  bool operator==(const PodLimits&) const = default;
};

// Of a pod's spec; an error names the field.
Result<PodLimits> pod_limits_of(const Json& pod_spec);

// Likewise its requests: spec.resources, or else the most that its containers ask for at a time
// (component-helpers/resource, PodRequests), with spec.overhead. What nobody asks for is zero.
Result<Amounts> pod_requests_of(const Json& pod_spec);

// A container's share of the memory that spec.resources asks for beyond what the containers do: added to its own for
// oom_score_adj() (pkg/kubelet/qos/policy.go, remainingPodMemReqPerContainer).
Result<std::int64_t> spare_memory_per_container(const Json& pod_spec);

}  // namespace berth
