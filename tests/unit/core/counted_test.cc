// An object lives as long as any pointer to it, whatever becomes of the others.
#include "core/counted.h"

#include <gtest/gtest.h>

#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace berth {
namespace {

struct Thing {
  explicit Thing(int& counter, int its_number = 0) : living(&counter), number(its_number) { ++*living; }
  Thing(const Thing& other) : users(other.users), living(other.living), number(other.number) { ++*living; }
  ~Thing() { --*living; }

  Users users;
  int* living;
  int number;
  CountedPtr<const Thing> next = nullptr;
};

class CountedTest : public testing::Test {
 protected:
  void TearDown() override { EXPECT_EQ(living, 0); }
  int living = 0;
};

TEST_F(CountedTest, TheLastPointerDeletesTheObject) {
  CountedPtr<const Thing> first = make_counted<const Thing>(living, 7);
  CountedPtr<const Thing> second = first;
  EXPECT_EQ(first.use_count(), 2u);
  EXPECT_EQ(first, second);
  first = nullptr;
  EXPECT_EQ(living, 1);
  EXPECT_EQ(second->number, 7);
  EXPECT_EQ(second.use_count(), 1u);
  second.reset();
  EXPECT_EQ(living, 0);
  EXPECT_EQ(second, nullptr);
  EXPECT_EQ(second.use_count(), 0u);
}

TEST_F(CountedTest, AMovedPointerHoldsNothing) {
  CountedPtr<Thing> made = make_counted<Thing>(living, 1);
  const CountedPtr<const Thing> kept = std::move(made);
  EXPECT_EQ(kept.use_count(), 1u);
  EXPECT_EQ(kept->number, 1);
}

TEST_F(CountedTest, ACopyOfAnObjectIsHeldByNobodyElse) {
  const CountedPtr<Thing> first = make_counted<Thing>(living, 1);
  const std::vector<CountedPtr<Thing>> others(1, first);
  const CountedPtr<Thing> copy = make_counted<Thing>(*first);
  EXPECT_EQ(copy.use_count(), 1u);
  EXPECT_EQ(first.use_count(), 2u);
  EXPECT_NE(copy, first);
}

TEST_F(CountedTest, AnAssignedObjectKeepsItsOwnPointers) {
  struct Value {
    int number = 0;
    Users users = {};
  };
  const CountedPtr<Value> one = make_counted<Value>(1);
  const CountedPtr<Value> other = make_counted<Value>(2);
  const std::vector<CountedPtr<Value>> others(1, other);
  *one = *other;
  EXPECT_EQ(one->number, 2);
  EXPECT_EQ(others.front()->number, 2);
  EXPECT_EQ(one.use_count(), 1u);
  EXPECT_EQ(other.use_count(), 2u);
}

TEST_F(CountedTest, APointerMayBeAssignedToItselfAndToWhatItKeepsAlive) {
  CountedPtr<Thing> last = make_counted<Thing>(living, 2);
  CountedPtr<const Thing> list = [&] {
    const CountedPtr<Thing> first = make_counted<Thing>(living, 1);
    first->next = std::move(last);
    return first;
  }();
  const CountedPtr<const Thing>& same = list;
  list = same;
  EXPECT_EQ(list->number, 1);
  list = list->next;
  EXPECT_EQ(list->number, 2);
  EXPECT_EQ(living, 1);
}

TEST_F(CountedTest, PointersInAListThatGrowsAndShrinksAreCountedOnce) {
  const CountedPtr<const Thing> thing = make_counted<const Thing>(living);
  std::vector<CountedPtr<const Thing>> list;
  for (int i = 0; i < 1'000; ++i) list.insert(list.begin() + i / 2, thing);
  EXPECT_EQ(thing.use_count(), 1'001u);
  list.erase(list.begin() + 10, list.begin() + 910);
  EXPECT_EQ(thing.use_count(), 101u);
  const std::vector<CountedPtr<const Thing>> copy = list;
  list.clear();
  EXPECT_EQ(thing.use_count(), 101u);
}

// It would be deleted as its base.
TEST(Counted, APointerToAnObjectIsNoneToItsBase) {
  struct Base {
    Users users;
  };
  struct Derived : Base {
    int number = 0;
  };
  EXPECT_FALSE((std::is_constructible_v<CountedPtr<Base>, CountedPtr<Derived>>));
  EXPECT_FALSE((std::is_constructible_v<CountedPtr<const Base>, const CountedPtr<Derived>&>));
  EXPECT_FALSE((std::is_constructible_v<CountedPtr<Derived>, CountedPtr<const Derived>>)) << "constant before";
  EXPECT_TRUE((std::is_constructible_v<CountedPtr<const Derived>, CountedPtr<Derived>>));
}

// More pointers than are counted: rather never freed than too early.
TEST(Counted, AnObjectWithMorePointersThanAreCountedStays) {
  static int living = 0;
  const Thing* thing = nullptr;
  {
    const CountedPtr<const Thing> first = make_counted<const Thing>(living, 5);
    thing = first.get();
    const std::vector<CountedPtr<const Thing>> many(70'000, first);
  }
  EXPECT_EQ(living, 1);
  EXPECT_EQ(thing->number, 5);
  delete thing;
}

}  // namespace
}  // namespace berth
