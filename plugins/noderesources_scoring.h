// What the two plugins that score by resources share: which resources count, with what weight, and how full a node
// would be with the pod on it.
// Source: kube-scheduler pkg/scheduler/framework/plugins/noderesources/{resource_allocation,least_allocated,
// most_allocated,requested_to_capacity_ratio}.go, plugins/helper/shape_score.go.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/cache/cache.h"

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
  bool operator==(const Fill&) const = default;
};

// What the pod adds, by resource of the list. `made_up`: containers without cpu or memory count as 100m and 200 MB.
std::vector<std::int64_t> requests_by_resource(const Pod& pod, const std::vector<ScoredResource>& resources,
                                               bool made_up);
std::vector<Fill> fill_of(const NodeInfo& node, const std::vector<ScoredResource>& resources,
                          const std::vector<std::int64_t>& asked, bool made_up);

// The same for node after node of a snapshot, from its columns.
class FillColumns {
 public:
  FillColumns(const Snapshot& snapshot, const std::vector<ScoredResource>& resources,
              const std::vector<std::int64_t>& asked, bool made_up);
  // False: some resource that counts has no column.
  bool has_all() const { return has_all_; }
  // score_one(fill) of every node. Neighbours are often filled alike: they are scored once.
  template <class ScoreOne>
  void score_all(ScoreOne score_one, std::vector<std::int64_t>& scores) const {
    std::vector<Fill> fill(sources_.size());
    for (std::size_t place = 0; place < scores.size(); ++place) {
      const bool is_new = read(place, fill) || place == 0;
      scores[place] = is_new ? score_one(std::as_const(fill)) : scores[place - 1];
    }
  }

 private:
  // True when `fill` is another now.
  bool read(std::size_t place, std::vector<Fill>& fill) const {
    bool changed = false;
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      const Source& source = sources_[i];
      if (source.allocatable == nullptr) continue;
      const Fill now{source.allocatable[place], source.used[place] + source.asked};
      changed = changed || now != fill[i];
      fill[i] = now;
    }
    return changed;
  }
  struct Source {
    const std::int64_t* allocatable = nullptr;  // null: it does not count
    const std::int64_t* used = nullptr;
    std::int64_t asked = 0;
  };
  std::vector<Source> sources_;
  bool has_all_ = true;
};

// 0..100.
std::int64_t score_of(const ScoringStrategy& strategy, const std::vector<Fill>& fill);
void score_all(const ScoringStrategy& strategy, const FillColumns& columns, std::vector<std::int64_t>& scores);

}  // namespace berth
