// Node selectors over many nodes at once, by the columns of labels.
#pragma once

#include <cstdint>
#include <vector>

#include "core/api/pod.h"
#include "core/cache/cache.h"
#include "core/framework/declarations.h"

namespace berth {

// By row: sets 1 where the requirement is not met; leaves the others. Evaluates each value of the label at most once.
void mark_unmet(const Requirement& requirement, const Snapshot& snapshot, const Rows& rows, std::uint8_t* unmet);

// By row: adds the weights of the terms that the node meets. Terms are about labels only, without matchFields.
void add_weights(const std::vector<PreferredNodeTerm>& terms, const Snapshot& snapshot, const Rows& rows,
                 std::int32_t* scores);

}  // namespace berth
