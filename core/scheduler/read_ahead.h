// ReadAhead: what the next attempt will probably read is on its way to the processor before it begins. A hint only:
// nothing is decided by it.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>

#include "core/api/node.h"
#include "core/cache/cache.h"
#include "core/prefetch.h"
#include "core/queue/queue.h"

namespace berth {

// In three steps, as one has to be there to find the next.
class ReadAhead {
 public:
  // A node was chosen; `likely_next`: Decision::likely_next.
  void note(std::optional<std::size_t> likely_next, const Snapshot& snapshot) {
    likely_next_ = likely_next;
    if (likely_next_) snapshot.prefetch_place(*likely_next_);
  }
  // The attempt is over, and its host deals with the pod.
  void go_on(const Snapshot& snapshot, const Queue& queue) const {
    queue.prefetch_next();
    if (likely_next_) snapshot.prefetch_state(*likely_next_);
  }
  // The next attempt begins.
  void finish(const Snapshot& snapshot, Cache& cache) {
    const std::optional<std::size_t> likely = std::exchange(likely_next_, std::nullopt);
    if (!likely || *likely >= snapshot.nodes().size()) return;
    const NodeInfo& node = *snapshot.nodes()[*likely];
    cache.expect(node);
    prefetch(node.name());
    __builtin_prefetch(node.pods.data());
  }

 private:
  std::optional<std::size_t> likely_next_;  // an index in the snapshot, unless nodes were numbered afresh since
};

}  // namespace berth
