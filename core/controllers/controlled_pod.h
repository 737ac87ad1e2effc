// ControlledPod: what controllers see of a pod. Whoever calls them fills it in, so that no manifest is parsed again for
// each of a workload's thousands of pods.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/api/taint.h"
#include "core/api/workload_meta.h"
#include "core/clock.h"

namespace berth {

enum class PodPhase { pending, running, succeeded, failed, unknown };

// A container that has ended.
struct ContainerEnd {
  std::string name;
  std::int32_t exit_code = 0;
};

struct ControlledPod : ControlledObject {
  static constexpr std::string_view kKind = "Pod";
  ControlledPod() : ControlledObject(kKind) {}

  Text node_name;  // spec.nodeName; empty: not bound
  Text only_node;  // metadata.name in its required node affinity, as DaemonSets write it; empty: none
  Shared<std::vector<Toleration>> tolerations;
  PodPhase phase = PodPhase::pending;
  std::string reason;                                 // status.reason
  Shared<Conditions> conditions;                      // status.conditions
  bool ready = false;                                 // condition Ready is True
  OptionalTime ready_since;                           // lastTransitionTime of the condition Ready; none without one
  OptionalTime last_started;                          // when the last of its containers started; none: not known
  std::int32_t restarts = 0;                          // the highest restartCount of its containers
  std::int32_t sidecar_restarts = 0;                  // the same of its init containers with restartPolicy Always
  Shared<std::map<std::string, std::string>> claims;  // names of PersistentVolumeClaims by that of their volume

  // What only Jobs ask for.
  std::int32_t all_restarts = 0;            // the sum over containers and init containers
  Shared<std::vector<ContainerEnd>> ended;  // state.terminated of containers, then of init containers
  OptionalTime ended_at;                    // when the last container or sidecar ended; none: one has not
  OptionalTime deletion_asked;              // deletionTimestamp without the grace period
};
using ControlledPodPtr = std::shared_ptr<const ControlledPod>;

// Succeeded or Failed.
bool is_finished(const ControlledPod& pod);
// Neither finished nor being deleted.
bool is_active(const ControlledPod& pod);
// Being deleted, and not finished.
bool is_terminating(const ControlledPod& pod);
// Pods go in the order of their phases: pending ones first, then unknown, then running ones.
int deletion_rank(PodPhase phase);
// Ready for at least this time. `now`: milliseconds since 1970.
bool is_available(const ControlledPod& pod, std::int32_t min_ready_seconds, Millis now);
// When the next of the pods that are ready becomes available; none: no time will change that.
std::optional<Millis> next_availability(const std::vector<ControlledPodPtr>& pods, std::int32_t min_ready_seconds,
                                        Millis now);

}  // namespace berth
