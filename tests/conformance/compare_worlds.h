// Compares what the product's controllers have made of a world with what was recorded.
#pragma once

#include <set>
#include <string>

#include "core/json/json.h"
#include "tests/conformance/world_store.h"

namespace berth {

// Each returns the first difference, "<what>: got ..., want ..."; empty if there is none.

// Creations, deletions and events, in any order.
std::string compare_actions(const std::multiset<std::string>& got, const std::multiset<std::string>& wanted);
// What an operation answered.
std::string compare_answers(const Json& got, const Json& wanted);
// All objects with everything in them. What is zero or empty is the same as what is absent; conditions are compared by
// type.
std::string compare_worlds(const WorldStore& got, const WorldStore& wanted);
// The `final` of a case, which holds extracts of all objects.
std::string compare_with_final(const WorldStore& got, const Json& wanted);

}  // namespace berth
