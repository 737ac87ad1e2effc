// What may change of a pod that has scheduling gates, beyond what may of others: where it may go can only become
// narrower (kubernetes pkg/apis/core/validation/validation.go ValidatePodUpdate, "validations specific to gated pods").
#pragma once

#include "core/api/pod.h"
#include "core/status.h"

namespace berth {

// Labels may be added to spec.nodeSelector, requirements to each term of the required node affinity; where there was no
// node affinity, or no term, anything may be set. Preferences may change freely. `before` has gates; `next` is its
// update. An error names the field.
Status check_gated_update(const Pod& before, const Pod& next);

}  // namespace berth
