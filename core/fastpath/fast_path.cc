#include "core/fastpath/fast_path.h"

#include "core/fastpath/class_views.h"

namespace berth {

std::unique_ptr<NodeEvaluator> make_fast_path() { return std::make_unique<ClassViews>(); }

}  // namespace berth
