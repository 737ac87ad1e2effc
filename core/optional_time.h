// OptionalTime: milliseconds since 1970, or none, in eight bytes; a pod has one, and there are tens of thousands of
// pods.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

namespace berth {

class OptionalTime {
 public:
  OptionalTime() = default;
  OptionalTime(std::int64_t ms) : ms_(ms) {}
  OptionalTime(const std::optional<std::int64_t>& ms) : ms_(ms.value_or(kNone)) {}
  operator std::optional<std::int64_t>() const { return has_value() ? std::optional(ms_) : std::nullopt; }

  bool has_value() const { return ms_ != kNone; }
  explicit operator bool() const { return has_value(); }
  std::int64_t operator*() const { return ms_; }  // only where there is one
  std::int64_t value_or(std::int64_t other) const { return has_value() ? ms_ : other; }
  void reset() { ms_ = kNone; }
  bool operator==(const OptionalTime&) const = default;

 private:
  static constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::min();  // no timestamp is
  std::int64_t ms_ = kNone;
};

}  // namespace berth
