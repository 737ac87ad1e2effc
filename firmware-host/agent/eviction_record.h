// Eviction: the decision of a device to end one of its pods, since the pod or all of them use more than there is
// (pkg/kubelet/eviction/eviction_manager.go, evictPod). It is durable before anything is ended: the pod is not run
// again by whoever comes next, and ends with phase Failed and reason Evicted, of which the gateway hears as of any end.
#pragma once

#include <optional>
#include <string>
#include <system_error>

#include "core/clock.h"
#include "core/status.h"
#include "firmware-host/agent/pod_state.h"

namespace berth {

struct Eviction {
  static constexpr const char* kFile = "eviction.json";  // in the pod's directory
  static constexpr const char* kReason = "Evicted";
  static constexpr Millis kAtOnceMs = 1000;  // immediateEvictionGracePeriodSeconds

  // Unless the record says more: one that was written on a full disk does not.
  std::string message = "The node was low on resource: ephemeral-storage or inodes. ";
  Millis grace_ms = kAtOnceMs;
};

// There are no blocks or inodes left, or none that this file may have.
bool is_full_disk(const std::error_code& error);

// Writes it to the pod's directory, durably. On a disk without space for that it becomes a second name of the pod's
// state, which takes neither an inode nor a block: that it was decided is known then, and not why.
Status record_eviction(const std::string& directory, const Eviction& eviction);
// None: the pod was not evicted. Success without an error only if that is known.
Result<std::optional<Eviction>> read_eviction(const std::string& directory);
// What the status of the pod says in the end. `now`: RFC 3339.
void end_as_evicted(const Eviction& eviction, PodState& state, const std::string& now);

}  // namespace berth
