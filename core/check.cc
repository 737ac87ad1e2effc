#include "core/check.h"

#include <cstdio>
#include <cstdlib>

namespace berth {

void check_failed(const char* expression, const char* file, int line) {
  std::fprintf(stderr, "CHECK failed: %s at %s:%d\n", expression, file, line);
  std::abort();
}

}  // namespace berth
