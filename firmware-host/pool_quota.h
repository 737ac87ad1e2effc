// PoolQuota: whether what pods write to the volumes of a pool is limited to what their claims ask for.
#pragma once

namespace berth {

enum class PoolQuota {
  automatic,  // where the file system of the pool can
  required,   // and otherwise the agent does not start
  off,        // never: sizes are accounted
};

}  // namespace berth
