// When probes are due and what their results come to: the rules of pkg/kubelet/prober (worker.go, prober_manager.go,
// results/results_manager.go) as a function of results and times, for one run of one container. No clock, no process.
#pragma once

#include <map>
#include <optional>

#include "core/clock.h"
#include "firmware-host/agent/probe_plan.h"

namespace berth {

// unknown: the check could not be made, which says nothing of the container (worker.go: "throw away the result").
enum class ProbeResult { success, failure, unknown };

// One probe. Its verdict changes once as many results in a row agree as the threshold says; a result that differs
// begins the count again, and leaves the verdict as it is.
class ProbeRules {
 public:
  ProbeRules(const ProbeNumbers& numbers, Millis started)
      : numbers_(numbers), due_(started + numbers.initial_delay_ms) {}

  Millis due() const { return due_; }
  // A check begins. The next one begins a period later, or when this one has ended if it takes longer.
  void begin(Millis now) { due_ = now + numbers_.period_ms; }
  void note(ProbeResult result);
  // None: as before the first result that counted.
  std::optional<bool> verdict() const { return verdict_; }

 private:
  ProbeNumbers numbers_;
  Millis due_;
  ProbeResult last_ = ProbeResult::unknown;
  int in_a_row_ = 0;
  std::optional<bool> verdict_;
};

// The probes of a container: readiness and liveness wait until startup has succeeded, which then is not probed again;
// what failed startup or liveness is not probed for it again, since the container is to be killed.
class ProbeSchedule {
 public:
  ProbeSchedule(const std::map<ProbeKind, ProbePlan>& plans, Millis started);

  // status.containerStatuses[].started and ready.
  bool is_started() const { return verdict(ProbeKind::startup, true) == true; }
  bool is_ready() const { return is_started() && verdict(ProbeKind::readiness, true) == true; }
  // The probe for whose failure the container must be killed.
  std::optional<ProbeKind> failed() const;
  // When a check is to begin, if none of this probe is going on; none: it waits for another probe, or for the end.
  std::optional<Millis> due(ProbeKind kind) const;
  void begin(ProbeKind kind, Millis now) { rules_.at(kind).begin(now); }
  void note(ProbeKind kind, ProbeResult result) { rules_.at(kind).note(result); }

 private:
  std::optional<bool> verdict(ProbeKind kind, bool without) const;

  std::map<ProbeKind, ProbeRules> rules_;
};

}  // namespace berth
