// A refusal that lasts, and the word that it does so no more (D6).
#include "core/agent/refused_pods.h"

#include "tests/unit/agent/fakes.h"
#include "tests/unit/hand_clock.h"

namespace berth {
namespace {

class RefusedPodsTest : public ::testing::Test {
 protected:
  void advance(Millis ms) {
    const Millis end = clock.now_ms + ms;
    while (timers.next() && *timers.next() <= end) {
      clock.now_ms = std::max(clock.now_ms, *timers.next());
      timers.run_due(clock.now_ms);
    }
    clock.now_ms = end;
  }

  HandClock clock;
  Timers timers;
  FakeRuntime runtime;
  int changes = 0;
  RefusedPods pods{runtime, clock, timers, 7, [this] { ++changes; }};
};

TEST_F(RefusedPodsTest, WhatOnlyPrepareCanTellDoesNotLast) {
  EXPECT_FALSE(pods.add("u1", "pod", {}));
  EXPECT_FALSE(timers.next().has_value());
}

TEST_F(RefusedPodsTest, LastsUntilTheRuntimeWouldTakeThePod) {
  runtime.refuses["pod"] = Status::error("no directory");
  const std::string id = pods.id();
  EXPECT_TRUE(pods.add("u1", "pod", {}));
  advance(3'600'000);
  EXPECT_EQ(pods.id(), id);
  EXPECT_EQ(changes, 0);
  runtime.refuses["pod"] = Status::ok();
  advance(RefusedPods::kLookEveryMs);
  EXPECT_NE(pods.id(), id);
  EXPECT_EQ(changes, 1);
  EXPECT_FALSE(timers.next().has_value()) << "nothing is left to look at";
}

TEST_F(RefusedPodsTest, LastsUntilTheReasonIsAnotherOne) {
  runtime.refuses["pod"] = Status::error("no directory");
  EXPECT_TRUE(pods.add("u1", "pod", {}));
  runtime.refuses["pod"] = Status::error("no program");
  advance(RefusedPods::kLookEveryMs);
  EXPECT_EQ(changes, 1);
}

TEST_F(RefusedPodsTest, AFaultOfTheMomentIsNoNews) {
  runtime.refuses["pod"] = Status::error("no directory");
  EXPECT_TRUE(pods.add("u1", "pod", {}));
  runtime.refuses["pod"] = Status::pending("the disk does not answer");
  advance(10 * RefusedPods::kLookEveryMs);
  EXPECT_EQ(changes, 0);
}

TEST_F(RefusedPodsTest, MakesRoomOnceAnHour) {
  for (std::size_t i = 0; i <= RefusedPods::kMaxPods; ++i) {
    const std::string pod = "pod" + std::to_string(i);
    runtime.refuses[pod] = Status::error("no directory");
    EXPECT_EQ(pods.add("u" + std::to_string(i), pod, {}), i < RefusedPods::kMaxPods);
  }
  EXPECT_TRUE(pods.add("u0", "pod0", {})) << "it is known";
  EXPECT_EQ(changes, 0);
  advance(RefusedPods::kKeptMs);
  runtime.refuses["late"] = Status::error("no directory");
  EXPECT_FALSE(pods.add("late", "late", {}));
  EXPECT_EQ(changes, 1);
  EXPECT_TRUE(pods.add("late", "late", {}));
}

TEST_F(RefusedPodsTest, KeepsABoundedNumberOfBytes) {
  const std::string large(100 * 1024, 'x');
  for (int i = 0; i < 3; ++i) {
    runtime.refuses[large + std::to_string(i)] = Status::error("no directory");
    EXPECT_EQ(pods.add("u" + std::to_string(i), large + std::to_string(i), {}), i < 2);
  }
}

}  // namespace
}  // namespace berth
