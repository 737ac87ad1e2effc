#include "core/key_index.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/random.h"
#include "tests/unit/rounds.h"

namespace berth {
namespace {

// The owner of an index: keeps the keys, each at its index.
class Named {
 public:
  KeyIndex::Index find(const std::string& key) const { return index_.find(key, is(key)); }
  void add(const std::string& key) {
    keys_.push_back(key);
    index_.insert(key, static_cast<KeyIndex::Index>(keys_.size() - 1));
  }
  bool erase(const std::string& key) { return index_.erase(key, is(key)); }
  std::size_t size() const { return index_.size(); }

 private:
  std::function<bool(KeyIndex::Index)> is(const std::string& key) const {
    return [this, key](KeyIndex::Index index) { return keys_[index] == key; };
  }
  std::vector<std::string> keys_;
  KeyIndex index_;
};

TEST(KeyIndex, FindsNothingWhileItIsEmpty) {
  Named named;
  EXPECT_EQ(named.find("a"), KeyIndex::kNone);
  EXPECT_FALSE(named.erase("a"));
}

TEST(KeyIndex, BehavesLikeAMapUnderRandomInsertsAndErases) {
  Named named;
  std::map<std::string, KeyIndex::Index> expected;
  Random random(7);
  KeyIndex::Index next = 0;
  for (int step = 0; step < rounds(20'000); ++step) {
    const std::string key = "key-" + std::to_string(random.below(600));
    if (const auto known = expected.find(key); known != expected.end()) {
      ASSERT_EQ(named.find(key), known->second);
      if (random.below(2) == 0) continue;
      ASSERT_TRUE(named.erase(key));
      expected.erase(known);
    } else {
      ASSERT_EQ(named.find(key), KeyIndex::kNone);
      ASSERT_FALSE(named.erase(key));
      named.add(key);
      expected.emplace(key, next++);
    }
    ASSERT_EQ(named.size(), expected.size());
  }
  for (const auto& [key, index] : expected) EXPECT_EQ(named.find(key), index);
}

// Two entries of one key stand in for two keys with the same hash.
TEST(KeyIndex, ComparesKeysWhenHashesCollide) {
  KeyIndex index;
  index.insert("a", 3);
  index.insert("a", 4);
  for (const KeyIndex::Index expected : {3u, 4u}) {
    const auto is_it = [expected](KeyIndex::Index found) { return found == expected; };
    EXPECT_EQ(index.find("a", is_it), expected);
  }
  EXPECT_EQ(index.find("a", [](KeyIndex::Index) { return false; }), KeyIndex::kNone);
}

}  // namespace
}  // namespace berth
