// TimeFloor: a time that has certainly come. A machine without a battery clock begins in 1970 at each boot, and could
// neither trust a valid certificate nor refuse an expired one before something sets its clock.
#pragma once

#include <string>

#include "core/clock.h"
#include "core/log.h"
#include "core/timers.h"
#include "firmware-host/config.h"

namespace berth {

class TimeFloor {
 public:
  // What one write may add: a clock that is years ahead for a while must not make every certificate invalid for good.
  static constexpr Millis kStepMax = Millis{30} * 24 * 3600 * 1000;
  static constexpr Millis kWriteEvery = Millis{24} * 3600 * 1000;  // at most
  static constexpr Millis kFirstWrite = Millis{10} * 60 * 1000;    // after the start, when a clock usually is set

  // The highest of what the file holds and the day this program was built. All references outlive it. Writes the file
  // while it exists.
  TimeFloor(std::string file, const Clock& clock, Timers& timers, Log& log);
  ~TimeFloor();
  TimeFloor(const TimeFloor&) = delete;
  TimeFloor& operator=(const TimeFloor&) = delete;

  // Raises the floor by the files of a connection: its certificates were issued by then. One that cannot be read says
  // nothing. Logs if the clock is behind.
  void learn_from(const BrokerSettings& broker);
  Millis floor() const { return floor_; }
  // Has the clock's time written, unless it is behind or that was done within a day.
  void save();

 private:
  void save_daily();

  const std::string file_;
  const Clock& clock_;
  Timers& timers_;
  Log& log_;
  Millis floor_;
  Millis written_ = 0;
  Timers::Id timer_ = 0;
};

}  // namespace berth
