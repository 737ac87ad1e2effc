#include "tests/conformance/event_names.h"

#include <algorithm>
#include <array>

#include "tests/conformance/verdict.h"

namespace berth {

namespace {

struct ActionName {
  Action action;
  std::string_view name;
};
constexpr std::array kActions{ActionName{kAdd, "Add"},
                              ActionName{kDelete, "Delete"},
                              ActionName{kUpdateNodeAllocatable, "UpdateNodeAllocatable"},
                              ActionName{kUpdateNodeLabel, "UpdateNodeLabel"},
                              ActionName{kUpdateNodeTaint, "UpdateNodeTaint"},
                              ActionName{kUpdateNodeCondition, "UpdateNodeCondition"},
                              ActionName{kUpdateNodeAnnotation, "UpdateNodeAnnotation"},
                              ActionName{kUpdateNodeDeclaredFeature, "UpdateNodeDeclaredFeature"},
                              ActionName{kUpdatePodLabel, "UpdatePodLabel"},
                              ActionName{kUpdatePodScaleDown, "UpdatePodScaleDown"},
                              ActionName{kUpdatePodToleration, "UpdatePodToleration"},
                              ActionName{kUpdatePodSchedulingGatesEliminated, "UpdatePodSchedulingGatesEliminated"},
                              ActionName{kUpdatePodGeneratedResourceClaim, "UpdatePodGeneratedResourceClaim"}};

std::string show_actions(std::uint32_t actions) {
  if (actions == kAllActions) return "All";
  std::vector<std::string> names;
  for (const ActionName& each : kActions) {
    const bool of_update = (each.action & kUpdate) != 0;
    if ((actions & kUpdate) == kUpdate && of_update) continue;
    if ((actions & each.action) != 0) names.emplace_back(each.name);
  }
  if ((actions & kUpdate) == kUpdate) names.emplace_back("Update");
  std::sort(names.begin(), names.end());
  return show(names);
}

// Upstream writes some resources with their group: "storage.k8s.io/CSINode".
std::string without_group(const std::string& resource) { return resource.substr(resource.rfind('/') + 1); }

}  // namespace

std::uint32_t action_named(const std::string& name) {
  if (name == "Update") return kUpdate;
  if (name == "All") return kAllActions;
  for (const ActionName& each : kActions) {
    if (each.name == name) return each.action;
  }
  return 0;
}

EventResource resource_named(const std::string& name) {
  for (int i = 0; i < static_cast<int>(EventResource::wildcard); ++i) {
    if (to_string(static_cast<EventResource>(i)) == without_group(name)) return static_cast<EventResource>(i);
  }
  return EventResource::wildcard;
}

std::string show_event(EventResource resource, std::uint32_t actions) {
  return std::string(to_string(resource)) + "/" + show_actions(actions);
}

}  // namespace berth
