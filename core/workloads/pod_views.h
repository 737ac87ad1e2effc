// PodViews: the pods of the gateway as controllers see them, those of controllers and those that one may adopt. A pod
// is read again when it was noted as changed, never by looking at all of them.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/controllers/controlled_pod.h"
#include "core/controllers/controller.h"
#include "core/placement/context.h"
#include "core/placement/state.h"

namespace berth {

class PodViews {
 public:
  // `concerns`: whether a controller has the pod, or may adopt it. All outlive it.
  PodViews(const PlacementContext& context, const PlacementState& state, std::function<bool(const Pod& pod)> concerns)
      : context_(context), state_(state), concerns_(std::move(concerns)) {}

  // The pod of this key may have changed, come or gone.
  void note(const std::string& key) { noted_.insert(key); }
  // Reads what was noted, and appends what has changed.
  void refresh(std::vector<ObjectChange>& changes);

  // Any pod of the gateway: what has an owner may have one that no controller has.
  ControlledPodPtr find(const std::string& key) const;
  // Ordered by name; an empty namespace: all of them, ordered by namespace and name.
  std::vector<ObjectPtr> list(std::string_view name_space) const;
  // `uid`: of their controller; empty: those without one.
  std::vector<ControlledPodPtr> of(std::string_view name_space, std::string_view uid) const;

 private:
  using Owner = std::pair<std::string, std::string>;  // namespace, and uid of the controller

  void refresh(const std::string& key, std::vector<ObjectChange>& changes);
  void index(const ControlledPodPtr& before, const ControlledPodPtr& after);

  const PlacementContext& context_;
  const PlacementState& state_;
  std::function<bool(const Pod& pod)> concerns_;
  std::set<std::string> noted_;
  std::map<std::string, ControlledPodPtr> views_;  // by "<namespace>/<name>"
  struct ByName {
    bool operator()(const ControlledPodPtr& a, const ControlledPodPtr& b) const {
      return a->metadata.name < b->metadata.name;
    }
  };
  std::map<Owner, std::set<ControlledPodPtr, ByName>> pods_of_;  // of the views
};

}  // namespace berth
