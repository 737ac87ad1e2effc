#include "tests/sim/trace.h"

#include <cinttypes>
#include <cstdio>

namespace berth::sim {

namespace {

std::string line_of(Millis at, std::string_view who, std::string_view what) {
  char time[32];
  std::snprintf(time, sizeof time, "%9.3f  ", static_cast<double>(at) / 1000);
  std::string line = time;
  line.append(who).append(who.size() < 9 ? 10 - who.size() : 1, ' ').append(what);
  return line;
}

}  // namespace

void Trace::add(Millis at, std::string_view who, std::string_view what) {
  std::string line = line_of(at, who, what);
  // FNV-1a, 64 bit.
  for (const char c : line) hash_ = (hash_ ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  if (print_) std::printf("%s\n", line.c_str());
  last_[events_ % kKept] = std::move(line);
  ++events_;
}

void Trace::remark(Millis at, std::string_view who, std::string_view what) const {
  if (print_) std::printf("%s\n", line_of(at, who, what).c_str());
}

void Trace::print_last() const {
  const std::uint64_t from = events_ > kKept ? events_ - kKept : 0;
  for (std::uint64_t event = from; event < events_; ++event) std::printf("  %s\n", last_[event % kKept].c_str());
}

}  // namespace berth::sim
