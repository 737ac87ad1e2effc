// UsageStreams: what the node, its pods and their containers use, on request. It looks twice, a second apart, since the
// use of the processor is what happens in between; nobody asks, and nothing is looked at.
//
//   {"intervalMs":1000,"node":{"cpuMillicores":120,"memoryBytes":104857600},
//    "pods":[{"namespace":"default","name":"web","containers":[{"name":"main","cpuMillicores":3,"memoryBytes":4194304}]}]}
#pragma once

#include <functional>
#include <map>
#include <string>

#include "core/agent/rules.h"
#include "core/clock.h"
#include "core/streams/stream_source.h"
#include "core/timers.h"
#include "firmware-host/agent/pod_planner.h"
#include "firmware-host/agent/streams/usage.h"

namespace berth {

class UsageStreams {
 public:
  static constexpr Millis kIntervalMs = 1000;

  // `slots`: those of the node, by uid. `pods`: the control group above its pods. All must outlive it and the sources.
  UsageStreams(std::string pods, const PodPlanner& planner, std::function<const std::map<std::string, Slot>&()> slots,
               const Clock& clock, Timers& timers);

  // As StreamSources::open().
  Result<OpenedStream> open(std::function<void()> ready);

 private:
  class Source;
  // Containers by name.
  using Containers = std::map<std::string, Usage>;
  struct Sample {
    Millis at = 0;
    std::optional<Usage> node;
    std::map<std::string, Containers> pods;  // by uid
  };
  Sample look() const;
  std::string report(const Sample& before, const Sample& now) const;

  const std::string pods_;
  const PodPlanner& planner_;
  const std::function<const std::map<std::string, Slot>&()> slots_;
  const Clock& clock_;
  Timers& timers_;
};

}  // namespace berth
