// Makes the fast path of a scheduler: class views, with fleet scans for the first pod of a class.
#pragma once

#include <memory>

#include "core/scheduler/node_evaluator.h"

namespace berth {

std::unique_ptr<NodeEvaluator> make_fast_path();

}  // namespace berth
