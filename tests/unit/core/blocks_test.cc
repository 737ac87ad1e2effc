// What is written to a block stays there until it is given back; memory is used again, and goes back to the heap.
#include "core/blocks.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/random.h"
#include "core/recycled.h"
#include "tests/unit/rounds.h"

namespace berth {
namespace {

char* bytes_of(Blocks& blocks, Blocks::Handle block) { return static_cast<char*>(blocks[block]); }

// A block with its size and a content that no other has.
struct Written {
  Blocks::Handle block = Blocks::kNone;
  std::string content;
};

Written write(Blocks& blocks, std::size_t bytes, std::uint64_t number) {
  Written written{blocks.take(bytes), std::string(bytes, '\0')};
  for (std::size_t at = 0; at < bytes; ++at) {
    written.content[at] = static_cast<char>((number * 0x9E3779B97F4A7C15u + at * 131) >> 32);
  }
  std::memcpy(bytes_of(blocks, written.block), written.content.data(), bytes);
  return written;
}

bool is_intact(Blocks& blocks, const Written& written) {
  return std::memcmp(bytes_of(blocks, written.block), written.content.data(), written.content.size()) == 0;
}

TEST(Blocks, ABlockOfEachSizeHoldsAllItsBytesAmongOthers) {
  Blocks blocks;
  std::vector<Written> all;
  for (std::uint64_t round = 0; round < 3; ++round) {
    for (std::size_t bytes = 0; bytes <= 1100; ++bytes) all.push_back(write(blocks, bytes, all.size()));
  }
  std::set<Blocks::Handle> handles;
  for (const Written& written : all) {
    EXPECT_NE(written.block, Blocks::kNone);
    EXPECT_TRUE(handles.insert(written.block).second) << "of two blocks at once";
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(blocks[written.block]) % 8, 0u);
    ASSERT_TRUE(is_intact(blocks, written)) << written.content.size() << " bytes";
  }
}

TEST(Blocks, ABlockDoesNotMoveWhileOthersComeAndGo) {
  Blocks blocks;
  const Written kept = write(blocks, 24, 1);
  const void* const address = blocks[kept.block];
  std::vector<Blocks::Handle> others;
  for (int i = 0; i < 20'000; ++i) others.push_back(blocks.take(24));
  for (const Blocks::Handle block : others) blocks.give_back(block);
  EXPECT_EQ(blocks[kept.block], address);
  EXPECT_TRUE(is_intact(blocks, kept));
}

TEST(Blocks, ABlockThatWasGivenBackIsTakenAgainBeforeMoreMemoryIs) {
  if (!kRecycles) GTEST_SKIP() << "every block is one of the heap's";
  Blocks blocks;
  std::vector<Blocks::Handle> taken;
  for (int i = 0; i < 5'000; ++i) taken.push_back(blocks.take(40));
  const std::size_t bytes = blocks.bytes();
  for (std::size_t at = 0; at < taken.size(); at += 3) blocks.give_back(taken[at]);
  for (std::size_t at = 0; at < taken.size(); at += 3) taken[at] = blocks.take(40);
  EXPECT_EQ(blocks.bytes(), bytes);
  EXPECT_EQ(std::set<Blocks::Handle>(taken.begin(), taken.end()).size(), taken.size());
}

TEST(Blocks, TheLastBlockOfAChunkGivesTheChunkBackToTheHeap) {
  Blocks blocks;
  std::vector<Blocks::Handle> taken;
  for (int i = 0; i < 5'000; ++i) taken.push_back(blocks.take(40));
  for (int i = 0; i < 100; ++i) taken.push_back(blocks.take(5'000));
  EXPECT_GE(blocks.bytes(), 5'000u * 40 + 100 * 5'000);
  for (const Blocks::Handle block : taken) blocks.give_back(block);
  EXPECT_LE(blocks.bytes(), 16u * 1024) << "of the size that was asked for, one chunk stays for the next";
}

TEST(Blocks, ANumberOfAChunkIsUsedAgainForAnotherSize) {
  Blocks blocks;
  std::vector<Blocks::Handle> taken;
  for (int i = 0; i < 2'000; ++i) taken.push_back(blocks.take(128));
  for (const Blocks::Handle block : taken) blocks.give_back(block);
  std::vector<Written> other;
  for (std::uint64_t i = 0; i < 20'000; ++i) other.push_back(write(blocks, 8 + i % 3 * 900, i));
  for (const Written& written : other) ASSERT_TRUE(is_intact(blocks, written));
}

TEST(Blocks, RandomSizesThatComeAndGoNeverShareMemory) {
  for (int seed = 1; seed <= rounds(20); ++seed) {
    Random random(static_cast<std::uint64_t>(seed));
    Blocks blocks;
    std::vector<Written> all;
    const std::uint64_t most = 1 + random.below(3'000);
    for (std::uint64_t step = 0; step < 12'000; ++step) {
      // Waves: mostly more, then mostly fewer, so that chunks fill up and become empty.
      const bool grows = step / most % 2 == 0;
      if (all.empty() || random.below(100) < (grows ? 80u : 20u)) {
        const std::uint64_t most_bytes = random.below(10) == 0 ? 3'000 : 64;
        all.push_back(write(blocks, random.below(most_bytes), step));
        continue;
      }
      std::swap(all[random.below(all.size())], all.back());
      ASSERT_TRUE(is_intact(blocks, all.back())) << "seed " << seed << ", step " << step;
      blocks.give_back(all.back().block);
      all.pop_back();
    }
    for (const Written& written : all) {
      ASSERT_TRUE(is_intact(blocks, written)) << "seed " << seed;
      blocks.give_back(written.block);
    }
  }
}

TEST(Blocks, ASizeThatNoChunkCanHaveIsRefusedAndNothingIsTaken) {
  Blocks blocks;
  const Written kept = write(blocks, 8, 1);
  const std::size_t bytes = blocks.bytes();
  constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max();
  for (const std::size_t size : {kMost, kMost - 6, kMost - 7, kMost / 2 + 9}) {
    EXPECT_THROW(blocks.take(size), std::bad_alloc) << size;
  }
  EXPECT_EQ(blocks.bytes(), bytes);
  EXPECT_TRUE(is_intact(blocks, kept));
}

TEST(BlocksDeathTest, WhatIsGivenBackTwiceWithAChunkThatHasNoOtherIsNoticed) {
  Blocks blocks;
  const Blocks::Handle block = blocks.take(24);
  blocks.give_back(block);
  EXPECT_DEATH(blocks.give_back(block), "");
}

TEST(BlocksDeathTest, WhatIsGivenBackTwiceWithItsChunkGoneIsNoticed) {
  Blocks blocks;
  const Blocks::Handle block = blocks.take(5'000);
  blocks.give_back(block);
  EXPECT_DEATH(blocks.give_back(block), "");
}

}  // namespace
}  // namespace berth
