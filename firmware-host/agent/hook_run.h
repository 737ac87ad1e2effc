// HookRun: one run of a postStart or preStop (pkg/kubelet/lifecycle/handlers.go): a check, or a sleep.
#pragma once

#include <memory>
#include <optional>

#include "firmware-host/agent/probe_check.h"

namespace berth {

class HookRun {
 public:
  // `handler` and what `site` refers to outlive it.
  HookRun(const HandlerPlan& handler, const CheckSite& site, Millis now) {
    if (handler.kind == HandlerPlan::Kind::sleep) {
      sleeps_until_ = now + handler.sleep_ms;
    } else {
      check_ = begin_check(handler, site);
    }
  }

  // None: it is still going on. What could not be run has failed.
  std::optional<CheckOutcome> outcome(Millis now) const {
    if (check_) return check_->outcome();
    return now < *sleeps_until_ ? std::optional<CheckOutcome>() : CheckOutcome{ProbeResult::success, {}};
  }
  // When there is an outcome though nothing happens to the check.
  std::optional<Millis> wake() const { return check_ && check_->outcome() ? std::optional<Millis>(0) : sleeps_until_; }
  Check* check() const { return check_.get(); }  // null: it sleeps

 private:
  std::unique_ptr<Check> check_;
  std::optional<Millis> sleeps_until_;
};

}  // namespace berth
