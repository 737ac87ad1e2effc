#include "plugins/noderesources_balanced_allocation.h"

#include <algorithm>
#include <cmath>

namespace berth {

namespace {

struct AskedForScore final : StateEntry {
  std::vector<std::int64_t> by_resource;
  std::unique_ptr<StateEntry> clone() const override { return std::make_unique<AskedForScore>(*this); }
};

// The standard deviation; for two shares half of what lies between them, which is the same number.
double deviation(const std::vector<double>& shares) {
  if (shares.size() < 2) return 0;
  if (shares.size() == 2) return std::abs((shares[0] - shares[1]) / 2);
  double total = 0;
  for (const double share : shares) total += share;
  const double mean = total / static_cast<double>(shares.size());
  double squares = 0;
  for (const double share : shares) squares += (share - mean) * (share - mean);
  return std::sqrt(squares / static_cast<double>(shares.size()));
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
  std::vector<double> shares;
  for (const Fill& fill : fill_of(node, resources_, asked->by_resource, false)) {
    if (fill.capacity == 0) continue;
    shares.push_back(std::min(static_cast<double>(fill.requested) / static_cast<double>(fill.capacity), 1.0));
  }
  score = static_cast<std::int64_t>((1 - deviation(shares)) * static_cast<double>(kMaxScore));
  return {};
}

}  // namespace berth
