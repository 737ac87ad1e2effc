// What ends is the next one's memory: which blocks are kept, and which go to the heap.
#include "core/recycled.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace berth {
namespace {

// A type of its own for each test: what is kept outlives it.
template <int kTest>
struct Block : Recycled<Block<kTest>> {
  // As numbers: memory that was freed is looked at no more.
  static std::uintptr_t place_of(const void* block) { return reinterpret_cast<std::uintptr_t>(block); }
  static std::size_t kept() { return Recycled<Block>::count_; }
  static constexpr std::size_t kMost = Recycled<Block>::kMost;

  std::uint64_t content[6] = {};
};

template <int kTest>
struct LargerBlock : Block<kTest> {
  std::uint64_t more = 0;
};

class RecycledTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!kRecycles) GTEST_SKIP() << "under AddressSanitizer all goes to the heap";
  }
};

TEST_F(RecycledTest, ABlockThatEndedIsTheNextOnesTheLastFirst) {
  using Mine = Block<1>;
  const Mine* first = new Mine;
  const Mine* second = new Mine;
  const std::uintptr_t place_of_first = Mine::place_of(first), place_of_second = Mine::place_of(second);
  delete first;
  delete second;
  EXPECT_EQ(Mine::kept(), 2u);
  first = new Mine;
  second = new Mine;
  EXPECT_EQ(Mine::place_of(first), place_of_second);
  EXPECT_EQ(Mine::place_of(second), place_of_first);
  EXPECT_EQ(Mine::kept(), 0u);
  const Mine* third = new Mine;  // none is kept: from the heap
  EXPECT_NE(Mine::place_of(third), place_of_first);
  EXPECT_NE(Mine::place_of(third), place_of_second);
  delete first;
  delete second;
  delete third;
}

TEST_F(RecycledTest, NoMoreThanItsLimitAreKept) {
  using Mine = Block<2>;
  std::vector<const Mine*> blocks;
  for (std::size_t i = 0; i < Mine::kMost + 10; ++i) blocks.push_back(new Mine);
  for (const Mine* block : blocks) delete block;
  EXPECT_EQ(Mine::kept(), Mine::kMost);
  blocks.clear();
  for (std::size_t i = 0; i < Mine::kMost + 10; ++i) blocks.push_back(new Mine);
  EXPECT_EQ(Mine::kept(), 0u);
  for (const Mine* block : blocks) delete block;
  EXPECT_EQ(Mine::kept(), Mine::kMost);
}

TEST_F(RecycledTest, WhatIsOfAnotherSizeComesFromTheHeapAndGoesThere) {
  using Mine = Block<3>;
  using Larger = LargerBlock<3>;
  const Mine* mine = new Mine;
  delete mine;
  ASSERT_EQ(Mine::kept(), 1u);
  const Larger* larger = new Larger;
  EXPECT_EQ(Mine::kept(), 1u) << "a block that is too small for it stays where it is";
  delete larger;
  EXPECT_EQ(Mine::kept(), 1u);
}

TEST_F(RecycledTest, EachTypeHasBlocksOfItsOwn) {
  const Block<4>* block = new Block<4>;
  delete block;
  EXPECT_EQ(Block<4>::kept(), 1u);
  EXPECT_EQ(Block<5>::kept(), 0u);
}

TEST(Recycled, UnderAddressSanitizerNothingIsKept) {
  using Mine = Block<6>;
  const Mine* mine = new Mine;
  delete mine;
  EXPECT_EQ(Mine::kept(), kRecycles ? 1u : 0u);
}

}  // namespace
}  // namespace berth
