// Quantity: a Kubernetes resource quantity, exact (apimachinery pkg/api/resource/quantity.go). No floating point.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "core/status.h"

namespace berth {

// units + nanos / 10^9, nanos in [0, 10^9). Rounds finer fractions away from zero and saturates beyond int64, as
// upstream.
class Quantity {
 public:
  Quantity() = default;
  explicit Quantity(std::int64_t units) : units_(units) {}
  static Quantity from_milli(std::int64_t milli);
  // From units() and nanos(); `nanos` outside its range is treated as 0.
  static Quantity from_parts(std::int64_t units, std::int32_t nanos);
  std::int64_t units() const { return units_; }
  std::int32_t nanos() const { return nanos_; }
  // Suffixes n u m (none) k M G T P E, Ki Mi Gi Ti Pi Ei, decimal exponents e3 E3. The error gives the reason.
  static Result<Quantity> parse(std::string_view text);

  std::int64_t value() const;        // whole units, rounded up (Quantity.Value)
  std::int64_t milli_value() const;  // thousandths, rounded up (Quantity.MilliValue); saturates
  // Exact; saturates beyond int64.
  friend Quantity operator+(const Quantity& a, const Quantity& b);
  std::string to_text() const;  // canonical decimal form, "1500m", "2", "1073741824"

  auto operator<=>(const Quantity&) const = default;

 private:
  std::int64_t units_ = 0;
  std::int32_t nanos_ = 0;
};

using ResourceList = std::map<std::string, Quantity>;  // by resource name: "cpu", "memory", "pods", "example.com/x"

// Human-readable: "64Mi", "1536Ki" for bytes, "250m" for thousandths.
std::string show_bytes(std::int64_t bytes);
std::string show_milli(std::int64_t milli);

}  // namespace berth
