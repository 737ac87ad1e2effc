#include "core/fastpath/candidates.h"

#include <gtest/gtest.h>

namespace berth {

namespace {

using Indices = Candidates::Indices;

const Candidates::Key kLeft{1};
const Candidates::Key kRight{2};

TEST(Candidates, KeepsNodesInGroupsByScore) {
  Candidates candidates;
  candidates.reset(6);
  candidates.put(4, kLeft, 10);
  candidates.put(1, kLeft, 10);
  candidates.put(2, kLeft, 20);
  candidates.put(3, kRight, 5);
  const auto& left = candidates.groups().at(kLeft);
  EXPECT_EQ(left.size, 3u);
  EXPECT_EQ(left.by_score.begin()->first, 20);
  EXPECT_EQ(left.by_score.at(10), (Indices{1, 4}));
  EXPECT_EQ(left.any(), 2u);
  EXPECT_EQ(candidates.group_of(3), &candidates.groups().at(kRight));
  EXPECT_EQ(candidates.group_of(5), nullptr);
}

TEST(Candidates, LosesAGroupWithItsLastNode) {
  Candidates candidates;
  candidates.reset(3);
  candidates.put(1, kLeft, 10);
  candidates.put(1, kRight, 10);
  EXPECT_FALSE(candidates.groups().contains(kLeft));
  candidates.take(1);
  candidates.take(1);
  EXPECT_TRUE(candidates.groups().empty());
  EXPECT_FALSE(candidates.contains(1));
}

TEST(Candidates, FollowNodesThatTakeOtherPlaces) {
  Candidates candidates;
  candidates.reset(4);
  candidates.put(0, kLeft, 10);
  candidates.put(1, kLeft, 10);
  candidates.put(3, kRight, 7);
  candidates.move({Candidates::kNew, 1, 2, 0});  // 3 left, one came to 0
  EXPECT_EQ(candidates.groups().size(), 1u);
  EXPECT_EQ(candidates.groups().at(kLeft).by_score.at(10), (Indices{1, 3}));
  EXPECT_FALSE(candidates.contains(0));
  EXPECT_FALSE(candidates.contains(2));
  EXPECT_EQ(candidates.score_of(3), 10);
}

TEST(NthIndex, CountsOverAllListsFromTheStartOnAndRound) {
  const Indices even{0, 2, 4, 6};
  const Indices odd{1, 5};
  const std::vector<const Indices*> both{&even, &odd};
  const std::vector<Candidates::Index> in_order{2, 4, 5, 6, 0, 1};
  for (std::size_t n = 0; n < in_order.size(); ++n) EXPECT_EQ(nth_index(both, n, 2), in_order[n]) << n;
  EXPECT_EQ(nth_index({&even}, 1, 5), 0u);
  EXPECT_EQ(nth_index({&even}, 0, 7), 0u);
}

}  // namespace

}  // namespace berth
