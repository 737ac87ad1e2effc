#include "core/keyed_pool.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "core/random.h"
#include "tests/unit/rounds.h"

namespace berth {
namespace {

struct Kept {
  Text name;
  int value = 0;
  std::unique_ptr<int> only_moved = nullptr;
};
struct NameOf {
  const Text& operator()(const Kept& kept) const { return kept.name; }
};
using Pool = KeyedPool<Kept, NameOf>;

std::map<std::string, int> contents(const Pool& pool) {
  std::map<std::string, int> found;
  for (const auto& [name, kept] : pool) EXPECT_TRUE(found.emplace(name, kept.value).second) << name;
  return found;
}

TEST(KeyedPool, BehavesLikeAMapUnderRandomInsertsAndErases) {
  Pool pool;
  std::map<std::string, int> expected;
  Random random(3);
  for (int step = 0; step < rounds(10'000); ++step) {
    const std::string key = "key-" + std::to_string(random.below(300));
    ASSERT_EQ(pool.contains(key), expected.contains(key));
    if (expected.contains(key)) {
      ASSERT_EQ(pool.at(key).value, expected.at(key));
      ASSERT_EQ(pool.find(key)->second.value, expected.at(key));
      pool.erase(pool.find(key));
      expected.erase(key);
    } else {
      ASSERT_EQ(pool.find(key), pool.end());
      pool.add({key, step, nullptr});
      expected.emplace(key, step);
    }
    ASSERT_EQ(pool.size(), expected.size());
    if (step % 100 == 0) {
      ASSERT_EQ(contents(pool), expected);
    }
  }
  EXPECT_EQ(contents(pool), expected);
}

TEST(KeyedPool, FindsAKnownObjectOrAddsOne) {
  Pool pool;
  const auto make = [] { return Kept{"a", 1, std::make_unique<int>(1)}; };
  const auto [index, is_new] = pool.find_or_add("a", make);
  EXPECT_TRUE(is_new);
  pool[index].value = 2;
  EXPECT_EQ(pool.find_or_add("a", make), std::pair(index, false));
  EXPECT_EQ(pool.at("a").value, 2);
  EXPECT_EQ(pool.size(), 1);
}

TEST(KeyedPool, MovesNoObject) {
  Pool pool;
  Kept& first = pool[pool.add({"first", 1, nullptr})];
  for (int i = 0; i < 10'000; ++i) pool.add({std::to_string(i), i, nullptr});
  EXPECT_EQ(&pool.at("first"), &first);
  EXPECT_EQ(first.value, 1);
}

TEST(KeyedPool, IsIteratedWhileObjectsComeAndGo) {
  Pool pool;
  for (int i = 0; i < 100; ++i) pool.add({std::to_string(i), i, nullptr});
  std::set<int> seen;
  for (auto at = pool.begin(); at != pool.end(); ++at) {
    const int value = at->second.value;
    seen.insert(value);
    pool.erase(at);
    if (value < 100) pool.add({"new-" + std::to_string(value), 1000 + value, nullptr});
  }
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(seen.contains(i)) << i;
}

TEST(KeyedPool, ReleasesWhatAnErasedObjectHeld) {
  Pool pool;
  const Pool::Index index = pool.add({"a", 1, std::make_unique<int>(1)});
  pool.erase(index);
  EXPECT_EQ(pool[index].only_moved, nullptr);
  EXPECT_TRUE(pool.empty());
  EXPECT_EQ(pool.next_used(0), Pool::kNone);
  EXPECT_EQ(pool.add({"b", 2, nullptr}), index) << "the slot is used again";
}

}  // namespace
}  // namespace berth
