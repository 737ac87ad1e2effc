#include "firmware-host/real_clock.h"

#include <poll.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <ctime>

namespace berth {

namespace {

std::int64_t read_clock_us(clockid_t which) {
  timespec time{};
  clock_gettime(which, &time);
  return std::int64_t{time.tv_sec} * 1'000'000 + time.tv_nsec / 1000;
}

}  // namespace

Millis RealClock::now() const { return now_us() / 1000; }

std::int64_t RealClock::now_us() const { return read_clock_us(CLOCK_BOOTTIME); }

std::int64_t processor_us() { return read_clock_us(CLOCK_THREAD_CPUTIME_ID); }

Millis RealClock::wall() const { return read_clock_us(CLOCK_REALTIME) / 1000; }

void pause_for(Millis span) { poll(nullptr, 0, static_cast<int>(span)); }

std::string to_rfc3339(Millis wall) {
  // Not gmtime: time_t has 32 bits on armhf.
  using namespace std::chrono;
  const sys_time<milliseconds> point{milliseconds{wall}};
  const sys_days day = floor<days>(point);
  const year_month_day date{day};
  const hh_mm_ss time{floor<seconds>(point) - sys_time<seconds>{day}};
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02dZ", int{date.year()}, unsigned{date.month()},
                unsigned{date.day()}, static_cast<int>(time.hours().count()), static_cast<int>(time.minutes().count()),
                static_cast<int>(time.seconds().count()));
  return text.data();
}

}  // namespace berth
