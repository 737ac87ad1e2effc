// How far one node has come with the new revision.
#pragma once

#include <optional>

#include "core/controllers/rollout/rollout_input.h"

namespace berth {

struct NodeProgress {
  enum class State {
    outdated,     // it has not got the new revision
    updating,     // it has, and is not healthy yet, or no longer
    silent,       // it does not answer, and is waited for
    healthy,      // ready and without a restart for long enough
    passed_over,  // it does not answer, and is no longer waited for
    failed,
  };
  State state = State::outdated;
  std::optional<Millis> next;  // when time alone may change that

  // Whether the wave need not wait for it.
  bool is_done() const { return state >= State::healthy; }
};

// Whether its pod had been healthy for long enough at that time.
bool has_proved_itself(const RolloutPlan& plan, const RolloutNode& node, Millis at);

// `had_failed`: by an earlier look, which stands until the node is healthy.
NodeProgress progress_of(const RolloutPlan& plan, const RolloutNode& node, bool had_failed, Millis wave_started,
                         Millis now);

}  // namespace berth
