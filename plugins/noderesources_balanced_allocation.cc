#include "plugins/noderesources_balanced_allocation.h"

#include <algorithm>
#include <cmath>

#include "core/api/pod.h"
#include "core/vectorized.h"

namespace berth {

namespace {

struct AskedForBalance final : StateEntry {
  std::vector<std::int64_t> by_resource;
  std::unique_ptr<StateEntry> clone() const override { return std::make_unique<AskedForBalance>(*this); }
};

// 0 for a resource that the node does not have.
double share_of(const FillColumns::OfNode& fill) {
  const double share = fill.requested / (fill.capacity == 0 ? 1 : fill.capacity);
  const double at_most_all = share < 1 ? share : 1;
  return fill.capacity == 0 ? 0 : at_most_all;
}

// The standard deviation of the shares of the resources that the node has; for two resources this is half of their
// difference. Calls fill_at(i) more than once.
template <class FillAt>
double deviation_of(std::size_t resources, FillAt fill_at) {
  double total = 0;
  double count = 0;
  double first = 0;
  double last = 0;
  for (std::size_t i = 0; i < resources; ++i) {
    const FillColumns::OfNode fill = fill_at(i);
    const double share = share_of(fill);
    first += count == 0 ? share : 0;
    last = fill.capacity != 0 ? share : last;
    total += share;
    count += fill.capacity != 0 ? 1 : 0;
  }
  const double of_two = count == 2 ? std::abs((first - last) / 2) : 0;
  if (resources <= 2 || count <= 2) return of_two;
  const double mean = total / count;
  double squares = 0;
  for (std::size_t i = 0; i < resources; ++i) {
    const FillColumns::OfNode fill = fill_at(i);
    const double off = fill.capacity == 0 ? 0 : share_of(fill) - mean;
    squares += off * off;
  }
  return std::sqrt(squares / count);
}

// The same of two resources that the node has.
double deviation_of_two(const std::array<FillColumns::OfNode, 2>& fill) {
  const auto share_of_offered = [](const FillColumns::OfNode& of) {
    const double share = of.requested / of.capacity;
    return share < 1 ? share : 1;
  };
  return std::abs((share_of_offered(fill[0]) - share_of_offered(fill[1])) / 2);
}

// Truncated to an integer this is the score.
double evenness(double deviation) { return (1 - deviation) * static_cast<double>(ScorePlugin::kMaxScore); }

BERTH_VECTORIZED void score_balance(const FillColumns& columns, std::int32_t* scores) {
  const auto score_one = [](const auto& fill, const auto&, auto offered) {
    double deviation = 0;
    if constexpr (offered) {
      deviation = deviation_of_two(fill);
    } else {
      deviation = deviation_of(fill.size(), [&fill](std::size_t i) { return fill[i]; });
    }
    return static_cast<std::int32_t>(evenness(deviation));
  };
  columns.score_rows(score_one, scores);
}

}  // namespace

Result<std::unique_ptr<Plugin>> NodeResourcesBalancedAllocation::make(const Json& args, Handle&) {
  Result<std::vector<ScoredResource>> resources = read_balanced_arguments(args);
  if (!resources) return resources.error();
  return std::unique_ptr<Plugin>(std::make_unique<NodeResourcesBalancedAllocation>(std::move(*resources)));
}

Status NodeResourcesBalancedAllocation::pre_score(CycleState& state, const Pod& pod,
                                                  const std::vector<std::shared_ptr<const NodeInfo>>&) {
  auto asked = std::make_unique<AskedForBalance>();
  asked->by_resource = requests_by_resource(pod, resources_, false);
  const auto& amounts = asked->by_resource;
  // A pod without requests does not change the balance; scoring it would favour the nodes with the fewest cpus.
  if (std::all_of(amounts.begin(), amounts.end(), [](std::int64_t amount) { return amount == 0; })) {
    return Status::skip();
  }
  state.write(std::move(asked));
  return {};
}

Status NodeResourcesBalancedAllocation::score(CycleState& state, const Pod&, const NodeInfo& node,
                                              std::int64_t& score) {
  const auto* asked = state.read<AskedForBalance>();
  if (asked == nullptr) return Status::error("PreScore did not run");
  const auto fill_at = [&](std::size_t i) -> FillColumns::OfNode {
    const Fill fill = fill_of(node, resources_[i], asked->by_resource[i], false);
    return {static_cast<double>(fill.capacity), static_cast<double>(fill.requested), 0};
  };
  score = static_cast<std::int64_t>(evenness(deviation_of(resources_.size(), fill_at)));
  return {};
}

bool NodeResourcesBalancedAllocation::score_rows(CycleState& state, const Pod&, const Snapshot&, const Rows& rows,
                                                 std::int32_t* scores) {
  const auto* asked = state.read<AskedForBalance>();
  if (asked == nullptr) return false;
  const FillColumns columns(rows, resources_, asked->by_resource, false);
  if (!columns.are_exact()) return false;
  score_balance(columns, scores);
  return true;
}

}  // namespace berth
