// Makes the fast path of a scheduler: class views, with fleet scans for the first pod of a class.
#pragma once

#include <cstddef>
#include <memory>

#include "core/scheduler/node_evaluator.h"

namespace berth {

// Memory of the views: those of a thousand classes in a fleet of 5,000 nodes.
inline constexpr std::size_t kSchedulingCacheBytes = std::size_t{16} << 20;

std::unique_ptr<NodeEvaluator> make_fast_path(std::size_t most_bytes = kSchedulingCacheBytes);

}  // namespace berth
