#include "firmware-host/agent/probe_rules.h"

namespace berth {

void ProbeRules::note(ProbeResult result) {
  if (result == ProbeResult::unknown) return;
  in_a_row_ = result == last_ ? in_a_row_ + 1 : 1;
  last_ = result;
  const bool is_success = result == ProbeResult::success;
  if (in_a_row_ >= (is_success ? numbers_.success_threshold : numbers_.failure_threshold)) verdict_ = is_success;
}

ProbeSchedule::ProbeSchedule(const std::map<ProbeKind, ProbePlan>& plans, Millis started) {
  for (const auto& [kind, plan] : plans) rules_.emplace(kind, ProbeRules(plan.numbers, started));
}

std::optional<bool> ProbeSchedule::verdict(ProbeKind kind, bool without) const {
  const auto found = rules_.find(kind);
  return found == rules_.end() ? std::optional(without) : found->second.verdict();
}

std::optional<ProbeKind> ProbeSchedule::failed() const {
  for (const ProbeKind kind : {ProbeKind::startup, ProbeKind::liveness}) {
    if (verdict(kind, true) == false) return kind;
  }
  return std::nullopt;
}

std::optional<Millis> ProbeSchedule::due(ProbeKind kind) const {
  const auto found = rules_.find(kind);
  if (found == rules_.end() || is_started() == (kind == ProbeKind::startup)) return std::nullopt;
  if (kind != ProbeKind::readiness && verdict(kind, true) == false) return std::nullopt;
  return found->second.due();
}

}  // namespace berth
