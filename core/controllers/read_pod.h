// A ControlledPod from the pod's JSON: its manifest and its status (core/v1 Pod).
#pragma once

#include "core/controllers/controlled_pod.h"
#include "core/json/json.h"
#include "core/status.h"

namespace berth {

// An error: its metadata cannot be read. All else that is of the wrong type counts as absent.
Result<ControlledPod> read_controlled_pod(const Json& pod);

}  // namespace berth
