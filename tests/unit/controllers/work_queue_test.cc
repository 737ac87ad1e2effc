#include "core/controllers/work_queue.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace berth {
namespace {

ObjectKey key(const std::string& name) { return {"default", name}; }

std::vector<std::string> take_all(WorkQueue& queue) {
  std::vector<std::string> names;
  while (const std::optional<ObjectKey> next = queue.take()) names.push_back(next->name);
  return names;
}

using Names = std::vector<std::string>;

TEST(WorkQueue, HasEachKeyOnceInTheOrderAdded) {
  WorkQueue queue;
  for (const char* name : {"b", "a", "b", "c", "a"}) queue.add(key(name));
  EXPECT_EQ(take_all(queue), (Names{"b", "a", "c"}));
  queue.add(key("b"));
  EXPECT_EQ(take_all(queue), Names{"b"});
}

TEST(WorkQueue, QueuesAKeyAtTheEarlierOfTwoTimes) {
  WorkQueue queue;
  queue.add_at(key("late"), 5000, 0);
  queue.add_at(key("a"), 3000, 0);
  queue.add_at(key("a"), 2000, 0);
  queue.add_at(key("a"), 4000, 0);
  EXPECT_EQ(queue.next_wake(), 2000);
  queue.wake(1999);
  EXPECT_EQ(take_all(queue), Names{});
  queue.wake(4500);
  EXPECT_EQ(take_all(queue), Names{"a"});
  EXPECT_EQ(queue.next_wake(), 5000);
}

TEST(WorkQueue, QueuesAtOnceWhatIsDueAlready) {
  WorkQueue queue;
  queue.add_at(key("a"), 1000, 1000);
  EXPECT_EQ(take_all(queue), Names{"a"});
  EXPECT_EQ(queue.next_wake(), std::nullopt);
}

TEST(WorkQueue, LeavesKeysOfTheSameTimeInTheOrderOfUpstreamsHeap) {
  WorkQueue queue;
  for (const char* name : {"h1", "h2", "h3"}) queue.add_at(key(name), 1000, 0);
  queue.wake(1000);
  EXPECT_EQ(take_all(queue), (Names{"h1", "h3", "h2"}));
}

TEST(WorkQueue, WaitsTwiceAsLongAfterEachFailureUntilItIsForgotten) {
  WorkQueue queue;
  for (const Millis wait : {5, 10, 20, 40}) {
    queue.add_after_failure(key("a"), 0);
    EXPECT_EQ(queue.next_wake(), wait);
    queue.wake(wait);
  }
  for (int i = 0; i < 40; ++i) {
    queue.add_after_failure(key("a"), 0);
    queue.wake(2'000'000);
  }
  queue.add_after_failure(key("a"), 0);
  EXPECT_EQ(queue.next_wake(), 1'000'000);
  queue.wake(1'000'000);
  queue.forget(key("a"));
  queue.add_after_failure(key("a"), 0);
  EXPECT_EQ(queue.next_wake(), 5);
}

}  // namespace
}  // namespace berth
