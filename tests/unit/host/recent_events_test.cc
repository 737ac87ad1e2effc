// The events that a device tells of a pod: how many, and which of them count as one.
#include "firmware-host/agent/recent_events.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

TEST(RecentEvents, KeepsTheNewestWithIdsOfTheirOwn) {
  RecentEvents events("k");
  for (int i = 0; i < 9; ++i) EXPECT_TRUE(events.add(1000, false, "Reason", std::to_string(i)));
  ASSERT_EQ(events.list().size(), RecentEvents::kMost);
  EXPECT_EQ(events.list().front().message, "1");
  EXPECT_EQ(events.list().back().message, "8");
  EXPECT_EQ(events.list().front().id, "1001k");
  EXPECT_EQ(events.list().back().id, "1008k");
}

TEST(RecentEvents, TellsAnEqualEventAgainOnlyAfterAWhile) {
  RecentEvents events("k");
  EXPECT_TRUE(events.add(0, true, "Unhealthy", "no"));
  EXPECT_FALSE(events.add(RecentEvents::kRefillMs - 1, true, "Unhealthy", "no"));
  EXPECT_TRUE(events.add(RecentEvents::kRefillMs, true, "Unhealthy", "no"));
}

TEST(RecentEvents, LimitsDifferentOnesToABurstAndThenOneInFiveMinutes) {
  RecentEvents events("k");
  int told = 0;
  const auto tell = [&](Millis now) { told += events.add(now, true, "Unhealthy", std::to_string(now)); };
  for (Millis now = 0; now < 100; ++now) tell(now);
  EXPECT_EQ(told, RecentEvents::kBurst);
  tell(RecentEvents::kRefillMs + 100);
  tell(RecentEvents::kRefillMs + 101);
  EXPECT_EQ(told, RecentEvents::kBurst + 1);
}

TEST(RecentEvents, CutsAMessageBetweenCharacters) {
  RecentEvents events("k");
  std::string message(RecentEvents::kMessageBytesMax - 1, 'x');
  events.add(0, true, "Failed", message + "\u00e4");
  EXPECT_EQ(events.list().back().message, message);
}

TEST(RecentEvents, StandBeforeThoseThatAStatusHas) {
  RecentEvents pulls("p");
  pulls.add(5, false, "Pulled", "it");
  const std::string status =
      R"({"phase":"Running","events":[{"id":"9k","type":"Warning","reason":"Unhealthy","message":"no"}]})";
  EXPECT_EQ(with_events(status, pulls.list()),
            R"({"phase":"Running","events":[{"id":"5p","reason":"Pulled","message":"it"},)"
            R"({"id":"9k","type":"Warning","reason":"Unhealthy","message":"no"}]})");
  EXPECT_EQ(with_events("no json", pulls.list()), "no json");
}

}  // namespace
}  // namespace berth
