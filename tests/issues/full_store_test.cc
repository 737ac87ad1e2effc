// A gateway whose store is full.
#include "tests/issues/lost_store_fixture.h"

namespace berth {

TEST_F(GatewayTest, AFullStoreIsNotRetriedImmediately) {
  start_connected();
  device("n1");
  apply(pod("p", "u1", "64Mi", R"(,"schedulingGates":[{"name":"later"}])"));
  store.set_full(true);
  apply(pod("p", "u1"));
  for (int turns = 0; turns < 5; ++turns) {
    timers.run_due(clock.now_ms);
    turn();
  }
  EXPECT_EQ(gateway->scheduler().queue().find("u1")->attempts, 1);
  store.set_full(false);
  advance(15'000);
  EXPECT_EQ(phase("u1"), Phase::prebind);
}

TEST_F(LostStoreTest, AListingDoesNotCountWhileTheStoreIsFull) {
  lose_store({"n1"});
  receive(topics.desired(Kind::pod, "default/p"), pod("p", "u1", "900Mi"));
  store.set_full(true);
  slots("n1", {slot("u1")});
  EXPECT_TRUE(gateway->identity().adopting);
  EXPECT_TRUE(is_queued("u1"));
  store.set_full(false);
  advance(15'000);
  slots("n1", {slot("u1")});
  EXPECT_EQ(phase("u1"), Phase::bound);
  EXPECT_FALSE(gateway->identity().adopting);
}

}  // namespace berth
