// podFailurePolicy and successPolicy of a Job: what a failed pod, and what the indexes that have succeeded, mean for
// the whole (pkg/controller/job/pod_failure_policy.go, success_policy.go).
#pragma once

#include <optional>
#include <string>

#include "core/api/job.h"
#include "core/controllers/controlled_pod.h"
#include "core/controllers/job/index_intervals.h"

namespace berth {

struct FailureMatch {
  std::optional<PodFailureRule::Action> action;  // of the first rule that matches; none: no rule does
  std::string message;                           // of FailJob: why the Job fails

  bool counts() const { return action != PodFailureRule::Action::ignore; }
  bool fails_job() const { return action == PodFailureRule::Action::fail_job; }
  bool fails_index() const { return action == PodFailureRule::Action::fail_index; }
};

// No match without a policy.
FailureMatch match_failure_policy(const JobSpec& spec, const ControlledPod& failed_pod);

// "Matched rules at index 0"; none while no rule is met.
std::optional<std::string> match_success_policy(const JobSpec& spec, const IndexIntervals& succeeded);

}  // namespace berth
