#include "core/key_index.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
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
  // With the index that a new key gets.
  std::pair<KeyIndex::Index, bool> find_or_add(const std::string& key) {
    return index_.find_or_insert(key, is(key), [&] {
      keys_.push_back(key);
      return static_cast<KeyIndex::Index>(keys_.size() - 1);
    });
  }
  // Even if it is known.
  void add_again(const std::string& key) {
    keys_.push_back(key);
    index_.assign(key, is(key), static_cast<KeyIndex::Index>(keys_.size() - 1));
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

TEST(KeyIndex, FindsAKnownKeyOrInsertsItOnce) {
  Named named;
  for (KeyIndex::Index i = 0; i < 1'000; ++i) {
    const std::string key = std::to_string(i);
    ASSERT_EQ(named.find_or_add(key), std::pair(i, true));
    ASSERT_EQ(named.find_or_add(key), std::pair(i, false));
    ASSERT_EQ(named.size(), i + 1);
  }
  for (KeyIndex::Index i = 0; i < 1'000; ++i) EXPECT_EQ(named.find(std::to_string(i)), i);
}

TEST(KeyIndex, AssignsAKeyThatIsKnownAndOneThatIsNot) {
  Named named;
  for (int i = 0; i < 100; ++i) named.add_again(std::to_string(i));
  for (int i = 0; i < 50; ++i) named.add_again(std::to_string(i));
  EXPECT_EQ(named.size(), 100);
  EXPECT_EQ(named.find("0"), 100);
  EXPECT_EQ(named.find("99"), 99);
}

// Each byte counts, those too that two reads of a word cover, and so does how many there are.
TEST(KeyIndex, TellsKeysApartThatDifferInOneByte) {
  for (const std::size_t size : {1u, 7u, 8u, 9u, 16u, 36u}) {
    KeyIndex index;
    index.insert(std::string(size, 'x'), 0);
    const auto is_compared = [](KeyIndex::Index) { return true; };
    for (std::size_t at = 0; at < size; ++at) {
      std::string key(size, 'x');
      key[at] = 'y';
      EXPECT_EQ(index.find(key, is_compared), KeyIndex::kNone) << key;
    }
    EXPECT_EQ(index.find(std::string(size + 1, 'x'), is_compared), KeyIndex::kNone);
    EXPECT_EQ(index.find(std::string(size, 'x'), is_compared), 0);
  }
}

// As many keys as slots leave a third of the slots empty when they are drawn at random.
TEST(KeyIndex, SpreadsKeysOverTheSlotsThatDifferInAFewBytes) {
  constexpr std::size_t kSlots = 4'096;
  for (const std::string form : {"#", "node-#", "########-0000-0000-0000-000000000000", "00000000-0000-0000-0000-#",
                                 "default/pod-#", "#-and-much-that-follows"}) {
    std::set<std::size_t> homes;
    for (std::size_t i = 0; i < kSlots; ++i) {
      std::string key = form;
      key.replace(key.find('#'), 1, std::to_string(i));
      homes.insert(KeyIndex::hash_of(key) % kSlots);
    }
    EXPECT_GT(homes.size(), kSlots * 6 / 10) << form;
  }
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
