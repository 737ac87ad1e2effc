// Which pod is ended first when the node is short of something (pkg/kubelet/eviction/helpers.go, rankMemoryPressure,
// rankDiskPressure and rankPIDPressure): those that use more than they ask for, of these the ones of lower priority,
// and of these the ones that exceed it most.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/agent/runtime.h"
#include "core/json/json.h"
#include "firmware-host/agent/eviction/pressure_watch.h"

namespace berth {

// Bytes, inodes or processes of one resource.
struct PodUse {
  Tag tag;
  std::int64_t priority = 0;
  bool is_critical = false;  // it is never ended for others
  std::optional<std::int64_t> used;
  std::int64_t asked = 0;
  std::map<std::string, std::int64_t> containers;        // used, by name; may be empty
  std::map<std::string, std::int64_t> containers_asked;  // likewise

  std::int64_t beyond() const { return used.value_or(0) - asked; }
};

// Without what is used. `spec`: of the manifest.
PodUse pod_use_of(const Tag& tag, const Json& spec, EvictionSignal signal);
// The first is to be ended first; critical ones are left out.
std::vector<PodUse> rank_pods(std::vector<PodUse> pods, EvictionSignal signal);
// The kubelet's message (evictionMessage).
std::string eviction_message(const PressureWatch::Due& due, const PodUse& pod);

// Whether a pod may come while these conditions hold (managerImpl.Admit). An error says which do.
Status admit_under_pressure(const std::vector<std::string>& conditions, const Json& spec);

}  // namespace berth
