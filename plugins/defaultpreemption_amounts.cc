#include "plugins/defaultpreemption_amounts.h"

#include <algorithm>
#include <utility>

#include "core/api/pod.h"
#include "core/api/policy.h"

namespace berth::preemption {

// AddPod and RemovePod need not be called: they change what PreFilter has written, and no plugin that is asked here
// lets pods on the node change its answer but by their sums.
void AmountsTrial::begin(const Framework& framework, const CycleState& state, const Pod& pod) {
  asked_.clear();
  state_.become(state);
  const auto& before = framework.pre_filters();
  is_possible_ = std::all_of(before.begin(), before.end(), [&](const auto& entry) {
    return state_.skip_filter.test(entry.number) || entry.plugin->reads(pod, Point::pre_filter) != Reads::anything;
  });
  for (const Entry& entry : framework.filters()) {
    if (state_.skip_filter.test(entry.number) || entry.plugin->accepts_all(state_, pod)) continue;
    asked_.push_back(&entry);
    const bool reads_object = entry.plugin->reads(pod, Point::filter) == Reads::node_object;
    is_possible_ = is_possible_ && (reads_object || entry.amounts_filter != nullptr);
  }
}

// In the profile's order, so that the first plugin to reject the node is the same as on the plain path.
Status AmountsTrial::judge_objects_and_amounts(const NodeInfo& node, const Pod& pod) {
  for (const Entry* entry : asked_) {
    entry->count();
    Status status = entry->amounts_filter != nullptr
                        ? entry->amounts_filter->filter_amounts(state_, node, requested_, pods_)
                        : entry->plugin->filter(state_, pod, node);
    if (!status.is_success()) return std::move(status).with_plugin(entry->name);
  }
  return {};
}

bool AmountsTrial::fits(const NodeInfo& node) {
  return std::all_of(asked_.begin(), asked_.end(), [&](const Entry* entry) {
    if (entry->amounts_filter == nullptr) return true;
    entry->count();
    return entry->amounts_filter->filter_amounts(state_, node, requested_, pods_).is_success();
  });
}

void AmountsTrial::reprieve(const Pods& pods, const NodeInfo& node, Pods& victims) {
  for (const auto& each : pods) {
    const Resources& asked = amounts_.of(*each).requests;
    requested_.add(asked);
    ++pods_;
    if (fits(node)) continue;
    requested_.subtract(asked);
    --pods_;
    victims.push_back(each);
  }
}

Status AmountsTrial::select_victims(const NodeInfo& node, const Budgets& budgets, const Pod& pod, Candidate& found) {
  list_lower(node, pod, lower_);
  requested_ = node.requested;
  pods_ = node.pods_and_charges() - static_cast<std::int64_t>(lower_.size());
  for (const auto& each : lower_) requested_.subtract(amounts_.of(*each).requests);
  if (Status status = judge_objects_and_amounts(node, pod); !status.is_success()) return status;
  sort_by_importance(lower_);
  found.node = node.name();
  if (budgets.empty()) {
    reprieve(lower_, node, found.victims);
    return {};  // in their order
  }
  split_by_budgets(lower_, budgets, split_);
  reprieve(split_.violating, node, found.victims);
  found.pdb_violations = static_cast<std::int64_t>(found.victims.size());
  reprieve(split_.others, node, found.victims);
  sort_by_importance(found.victims);
  return {};
}

}  // namespace berth::preemption
