// The status of a Deployment and its conditions (pkg/controller/deployment/progress.go, sync.go).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/api/deployment.h"
#include "core/clock.h"
#include "core/controllers/deployment/deployment_numbers.h"

namespace berth {

inline constexpr std::string_view kProgressing = "Progressing";

// progressDeadlineSeconds is given, and not its greatest value, which stands for none.
bool has_progress_deadline(const Deployment& deployment);

// Sets a condition of the status at `now`. One with the same status and reason is left alone; lastTransitionTime
// changes with the status only.
void set_deployment_condition(DeploymentStatus& status, std::string_view type, std::string_view value,
                              std::string_view reason, std::string message, Millis now);

// Counts over the ReplicaSets, and the condition Available; the other conditions as they are (calculateStatus).
DeploymentStatus counted_status(const Deployment& deployment, const ReplicaSets& sets, Millis now);

// All pods are new ones, and available.
bool is_complete(const Deployment& deployment, const DeploymentStatus& status);

// The status during a rollout: progress against the deployment's present status, and failures of ReplicaSets
// (syncRolloutStatus).
DeploymentStatus rollout_status(const Deployment& deployment, const ReplicaSets& sets, Millis now);

// When a rollout without progress has to be looked at again; none: never (requeueStuckDeployment). The present time or
// earlier: at once.
std::optional<Millis> next_progress_check(const Deployment& deployment, const DeploymentStatus& status);

}  // namespace berth
