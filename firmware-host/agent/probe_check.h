// Check: one attempt of a probe or hook, going on in the keeper's loop. It never blocks; whoever began it polls its
// descriptor, passes on the end of its process, and drops it when it has taken too long.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/clock.h"
#include "firmware-host/agent/container_starter.h"
#include "firmware-host/agent/probe_plan.h"
#include "firmware-host/agent/probe_rules.h"

namespace berth {

struct CheckOutcome {
  ProbeResult result = ProbeResult::unknown;
  std::string why;  // it did not succeed
};

class Check {
 public:
  Check() = default;
  virtual ~Check();
  Check(const Check&) = delete;
  Check& operator=(const Check&) = delete;

  // To be polled for events(); -1: there is nothing to poll.
  int fd() const { return fd_; }
  short events() const { return events_; }
  const std::optional<CheckOutcome>& outcome() const { return outcome_; }

  virtual void on_ready() = 0;
  // A child of the keeper has ended. False: it is none of this check's.
  virtual bool on_exit(pid_t pid, int wait_status);
  // What to say of it if it has not ended in time.
  virtual std::string timed_out(Millis after) const = 0;

 protected:
  void watch(int fd, short events);  // closes the one before
  void watch_for(short events) { events_ = events; }
  void end(ProbeResult result, std::string why = {});

 private:
  int fd_ = -1;
  short events_ = 0;
  std::optional<CheckOutcome> outcome_;
};

// In which container it is made, and for what.
struct CheckSite {
  ContainerStarter& starter;
  const ContainerPlan& container;
  bool is_hook;  // any answer to an httpGet is a success of a hook (pkg/kubelet/lifecycle/handlers.go)
};

// Not for a sleep. It may have ended already.
std::unique_ptr<Check> begin_check(const HandlerPlan& handler, const CheckSite& site);

}  // namespace berth
