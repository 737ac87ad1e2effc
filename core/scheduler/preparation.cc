#include "core/scheduler/preparation.h"

#include <algorithm>
#include <utility>

namespace berth {

// What plugins keep of objects that the pod may need.
bool Preparation::prepare_objects(const Framework& framework, const Pod& pod) {
  if (pod.volumes.empty()) return false;
  const auto& filters = framework.filters();
  return std::any_of(filters.begin(), filters.end(), [&pod](const auto& entry) {
    return entry.tracking != nullptr && entry.tracking->prepare(pod, kObjectsInPart);
  });
}

// What the evaluator keeps of nodes for pods like this one. Few nodes take no longer than a part.
bool Preparation::prepare_view(NodeEvaluator& evaluator, const NodeQuery& query) {
  if (snapshot_.nodes().size() <= kNodesInPart) return false;
  if (alike_left_ > 0 && query.pod.volumes.empty() && query.pod.shape == shape_) {
    --alike_left_;
    return false;
  }
  // Of the snapshot as it is: only a decision takes what has changed, as that is seen from one to the next.
  const std::size_t most = 4 * (snapshot_.nodes().size() / kNodesInPart + 2);
  if (parts_ < most && evaluator.prepare(query, kNodesInPart)) {
    ++parts_;
    return true;
  }
  shape_ = query.pod.shape;
  alike_left_ = shape_.empty() ? 0 : kAlike;
  return false;
}

bool Preparation::prepare(NodeEvaluator& evaluator, const Framework& framework, const Pod& pod, NodeSearch& search,
                          const Snapshot::Needs& needs) {
  if (!preparing_) preparing_ = cache_.structure();
  if (*preparing_ != cache_.structure()) return false;
  if (cache_.prepare(snapshot_, needs, kNodesInPart)) return true;
  if (prepare_objects(framework, pod)) return true;
  CycleState unused;
  return prepare_view(evaluator, {framework, unused, pod, snapshot_, search});
}

bool Preparation::prepare_ahead(const Snapshot::Needs& needs) {
  if (std::exchange(structure_seen_, cache_.structure()) != cache_.structure()) return false;
  return cache_.prepare(snapshot_, needs, kNodesInPart);
}

}  // namespace berth
