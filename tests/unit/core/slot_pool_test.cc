#include "core/slot_pool.h"

#include <gtest/gtest.h>

#include <string>

namespace berth {
namespace {

TEST(Places, GivesANumberThatWasGivenBackToTheNext) {
  SlotPool<std::string> names;
  const auto first = names.take(), second = names.take();
  names[first] = "a";
  names[second] = "b";
  names.give_back(first);
  EXPECT_EQ(names[second], "b") << "the others keep theirs";
  EXPECT_EQ(names.take(), first);
  EXPECT_EQ(names[first], "") << "nothing of what stood there is left";
  EXPECT_EQ(names.size(), 2u);
}

}  // namespace
}  // namespace berth
