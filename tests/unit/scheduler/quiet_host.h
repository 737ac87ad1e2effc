// A scheduler host that only records.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/api/pod.h"
#include "core/scheduler/scheduler.h"
#include "tests/unit/scheduler/scheduling_fixture.h"

namespace berth {

class QuietHost final : public SchedulerHost {
 public:
  PodPtr find_unplaced(const Pod& pod) const override {
    auto found = pods.find(pod.uid());
    return found == pods.end() ? nullptr : found->second;
  }
  void record_event(const Pod& pod, const SchedulingEvent& event) override {
    events.push_back(pod.metadata.name + " " + std::string(event.reason));
  }
  std::optional<PodCondition> condition_of(const Pod&) const override { return std::nullopt; }
  void patch_status(const Pod&, const StatusPatch&) override {}
  Status evict(const Pod&, const Pod&) override { return {}; }
  std::map<std::string, PodPtr> pods;
  std::vector<std::string> events;
};

}  // namespace berth
