// Shared by the two plugins that score by resources: the resources with their weights, and the utilization that a node
// would have with the pod on it.
// Source: kube-scheduler pkg/scheduler/framework/plugins/noderesources/{resource_allocation,least_allocated,
// most_allocated,requested_to_capacity_ratio}.go, plugins/helper/shape_score.go.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "core/cache/cache.h"
#include "core/framework/declarations.h"

namespace berth {

struct Pod;

// True when the pods ask for the same amounts, and their containers do.
bool requests_same(const Pod& a, const Pod& b);

struct ScoredResource {
  ScoredResource(std::string resource_name, std::int64_t resource_weight);
  std::string name;
  std::int64_t weight;
  std::int64_t Resources::* amount;  // its member of Resources; null: an extended resource
};

// One point of the piecewise linear function from utilization (0..100) to score (0..100).
struct ShapePoint {
  std::int64_t utilization = 0;
  std::int64_t score = 0;
};

struct ScoringStrategy {
  enum class Type { least_allocated, most_allocated, requested_to_capacity_ratio };
  Type type = Type::least_allocated;
  std::vector<ScoredResource> resources{{"cpu", 1}, {"memory", 1}};
  std::vector<ShapePoint> shape;  // ascending; requested_to_capacity_ratio only
};

// For one resource: the node's capacity, and the requests including the pod's. A resource that does not count on this
// node has capacity 0.
struct Fill {
  std::int64_t capacity = 0;
  std::int64_t requested = 0;
};

// The pod's requests, in the order of `resources`. `with_defaults`: containers without cpu or memory requests count as
// 100m and 200 MB.
std::vector<std::int64_t> requests_by_resource(const Pod& pod, const std::vector<ScoredResource>& resources,
                                               bool with_defaults);
Fill fill_of(const NodeInfo& node, const ScoredResource& resource, std::int64_t asked, bool with_defaults);

// The same for the rows of a batch.
class FillColumns {
 public:
  struct OfNode {
    double capacity = 0;
    double requested = 0;
    double reciprocal = 0;  // of capacity, approximately; 0 if capacity is 0
  };
  FillColumns(const Rows& rows, const std::vector<ScoredResource>& resources, const std::vector<std::int64_t>& asked,
              bool with_defaults);
  // False if a resource that counts has no column, or one with inexact amounts.
  bool are_exact() const { return exact_; }
  // Calls score_one(fill, weights, offered) for each row, with arrays that have one element per resource. Without
  // branches in score_one the compiler vectorises the loop. `offered` is a constant, true where every node has the
  // resources: only with two of them, which is the default.
  template <class ScoreOne>
  void score_rows(ScoreOne score_one, std::int32_t* scores) const {
    switch (number_) {
      case 0: return score_each<0>(score_one, scores);
      case 1: return score_each<1>(score_one, scores);
      case 2: return offered_ ? score_each<2, true>(score_one, scores) : score_each<2>(score_one, scores);
      default: return score_each<NodeColumns::kResources>(score_one, scores);
    }
  }

 private:
  struct Source {
    NodeColumns::Resource resource = NodeColumns::milli_cpu;
    const double* allocatable = nullptr;
    const double* used = nullptr;
    const double* reciprocal = nullptr;
    double asked = 0;
    double weight = 0;
  };
  using Sources = std::array<Source, NodeColumns::kResources>;
  template <std::size_t N, bool kOffered = false, class ScoreOne>
  void score_each(ScoreOne score_one, std::int32_t* scores) const {
    const Sources sources = sources_;
    std::array<double, N> weights{};
    for (std::size_t i = 0; i < N; ++i) weights[i] = sources[i].weight;
    const std::size_t rows = rows_;
    for (std::size_t row = 0; row < rows; ++row) {
      std::array<OfNode, N> fill{};
      for (std::size_t i = 0; i < N; ++i) {
        const Source& source = sources[i];
        fill[i] = {source.allocatable[row], source.used[row] + source.asked, source.reciprocal[row]};
      }
      scores[row] = score_one(fill, weights, std::bool_constant<kOffered>());
    }
  }
  void add(const Rows& rows, const ScoredResource& resource, std::int64_t asked, bool with_defaults);

  Sources sources_;
  std::size_t number_ = 0;
  std::size_t rows_;
  bool exact_ = true;
  bool offered_ = true;  // by every node
};

// 0..100. `asked`: requests_by_resource().
std::int64_t score_of(const ScoringStrategy& strategy, const NodeInfo& node, const std::vector<std::int64_t>& asked,
                      bool with_defaults);
void score_rows(const ScoringStrategy& strategy, const FillColumns& columns, std::int32_t* scores);

}  // namespace berth
