// How long a crashed container waits, on a clock of the test's own.
#include "firmware-host/agent/crash_backoff.h"

#include <gtest/gtest.h>

#include <vector>

namespace berth {
namespace {

// The waits of a container each of whose runs takes `run`.
std::vector<Millis> waits(int crashes, Millis run) {
  RestartDelay delay;
  std::vector<Millis> waits;
  Millis now = 0;
  for (int crash = 0; crash < crashes; ++crash) {
    waits.push_back(delay.next(CrashBackoff{}, now, now + run));
    now += run + waits.back();
  }
  return waits;
}

TEST(CrashBackoff, IsAtOnceTheFirstTimeAndThenDoublesFromTenSecondsToFiveMinutes) {
  EXPECT_EQ(waits(9, 0), (std::vector<Millis>{0, 10'000, 20'000, 40'000, 80'000, 160'000, 300'000, 300'000, 300'000}));
}

TEST(CrashBackoff, BeginsAgainAfterARunOfMoreThanTenMinutes) {
  EXPECT_EQ(waits(3, 600'000), (std::vector<Millis>{0, 10'000, 20'000})) << "not yet";
  EXPECT_EQ(waits(3, 600'001), (std::vector<Millis>{0, 0, 0}));
  RestartDelay delay;
  EXPECT_EQ(delay.next(CrashBackoff{}, 0, 1), 0);
  EXPECT_EQ(delay.next(CrashBackoff{}, 1, 2), 10'000);
  EXPECT_EQ(delay.next(CrashBackoff{}, 10'002, 610'003), 0);
  EXPECT_EQ(delay.next(CrashBackoff{}, 610'003, 610'004), 10'000);
}

TEST(CrashBackoff, IsToldInTheWordsOfTheKubelet) {
  EXPECT_EQ(back_off_message(10'000, "main", "web_default(u1)"),
            "back-off 10s restarting failed container=main pod=web_default(u1)");
  EXPECT_TRUE(back_off_message(160'000, "main", "p").starts_with("back-off 2m40s restarting"));
}

}  // namespace
}  // namespace berth
