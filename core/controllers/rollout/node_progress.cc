#include "core/controllers/rollout/node_progress.h"

#include <algorithm>

namespace berth {
namespace {

using State = NodeProgress::State;

// When the pod has been healthy for long enough; none: it is not ready.
std::optional<Millis> passes_at(const RolloutPlan& plan, const RolloutNode& node) {
  if (!node.updated || !node.ready || !node.ready_changed) return std::nullopt;
  return *node.ready_changed + plan.healthy_seconds * Millis{1000};
}

NodeProgress progress_of_silent(const RolloutPlan& plan, const RolloutNode& node, Millis wave_started, Millis now) {
  // What a node was when it was last heard of is what it is.
  if (has_proved_itself(plan, node, *node.silent_since)) return {State::healthy, {}};
  // A wave waits for silent nodes no longer than this from its start, however often they come and go.
  const Millis deadline = std::min(*node.silent_since, wave_started) + plan.offline_deadline_seconds * Millis{1000};
  if (now < deadline) return {State::silent, deadline};
  // A node that falls silent with a new revision that has not proved itself may be so because of it.
  const Millis trial = plan.progress_deadline_seconds * Millis{1000};
  const bool is_suspicious = node.updated && node.created.value_or(0) + trial > *node.silent_since;
  return {is_suspicious ? State::failed : State::passed_over, {}};
}

}  // namespace

bool has_proved_itself(const RolloutPlan& plan, const RolloutNode& node, Millis at) {
  const std::optional<Millis> passed = passes_at(plan, node);
  return passed && *passed <= at;
}

NodeProgress progress_of(const RolloutPlan& plan, const RolloutNode& node, bool had_failed, Millis wave_started,
                         Millis now) {
  const std::optional<Millis> passes = passes_at(plan, node);
  if (passes && *passes <= now && !node.silent_since) return {State::healthy, {}};
  if (had_failed || (node.updated && node.has_ended)) return {State::failed, passes};
  if (node.silent_since) return progress_of_silent(plan, node, wave_started, now);
  if (node.updated && node.restarts > plan.max_restarts) return {State::failed, passes};
  if (passes) return {State::updating, passes};
  const Millis trial = plan.progress_deadline_seconds * Millis{1000};
  const OptionalTime waits_since =
      node.updated ? OptionalTime(std::max(node.created.value_or(now), node.ready_changed.value_or(0)))
                   : node.deletion_asked;
  if (!waits_since) return {State::outdated, {}};
  if (*waits_since + trial <= now) return {State::failed, {}};
  return {node.updated ? State::updating : State::outdated, *waits_since + trial};
}

}  // namespace berth
