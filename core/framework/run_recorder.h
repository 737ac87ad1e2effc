// RunRecorder: how often a profile's plugins are called and how long the calls and the extension points take, as
// metrics. Without metrics nothing is measured.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "core/clock.h"
#include "core/framework/cycle_state.h"
#include "core/framework/point_plugins.h"
#include "core/framework/profile.h"
#include "core/metrics.h"
#include "core/status.h"

namespace berth {

class RunRecorder {
 public:
  // `metrics` may be null. Both must outlive the recorder.
  RunRecorder(const Clock& clock, Metrics* metrics, std::string scheduler_name)
      : clock_(&clock), metrics_(metrics), scheduler_name_(std::move(scheduler_name)) {}

  // The counter of a plugin's calls at the point; null: they are not counted.
  Counter* evaluations_of(const std::string& plugin, Point point) const;

  // Runs an extension point and records its duration.
  template <class Run>
  Status timed(std::string_view point, const Run& run) const {
    if (metrics_ == nullptr) return run();
    const std::int64_t began_us = clock_->now_us();
    Status status = run();
    metrics_->point_duration.at({point, to_string(status.code()), scheduler_name_})
        .observe(seconds_between(began_us, clock_->now_us()));
    return status;
  }

  // Counts a call of one plugin, and in sampled cycles records its duration. A Skip does not count as an evaluation.
  template <class T, class Call>
  Status measured(const CycleState& state, const PointPlugin<T>& entry, std::string_view point,
                  const Call& call) const {
    const bool sampled = state.sampled && metrics_ != nullptr;
    const std::int64_t began_us = sampled ? clock_->now_us() : 0;
    Status status = call();
    if (entry.evaluations != nullptr && !status.is_skip()) entry.evaluations->add();
    if (sampled) {
      metrics_->plugin_duration.at({entry.name, point, to_string(status.code())})
          .observe(seconds_between(began_us, clock_->now_us()));
    }
    return status;
  }

 private:
  const Clock* clock_;
  Metrics* metrics_;
  std::string scheduler_name_;
};

}  // namespace berth
