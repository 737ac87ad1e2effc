// The rolling update of a DaemonSet (pkg/controller/daemon/update.go, rollingUpdate).
#include <algorithm>
#include <map>
#include <utility>

#include "core/controllers/daemon_set/daemon_set_rules.h"
#include "core/controllers/percent.h"

namespace berth {
namespace {

// The living pods of one node.
struct NodePods {
  ControlledPodPtr updated;
  ControlledPodPtr outdated;
  bool are_too_many = false;  // several of a kind, which the next synchronisation deletes
};
NodePods living_pods(const DaemonView& view, const std::vector<ControlledPodPtr>& pods) {
  NodePods living;
  for (const ControlledPodPtr& pod : pods) {
    if (pod->metadata.deletion) continue;
    ControlledPodPtr& kind = is_updated(view, *pod) ? living.updated : living.outdated;
    if (kind != nullptr) living.are_too_many = true;
    kind = pod;
  }
  return living;
}

struct UpdateNumbers {
  std::int64_t surge = 0;
  std::int64_t unavailable = 0;
  std::int64_t desired = 0;
};
UpdateNumbers update_numbers(const DaemonView& view) {
  UpdateNumbers numbers;
  numbers.desired =
      std::count_if(view.nodes.begin(), view.nodes.end(), [](const DaemonNode& node) { return node.fit.should_run; });
  numbers.surge = scaled_up(view.set.spec.max_surge, static_cast<std::int32_t>(numbers.desired));
  numbers.unavailable = scaled_up(view.set.spec.max_unavailable, static_cast<std::int32_t>(numbers.desired));
  if (numbers.surge == 0 && numbers.unavailable == 0 && numbers.desired > 0) numbers.unavailable = 1;
  return numbers;
}

// The nodes that have pods or should have one, by name.
std::map<std::string, NodePods> pods_to_update(const DaemonView& view) {
  std::map<std::string, NodePods> nodes;
  for (const auto& [name, pods] : view.pods) nodes[name] = living_pods(view, pods);
  for (const DaemonNode& node : view.nodes) {
    if (node.fit.should_run) nodes.try_emplace(node.node->metadata.name);
  }
  return nodes;
}

// Deletes old pods that are not available, and as many of the others as may be unavailable besides.
DaemonWork plan_in_place(const DaemonView& view, const UpdateNumbers& numbers) {
  DaemonWork work;
  std::int64_t unavailable = 0;
  std::vector<ControlledPodPtr> candidates;
  for (const auto& [name, pods] : pods_to_update(view)) {
    const int counted = counts_unavailable(view, name) ? 1 : 0;
    const bool is_one = (pods.updated == nullptr) != (pods.outdated == nullptr);
    if (pods.are_too_many || !is_one) {
      unavailable += counted;
    } else if (pods.updated != nullptr) {
      if (!is_available(view, *pods.updated)) unavailable += counted;
    } else if (!is_available(view, *pods.outdated)) {
      unavailable += counted;
      if (may_update(view, name)) work.gone.push_back(pods.outdated);
    } else if (unavailable < numbers.unavailable && may_update(view, name)) {
      candidates.push_back(pods.outdated);
    }
  }
  const std::int64_t allowed =
      std::clamp<std::int64_t>(numbers.unavailable - unavailable, 0, static_cast<std::int64_t>(candidates.size()));
  work.gone.insert(work.gone.end(), candidates.begin(), candidates.begin() + allowed);
  return work;
}

struct Surge {
  std::int64_t surged = 0;     // nodes with a new pod that is not available yet
  std::int64_t available = 0;  // nodes with an available pod
  std::vector<std::string> candidates;
  std::vector<ControlledPodPtr> not_wanted;  // available old pods where none should run
};

// An old pod alone on its node.
void plan_outdated(const DaemonView& view, const DaemonNode& node, const ControlledPodPtr& pod, Surge& surge,
                   DaemonWork& work) {
  const std::string& name = node.node->metadata.name;
  if (!is_available(view, *pod)) {
    if (node.fit.should_run) {
      work.nodes.push_back(name);
    } else {
      work.gone.push_back(pod);
    }
  } else if (node.fit.should_run) {
    surge.candidates.push_back(name);
  } else {
    surge.not_wanted.push_back(pod);
  }
}

const DaemonNode* find_node(const DaemonView& view, const std::string& name) {
  const auto found = std::find_if(view.nodes.begin(), view.nodes.end(),
                                  [&](const DaemonNode& each) { return each.node->metadata.name == name; });
  return found == view.nodes.end() ? nullptr : &*found;
}

// Makes new pods beside the old ones, which go when the new ones are available.
Result<DaemonWork> plan_with_surge(const DaemonView& view, const UpdateNumbers& numbers) {
  DaemonWork work;
  Surge surge;
  for (const auto& [name, pods] : pods_to_update(view)) {
    const int counted = counts_unavailable(view, name) ? 1 : 0;
    if (pods.are_too_many) {
      surge.surged += counted;
      continue;
    }
    const bool has_updated = pods.updated != nullptr && is_available(view, *pods.updated);
    const bool has_outdated = pods.outdated != nullptr && is_available(view, *pods.outdated);
    if (has_updated || has_outdated) ++surge.available;
    if (pods.outdated == nullptr || (pods.updated == nullptr && !may_update(view, name))) continue;
    if (pods.updated == nullptr) {
      const DaemonNode* node = find_node(view, name);
      if (node == nullptr) {
        return Status::error("couldn't get node for nodeName \"" + name + "\": node \"" + name + "\" not found");
      }
      plan_outdated(view, *node, pods.outdated, surge, work);
    } else if (has_updated) {
      work.gone.push_back(pods.outdated);
    } else {
      surge.surged += counted;
    }
  }
  const auto take = [](std::int64_t allowed, const auto& list) {
    return list.begin() + std::clamp<std::int64_t>(allowed, 0, static_cast<std::int64_t>(list.size()));
  };
  const auto& candidates = surge.candidates;
  work.nodes.insert(work.nodes.end(), candidates.begin(), take(numbers.surge - surge.surged, candidates));
  // Users of surge expect as many available pods as are desired, also while the nodes of the set change.
  const auto& not_wanted = surge.not_wanted;
  work.gone.insert(work.gone.end(), not_wanted.begin(), take(surge.available - numbers.desired, not_wanted));
  return work;
}

}  // namespace

Result<DaemonWork> plan_daemon_update(const DaemonView& view) {
  const UpdateNumbers numbers = update_numbers(view);
  if (numbers.surge == 0) return plan_in_place(view, numbers);
  return plan_with_surge(view, numbers);
}

}  // namespace berth
