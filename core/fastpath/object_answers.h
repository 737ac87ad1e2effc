// ObjectAnswers: what plugins that read nothing of a node but its object (Reads::node_object) say of each node. They
// are kept for all pods that a plugin does not tell apart, whatever their classes, and follow the objects that change.
// Most are the same for every node (no node selector, no taints), and then take no memory per node.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/api/pod.h"
#include "core/cache/cache.h"
#include "core/framework/framework.h"

namespace berth {

// One plugin's answers: whether Filter rejects a node (0 or 1), or its score before normalize().
struct ObjectAnswer {
  std::int32_t at(std::size_t index) const { return uniform ? same : values[index]; }

  PodPtr pod;  // one of those that they are for, without its manifest
  bool uniform = false;
  std::int32_t same = 0;             // uniform: for every node
  std::vector<std::int32_t> values;  // otherwise: by index
  std::size_t nodes = 0;
  std::int64_t object_changes_made = -1;  // of the snapshot that they are of
};

class ObjectAnswers {
 public:
  explicit ObjectAnswers(const Framework& framework);

  // Of the plugin at this place in Framework::filters() or scores(). They are shared with views and other pods, and may
  // be behind the snapshot: follow_ has to be called before they are read. `kept_pod`: the pod without its manifest.
  std::shared_ptr<ObjectAnswer> of_filter(std::size_t place, const PodPtr& kept_pod);
  std::shared_ptr<ObjectAnswer> of_score(std::size_t place, const PodPtr& kept_pod);
  // `state` is the pod's, after PreFilter and, for scores, PreScore. False: the plugin failed.
  bool follow_filter(std::size_t place, ObjectAnswer& answer, CycleState& state, const Pod& pod,
                     const Snapshot& snapshot);
  bool follow_score(std::size_t place, ObjectAnswer& answer, CycleState& state, const Pod& pod,
                    const Snapshot& snapshot);

 private:
  static constexpr std::size_t kKept = 32;                     // of a plugin; those that views use live on
  using Answers = std::vector<std::shared_ptr<ObjectAnswer>>;  // the one used last first
  static std::shared_ptr<ObjectAnswer> find(Answers& answers, const Plugin& plugin, const PodPtr& kept_pod);

  const Framework& framework_;
  std::vector<Answers> of_filters_, of_scores_;  // by place
  std::vector<std::uint8_t> rejects_;            // kept to avoid allocations
};

}  // namespace berth
