#include "firmware-host/agent/prober.h"

#include <algorithm>
#include <array>

namespace berth {

namespace {

constexpr std::array<ProbeKind, 3> kKinds{ProbeKind::startup, ProbeKind::readiness, ProbeKind::liveness};

const char* title_of(ProbeKind kind) {
  return kind == ProbeKind::startup ? "Startup" : kind == ProbeKind::readiness ? "Readiness" : "Liveness";
}

}  // namespace

std::optional<CheckOutcome> Prober::outcome_of(ProbeKind kind, const Run& run, Millis now) const {
  if (run.check->outcome()) return run.check->outcome();
  if (now < run.deadline) return std::nullopt;
  const Millis timeout = site_.container.probes.at(kind).numbers.timeout_ms;
  return CheckOutcome{ProbeResult::failure, run.check->timed_out(timeout)};
}

void Prober::advance(Millis now) {
  // A result can make another probe due.
  for (bool is_news = true; is_news;) {
    is_news = false;
    for (auto run = runs_.begin(); run != runs_.end();) {
      const std::optional<CheckOutcome> outcome = outcome_of(run->first, run->second, now);
      if (!outcome) {
        ++run;
        continue;
      }
      schedule_.note(run->first, outcome->result);
      if (outcome->result != ProbeResult::success) {
        failures_[run->first] = outcome->why.substr(0, kReasonBytesMax);
        told_.push_back(failure_of(run->first));
      }
      run = runs_.erase(run);
      is_news = true;
    }
    for (const ProbeKind kind : kKinds) {
      const std::optional<Millis> due = schedule_.due(kind);
      if (!due || *due > now || runs_.contains(kind)) continue;
      begin(kind, now);
      is_news = true;
    }
  }
}

void Prober::begin(ProbeKind kind, Millis now) {
  const ProbePlan& plan = site_.container.probes.at(kind);
  schedule_.begin(kind, now);
  runs_[kind] = {begin_check(plan.handler, site_), now + plan.numbers.timeout_ms};
}

std::optional<Millis> Prober::wake() const {
  std::optional<Millis> wake;
  const auto consider = [&wake](Millis at) { wake = std::min(wake.value_or(at), at); };
  for (const auto& [kind, run] : runs_) consider(run.deadline);
  for (const ProbeKind kind : kKinds) {
    const std::optional<Millis> due = schedule_.due(kind);
    if (due && !runs_.contains(kind)) consider(*due);
  }
  return wake;
}

void Prober::add_checks(std::vector<Check*>& checks) const {
  for (const auto& [kind, run] : runs_) checks.push_back(run.check.get());
}

std::string Prober::failure_of(ProbeKind kind) const {
  const auto said = failures_.find(kind);
  return std::string(title_of(kind)) + " probe failed: " + (said == failures_.end() ? "" : said->second);
}

std::string killing_text(const std::string& container, ProbeKind failed, bool again) {
  return "Container " + container + " failed " + (failed == ProbeKind::startup ? "startup" : "liveness") + " probe" +
         (again ? ", will be restarted" : "");
}

std::string Prober::why_failed() const {
  const std::optional<ProbeKind> failed = schedule_.failed();
  return failed ? failure_of(*failed) : std::string();
}

}  // namespace berth
