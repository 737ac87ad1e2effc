// LogBudget: keeps all that the pods of the device have logged within so many bytes, for flash that is small or shared.
// Beyond it files go, each a whole one:
//
//   1. of pods that have ended: rotated files and those of the runs before, of the lowest epoch first, the oldest first
//   2. of pods that have ended: the newest files
//   3. of pods that run: rotated files and those of the runs before
//
// What a container that runs is writing stays. The clock of a device may not be set, so the times of files say nothing;
// epochs of a node grow with time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "core/agent/runtime.h"
#include "core/clock.h"
#include "core/log.h"
#include "core/timers.h"

namespace berth {

class LogBudget {
 public:
  static constexpr Millis kPeriodMs = 60'000;  // between two looks

  // Directories of pods (pod_directory.h).
  struct Places {
    std::string pods;
    std::string output;  // of pods that have ended and were released (output_files.h)
  };

  // References outlive it.
  LogBudget(Places places, std::uint64_t bytes, std::function<bool(const Tag& tag)> has_ended, const Clock& clock,
            Timers& timers, Log& log);
  ~LogBudget();
  LogBudget(const LogBudget&) = delete;
  LogBudget& operator=(const LogBudget&) = delete;

  // Once; each look plans the next.
  void begin();

 private:
  void look();

  const Places places_;
  const std::uint64_t bytes_;
  const std::function<bool(const Tag& tag)> has_ended_;
  const Clock& clock_;
  Timers& timers_;
  Log& log_;
  Timers::Id timer_ = 0;
};

}  // namespace berth
