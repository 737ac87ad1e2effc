// The number of rounds in randomised tests. BERTH_ROUNDS_PERCENT reduces it where programs are slow (emulators,
// sanitizers); the seeds remain the same.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <string>

namespace berth {

inline int rounds(int natively) {
  static const int percent = [] {
    const char* given = std::getenv("BERTH_ROUNDS_PERCENT");
    return given == nullptr ? 100 : std::stoi(given);
  }();
  return std::max(1, natively * percent / 100);
}

}  // namespace berth
