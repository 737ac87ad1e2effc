// DefaultBinder: confirms the binding. Core writes it and does the exchange with the device.
// Point: Bind. Cost: none.
// Source: kube-scheduler pkg/scheduler/framework/plugins/defaultbinder/default_binder.go.
#pragma once

#include "core/framework/framework.h"

namespace berth {

class DefaultBinder final : public BindPlugin {
 public:
  static constexpr std::string_view kName = "DefaultBinder";
  static Result<std::unique_ptr<Plugin>> make(const Json& args, Handle& handle);

  explicit DefaultBinder(Handle& handle) : handle_(handle) {}
  std::string_view name() const override { return kName; }
  Status bind(CycleState& state, const Pod& pod, const std::string& node) override;

 private:
  Handle& handle_;
};

}  // namespace berth
