#include "core/controllers/pod_condition.h"

#include <utility>

namespace berth {

bool update_pod_condition(Conditions& conditions, Condition condition) {
  bool differs = true;
  if (const Condition* before = find_condition(conditions, condition.type)) {
    if (before->status == condition.status) condition.last_transition = before->last_transition;
    Condition as_before = condition;
    as_before.observed_generation = before->observed_generation;
    differs = as_before != *before;
  }
  set_condition(conditions, std::move(condition));
  return differs;
}

}  // namespace berth
