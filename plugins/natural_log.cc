#include "plugins/natural_log.h"

#include <cmath>
#include <limits>

#include "core/check.h"

namespace berth {

// x = 2^k (1 + f) with 1 + f between sqrt(1/2) and sqrt(2); log(1 + f) from a polynomial in s = f / (2 + f).
// The result depends on the order of operations: nothing here may be rearranged or fused.
double natural_log(double x) {
  CHECK(x >= std::numeric_limits<double>::min() && x <= std::numeric_limits<double>::max());
  constexpr double kHalfSqrt2 = 0x1.6a09e667f3bcdp-1;
  constexpr double kLn2High = 0x1.62e42feep-1;
  constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
  constexpr double kL1 = 0x1.5555555555593p-1;
  constexpr double kL2 = 0x1.999999997fa04p-2;
  constexpr double kL3 = 0x1.2492494229359p-2;
  constexpr double kL4 = 0x1.c71c51d8e78afp-3;
  constexpr double kL5 = 0x1.7466496cb03dep-3;
  constexpr double kL6 = 0x1.39a09d078c69fp-3;
  constexpr double kL7 = 0x1.2f112df3e5244p-3;

  int exponent = 0;
  double fraction = std::frexp(x, &exponent);  // exact
  if (fraction <= kHalfSqrt2) {
    fraction *= 2;
    --exponent;
  }
  const double f = fraction - 1;
  const auto k = static_cast<double>(exponent);
  const double s = f / (2 + f);
  const double s2 = s * s;
  const double s4 = s2 * s2;
  const double odd = s2 * (kL1 + s4 * (kL3 + s4 * (kL5 + s4 * kL7)));
  const double even = s4 * (kL2 + s4 * (kL4 + s4 * kL6));
  const double rest = odd + even;
  const double half_square = 0.5 * f * f;
  return k * kLn2High - ((half_square - (s * (half_square + rest) + k * kLn2Low)) - f);
}

}  // namespace berth
