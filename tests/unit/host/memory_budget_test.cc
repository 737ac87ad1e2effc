#include "firmware-host/gateway/memory_budget.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <vector>

namespace berth {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

// AddressSanitizer keeps freed memory, to detect its use.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kKeepsFreedMemory = true;
#elif defined(__has_feature)
constexpr bool kKeepsFreedMemory = __has_feature(address_sanitizer);
#else
constexpr bool kKeepsFreedMemory = false;
#endif

TEST(MemoryBudget, IsFullFromTheLimitUntilASixteenthIsFree) {
  MemoryBudget budget(64 * kMiB);
  EXPECT_FALSE(budget.note(64 * kMiB - 1));
  EXPECT_TRUE(budget.note(64 * kMiB));
  EXPECT_TRUE(budget.note(60 * kMiB)) << "slightly less is not enough";
  EXPECT_FALSE(budget.note(60 * kMiB - 1));
  EXPECT_FALSE(budget.note(63 * kMiB)) << "nor is slightly more";
}

TEST(MemoryBudget, IsNeverFullWithoutALimit) { EXPECT_FALSE(MemoryBudget(0).note(~std::uint64_t{0})); }

TEST(MemoryBudget, IsNeverFullIfMemoryCannotBeMeasured) { EXPECT_FALSE(MemoryBudget(1).note(0)); }

TEST(MemoryBudget, LeavesToACacheWhatIsBelowSevenEighthsOfTheLimit) {
  const MemoryBudget budget(64 * kMiB);
  EXPECT_EQ(budget.left_for_cache(40 * kMiB, 0), 16 * kMiB);
  EXPECT_EQ(budget.left_for_cache(40 * kMiB, 10 * kMiB), 26 * kMiB)
      << "what the cache has already is not counted twice";
  EXPECT_EQ(budget.left_for_cache(60 * kMiB, 10 * kMiB), 6 * kMiB) << "it gives up four of its ten";
  EXPECT_EQ(budget.left_for_cache(60 * kMiB, 0), 0u);
  EXPECT_EQ(budget.left_for_cache(10 * kMiB, 20 * kMiB), 56 * kMiB) << "what a cache takes is an estimate";
}

TEST(MemoryBudget, LeavesEverythingToACacheWithoutALimitOrAMeasurement) {
  EXPECT_EQ(MemoryBudget(0).left_for_cache(kMiB, 0), ~std::uint64_t{0});
  EXPECT_EQ(MemoryBudget(kMiB).left_for_cache(0, 0), ~std::uint64_t{0});
}

TEST(ResidentMemory, GrowsWithUseAndFallsWhenTrimmed) {
  const ResidentMemory resident;
  const std::uint64_t before = resident.bytes();
  ASSERT_GT(before, 0u);
  EXPECT_LT(before, memory_of_machine());
  // Small pieces: the allocator keeps them when they are freed, while large ones are unmapped at once.
  std::vector<std::unique_ptr<std::vector<char>>> pieces;
  for (std::uint64_t bytes = 0; bytes < 64 * kMiB; bytes += 1024) {
    pieces.push_back(std::make_unique<std::vector<char>>(1024, 'x'));
  }
  auto last = std::move(pieces.back());  // keeps the top of the heap in use
  const std::uint64_t full = resident.bytes();
  EXPECT_GT(full, before + 48 * kMiB);
  pieces.clear();
  trim_freed_memory();
  if (!kKeepsFreedMemory) {
    EXPECT_LT(resident.bytes(), full - 48 * kMiB);
  }
}

}  // namespace
}  // namespace berth
