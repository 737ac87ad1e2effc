#include "core/controllers/nodes/taint_queue.h"

#include <gtest/gtest.h>

#include "core/controllers/nodes/rate_limiter.h"

namespace berth {
namespace {

TEST(RateLimiter, HasOneTokenAtFirstAndNeverMore) {
  RateLimiter limiter(0.1F);
  EXPECT_TRUE(limiter.try_accept(1'000'000));
  EXPECT_FALSE(limiter.try_accept(1'009'999));
  EXPECT_TRUE(limiter.try_accept(1'100'000));
  EXPECT_FALSE(limiter.try_accept(1'100'000));
}

TEST(RateLimiter, ATokenAtAHundredthTakesMoreThanAHundredSeconds) {
  RateLimiter limiter(0.01F);
  EXPECT_TRUE(limiter.try_accept(1'000'000));
  EXPECT_FALSE(limiter.try_accept(1'100'000));
  EXPECT_TRUE(limiter.try_accept(1'101'000));
}

TEST(RateLimiter, RateZeroIsNever) { EXPECT_FALSE(RateLimiter(0).try_accept(1'000'000)); }

TEST(TaintQueue, GivesThoseAddedFirstAndOfSeveralTheSmallestName) {
  TaintQueue queue(0.1F);
  queue.add("c", 0);
  queue.add("b", 1000);
  queue.add("a", 1000);
  EXPECT_EQ(queue.take(20'000), "c");
  EXPECT_EQ(queue.take(20'000), std::nullopt);
  EXPECT_EQ(queue.take(30'000), "a");
  EXPECT_EQ(queue.take(40'000), "b");
}

TEST(TaintQueue, ANodeThatHasHadItsTurnHasToBeRemovedFirst) {
  TaintQueue queue(0.1F);
  queue.add("a", 0);
  EXPECT_EQ(queue.take(0), "a");
  queue.add("a", 1000);
  EXPECT_EQ(queue.take(20'000), std::nullopt);
  queue.remove("a");
  queue.add("a", 20'000);
  EXPECT_EQ(queue.take(20'000), "a");
}

TEST(TaintQueue, AnEmptyQueueUsesNoToken) {
  TaintQueue queue(0.1F);
  EXPECT_EQ(queue.take(0), std::nullopt);
  queue.add("a", 1000);
  EXPECT_EQ(queue.take(1000), "a");
}

TEST(TaintQueue, ANodeThatIsTriedLaterUsesATokenBeforeItsTime) {
  TaintQueue queue(0.1F);
  queue.add("a", 0);
  EXPECT_EQ(queue.take(0), "a");
  queue.try_again_at("a", 12'000);
  EXPECT_EQ(queue.take(10'000), std::nullopt);
  EXPECT_EQ(queue.take(19'000), std::nullopt);
  EXPECT_EQ(queue.take(20'000), "a");
}

TEST(TaintQueue, AfterAPauseTheFirstTokenTakesItsTime) {
  TaintQueue queue(0.1F);
  queue.add("a", 0);
  queue.set_rate(0, 0);
  EXPECT_EQ(queue.take(100'000), std::nullopt);
  queue.set_rate(0.1F, 100'000);
  EXPECT_EQ(queue.take(109'000), std::nullopt);
  EXPECT_EQ(queue.take(110'000), "a");
}

TEST(TaintQueue, TheSameRateKeepsTheToken) {
  TaintQueue queue(0.1F);
  queue.add("a", 0);
  queue.set_rate(0.1F, 0);
  EXPECT_EQ(queue.take(0), "a");
}

}  // namespace
}  // namespace berth
