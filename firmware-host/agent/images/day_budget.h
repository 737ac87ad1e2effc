// DayBudget: how many bytes of images may still be fetched today, by all pulls together. A child that fetches takes
// what it is about to ask for off what is left, in memory that it shares with the others, and gives back what has not
// come: bytes that were asked for are on their way, and paid for, so each has to be promised to one pull only. A day is
// one of UTC, by the wall clock, or while that is not set one of those since the device was booted. What was fetched is
// in a file, so that a restart does not give the day's bytes again. It is a day of the wall clock since those who count
// bytes for money go by it; if the clock jumps, no more than one further day's bytes are fetched, and nothing else
// depends on it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "core/clock.h"

namespace berth {

class DayBudget {
 public:
  static constexpr const char* kFile = "fetched.json";

  // `limit`: bytes a day; 0: no limit, and nothing is written. The clock must outlive it.
  DayBudget(std::string directory, std::int64_t limit, const Clock& clock);

  // Below 0: any number. Those that are promised to a pull are not among them.
  std::int64_t allowed();
  // These have come, and were promised before. What cannot be written counts until the next start.
  void note(std::int64_t bytes);
  // These were promised, and will not come.
  void give_back(std::int64_t bytes);
  // Shared with children: may be asked for; below 0 if more came than was asked for. Null: any number may.
  std::atomic<std::int64_t>* left() const { return left_.get(); }

 private:
  std::int64_t today() const;
  void begin_day();

  const std::string directory_;
  const std::int64_t limit_;
  const Clock& clock_;
  std::int64_t day_ = 0;
  std::int64_t bytes_ = 0;                           // that have come on that day
  std::shared_ptr<std::atomic<std::int64_t>> left_;  // limit_ less bytes_, and less what is promised
};

}  // namespace berth
