// DynamicResources: keeps a pod with spec.resourceClaims out of the queue until its claims exist. Berth has neither
// ResourceClaims nor ResourceSlices, so such a pod waits until it is deleted instead of running without its devices.
// Point: PreEnqueue. Cost: constant.
// Requeued by: nothing.
// Source: kube-scheduler pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go.
#pragma once

#include "core/framework/framework.h"

namespace berth {

class DynamicResources final : public PreEnqueuePlugin, public EnqueueExtensions {
 public:
  static constexpr std::string_view kName = "DynamicResources";
  // Accepts upstream's arguments, which are about points that it does not have here.
  static Result<std::unique_ptr<Plugin>> make(const Json& args, Handle& handle);

  std::string_view name() const override { return kName; }
  std::vector<EventWithHint> events_to_register() const override { return {}; }
  Status pre_enqueue(const Pod& pod) override;
};

}  // namespace berth
