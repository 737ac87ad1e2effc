// AskedAmounts: what pods count for on a node, worked out once for all that share their spec, as those of a workload
// do.
#pragma once

#include <array>
#include <cstddef>

#include "core/api/pod.h"
#include "core/cache/node_info.h"

namespace berth {

class AskedAmounts {
 public:
  // Valid until the next call.
  const PodAmounts& of(const Pod& pod);

 private:
  static constexpr std::size_t kKept = 16;
  struct Kept {
    SharedPart<PodSpec> spec;  // held, so that its address stays its own
    PodAmounts amounts;
    bool is_known = false;
  };
  std::array<Kept, kKept> kept_;  // by address of the spec
};

}  // namespace berth
