#include "core/cache/asked_amounts.h"

#include <cstdint>

namespace berth {

const PodAmounts& AskedAmounts::of(const Pod& pod) {
  const PodSpec* const spec = &pod.spec.get();
  constexpr unsigned kBits = 4;
  static_assert(kKept == std::size_t{1} << kBits);
  const std::uint64_t mixed = reinterpret_cast<std::uintptr_t>(spec) * std::uint64_t{0x9E3779B97F4A7C15u};
  Kept& kept = kept_[mixed >> (64 - kBits)];
  if (!kept.is_known || &kept.spec.get() != spec) kept = {pod.spec, amounts_of(pod), true};
  return kept.amounts;
}

}  // namespace berth
