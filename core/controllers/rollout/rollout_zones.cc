#include "core/controllers/rollout/rollout_zones.h"

#include <algorithm>

namespace berth {

const TimeZone* RolloutZones::load(const std::string& name, std::string_view instead) {
  auto found = loaded_.find(name);
  if (found == loaded_.end()) found = loaded_.emplace(name, load_time_zone(name, files_)).first;
  if (found->second) return &*found->second;
  if (problem_.empty()) problem_ = found->second.error().message() + ", " + std::string(instead) + " counts instead";
  return nullptr;
}

const TimeZone* RolloutZones::of(const Labels& node_labels) {
  if (plan_.windows.empty()) return nullptr;
  if (const auto label = node_labels.find(std::string(kTimeZoneLabel)); label != node_labels.end()) {
    std::string name = label->second;
    std::replace(name.begin(), name.end(), '.', '/');
    if (const TimeZone* zone = load(name, plan_.time_zone)) return zone;
  }
  return load(plan_.time_zone, "UTC");
}

}  // namespace berth
