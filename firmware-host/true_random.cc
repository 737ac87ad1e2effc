#include "firmware-host/true_random.h"

#include <sys/random.h>

#include <cstdio>

#include "firmware-host/real_clock.h"

namespace berth {

std::uint64_t true_random() {
  std::uint64_t number = 0;
  if (getrandom(&number, sizeof number, 0) == static_cast<ssize_t>(sizeof number)) return number;
  std::perror("getrandom");
  return static_cast<std::uint64_t>(RealClock().wall());
}

}  // namespace berth
