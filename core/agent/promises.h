// Promises: the timers of slots that are preparing or prepared (core/handshake/rules.md N5).
#pragma once

#include <functional>
#include <map>
#include <string>

#include "core/agent/rules.h"
#include "core/agent/runtime.h"
#include "core/clock.h"
#include "core/timers.h"

namespace berth {

class Promises {
 public:
  using Expired = std::function<void(const Tag&)>;

  // `expired` is called when a promise's deadline has come, unless it was ended before. All references must outlive
  // this.
  Promises(const Clock& clock, Timers& timers, Expired expired);
  ~Promises();
  Promises(const Promises&) = delete;
  Promises& operator=(const Promises&) = delete;

  // Sets the timer for the promise of `slot`, which has this tag. The deadline is on the boot clock, so a restart of
  // the agent does not extend it; should that clock have gone back, the remaining time is still bounded by the promise
  // itself.
  void arm(const Tag& tag, Slot& slot);
  // The pod's promise has been kept or withdrawn. Pods without one are ignored.
  void end(const std::string& uid);

 private:
  const Clock& clock_;
  Timers& timers_;
  Expired expired_;
  std::map<std::string, Timers::Id> timer_of_;  // by pod uid
};

}  // namespace berth
