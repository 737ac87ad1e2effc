// The time zones of nodes, for the download windows of a plan.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "core/api/metadata.h"
#include "core/api/rollout_plan.h"
#include "core/controllers/time_zones/time_zone.h"

namespace berth {

// The label of a node that names its zone, "Europe.Berlin": a label's value cannot have the '/' of the zone's name.
inline constexpr std::string_view kTimeZoneLabel = "berth/time-zone";

class RolloutZones {
 public:
  // Both must outlive it.
  RolloutZones(const RolloutPlan& plan, const TimeZoneFiles& files) : plan_(plan), files_(files) {}

  // The zone that the node names, else the plan's, else UTC; null for a plan without windows. Valid while this is.
  const TimeZone* of(const Labels& node_labels);
  // About the first zone that is not known; empty: all are.
  const std::string& problem() const { return problem_; }

 private:
  const TimeZone* load(const std::string& name, std::string_view instead);

  const RolloutPlan& plan_;
  const TimeZoneFiles& files_;
  std::map<std::string, Result<TimeZone>> loaded_;
  std::string problem_;
};

}  // namespace berth
