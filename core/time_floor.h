// TimeFloor: a time that has certainly come. A machine without a battery clock begins in 1970 at each boot, and could
// neither trust a valid certificate nor refuse an expired one before something sets its clock. Certificates are the
// only thing that is judged by it.
#pragma once

#include <optional>

#include "core/clock.h"
#include "core/timers.h"

namespace berth {

// TimeMemory interface: keeps a time for the next start.
class TimeMemory {
 public:
  virtual ~TimeMemory() = default;
  // 0: never written, lost, or damaged.
  virtual Millis read() = 0;
  // True: durable. False: the earlier time stays, and the implementation tells the operator.
  virtual bool write(Millis time) = 0;
};

class TimeFloor {
 public:
  // What one write may add: a clock that is years ahead for a while must not make every certificate invalid for good.
  // Certificates are renewed at least that long before their end, so that a single step refuses none.
  static constexpr Millis kStepMax = Millis{30} * 24 * 3600 * 1000;
  static constexpr Millis kWriteEvery = Millis{24} * 3600 * 1000;  // at most
  static constexpr Millis kFirstWrite = Millis{10} * 60 * 1000;    // after the start, when a clock usually is set
  static constexpr Millis kLast = Millis{253'402'300'799} * 1000;  // the year 9999: no time is later

  // The highest of what was kept and `known`, as the day on which the program was built. All references outlive it.
  // Writes to the memory while it exists.
  TimeFloor(Millis known, TimeMemory& memory, const Clock& clock, Timers& timers);
  ~TimeFloor();
  TimeFloor(const TimeFloor&) = delete;
  TimeFloor& operator=(const TimeFloor&) = delete;

  Millis floor() const { return floor_; }
  bool is_clock_behind() const { return clock_.wall() < floor_; }
  // That time has come, by proof.
  void raise(Millis time);
  // What another machine's clock says. It counts in place of this machine's while that one is behind, and within the
  // same steps; the first one is kept at once. A later one replaces it, whether above or below.
  void note_told(Millis time);
  // Has the time written, unless it is behind or that was done within a day.
  void save();

 private:
  struct Told {
    Millis time;
    Millis at;  // on the boot-time clock
  };

  Millis time_now() const;
  void save_daily();

  TimeMemory& memory_;
  const Clock& clock_;
  Timers& timers_;
  Millis written_;
  Millis floor_;
  std::optional<Told> told_;
  std::optional<Millis> saved_at_;  // in this run
  Timers::Id timer_ = 0;
};

}  // namespace berth
