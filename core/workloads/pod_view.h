// What controllers see of a pod of the gateway: its manifest, the node that its row names, and what that node's device
// reports of it.
#pragma once

#include "core/controllers/controlled_pod.h"
#include "core/objects/pods.h"
#include "core/placement/state.h"

namespace berth {

struct ViewTimes {
  Millis now = 0;      // on the clock of PodEntry::arrived
  Millis wall = 0;     // since 1970
  OptionalTime asked;  // when its deletion was asked for, by the view before; none: not known
};

ControlledPodPtr pod_view(const PodEntry& entry, const PlacementState& state, const ViewTimes& times);

}  // namespace berth
