// Since when a pod is active, after restarts of its keeper and of the machine.
#include "firmware-host/agent/active_deadline.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

class FixedClock final : public Clock {
 public:
  FixedClock(Millis now, Millis wall) : now_(now), wall_(wall) {}
  Millis now() const override { return now_; }
  Millis wall() const override { return wall_; }

 private:
  Millis now_;
  Millis wall_;
};

constexpr Millis kNoon = Millis{1'767'268'800} * 1000;  // 2026-01-01T12:00:00Z
constexpr const char* kBegan = "2026-01-01T11:59:00Z";

TEST(ActiveSince, IsNowForAPodWithoutAnEarlierKeeper) {
  EXPECT_EQ(active_since({}, "", "b1", FixedClock(5000, kNoon)).at, 5000);
}

TEST(ActiveSince, IsWhatAnEarlierKeeperOfTheSameBootHasWrittenWhateverTheWallClockSays) {
  for (const Millis wall : {Millis{0}, kNoon}) {
    const ActiveSince since = active_since({"b1", 700}, kBegan, "b1", FixedClock(5000, wall));
    EXPECT_EQ(since.at, 700);
    EXPECT_EQ(since.boot, "b1");
  }
}

TEST(ActiveSince, IsToldByTheWallClockAfterARebootIfThatIsSet) {
  const ActiveSince since = active_since({"b1", 700}, kBegan, "b2", FixedClock(5000, kNoon));
  EXPECT_EQ(since.at, 5000 - 60'000);
  EXPECT_EQ(since.boot, "b2");
  EXPECT_EQ(active_since({"b1", 700}, kBegan, "b2", FixedClock(5000, 1000)).at, 5000) << "the clock is not set yet";
  EXPECT_EQ(active_since({"b1", 700}, "1970-01-01T00:00:05Z", "b2", FixedClock(5000, kNoon)).at, 5000);
  EXPECT_EQ(active_since({"b1", 700}, "2026-01-01T12:01:00Z", "b2", FixedClock(5000, kNoon)).at, 5000);
}

}  // namespace
}  // namespace berth
