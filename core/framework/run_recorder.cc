#include "core/framework/run_recorder.h"

namespace berth {

Counter* RunRecorder::evaluations_of(const std::string& plugin, Point point) const {
  if (metrics_ == nullptr) return nullptr;
  auto counter = [&](std::string_view label) {
    return &metrics_->plugin_evaluations.at({plugin, label, scheduler_name_});
  };
  if (point == Point::pre_filter) return counter("PreFilter");
  if (point == Point::filter) return counter("Filter");
  if (point == Point::pre_score) return counter("PreScore");
  if (point == Point::score) return counter("Score");
  return nullptr;
}

}  // namespace berth
