#include "core/fastpath/ranks.h"
#include "core/fastpath/ranks_draw.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "core/random.h"

namespace berth {

namespace {

const Ranks::Key kLeft{1};
const Ranks::Key kRight{2};

TEST(Ranks, KnowTheBestScoreOfAGroupAndHowManyNodesHaveIt) {
  Ranks ranks;
  ranks.reset(6);
  const auto left = ranks.group(kLeft);
  for (const Ranks::Index index : {4u, 1u}) ranks.put(index, left, 10);
  ranks.put(2, left, 20);
  ranks.put(3, ranks.group(kRight), 5);
  EXPECT_EQ(ranks.size_of(left), 3u);
  EXPECT_EQ(ranks.best_of(left).score, 20);
  EXPECT_EQ(ranks.best_of(left).nodes, 1u);
  ranks.take(2);
  EXPECT_EQ(ranks.best_of(left).score, 10);
  EXPECT_EQ(ranks.best_of(left).nodes, 2u);
  EXPECT_EQ(ranks.key_of(ranks.group_of(3)), kRight);
  EXPECT_FALSE(ranks.contains(5));
}

TEST(Ranks, LoseAGroupWithItsLastNode) {
  Ranks ranks;
  ranks.reset(3);
  ranks.put(1, ranks.group(kLeft), 10);
  ranks.put(1, ranks.group(kRight), 10);
  ASSERT_EQ(ranks.groups().size(), 1u);
  EXPECT_EQ(ranks.key_of(ranks.groups().front()), kRight);
  ranks.take(1);
  ranks.take(1);
  EXPECT_TRUE(ranks.groups().empty());
}

// What Ranks answer, from lists.
class Listed {
 public:
  std::map<Ranks::Index, std::pair<std::int64_t, Ranks::Score>> at;
  std::set<std::int64_t> keys() const {
    std::set<std::int64_t> all;
    for (const auto& [index, node] : at) all.insert(node.first);
    return all;
  }
  Ranks::Score best(std::int64_t key) const {
    Ranks::Score most = -1;
    for (const auto& [index, node] : at) most = node.first == key ? std::max(most, node.second) : most;
    return most;
  }
  std::vector<Ranks::Index> with_best(const std::set<std::int64_t>& asked, Ranks::Index start) const {
    std::map<std::int64_t, Ranks::Score> most;
    for (const std::int64_t key : asked) most[key] = best(key);
    std::vector<Ranks::Index> found;
    const auto from = at.lower_bound(start);
    const auto add = [&](auto first, auto last) {
      for (auto node = first; node != last; ++node) {
        const auto key = most.find(node->second.first);
        if (key != most.end() && key->second == node->second.second) found.push_back(node->first);
      }
    };
    add(from, at.end());
    add(at.begin(), from);
    return found;
  }
};

void compare(Ranks& ranks, const Listed& listed, Random& random, std::size_t nodes) {
  ASSERT_EQ(ranks.groups().size(), listed.keys().size());
  std::set<std::int64_t> asked;
  std::vector<Ranks::Number> numbers;
  for (const Ranks::Number number : ranks.groups()) {
    const std::int64_t key = ranks.key_of(number).front();
    if (ranks.groups().size() > 8 && !random.chance(1, 16)) continue;  // a sample of many
    const std::vector<Ranks::Index> best = listed.with_best({key}, 0);
    ASSERT_EQ(ranks.best_of(number).score, listed.best(key));
    ASSERT_EQ(ranks.best_of(number).nodes, best.size());
    ASSERT_EQ(listed.at.at(ranks.any_of(number)).first, key);
    if (!random.chance(1, 2)) continue;
    asked.insert(key);
    numbers.push_back(number);
  }
  const auto start = static_cast<Ranks::Index>(random.below(nodes));
  const std::vector<Ranks::Index> in_order = listed.with_best(asked, start);
  if (in_order.empty()) return;
  RanksDraw::Scratch scratch;
  for (int i = 0; i < 5; ++i) {
    const std::size_t n = random.below(in_order.size());
    ASSERT_EQ(RanksDraw(ranks, numbers, scratch).nth(n, start), in_order[n]);
  }
}

// A group's number and a score share a word.
TEST(Ranks, GiveNoGroupBeyondTheLastNumber) {
  Ranks ranks;
  ranks.reset(1);
  for (Ranks::Number number = 0; number < Ranks::kMostGroups; ++number) {
    ASSERT_EQ(ranks.group({std::int64_t{number}}), number);
  }
  EXPECT_EQ(ranks.group({std::int64_t{Ranks::kMostGroups}}), Ranks::kNone);
  EXPECT_EQ(ranks.group({7}), 7u);
  ranks.put(0, Ranks::kMostGroups - 1, static_cast<Ranks::Score>(Ranks::kMostScore));
  EXPECT_EQ(ranks.group_of(0), Ranks::kMostGroups - 1);
  EXPECT_EQ(ranks.score_of(0), Ranks::kMostScore);
}

// Sizes around a block, a block of blocks, and a group that is listed; from one group to many.
TEST(Ranks, AnswerAsListsOfAllNodesWhateverChanges) {
  Random random(1);
  for (const std::size_t size : {3u, 64u, 65u, 300u, 1000u, 4096u, 5000u}) {
    for (const std::uint64_t keys : {1u, 2u, 7u, 400u}) {
      std::size_t nodes = size;
      Ranks ranks;
      ranks.reset(nodes);
      Listed listed;
      const bool from_nothing = random.chance(1, 2);
      std::vector<Ranks::Score> scores(nodes, -1);
      std::vector<Ranks::Number> groups(keys == 1 ? 0 : nodes, Ranks::kNone);
      for (std::size_t index = 0; index < nodes && !from_nothing; ++index) {
        // Some groups are large while others are listed.
        const auto key = static_cast<std::int64_t>(random.chance(1, 3) ? 0 : random.below(keys));
        const Ranks::Number number = ranks.group({key});
        if (random.chance(1, 5)) continue;
        if (keys > 1) groups[index] = number;
        scores[index] = static_cast<Ranks::Score>(random.below(4));
        listed.at[static_cast<Ranks::Index>(index)] = {key, scores[index]};
      }
      if (!from_nothing) ranks.fill(scores, groups);
      for (int i = 0; i < 60; ++i) {
        compare(ranks, listed, random, nodes);
        if (::testing::Test::HasFatalFailure()) return;
        for (std::uint64_t changes = 1 + random.below(i % 7 == 0 ? 400 : 3); changes > 0; --changes) {
          const auto index = static_cast<Ranks::Index>(random.below(nodes));
          const auto key = static_cast<std::int64_t>(random.below(keys));
          const auto score = static_cast<Ranks::Score>(random.below(4));
          if (random.chance(1, 4)) {
            ranks.take(index);
            listed.at.erase(index);
          } else {
            ranks.put(index, ranks.group({key}), score);
            listed.at[index] = {key, score};
          }
        }
      }
    }
  }
}

// Nodes may be named twice; below 0, a node is to go.
TEST(Ranks, RescoreWhatStaysInItsGroupAndNameTheOthers) {
  Random random(2);
  for (const std::size_t nodes : {3u, 65u, 300u, 5000u}) {
    for (const std::uint64_t keys : {1u, 7u, 20u}) {
      Ranks ranks;
      ranks.reset(nodes);
      Listed listed;
      for (Ranks::Index index = 0; index < nodes; ++index) {
        if (random.chance(1, 5)) continue;
        const auto key = static_cast<std::int64_t>(random.below(keys));
        ranks.put(index, ranks.group({key}), 1);
        listed.at[index] = {key, 1};
      }
      for (int i = 0; i < 40; ++i) {
        std::vector<Ranks::Index> indices;
        std::vector<Ranks::Score> scores;
        for (std::uint64_t changes = random.below(i % 7 == 0 ? 400 : 3); changes > 0; --changes) {
          indices.push_back(static_cast<Ranks::Index>(random.below(nodes)));
          scores.push_back(static_cast<Ranks::Score>(static_cast<int>(random.below(5)) - 1));
        }
        std::vector<std::size_t> others;
        ranks.rescore(indices, scores, [](Ranks::Index index) { return index % 3 != 0; }, others);
        std::vector<std::size_t> expected;
        for (std::size_t row = 0; row < indices.size(); ++row) {
          const auto found = listed.at.find(indices[row]);
          const bool was = found != listed.at.end();
          if (was && scores[row] >= 0 && indices[row] % 3 != 0) {
            found->second.second = scores[row];
          } else if (was || scores[row] >= 0) {
            expected.push_back(row);
          }
        }
        ASSERT_EQ(others, expected);
        compare(ranks, listed, random, nodes);
        if (::testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

TEST(Ranks, FollowNodesThatComeAndGoAtTheEnd) {
  Ranks ranks;
  ranks.reset(128);
  for (Ranks::Index index = 0; index < 128; ++index) ranks.put(index, ranks.group(kLeft), index == 127 ? 9 : 3);
  for (std::size_t more = 128; more < 400; ++more) {
    ranks.resize(more + 1);
    ranks.put(static_cast<Ranks::Index>(more), ranks.group(kLeft), 3);
  }
  const Ranks::Number group = ranks.groups().front();
  EXPECT_EQ(ranks.best_of(group).score, 9);
  ranks.resize(127);
  EXPECT_EQ(ranks.best_of(group).score, 3);
  EXPECT_EQ(ranks.best_of(group).nodes, 127u);
  EXPECT_FALSE(ranks.contains(126) && ranks.score_of(126) != 3);
}

}  // namespace

}  // namespace berth
