#include "core/controllers/cron_job/cron_schedule.h"

#include <utility>

#include "core/api/civil_date.h"

namespace berth {

// The search for one time. Each to_ function moves forward to the next value of its field, if the present one does not
// match; false if a field before it may have changed thereby, which are then looked at again. The first move sets all
// finer fields to their lowest values.
//
// That the search moves by wall clock through days, and in real time through hours and minutes, decides what becomes of
// times near a change of the clocks; spec.go does the same.
class CronSchedule::Walk {
 public:
  Walk(const Calendar& calendar, std::int64_t from) : calendar_(calendar) { move_to(from); }

  std::int64_t time() const { return time_; }
  std::int64_t year() const { return date_.year; }

  bool to_month() {
    while (!calendar_.month.has(date_.month)) {
      if (is_first_move()) move_to_wall(day_number(date_.year, date_.month, 1), 0);
      advance_to_wall(day_number(date_.year, date_.month + 1, date_.day), second_of_day_);
      if (date_.month == 1) return false;
    }
    return true;
  }
  bool to_day() {
    while (!is_day()) {
      if (is_first_move()) move_to_wall(day(), 0);
      advance_to_wall(day() + 1, second_of_day_);
      // Where clocks skip midnight. To go back from 1 o'clock leads to the day before, and so past the day; spec.go
      // does that.
      if (hour() > 12) {
        move_to(time_ + (24 - hour()) * kHour);
      } else if (hour() != 0) {
        move_to(time_ - hour() * kHour);
      }
      if (date_.day == 1) return false;
    }
    return true;
  }
  bool to_hour() {
    while (!calendar_.hour.has(hour())) {
      if (is_first_move()) move_to_wall(day(), hour() * kHour);
      move_to(time_ + kHour);
      if (hour() == 0) return false;
    }
    return true;
  }
  bool to_minute() {
    while (!calendar_.minute.has(minute())) {
      if (is_first_move()) move_to(time_ - time_ % kMinute);
      move_to(time_ + kMinute);
      if (minute() == 0) return false;
    }
    return true;
  }
  bool to_full_minute() {
    const std::int64_t second = second_of_day_ % kMinute;
    if (second == 0) return true;
    is_floored_ = true;
    move_to(time_ + kMinute - second);
    return false;
  }

 private:
  static constexpr std::int64_t kMinute = 60;
  static constexpr std::int64_t kHour = 3600;

  std::int64_t day() const { return day_number(date_.year, date_.month, date_.day); }
  int hour() const { return static_cast<int>(second_of_day_ / kHour); }
  int minute() const { return static_cast<int>(second_of_day_ / kMinute % 60); }
  bool is_day() const {
    const bool of_month = calendar_.day_of_month.has(date_.day);
    const bool of_week = calendar_.day_of_week.has(day_of_week(day()));
    const bool is_any = calendar_.day_of_month.is_any || calendar_.day_of_week.is_any;
    return is_any ? of_month && of_week : of_month || of_week;
  }

  bool is_first_move() { return !std::exchange(is_floored_, true); }
  void move_to(std::int64_t time) {
    time_ = time;
    const std::int64_t wall = time + calendar_.zone.offset_at(time);
    date_ = civil_date(day_of(wall));
    second_of_day_ = wall - day_of(wall) * kSecondsPerDay;
  }
  void move_to_wall(std::int64_t day, std::int64_t second) {
    move_to(calendar_.zone.utc_of(day * kSecondsPerDay + second));
  }
  // Samoa had no 30 December 2011: its midnight is found to be that of the 29th, and spec.go would stay there for ever.
  void advance_to_wall(std::int64_t day, std::int64_t second) {
    const std::int64_t before = time_;
    move_to_wall(day, second);
    if (time_ <= before) move_to(before + kSecondsPerDay);
  }

  const Calendar& calendar_;
  std::int64_t time_ = 0;
  CivilDate date_;  // what clocks show at time_
  std::int64_t second_of_day_ = 0;
  bool is_floored_ = false;
};

std::optional<std::int64_t> CronSchedule::next(std::int64_t after) const {
  if (const auto* interval = std::get_if<Interval>(&times_)) return after + interval->seconds;
  const auto& calendar = std::get<Calendar>(times_);
  // Such a field never matches; to find that out would take millions of steps.
  if (calendar.minute.values == 0 || calendar.hour.values == 0 || calendar.month.values == 0) return std::nullopt;
  constexpr std::int64_t kYears = 5;
  Walk walk(calendar, after + 1);
  const std::int64_t last_year = walk.year() + kYears;
  while (walk.year() <= last_year) {
    if (walk.to_month() && walk.to_day() && walk.to_hour() && walk.to_minute() && walk.to_full_minute()) {
      return walk.time();
    }
  }
  return std::nullopt;
}

}  // namespace berth
