// Approval: a pod labelled example.com/approval waits for an operator's decision before its device is asked
// (`berthctl waiting`, `allow`, `reject`).
// Points: Permit. Woken by: a change of its labels, after a rejection.
// Arguments: timeoutSeconds, 1 to 900, default 300.
#pragma once

#include <memory>

#include "core/framework/framework.h"

class Approval final : public berth::PermitPlugin, public berth::EnqueueExtensions {
 public:
  static constexpr std::string_view kName = "Approval";
  static berth::Result<std::unique_ptr<berth::Plugin>> make(const berth::Json& args, berth::Handle& handle);
  explicit Approval(int timeout_s) : timeout_s_(timeout_s) {}

  std::string_view name() const override { return kName; }
  berth::Json args() const override;
  std::vector<berth::EventWithHint> events_to_register() const override;
  berth::Status permit(berth::CycleState& state, const berth::Pod& pod, const std::string& node,
                       berth::Millis& timeout) override;

 private:
  int timeout_s_;
};
