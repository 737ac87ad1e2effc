// Prober: the probes of one run of a container: begins checks when they are due, cuts those that hang, and passes the
// results to the rules (probe_rules.h).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "firmware-host/agent/probe_check.h"
#include "firmware-host/agent/probe_rules.h"

namespace berth {

inline constexpr std::size_t kReasonBytesMax = 1024;  // of what a check says; a pod's status has room for some

class Prober {
 public:
  // `site` and what it refers to outlive it.
  Prober(const CheckSite& site, Millis started) : site_(site), schedule_(site.container.probes, started) {}

  const ProbeSchedule& schedule() const { return schedule_; }
  // Takes results, cuts what has taken too long, and begins what is due.
  void advance(Millis now);
  // When advance() has something to do though no check is ready; none: never.
  std::optional<Millis> wake() const;
  void add_checks(std::vector<Check*>& checks) const;
  // Of each check that has not succeeded since the last call: "Readiness probe failed: ...".
  std::vector<std::string> take_failures() { return std::exchange(told_, {}); }
  // "Liveness probe failed: ...", of the probe for which the container is to be killed.
  std::string why_failed() const;

 private:
  struct Run {
    std::unique_ptr<Check> check;
    Millis deadline = 0;
  };
  void begin(ProbeKind kind, Millis now);
  std::string failure_of(ProbeKind kind) const;
  // The result of a check that has ended or must end now.
  std::optional<CheckOutcome> outcome_of(ProbeKind kind, const Run& run, Millis now) const;

  CheckSite site_;
  ProbeSchedule schedule_;
  std::map<ProbeKind, Run> runs_;
  std::map<ProbeKind, std::string> failures_;  // what the last result that was none of success said
  std::vector<std::string> told_;              // to be taken
};

// "Container c failed liveness probe, will be restarted"; `again`: it will.
std::string killing_text(const std::string& container, ProbeKind failed, bool again);

}  // namespace berth
