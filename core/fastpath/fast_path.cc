#include "core/fastpath/fast_path.h"

#include "core/fastpath/class_views.h"

namespace berth {

std::unique_ptr<NodeEvaluator> make_fast_path(std::size_t most_bytes) {
  return std::make_unique<ClassViews>(most_bytes);
}

}  // namespace berth
