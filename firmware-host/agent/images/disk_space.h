// Whether something still fits on a disk of which a part must stay free, so that pods are not evicted for it.
#pragma once

#include <cstdint>
#include <string>

#include "core/status.h"

namespace berth {

// An error, which tells the amounts: with `bytes` more on the disk that the directory is on, fewer than `kept_free`
// would be available to others than root. A disk that cannot be looked at has space.
Status check_space(const std::string& directory, std::int64_t bytes, std::int64_t kept_free);

}  // namespace berth
