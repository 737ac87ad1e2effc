#include "core/controllers/rollout/rollout_message.h"

#include <array>
#include <string_view>
#include <utility>

#include "core/api/timestamp.h"

namespace berth {
namespace {

using Phase = RolloutStatus::Phase;
using State = NodeProgress::State;

// "n1, n2 and 3 more"
std::string some_of(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 5;
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < kShown; ++i) text += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > kShown) text += " and " + std::to_string(names.size() - kShown) + " more";
  return text;
}

std::string counts_text(const WaveCounts& counts) {
  constexpr std::array<std::pair<State, std::string_view>, 6> kNames{{{State::healthy, "healthy"},
                                                                      {State::updating, "updating"},
                                                                      {State::outdated, "outdated"},
                                                                      {State::silent, "not answering"},
                                                                      {State::passed_over, "passed over"},
                                                                      {State::failed, "failed"}}};
  std::string text;
  for (const auto& [state, name] : kNames) {
    const auto found = counts.by_state.find(state);
    const std::int32_t count = found == counts.by_state.end() ? 0 : found->second;
    if (count == 0 && state != State::healthy) continue;
    text += (text.empty() ? "" : ", ") + std::to_string(count);
    if (state == State::healthy) text += " of " + std::to_string(counts.nodes);
    text += " " + std::string(name);
    if (state == State::outdated && counts.outside_window > 0) {
      text += " (" + std::to_string(counts.outside_window) + " until their download window opens)";
    }
  }
  return text;
}

std::string wave_text(const RolloutStatus& status, std::size_t waves) {
  return "wave " + status.wave_name + " (" + std::to_string(status.wave + 1) + " of " + std::to_string(waves) + ")";
}

}  // namespace

std::string rollout_message(const RolloutStatus& status, const RolloutPlan& plan, const WaveCounts& counts) {
  const std::string wave = wave_text(status, plan.waves.size());
  switch (status.phase) {
    case Phase::complete: return "all waves are done";
    case Phase::paused: return wave + ": paused by the annotation " + std::string(kRolloutPaused);
    case Phase::rolled_back:
      return wave + " failed on " + some_of(status.failed) + ": back to revision " + status.stable_revision;
    case Phase::stopped:
      return wave + " failed on " + some_of(status.failed) + ": stopped, " +
             (plan.rolls_back ? "as no earlier revision is known" : "as the plan says");
    case Phase::progressing: break;
  }
  std::string text = wave + ": " + counts_text(counts);
  if (status.soaking_since) {
    const Millis soak = plan.waves[static_cast<std::size_t>(status.wave)].soak_seconds * Millis{1000};
    text += "; soaks until " + to_timestamp(*status.soaking_since + soak);
  }
  return text;
}

std::vector<WorkloadEvent> rollout_events(const std::optional<RolloutStatus>& before, const RolloutStatus& after) {
  constexpr auto kNormal = WorkloadEvent::Type::normal;
  constexpr auto kWarning = WorkloadEvent::Type::warning;
  std::vector<WorkloadEvent> events;
  const bool is_another = !before || before->revision != after.revision;
  const std::string what = "revision " + after.revision;
  const std::string wave = "wave " + after.wave_name;
  const bool has_phase_changed = is_another || before->phase != after.phase;
  if (is_another && after.phase != Phase::complete)
    events.push_back({kNormal, "RolloutStarted", "Rolling out " + what});
  if (after.phase == Phase::progressing) {
    if (has_phase_changed && !is_another) events.push_back({kNormal, "RolloutResumed", "Resumed in " + wave});
    const bool is_next = is_another || before->wave != after.wave;
    if (is_next) events.push_back({kNormal, "RolloutWave", "Began " + wave + " of " + what});
    const bool soaks = after.soaking_since && (is_next || !before->soaking_since);
    if (soaks) events.push_back({kNormal, "RolloutSoaking", "All of " + wave + " are done; it soaks"});
    return events;
  }
  if (!has_phase_changed) return events;
  switch (after.phase) {
    case Phase::complete: events.push_back({kNormal, "RolloutComplete", "Completed " + what}); break;
    case Phase::paused: events.push_back({kNormal, "RolloutPaused", "Paused in " + wave}); break;
    case Phase::stopped: events.push_back({kWarning, "RolloutStopped", after.message}); break;
    case Phase::rolled_back: events.push_back({kWarning, "RolledBack", after.message}); break;
    case Phase::progressing: break;
  }
  return events;
}

}  // namespace berth
