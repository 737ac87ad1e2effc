// Preparation: what a decision would do about all nodes at once, done before it in parts, so that no decision takes
// long in a large fleet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/api/pod.h"
#include "core/cache/cache.h"
#include "core/scheduler/node_evaluator.h"
#include "core/text.h"

namespace berth {

class Preparation {
 public:
  // Both outlive it; `snapshot` is brought up to date.
  Preparation(Cache& cache, Snapshot& snapshot) : cache_(cache), snapshot_(snapshot) {}

  // A part of what the decision on a pod needs. False: nothing was left to do, or nodes come and go faster than it is
  // done; then the decision does it all at once, as otherwise no pod would be decided on.
  bool prepare(NodeEvaluator& evaluator, const Framework& framework, const Pod& pod, NodeSearch& search,
               const Snapshot::Needs& needs);
  // A part of what pods to come will need. Called now and then: while nodes come and go, nothing is done that would be
  // done again.
  bool prepare_ahead(const Snapshot::Needs& needs);
  // A pod is decided on now.
  void end() {
    preparing_.reset();
    parts_ = 0;
  }

 private:
  static constexpr std::size_t kNodesInPart = 8192;  // a few milliseconds, but for the order and the amounts of all
  static constexpr std::size_t kObjectsInPart = 4096;
  static constexpr unsigned kAlike = 64;  // pods of one shape in turn, for which it is not looked again
  static bool prepare_objects(const Framework& framework, const Pod& pod);
  bool prepare_view(NodeEvaluator& evaluator, const NodeQuery& query);

  Cache& cache_;
  Snapshot& snapshot_;
  std::int64_t structure_seen_ = 0;        // Cache::structure() at the last prepare_ahead()
  std::optional<std::int64_t> preparing_;  // the same at the first prepare() since the last decision
  std::size_t parts_ = 0;                  // of views, since the last decision: one may begin again and again
  Text shape_;                             // of the pod that nothing was left to do for, and how many more like it
  unsigned alike_left_ = 0;
};

}  // namespace berth
