#include <gtest/gtest.h>

#include "core/api/pod.h"
#include "core/scheduler/reservation.h"
#include "tests/unit/scheduler/scheduling_fixture.h"

namespace berth {
namespace {

class ReservationTest : public ::testing::Test {
 protected:
  ReservationTest() { cache.set_node(share(make_node("n1"))); }
  Result<Reservation> reserve() {
    return Reservation::make(scripted.get(), cache, std::make_unique<CycleState>(), pod, "n1");
  }
  std::vector<std::string> take_diary() { return std::exchange(scripted.diary, {}); }
  static inline const std::vector<std::string> kUndone{"b Unreserve", "a Unreserve"};

  ScriptedFramework scripted;
  Cache cache;
  PodPtr pod = share(make_pod("p", resources({{"cpu", "1"}})));
};

TEST_F(ReservationTest, AssumesThenReserves) {
  Result<Reservation> reservation = reserve();
  ASSERT_TRUE(reservation.has_value());
  EXPECT_TRUE(reservation->is_armed());
  EXPECT_TRUE(cache.is_assumed("uid-p"));
  EXPECT_EQ(take_diary(), (std::vector<std::string>{"a Reserve", "b Reserve"}));
}

TEST_F(ReservationTest, UndoesEverythingWhenDropped) {
  {
    static_cast<void>(reserve());
  }
  take_diary();
  {
    Result<Reservation> reservation = reserve();
    take_diary();
  }
  EXPECT_EQ(take_diary(), kUndone);
  EXPECT_EQ(cache.pod_count(), 0u);
}

TEST_F(ReservationTest, UndoesEverythingWhenReserveFails) {
  scripted.scripts["a"].answers["Reserve"] = Status::unschedulable("taken");
  Result<Reservation> reservation = reserve();
  ASSERT_FALSE(reservation.has_value());
  EXPECT_EQ(reservation.error().message(), "taken");
  EXPECT_EQ(reservation.error().plugin(), "a");
  EXPECT_EQ(take_diary(), (std::vector<std::string>{"a Reserve", "b Unreserve", "a Unreserve"}));
  EXPECT_EQ(cache.pod_count(), 0u);
}

TEST_F(ReservationTest, LeavesAPodAloneThatIsKnownAlready) {
  cache.confirm(pod, "n1");
  EXPECT_EQ(reserve().error().code(), Code::error);
  EXPECT_TRUE(take_diary().empty());
  EXPECT_EQ(cache.pod_count(), 1u);
}

TEST_F(ReservationTest, UndoesNothingOnceCommitted) {
  {
    Result<Reservation> reservation = reserve();
    take_diary();
    cache.confirm(pod, "n1");
    reservation->commit();
  }
  EXPECT_TRUE(take_diary().empty());
  EXPECT_EQ(cache.pod_count(), 1u);
}

TEST_F(ReservationTest, UndoesOnceWhenMoved) {
  Result<Reservation> reservation = reserve();
  take_diary();
  {
    Reservation moved = std::move(*reservation);
    EXPECT_FALSE(reservation->is_armed());
    EXPECT_EQ(moved.node(), "n1");
    moved = Reservation();
    EXPECT_EQ(take_diary(), kUndone);
  }
  EXPECT_TRUE(take_diary().empty());
}

TEST_F(ReservationTest, RestoresWhatARowHeldAndUndoesThat) {
  {
    const Reservation reservation = Reservation::restore(scripted.get(), cache, std::make_unique<CycleState>(), pod,
                                                         "n1", {{"default/c", "v", "/v"}});
    EXPECT_TRUE(reservation.is_armed());
    EXPECT_TRUE(cache.is_assumed("uid-p"));
    EXPECT_EQ(take_diary(), (std::vector<std::string>{"a Restore 1", "b Restore 1"}));
  }
  EXPECT_EQ(take_diary(), kUndone);
  EXPECT_EQ(cache.pod_count(), 0u);
}

}  // namespace
}  // namespace berth
