#include "core/controllers/rollout/download_windows.h"

#include <algorithm>
#include <cstdint>

#include "core/api/civil_date.h"

namespace berth {
namespace {

bool starts_on(const DownloadWindow& window, std::int64_t day) {
  return window.days.empty() ||
         std::find(window.days.begin(), window.days.end(), day_of_week(day)) != window.days.end();
}

// `wall`: seconds as the clocks show them, as if it were UTC.
bool is_open_at(const DownloadWindow& window, std::int64_t wall) {
  const std::int64_t today = day_of(wall);
  const std::int64_t minute = (wall - today * kSecondsPerDay) / 60;
  if (window.start < window.end) return starts_on(window, today) && window.start <= minute && minute < window.end;
  return (starts_on(window, today) && window.start <= minute) || (starts_on(window, today - 1) && minute < window.end);
}

}  // namespace

bool is_any_open(const std::vector<DownloadWindow>& windows, const TimeZone& zone, Millis now) {
  const std::int64_t wall = now / 1000 + zone.offset_at(now / 1000);
  return windows.empty() || std::any_of(windows.begin(), windows.end(),
                                        [wall](const DownloadWindow& window) { return is_open_at(window, wall); });
}

std::optional<Millis> next_opening(const std::vector<DownloadWindow>& windows, const TimeZone& zone, Millis now) {
  constexpr int kDays = 8;  // the same day of the next week is the farthest
  const std::int64_t today = day_of(now / 1000 + zone.offset_at(now / 1000));
  std::optional<Millis> next;
  for (const DownloadWindow& window : windows) {
    for (std::int64_t day = today; day < today + kDays; ++day) {
      if (!starts_on(window, day)) continue;
      const Millis opens = zone.utc_of(day * kSecondsPerDay + window.start * std::int64_t{60}) * 1000;
      if (opens > now) next = std::min(next.value_or(opens), opens);
    }
  }
  return next;
}

}  // namespace berth
