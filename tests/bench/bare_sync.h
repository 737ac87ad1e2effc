// The cost of a plain sync on this machine.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

namespace berth::bench {

// The p99 time of an fdatasync after writing ten bytes to a file in this folder.
inline double bare_sync_ms(const std::string& folder) {
  std::vector<double> times;
  std::FILE* file = std::fopen((folder + "/bare").c_str(), "w");
  for (int i = 0; i < 200; ++i) {
    std::fputs("0123456789", file);
    std::fflush(file);
    const auto began = std::chrono::steady_clock::now();
    fdatasync(fileno(file));
    times.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - began).count());
  }
  std::fclose(file);
  std::nth_element(times.begin(), times.begin() + 198, times.end());
  return times[198];
}

}  // namespace berth::bench
