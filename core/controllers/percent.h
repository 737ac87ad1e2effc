// A number, or a percentage of one (apimachinery intstr, GetScaledValueFromIntOrPercent).
#pragma once

#include <cstdint>
#include <optional>

#include "core/api/policy.h"

namespace berth {

// Absent counts as 0. Percentages are of `whole`, rounded up or down.
inline std::int32_t scaled_up(const std::optional<IntOrPercent>& number, std::int32_t whole) {
  if (!number) return 0;
  if (!number->percent) return number->value;
  return static_cast<std::int32_t>((std::int64_t{number->value} * whole + 99) / 100);
}
inline std::int32_t scaled_down(const std::optional<IntOrPercent>& number, std::int32_t whole) {
  if (!number) return 0;
  if (!number->percent) return number->value;
  return static_cast<std::int32_t>(std::int64_t{number->value} * whole / 100);
}

}  // namespace berth
