// SchedulingGates: keeps a pod out of the queue while spec.schedulingGates is not empty.
// Point: PreEnqueue. Cost: constant.
// Requeued by: removal of the pod's last gate.
// Source: kube-scheduler pkg/scheduler/framework/plugins/schedulinggates/scheduling_gates.go.
#pragma once

#include "core/framework/framework.h"

namespace berth {

class SchedulingGates final : public PreEnqueuePlugin, public EnqueueExtensions {
 public:
  static constexpr std::string_view kName = "SchedulingGates";
  static Result<std::unique_ptr<Plugin>> make(const Json& args, Handle& handle);

  std::string_view name() const override { return kName; }
  std::vector<EventWithHint> events_to_register() const override;
  Status pre_enqueue(const Pod& pod) override;
};

}  // namespace berth
