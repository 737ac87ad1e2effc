// How much a test of random changes plays. Where programs are slow (emulators, sanitizers), a share of what is played
// natively from the same seeds is enough: BERTH_ROUNDS_PERCENT.
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
