// Conditions of pods that controllers set.
#pragma once

#include "core/api/workload_meta.h"

namespace berth {

// Sets the condition, whose last_transition says when; one that had the same status keeps its own. False: nothing but
// the observed generation differs, so there is nothing to write (pkg/api/v1/pod/util.go, UpdatePodCondition).
bool update_pod_condition(Conditions& conditions, Condition condition);

}  // namespace berth
