// What the two plugins that score by resources share: which resources count, with what weight, and how full a node
// would be with the pod on it.
// Source: kube-scheduler pkg/scheduler/framework/plugins/noderesources/{resource_allocation,least_allocated,
// most_allocated,requested_to_capacity_ratio}.go, plugins/helper/shape_score.go.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/cache/node_info.h"

namespace berth {

struct ScoredResource {
  std::string name;
  std::int64_t weight = 1;
};

// One corner of the line from utilization (0..100) to score (0..100).
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

// By resource of the list: what the node offers, and what would be asked of it with the pod there. A resource that does
// not count on this node has capacity 0.
struct Fill {
  std::int64_t capacity = 0;
  std::int64_t requested = 0;
};

// What the pod adds, by resource of the list. `made_up`: containers without cpu or memory count as 100m and 200 MB.
std::vector<std::int64_t> requests_by_resource(const Pod& pod, const std::vector<ScoredResource>& resources,
                                               bool made_up);
std::vector<Fill> fill_of(const NodeInfo& node, const std::vector<ScoredResource>& resources,
                          const std::vector<std::int64_t>& asked, bool made_up);

// 0..100.
std::int64_t score_of(const ScoringStrategy& strategy, const std::vector<Fill>& fill);

}  // namespace berth
