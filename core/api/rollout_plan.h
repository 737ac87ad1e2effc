// RolloutPlan: the waves in which a new revision of a DaemonSet or Deployment reaches a fleet. Kubernetes has nothing
// of the kind, so it is an annotation of the object, with JSON as its value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/api/metadata.h"
#include "core/api/policy.h"
#include "core/api/selector.h"
#include "core/json/findings.h"

namespace berth {

inline constexpr std::string_view kRolloutPlan = "berth/rollout-plan";
inline constexpr std::string_view kRolloutPaused = "berth/rollout-paused";  // "true": no wave goes on

// When nodes may begin to fetch a new revision, by the clocks of their place.
struct DownloadWindow {
  std::int32_t start = 0;  // minutes after midnight
  std::int32_t end = 0;    // before the start: on the next day
  std::vector<int> days;   // on which it starts, 0: Sunday; empty: on all
  bool operator==(const DownloadWindow&) const = default;
};

struct RolloutWave {
  std::string name;
  LabelSelector selector;  // of nodes; empty: all
  // How many of the nodes that it selects have the revision after this wave, earlier waves included; none: all.
  std::optional<IntOrPercent> up_to;
  std::int32_t soak_seconds = 0;
  bool operator==(const RolloutWave&) const = default;
};

struct RolloutPlan {
  std::vector<RolloutWave> waves;
  std::vector<DownloadWindow> windows;  // empty: at any time
  std::string time_zone = "UTC";        // of nodes that do not say theirs
  std::int32_t healthy_seconds = 60;    // ready and not restarted for so long: the node has passed
  std::int32_t progress_deadline_seconds = 600;
  std::int32_t offline_deadline_seconds = 86'400;
  std::int32_t max_restarts = 3;
  IntOrPercent max_failed;  // of a wave
  bool rolls_back = true;   // otherwise a failed wave stops the rollout where it is
  bool operator==(const RolloutPlan&) const = default;
};

// What the annotations ask for.
struct Rollout {
  std::optional<RolloutPlan> plan;
  bool paused = false;
};

namespace decode {

// Whom waves are made of: nodes, or a share of a number of pods that may run anywhere.
enum class WavesOf { nodes, pods };

// The annotations above. An unknown field of the plan is an error, unless rules are off.
void read_rollout(const Labels& annotations, WavesOf waves_of, Rules rules, Findings& findings, Rollout& out);

}  // namespace decode
}  // namespace berth
