#include "plugins/noderesources_scoring.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/framework/plugin.h"

namespace berth {

namespace {

constexpr std::int64_t kWhole = ScorePlugin::kMaxScore;

std::int64_t amount_of(const Resources& resources, const std::string& name) {
  if (name == "cpu") return resources.milli_cpu;
  if (name == "memory") return resources.memory;
  if (name == "ephemeral-storage") return resources.ephemeral_storage;
  const auto found = resources.scalar.find(name);
  return found == resources.scalar.end() ? 0 : found->second;
}

bool is_plain(const std::string& name) { return name == "cpu" || name == "memory" || name == "ephemeral-storage"; }

NodeColumns::Resource column_of(const std::string& name) {
  if (name == "cpu") return NodeColumns::milli_cpu;
  return name == "memory" ? NodeColumns::memory : NodeColumns::ephemeral_storage;
}

// In hundredths; without overflow where amounts are close to the largest number. Where doubles hold both numbers their
// quotient is rounded up to the next whole at most, and costs a fraction of a division of integers.
std::int64_t share(std::int64_t part, std::int64_t whole) {
  constexpr std::int64_t kExact = std::int64_t{1} << 53;
  if (part > std::numeric_limits<std::int64_t>::max() / kWhole) return part / (whole / kWhole);
  if (part < 0 || part * kWhole >= kExact || whole >= kExact) return part * kWhole / whole;
  const auto quotient = static_cast<std::int64_t>(static_cast<double>(part * kWhole) / static_cast<double>(whole));
  return quotient * whole > part * kWhole ? quotient - 1 : quotient;
}

// Weights are small: 32 bits hold the sum, nearly always.
std::int64_t share_of_weights(std::int64_t sum, std::int64_t weights) {
  constexpr std::int64_t kSmall = std::numeric_limits<std::int32_t>::max();
  if (sum < 0 || sum > kSmall || weights > kSmall) return sum / weights;
  return static_cast<std::uint32_t>(sum) / static_cast<std::uint32_t>(weights);
}

std::int64_t least_allocated(const Fill& fill) {
  return fill.requested > fill.capacity ? 0 : share(fill.capacity - fill.requested, fill.capacity);
}

// A node can hold more than it has: pods without requests count for scores.
std::int64_t most_allocated(const Fill& fill) { return share(std::min(fill.requested, fill.capacity), fill.capacity); }

std::int64_t on_the_line(const std::vector<ShapePoint>& shape, std::int64_t utilization) {
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (utilization > shape[i].utilization) continue;
    if (i == 0) return shape[0].score;
    const ShapePoint& from = shape[i - 1];
    const ShapePoint& to = shape[i];
    return from.score +
           (to.score - from.score) * (utilization - from.utilization) / (to.utilization - from.utilization);
  }
  return shape.back().score;
}

std::int64_t by_shape(const std::vector<ShapePoint>& shape, const Fill& fill) {
  return on_the_line(shape, fill.requested > fill.capacity ? kWhole : share(fill.requested, fill.capacity));
}

std::int64_t score_one(const ScoringStrategy& strategy, const Fill& fill) {
  switch (strategy.type) {
    case ScoringStrategy::Type::least_allocated: return least_allocated(fill);
    case ScoringStrategy::Type::most_allocated: return most_allocated(fill);
    case ScoringStrategy::Type::requested_to_capacity_ratio: break;
  }
  return by_shape(strategy.shape, fill);
}

}  // namespace

std::vector<std::int64_t> requests_by_resource(const Pod& pod, const std::vector<ScoredResource>& resources,
                                               bool made_up) {
  const Resources asked = made_up ? container_requests_for_scoring(pod) : pod_requests(pod);
  std::vector<std::int64_t> amounts;
  for (const ScoredResource& resource : resources) amounts.push_back(amount_of(asked, resource.name));
  return amounts;
}

std::vector<Fill> fill_of(const NodeInfo& node, const std::vector<ScoredResource>& resources,
                          const std::vector<std::int64_t>& asked, bool made_up) {
  const Resources& used = made_up ? node.requested_for_scoring : node.requested;
  std::vector<Fill> fill;
  for (std::size_t i = 0; i < resources.size(); ++i) {
    const std::string& name = resources[i].name;
    // Extended resources count only for pods that ask for them.
    if (asked[i] == 0 && !is_plain(name)) {
      fill.push_back({});
    } else {
      fill.push_back({amount_of(node.allocatable, name), amount_of(used, name) + asked[i]});
    }
  }
  return fill;
}

FillColumns::FillColumns(const Snapshot& snapshot, const std::vector<ScoredResource>& resources,
                         const std::vector<std::int64_t>& asked, bool made_up) {
  for (std::size_t i = 0; i < resources.size(); ++i) {
    sources_.emplace_back();
    if (!is_plain(resources[i].name)) {
      has_all_ = has_all_ && asked[i] == 0;
      continue;
    }
    const NodeColumns::OfResource& column = snapshot.columns().of(column_of(resources[i].name));
    const auto& used = made_up ? column.requested_for_scoring : column.requested;
    sources_.back() = {column.allocatable.data(), used.data(), asked[i]};
  }
}

std::int64_t score_of(const ScoringStrategy& strategy, const std::vector<Fill>& fill) {
  const bool by_ratio = strategy.type == ScoringStrategy::Type::requested_to_capacity_ratio;
  std::int64_t sum = 0;
  std::int64_t weights = 0;
  for (std::size_t i = 0; i < fill.size(); ++i) {
    if (fill[i].capacity == 0) continue;  // the node does not offer it
    const std::int64_t score = score_one(strategy, fill[i]);
    if (by_ratio && score <= 0) continue;
    sum += score * strategy.resources[i].weight;
    weights += strategy.resources[i].weight;
  }
  if (weights == 0) return 0;
  if (!by_ratio) return share_of_weights(sum, weights);
  return static_cast<std::int64_t>(std::round(static_cast<double>(sum) / static_cast<double>(weights)));
}

void score_all(const ScoringStrategy& strategy, const FillColumns& columns, std::vector<std::int64_t>& scores) {
  columns.score_all([&strategy](const std::vector<Fill>& fill) { return score_of(strategy, fill); }, scores);
}

}  // namespace berth
