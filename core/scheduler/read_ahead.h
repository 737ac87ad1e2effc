// ReadAhead: what the next attempts will probably read is on its way to the processor before they begin. A hint only:
// nothing is decided by it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <utility>

#include "core/api/node.h"
#include "core/cache/cache.h"
#include "core/prefetch.h"
#include "core/queue/queue.h"
#include "core/scheduler/node_evaluator.h"

namespace berth {

// A node's memory is found in steps, one of which has to be there for the next: the place in the snapshot, the state,
// and what that points to. Each has a whole attempt's time, which is longer than memory takes.
class ReadAhead {
 public:
  // A node was chosen; `likely_later`: Decision::likely_later.
  void note(std::optional<std::size_t> likely_later, const Snapshot& snapshot) {
    std::move(likely_.begin() + 1, likely_.end(), likely_.begin());
    likely_.back() = likely_later;
    if (likely_later) snapshot.prefetch_place(*likely_later);
  }
  // The attempt is over, and its host deals with the pod.
  void go_on(const Snapshot& snapshot, Cache& cache, const Queue& queue) const {
    queue.prefetch_next();
    if (is_there(likely_[kSecond], snapshot)) snapshot.prefetch_state(*likely_[kSecond]);
    if (!is_there(likely_[kNext], snapshot)) return;
    const NodeInfo& node = *snapshot.nodes()[*likely_[kNext]];
    cache.expect(node);
    snapshot.prefetch_number(node.number);
    prefetch_counter(node.node.get());
    prefetch(node.name());
    prefetch_line(node.pods.data());
    prefetch_line(node.pods.end());
  }

 private:
  static constexpr std::size_t kNext = 0, kSecond = 1;
  // Indices in the snapshot, unless nodes were numbered afresh since.
  static bool is_there(std::optional<std::size_t> index, const Snapshot& snapshot) {
    return index && *index < snapshot.nodes().size();
  }

  std::array<std::optional<std::size_t>, Decision::kLikelyAfter> likely_;  // of the attempts to come, the next first
};

}  // namespace berth
