// A class of pods: equal in all that a decision about them may depend on, but for who the pod is.
#pragma once

namespace berth {

struct Pod;

// `with_labels`: labels count.
bool is_same_class(const Pod& a, const Pod& b, bool with_labels);

}  // namespace berth
