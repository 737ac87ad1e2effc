// A time that has certainly come, for clocks that begin in 1970 at each boot.
#include "core/time_floor.h"

#include <gtest/gtest.h>

#include <fstream>
#include <limits>

#include "firmware-host/gateway/broker_process.h"
#include "firmware-host/time_file.h"
#include "tests/unit/transports/mosquitto_child.h"

namespace berth {
namespace {

constexpr Millis kDay = Millis{24} * 3600 * 1000;
constexpr Millis kLater = Millis{4'000'000'000} * 1000;  // after the build of this test, whenever that is

class Silent final : public Log {
 public:
  void write(Level, std::string_view, std::initializer_list<Field>) override {}
};

struct SetClock final : Clock {
  Millis now() const override { return now_ms; }
  Millis wall() const override { return wall_ms; }
  Millis now_ms = 0;
  Millis wall_ms = 0;
};

class TimeFloorTest : public testing::Test {
 protected:
  std::string file() { return directory_.file("time"); }
  void remember(const std::string& text) { std::ofstream(file()) << text << "\n"; }
  Millis known() { return TimeFloor(build_day(), memory_, clock_, timers_).floor(); }
  Millis in_file() { return std::stoll(read_line(file())); }
  void run_for(Millis duration) {
    for (const Millis end = clock_.now_ms + duration; clock_.now_ms < end; clock_.now_ms += kDay / 24) {
      timers_.run_due(clock_.now_ms);
    }
  }

  TempDir directory_;
  SetClock clock_;
  Timers timers_;
  Silent log_;
  TimeFile memory_{file(), log_};
};

TEST_F(TimeFloorTest, IsTheDayOfTheBuildUnlessTheFileKnowsBetter) {
  const Millis built = known();
  EXPECT_GT(built, Millis{1'700'000'000} * 1000);
  for (const char* junk : {"", "soon", "-5", "12x", "99999999999999999999999"}) {
    remember(junk);
    EXPECT_EQ(known(), built) << junk;
  }
  remember(std::to_string(kLater));
  EXPECT_EQ(known(), kLater);
}

TEST_F(TimeFloorTest, AClockThatIsBehindIsNotKept) {
  remember(std::to_string(kLater));
  clock_.wall_ms = kLater - 1;
  TimeFloor floor(build_day(), memory_, clock_, timers_);
  floor.save();
  run_for(3 * kDay);
  EXPECT_EQ(in_file(), kLater);
}

TEST_F(TimeFloorTest, TheTimeIsKeptAtMostOnceADay) {
  remember(std::to_string(kLater));
  clock_.wall_ms = kLater + kDay - 1;
  TimeFloor floor(build_day(), memory_, clock_, timers_);
  floor.save();
  EXPECT_EQ(in_file(), kLater);
  clock_.wall_ms = kLater + kDay;
  floor.save();
  EXPECT_EQ(in_file(), kLater + kDay);
}

TEST_F(TimeFloorTest, RisesWhileTheProgramRuns) {
  remember(std::to_string(kLater));
  TimeFloor floor(build_day(), memory_, clock_, timers_);
  clock_.wall_ms = kLater + 2 * kDay;
  run_for(kDay);
  clock_.wall_ms = 0;
  EXPECT_EQ(floor.floor(), kLater + 2 * kDay);
}

TEST_F(TimeFloorTest, AClockThatIsYearsAheadRaisesItInSmallSteps) {
  remember(std::to_string(kLater));
  clock_.wall_ms = kLater + 10'000 * kDay;
  TimeFloor floor(build_day(), memory_, clock_, timers_);
  floor.save();
  EXPECT_EQ(in_file(), kLater + TimeFloor::kStepMax);
}

TEST_F(TimeFloorTest, WhatAGatewaySaysCountsAtOnceWhileTheClockIsBehind) {
  remember(std::to_string(kLater));
  TimeFloor floor(build_day(), memory_, clock_, timers_);
  floor.note_told(kLater + 20 * kDay);
  EXPECT_EQ(floor.floor(), kLater + 20 * kDay);
  EXPECT_EQ(in_file(), kLater + 20 * kDay);
}

TEST_F(TimeFloorTest, WhatAGatewaySaysIsIgnoredWhileTheClockIsNotBehind) {
  remember(std::to_string(kLater));
  clock_.wall_ms = kLater + kDay / 2;
  TimeFloor floor(build_day(), memory_, clock_, timers_);
  floor.note_told(kLater + 20 * kDay);
  run_for(3 * kDay);
  EXPECT_EQ(floor.floor(), kLater);
}

TEST_F(TimeFloorTest, AGatewayThatIsYearsAheadRaisesItByOneStepADayHoweverOftenItSaysSo) {
  remember(std::to_string(kLater));
  TimeFloor floor(build_day(), memory_, clock_, timers_);
  for (int hour = 0; hour < 23; ++hour) {
    floor.note_told(hour % 2 == 0 ? kLater + 10'000 * kDay : std::numeric_limits<Millis>::max());
    floor.save();
    run_for(kDay / 24);
  }
  EXPECT_EQ(floor.floor(), kLater + TimeFloor::kStepMax);
  run_for(kDay);
  EXPECT_EQ(floor.floor(), kLater + 2 * TimeFloor::kStepMax);
}

TEST_F(TimeFloorTest, AGatewayWhoseClockWasMendedStopsTheClimb) {
  remember(std::to_string(kLater));
  TimeFloor floor(build_day(), memory_, clock_, timers_);
  floor.note_told(kLater + 10'000 * kDay);
  floor.note_told(kLater + 1 * kDay);
  run_for(10 * kDay);
  EXPECT_EQ(floor.floor(), kLater + TimeFloor::kStepMax);
}

TEST_F(TimeFloorTest, TheTimeThatWasToldGoesOnByTheBootClock) {
  remember(std::to_string(kLater));
  TimeFloor floor(build_day(), memory_, clock_, timers_);
  floor.note_told(kLater + kDay);
  run_for(5 * kDay);
  EXPECT_GE(floor.floor(), kLater + 4 * kDay);
  EXPECT_LE(floor.floor(), kLater + 6 * kDay);
}

TEST_F(TimeFloorTest, ATimeBelowTheFloorOrOneThatCannotBeWrittenChangesNothing) {
  remember(std::to_string(kLater));
  TimeFloor floor(build_day(), memory_, clock_, timers_);
  for (const Millis told : {Millis{1}, kLater - kDay, kLater}) floor.note_told(told);
  EXPECT_EQ(floor.floor(), kLater);
  TimeFile nowhere(directory_.file("absent/time"), log_);
  TimeFloor unkept(kLater, nowhere, clock_, timers_);
  unkept.note_told(kLater + 2 * kDay);
  EXPECT_EQ(unkept.floor(), kLater);
}

TEST_F(TimeFloorTest, NoTimeIsSoLateThatTheFloorOverflows) {
  remember(std::to_string(std::numeric_limits<Millis>::max()));
  TimeFloor floor(build_day(), memory_, clock_, timers_);
  floor.note_told(std::numeric_limits<Millis>::max());
  run_for(3 * kDay);
  EXPECT_EQ(floor.floor(), TimeFloor::kLast);
}

}  // namespace
}  // namespace berth
