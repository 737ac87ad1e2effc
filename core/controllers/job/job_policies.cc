#include "core/controllers/job/job_policies.h"

#include <algorithm>

namespace berth {
namespace {

const ContainerEnd* matching_end(const ExitCodeRule& codes, const ControlledPod& pod) {
  for (const ContainerEnd& end : pod.ended.get()) {
    if (end.exit_code == 0 || (!codes.container.empty() && codes.container != end.name)) continue;
    const bool listed = std::find(codes.values.begin(), codes.values.end(), end.exit_code) != codes.values.end();
    if (listed == codes.in) return &end;
  }
  return nullptr;
}

const Condition* matching_condition(const PodFailureRule& rule, const ControlledPod& pod) {
  for (const Condition& condition : pod.conditions.get()) {
    for (const PodFailureRule::Pattern& pattern : rule.on_pod_conditions) {
      if (pattern.type == condition.type && pattern.status == condition.status) return &condition;
    }
  }
  return nullptr;
}

// Why the rule matches, as the reason for FailJob; none if it does not.
std::optional<std::string> match_rule(const PodFailureRule& rule, const ControlledPod& pod) {
  const std::string name = pod.metadata.key();
  if (rule.on_exit_codes) {
    const ContainerEnd* end = matching_end(*rule.on_exit_codes, pod);
    if (end == nullptr) return std::nullopt;
    return "Container " + end->name + " for pod " + name + " failed with exit code " + std::to_string(end->exit_code);
  }
  const Condition* condition = matching_condition(rule, pod);
  if (condition == nullptr) return std::nullopt;
  return "Pod " + name + " has condition " + condition->type;
}

bool is_met(const SuccessRule& rule, std::int32_t completions, const IndexIntervals& succeeded) {
  if (!rule.succeeded_indexes) return rule.succeeded_count && succeeded.total() >= *rule.succeeded_count;
  const IndexIntervals wanted = IndexIntervals::parse(*rule.succeeded_indexes, completions);
  if (wanted.empty()) return false;
  const std::int64_t common = wanted.common_with(succeeded);
  return common == wanted.total() || (rule.succeeded_count && common >= *rule.succeeded_count);
}

}  // namespace

FailureMatch match_failure_policy(const JobSpec& spec, const ControlledPod& failed_pod) {
  if (!spec.failure_policy) return {};
  for (std::size_t i = 0; i < spec.failure_policy->size(); ++i) {
    const PodFailureRule& rule = (*spec.failure_policy)[i];
    const std::optional<std::string> reason = match_rule(rule, failed_pod);
    if (!reason) continue;
    FailureMatch match{.action = rule.action, .message = {}};
    if (match.fails_job()) match.message = *reason + " matching FailJob rule at index " + std::to_string(i);
    return match;
  }
  return {};
}

std::optional<std::string> match_success_policy(const JobSpec& spec, const IndexIntervals& succeeded) {
  if (succeeded.empty()) return std::nullopt;
  for (std::size_t i = 0; i < spec.success_policy.size(); ++i) {
    if (is_met(spec.success_policy[i], spec.completions.value_or(0), succeeded)) {
      return "Matched rules at index " + std::to_string(i);
    }
  }
  return std::nullopt;
}

}  // namespace berth
