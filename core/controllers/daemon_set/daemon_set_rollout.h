// The rollout plan of a DaemonSet: its waves are made of nodes.
#pragma once

#include "core/controllers/daemon_set/daemon_pods.h"
#include "core/controllers/daemon_set/daemon_set_history.h"
#include "core/controllers/time_zones/time_zone.h"

namespace berth {

// What the plan decides; the view must not have a rollout yet. For sets with a plan.
DaemonRollout daemon_rollout(const DaemonView& view, const DaemonSetHistory& history, const TimeZoneFiles& zones);

}  // namespace berth
