// Without any event a pod becomes active exactly when due() says.
#include <gtest/gtest.h>

#include "core/api/pod.h"
#include "core/queue/queue.h"
#include "tests/unit/scheduler/scheduling_fixture.h"

namespace berth {
namespace {

class QueueDue : public ::testing::Test {
 protected:
  QueueDue() {
    clock.now_ms = 100'400;
    queue = std::make_unique<Queue>(clock, [this](const Pod&) { return &scripted.get(); }, Queue::Options());
    queue->add(share(make_pod("p")));
  }
  // Advances the clock, flushing as a gateway does, to just before the time due() returns, then to that time.
  void expect_active_when_due() {
    const std::optional<Millis> due = queue->due("uid-p");
    ASSERT_TRUE(due.has_value());
    ASSERT_GT(*due, clock.now_ms);
    for (; clock.now_ms + 1000 < *due; clock.now_ms += 1000) queue->flush();
    clock.now_ms = *due - 1;
    queue->flush();
    EXPECT_NE(queue->where("uid-p"), Queue::Where::active);
    clock.now_ms = *due;
    queue->flush();
    EXPECT_EQ(queue->where("uid-p"), Queue::Where::active);
  }
  ScriptedFramework scripted{std::vector<std::string>{"One"}};
  FakeClock clock;
  std::unique_ptr<Queue> queue;
};

TEST_F(QueueDue, AnActivePodIsDueAtOnce) { EXPECT_EQ(queue->due("uid-p"), clock.now_ms); }

TEST_F(QueueDue, APodInFlightOrUnknownIsNotDue) {
  EXPECT_EQ(queue->due("uid-unknown"), std::nullopt);
  ASSERT_TRUE(queue->pop().has_value());
  EXPECT_EQ(queue->due("uid-p"), std::nullopt);
}

TEST_F(QueueDue, AnErrorBacksOffUntilDue) {
  queue->requeue(*queue->pop(), Status::error("broken"), {}, {});
  EXPECT_TRUE(queue->is_error_backoff("uid-p"));
  expect_active_when_due();
}

TEST_F(QueueDue, ARequeuedPodBacksOffUntilDue) {
  queue->requeue(*queue->pop(), Status::unschedulable("insufficient cpu"), {"Other"}, {});
  queue->activate({"uid-p"});
  queue->requeue(*queue->pop(), Status::unschedulable("insufficient cpu"), {"One"}, {});
  queue->move_all({EventResource::node, kAdd, "NodeAdd"}, {});
  ASSERT_EQ(queue->where("uid-p"), Queue::Where::backoff);
  EXPECT_FALSE(queue->is_error_backoff("uid-p"));
  expect_active_when_due();
}

TEST_F(QueueDue, AnUnschedulablePodIsTriedAgainAfterItsTimeout) {
  clock.now_ms += 17'300;
  queue->requeue(*queue->pop(), Status::unschedulable("insufficient cpu"), {"Other"}, {});
  ASSERT_EQ(queue->where("uid-p"), Queue::Where::unschedulable);
  expect_active_when_due();
}

}  // namespace
}  // namespace berth
