#include "core/controllers/cron_job/cron_starts.h"

#include <algorithm>

namespace berth {
namespace {

Result<DueStart> due_since(const CronSchedule& schedule, std::int64_t since, std::int64_t now) {
  constexpr std::int64_t kFew = 100;
  const std::optional<std::int64_t> first = schedule.next(since);
  if (first && now < *first) return DueStart();
  const std::optional<std::int64_t> second = first ? schedule.next(*first) : std::nullopt;
  if (!second) return Status::error("time difference between two schedules is less than 1 second");
  if (now < *second) return DueStart{.time = first};

  // Starts need not be evenly spaced, so this only says where to begin looking for the latest one. It may begin too
  // late, and find none: Kubernetes then starts nothing either.
  const std::int64_t interval = *second - *first;
  const std::int64_t missed = (now - *first) / interval + 1;
  DueStart due{.time = {}, .missed = missed > kFew ? DueStart::Missed::many : DueStart::Missed::few};
  std::optional<std::int64_t> time = schedule.next(*first + (missed - 2) * interval);
  for (; time && *time <= now; time = schedule.next(*time)) due.time = time;
  return due;
}

std::int64_t first_possible(const CronHistory& history) { return history.last_start.value_or(history.created); }

}  // namespace

Result<DueStart> due_start(const CronSchedule& schedule, const CronHistory& history, std::int64_t now) {
  std::int64_t since = first_possible(history);
  if (history.start_deadline) since = std::max(since, now - *history.start_deadline);
  return due_since(schedule, since, now);
}

std::optional<std::int64_t> next_look(const CronSchedule& schedule, const CronHistory& history, std::int64_t now) {
  const std::int64_t since = first_possible(history);
  const Result<DueStart> due = due_since(schedule, since, now);
  if (due && due->time) return schedule.next(*due->time);
  return schedule.next(due && due->missed == DueStart::Missed::none ? since : now);
}

}  // namespace berth
