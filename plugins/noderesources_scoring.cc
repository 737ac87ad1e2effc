#include "plugins/noderesources_scoring.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/api/pod.h"
#include "core/framework/plugin.h"
#include "core/vectorized.h"

namespace berth {

namespace {

constexpr std::int64_t kWhole = ScorePlugin::kMaxScore;

std::int64_t Resources::* member_of(std::string_view name) {
  if (name == "cpu") return &Resources::milli_cpu;
  if (name == "memory") return &Resources::memory;
  return name == "ephemeral-storage" ? &Resources::ephemeral_storage : nullptr;
}

std::int64_t amount_of(const Resources& resources, const ScoredResource& resource) {
  if (resource.amount != nullptr) return resources.*resource.amount;
  const auto found = resources.scalar.find(resource.name);
  return found == resources.scalar.end() ? 0 : found->second;
}

NodeColumns::Resource column_of(const ScoredResource& resource) {
  if (resource.amount == &Resources::milli_cpu) return NodeColumns::milli_cpu;
  return resource.amount == &Resources::memory ? NodeColumns::memory : NodeColumns::ephemeral_storage;
}

// As a percentage, without overflow for very large amounts.
std::int64_t share(std::int64_t part, std::int64_t whole) {
  return part > std::numeric_limits<std::int64_t>::max() / kWhole ? part / (whole / kWhole) : part * kWhole / whole;
}

std::int64_t least_allocated(const Fill& fill) {
  return fill.requested > fill.capacity ? 0 : share(fill.capacity - fill.requested, fill.capacity);
}

// Requests can exceed the capacity, because pods without requests count with defaults in scores.
std::int64_t most_allocated(const Fill& fill) { return share(std::min(fill.requested, fill.capacity), fill.capacity); }

std::int64_t interpolate(const std::vector<ShapePoint>& shape, std::int64_t utilization) {
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
  return interpolate(shape, fill.requested > fill.capacity ? kWhole : share(fill.requested, fill.capacity));
}

std::int64_t score_one(const ScoringStrategy& strategy, const Fill& fill) {
  switch (strategy.type) {
    case ScoringStrategy::Type::least_allocated: return least_allocated(fill);
    case ScoringStrategy::Type::most_allocated: return most_allocated(fill);
    case ScoringStrategy::Type::requested_to_capacity_ratio: break;
  }
  return by_shape(strategy.shape, fill);
}

// The following functions compute the same in doubles, without branches and calls, to be vectorised over all nodes.

// floor(part / whole), given the quotient except for its last bits. Requires 0 <= part, 0 <= whole, and values small
// enough for integers to be exact. Adding and subtracting a number so large that no fraction bits are left rounds to
// the nearest integer, which is correct or one too large; multiplying by `whole` tells which.
double floor_of(double quotient, double part, double whole) {
  constexpr double kNoFractionBits = 0x1.8p52;
  const double nearest = quotient + kNoFractionBits - kNoFractionBits;
  return nearest * whole > part ? nearest - 1 : nearest;
}

// Like share(); 0 for a resource that the node does not offer.
double vector_share(double part, const FillColumns::OfNode& fill) {
  const double times_100 = (part > 0 ? part : 0) * kWhole;
  return floor_of(times_100 * fill.reciprocal, times_100, fill.capacity);
}

double part_left(const FillColumns::OfNode& fill) { return fill.capacity - fill.requested; }
double part_used(const FillColumns::OfNode& fill) {
  return fill.requested < fill.capacity ? fill.requested : fill.capacity;
}

template <std::size_t N>
using Fills = std::array<FillColumns::OfNode, N>;

template <std::size_t N, class Part>
std::int32_t mean_share(const Fills<N>& fill, const std::array<double, N>& weights, Part part, std::true_type) {
  double sum = 0;
  double of = 0;
  for (std::size_t i = 0; i < N; ++i) {
    sum += vector_share(part(fill[i]), fill[i]) * weights[i];
    of += weights[i];
  }
  return static_cast<std::int32_t>(floor_of(sum * (1 / of), sum, of));
}

template <std::size_t N, class Part>
std::int32_t mean_share(const Fills<N>& fill, const std::array<double, N>& weights, Part part, std::false_type) {
  double sum = 0;
  double of = 0;
  for (std::size_t i = 0; i < N; ++i) {
    sum += vector_share(part(fill[i]), fill[i]) * weights[i];
    of += fill[i].capacity > 0 ? weights[i] : 0;
  }
  return static_cast<std::int32_t>(floor_of(sum / (of > 0 ? of : 1), sum, of));
}

using Line = std::array<double, kWhole + 1>;

// `line`: the score for each integer utilization.
template <std::size_t N>
std::int32_t mean_interpolated(const Fills<N>& fill, const std::array<double, N>& weights, const Line& line) {
  double sum = 0;
  double of = 0;
  for (std::size_t i = 0; i < N; ++i) {
    const double score = line[static_cast<std::size_t>(vector_share(part_used(fill[i]), fill[i]))];
    if (fill[i].capacity == 0 || score == 0) continue;
    sum += score * weights[i];
    of += weights[i];
  }
  return static_cast<std::int32_t>(of > 0 ? std::round(sum / of) : 0);
}

BERTH_VECTORIZED void score_least(const FillColumns& columns, std::int32_t* scores) {
  columns.score_rows(
      [](const auto& fill, const auto& weights, auto offered) { return mean_share(fill, weights, part_left, offered); },
      scores);
}

BERTH_VECTORIZED void score_most(const FillColumns& columns, std::int32_t* scores) {
  columns.score_rows(
      [](const auto& fill, const auto& weights, auto offered) { return mean_share(fill, weights, part_used, offered); },
      scores);
}

BERTH_VECTORIZED void score_by_line(const Line& line, const FillColumns& columns, std::int32_t* scores) {
  columns.score_rows(
      [&line](const auto& fill, const auto& weights, auto) { return mean_interpolated(fill, weights, line); }, scores);
}

bool contain_same(const std::vector<Container>& a, const std::vector<Container>& b) {
  return &a == &b || std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Container& x, const Container& y) {
    return x.requests == y.requests && x.limits == y.limits && x.restart_always == y.restart_always;
  });
}

}  // namespace

