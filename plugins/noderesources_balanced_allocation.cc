#include "plugins/noderesources_balanced_allocation.h"

#include <algorithm>
#include <cmath>

namespace berth {

namespace {

struct AskedForScore final : StateEntry {
  std::vector<std::int64_t> by_resource;
  std::unique_ptr<StateEntry> clone() const override { return std::make_unique<AskedForScore>(*this); }
};

double share_of(const Fill& fill) {
  return std::min(static_cast<double>(fill.requested) / static_cast<double>(fill.capacity), 1.0);
}

// The standard deviation of the shares; for two of them half of what lies between them, which is the same number.
double deviation(const std::vector<Fill>& fill) {
  double total = 0;
  double count = 0;
  double first = 0;
  double last = 0;
  for (const Fill& each : fill) {
    if (each.capacity == 0) continue;
    last = share_of(each);
    if (count == 0) first = last;
    total += last;
    ++count;
  }
  if (count < 2) return 0;
  if (count == 2) return std::abs((first - last) / 2);
  const double mean = total / count;
  double squares = 0;
  for (const Fill& each : fill) {
    if (each.capacity != 0) squares += (share_of(each) - mean) * (share_of(each) - mean);
  }
  return std::sqrt(squares / count);
}

std::int64_t balance_of(const std::vector<Fill>& fill) {
  return static_cast<std::int64_t>((1 - deviation(fill)) * static_cast<double>(ScorePlugin::kMaxScore));
}

}  // namespace

Result<std::unique_ptr<Plugin>> NodeResourcesBalancedAllocation::make(const Json& args, Handle&) {
  Result<std::vector<ScoredResource>> resources = read_balanced_arguments(args);
  if (!resources) return resources.error();
  return std::unique_ptr<Plugin>(std::make_unique<NodeResourcesBalancedAllocation>(std::move(*resources)));
}

Status NodeResourcesBalancedAllocation::pre_score(CycleState& state, const Pod& pod,
                                                  const std::vector<std::shared_ptr<const NodeInfo>>&) {
  auto asked = std::make_unique<AskedForScore>();
  asked->by_resource = requests_by_resource(pod, resources_, false);
  const auto& amounts = asked->by_resource;
  // A pod that asks for nothing changes no balance; it would be drawn to the nodes with the fewest cpus.
  if (std::all_of(amounts.begin(), amounts.end(), [](std::int64_t amount) { return amount == 0; })) {
    return Status::skip();
  }
  state.write(kName, std::move(asked));
  return {};
}

Status NodeResourcesBalancedAllocation::score(CycleState& state, const Pod&, const NodeInfo& node,
                                              std::int64_t& score) {
  const auto* asked = state.read<AskedForScore>(kName);
  if (asked == nullptr) return Status::error("PreScore did not run");
  score = balance_of(fill_of(node, resources_, asked->by_resource, false));
  return {};
}

bool NodeResourcesBalancedAllocation::score_all(CycleState& state, const Pod& pod, const Snapshot& snapshot,
                                                std::vector<std::int64_t>& scores) {
  const auto* asked = state.read<AskedForScore>(kName);
  if (asked == nullptr) return false;
  const FillColumns columns(snapshot, resources_, asked->by_resource, false);
  if (!columns.has_all()) return ScorePlugin::score_all(state, pod, snapshot, scores);
  columns.score_all(balance_of, scores);
  return true;
}

}  // namespace berth
