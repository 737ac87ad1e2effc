// A class of pods: equal in everything that a decision may depend on, except the pod's identity.
#pragma once

#include <cstddef>

namespace berth {

struct Pod;

// `with_labels`: labels count.
bool is_same_class(const Pod& a, const Pod& b, bool with_labels);
// Equal for pods of one class.
std::size_t hash_of_class(const Pod& pod, bool with_labels);

// Equal for pods that no plugin tells apart which looks at one node at a time.
std::size_t hash_of_demands(const Pod& pod);

}  // namespace berth
