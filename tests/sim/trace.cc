#include "tests/sim/trace.h"

#include <charconv>
#include <cstdio>

namespace berth::sim {

namespace {

void write_line(std::string& line, Millis at, std::string_view who, std::string_view what) {
  char digits[24];
  const auto number = [&](Millis value) {
    return std::string_view(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
  };
  const std::string_view seconds = number(at / 1000);
  line.assign(seconds.size() < 5 ? 5 - seconds.size() : 0, ' ').append(seconds).append(".");
  line.append(number(1000 + at % 1000).substr(1)).append("  ");
  line.append(who).append(who.size() < 9 ? 10 - who.size() : 1, ' ').append(what);
}

}  // namespace

void Trace::add(Millis at, std::string_view who, std::string_view what) {
  std::string& line = last_[events_ % kKept];
  write_line(line, at, who, what);
  // FNV-1a, 64 bit.
  for (const char c : line) hash_ = (hash_ ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  if (print_) std::printf("%s\n", line.c_str());
  ++events_;
}

void Trace::remark(Millis at, std::string_view who, std::string_view what) const {
  if (!print_) return;
  std::string line;
  write_line(line, at, who, what);
  std::printf("%s\n", line.c_str());
}

void Trace::print_last() const {
  const std::uint64_t from = events_ > kKept ? events_ - kKept : 0;
  for (std::uint64_t event = from; event < events_; ++event) std::printf("  %s\n", last_[event % kKept].c_str());
}

}  // namespace berth::sim