bool requests_same(const Pod& a, const Pod& b) {
  return a.spec->requests == b.spec->requests && a.spec->limits == b.spec->limits &&
         a.spec->overhead == b.spec->overhead && contain_same(a.spec->containers, b.spec->containers) &&
         contain_same(a.spec->init_containers, b.spec->init_containers);
}

ScoredResource::ScoredResource(std::string resource_name, std::int64_t resource_weight)
    : name(std::move(resource_name)), weight(resource_weight), amount(member_of(name)) {}

std::vector<std::int64_t> requests_by_resource(const Pod& pod, const std::vector<ScoredResource>& resources,
                                               bool with_defaults) {
  const Resources asked = with_defaults ? container_requests_for_scoring(pod) : pod_requests(pod);
  std::vector<std::int64_t> amounts;
  for (const ScoredResource& resource : resources) amounts.push_back(amount_of(asked, resource));
  return amounts;
}

Fill fill_of(const NodeInfo& node, const ScoredResource& resource, std::int64_t asked, bool with_defaults) {
  // Extended resources count only for pods that ask for them.
  if (asked == 0 && resource.amount == nullptr) return {};
  const Resources& used = with_defaults ? node.requested_for_scoring : node.requested;
  return {amount_of(node.allocatable, resource), amount_of(used, resource) + asked};
}

FillColumns::FillColumns(const Rows& rows, const std::vector<ScoredResource>& resources,
                         const std::vector<std::int64_t>& asked, bool with_defaults)
    : rows_(rows.size()) {
  for (std::size_t i = 0; i < resources.size(); ++i) {
    if (resources[i].amount != nullptr) {
      add(rows, resources[i], asked[i], with_defaults);
    } else {
      exact_ = exact_ && asked[i] == 0;  // does not count if not requested
    }
  }
}

void FillColumns::add(const Rows& rows, const ScoredResource& resource, std::int64_t asked, bool with_defaults) {
  const NodeColumns::Resource name = column_of(resource);
  const auto end = sources_.begin() + static_cast<std::ptrdiff_t>(number_);
  const auto twice = std::find_if(sources_.begin(), end, [name](const Source& each) { return each.resource == name; });
  if (twice != end) {
    twice->weight += static_cast<double>(resource.weight);
    return;
  }
  const Rows::OfResource column = rows.of(name);
  exact_ = exact_ && column.inexact == 0 && NodeColumns::is_exact(asked);
  offered_ = offered_ && column.without == 0;
  sources_[number_++] = {name,
                         column.allocatable,
                         with_defaults ? column.requested_for_scoring : column.requested,
                         column.reciprocal,
                         static_cast<double>(asked),
                         static_cast<double>(resource.weight)};
}

std::int64_t score_of(const ScoringStrategy& strategy, const NodeInfo& node, const std::vector<std::int64_t>& asked,
                      bool with_defaults) {
  const bool by_ratio = strategy.type == ScoringStrategy::Type::requested_to_capacity_ratio;
  std::int64_t sum = 0;
  std::int64_t weights = 0;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const Fill fill = fill_of(node, strategy.resources[i], asked[i], with_defaults);
    if (fill.capacity == 0) continue;  // the node does not offer it
    const std::int64_t score = score_one(strategy, fill);
    if (by_ratio && score <= 0) continue;
    sum += score * strategy.resources[i].weight;
    weights += strategy.resources[i].weight;
  }
  if (weights == 0) return 0;
  if (!by_ratio) return sum / weights;
  return static_cast<std::int64_t>(std::round(static_cast<double>(sum) / static_cast<double>(weights)));
}

void score_rows(const ScoringStrategy& strategy, const FillColumns& columns, std::int32_t* scores) {
  switch (strategy.type) {
    case ScoringStrategy::Type::least_allocated: return score_least(columns, scores);
    case ScoringStrategy::Type::most_allocated: return score_most(columns, scores);
    case ScoringStrategy::Type::requested_to_capacity_ratio: break;
  }
  Line line{};
  for (std::size_t i = 0; i < line.size(); ++i) {
    line[i] = static_cast<double>(interpolate(strategy.shape, static_cast<std::int64_t>(i)));
  }
  score_by_line(line, columns, scores);
}

}  // namespace berth
