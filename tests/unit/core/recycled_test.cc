// Which blocks the free list keeps for the next object, and which go back to the heap.
#include "core/recycled.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace berth {
namespace {

// A separate type for each test, since the free list outlives the test.
template <int kTest>
struct Block : Recycled<Block<kTest>> {
  // Addresses as numbers: a pointer to freed memory must not be used.
  static std::uintptr_t address_of(const void* block) { return reinterpret_cast<std::uintptr_t>(block); }
  static std::size_t kept() { return Recycled<Block>::count_; }
  static constexpr std::size_t kMaxFree = Recycled<Block>::kMaxFree;

  std::uint64_t content[6] = {};
};

template <int kTest>
struct LargerBlock : Block<kTest> {
  std::uint64_t more = 0;
};

class RecycledTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!kRecycles) GTEST_SKIP() << "nothing is recycled under AddressSanitizer";
  }
};

TEST_F(RecycledTest, ReusesFreedBlocksInLastInFirstOutOrder) {
  using Mine = Block<1>;
  const Mine* first = new Mine;
  const Mine* second = new Mine;
  const std::uintptr_t first_address = Mine::address_of(first), second_address = Mine::address_of(second);
  delete first;
  delete second;
  EXPECT_EQ(Mine::kept(), 2u);
  first = new Mine;
  second = new Mine;
  EXPECT_EQ(Mine::address_of(first), second_address);
  EXPECT_EQ(Mine::address_of(second), first_address);
  EXPECT_EQ(Mine::kept(), 0u);
  const Mine* third = new Mine;  // the free list is empty: from the heap
  EXPECT_NE(Mine::address_of(third), first_address);
  EXPECT_NE(Mine::address_of(third), second_address);
  delete first;
  delete second;
  delete third;
}

TEST_F(RecycledTest, KeepsAtMostTheLimit) {
  using Mine = Block<2>;
  std::vector<const Mine*> blocks;
  for (std::size_t i = 0; i < Mine::kMaxFree + 10; ++i) blocks.push_back(new Mine);
  for (const Mine* block : blocks) delete block;
  EXPECT_EQ(Mine::kept(), Mine::kMaxFree);
  blocks.clear();
  for (std::size_t i = 0; i < Mine::kMaxFree + 10; ++i) blocks.push_back(new Mine);
  EXPECT_EQ(Mine::kept(), 0u);
  for (const Mine* block : blocks) delete block;
  EXPECT_EQ(Mine::kept(), Mine::kMaxFree);
}

TEST_F(RecycledTest, AllocatesObjectsOfAnotherSizeOnTheHeap) {
  using Mine = Block<3>;
  using Larger = LargerBlock<3>;
  const Mine* mine = new Mine;
  delete mine;
  ASSERT_EQ(Mine::kept(), 1u);
  const Larger* larger = new Larger;
  EXPECT_EQ(Mine::kept(), 1u) << "the kept block is too small for it";
  delete larger;
  EXPECT_EQ(Mine::kept(), 1u);
}

TEST_F(RecycledTest, KeepsBlocksPerType) {
  const Block<4>* block = new Block<4>;
  delete block;
  EXPECT_EQ(Block<4>::kept(), 1u);
  EXPECT_EQ(Block<5>::kept(), 0u);
}

TEST(Recycled, KeepsNothingUnderAddressSanitizer) {
  using Mine = Block<6>;
  const Mine* mine = new Mine;
  delete mine;
  EXPECT_EQ(Mine::kept(), kRecycles ? 1u : 0u);
}

}  // namespace
}  // namespace berth
