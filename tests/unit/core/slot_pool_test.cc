#include "core/slot_pool.h"

#include <gtest/gtest.h>

#include <string>

namespace berth {
namespace {

TEST(SlotPool, ReusesAReleasedIndexFirst) {
  SlotPool<std::string> names;
  const auto first = names.take(), second = names.take();
  names[first] = "a";
  names[second] = "b";
  names.give_back(first);
  EXPECT_EQ(names[second], "b") << "other slots are unaffected";
  EXPECT_EQ(names.take(), first);
  EXPECT_EQ(names[first], "") << "the slot is reset";
  EXPECT_EQ(names.size(), 2u);
}

TEST(SlotPool, MovesNoSlotWhenItGrows) {
  SlotPool<std::string> names;
  const auto first = names.take();
  std::string& kept = names[first];
  kept = "a";
  for (int i = 0; i < 10'000; ++i) names.take();
  EXPECT_EQ(&kept, &names[first]);
  EXPECT_EQ(kept, "a");
}

}  // namespace
}  // namespace berth
