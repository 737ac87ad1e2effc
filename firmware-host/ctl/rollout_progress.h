// How far the rollout of a Deployment or DaemonSet is, as its object says.
#pragma once

#include <string>

#include "core/json/json.h"

namespace berth {

struct RolloutProgress {
  enum class State { underway, done, failed };
  State state = State::underway;
  std::string text;
};

// By the rollout plan (core/api/rollout_status.h), or without one as kubectl says it
// (pkg/polymorphichelpers/rollout_status.go).
RolloutProgress rollout_progress(const Json& object);

}  // namespace berth
