#include "core/framework/node_statuses.h"

#include <gtest/gtest.h>

namespace berth {

namespace {

const Status kFull = Status::unschedulable("full");
const Status kNotNamed = Status::unresolvable("not named");

TEST(NodeStatuses, OneStatusStandsForAllNodesThatHaveNone) {
  NodeStatuses statuses;
  statuses.reset(1000);
  statuses.set(7, kFull);
  statuses.set_others(kNotNamed, {9, 7});
  EXPECT_EQ(statuses.size(), 999u) << "all but node 9";
  EXPECT_EQ(statuses.find(9), nullptr);
  ASSERT_NE(statuses.find(7), nullptr);
  EXPECT_EQ(*statuses.find(7), kFull);
  ASSERT_NE(statuses.find(0), nullptr);
  EXPECT_EQ(*statuses.find(999), kNotNamed);
  EXPECT_EQ(statuses.find(1000), nullptr);
  std::size_t nodes = 0;
  for (const auto& kind : statuses.kinds()) nodes += kind.nodes;
  EXPECT_EQ(nodes, 999u);
}

TEST(NodeStatuses, NobodyIsAmongTheOthersWhereEachNodeHasItsOwn) {
  NodeStatuses statuses;
  statuses.reset(2);
  statuses.set(0, kFull);
  statuses.set_others(kNotNamed, {1});
  EXPECT_EQ(statuses.size(), 1u);
  EXPECT_EQ(statuses.kinds().size(), 1u);
}

TEST(NodeStatuses, GiveWholeGroupsOfNodesOneStatus) {
  NodeStatuses statuses;
  statuses.reset(6);
  statuses.set(5, kFull);
  // Groups 0 and 2 are refused for the same, 1 is not; node 5 is in none.
  statuses.set_groups(std::vector<std::uint32_t>{0, 1, 2, 0, 1, 99}, {&kNotNamed, nullptr, &kNotNamed});
  EXPECT_EQ(statuses.size(), 4u);
  for (const std::size_t index : {0u, 2u, 3u}) {
    ASSERT_NE(statuses.find(index), nullptr);
    EXPECT_EQ(*statuses.find(index), kNotNamed);
  }
  EXPECT_EQ(*statuses.find(5), kFull);
  EXPECT_EQ(statuses.find(1), nullptr);
  ASSERT_EQ(statuses.kinds().size(), 2u);
  EXPECT_EQ(statuses.kinds()[1].nodes, 3u);
  for (const std::size_t index : {0u, 2u, 3u}) statuses.clear(index);
  EXPECT_EQ(statuses.size(), 1u);
}

TEST(NodeStatuses, CountNodesByStatusAsTheyChange) {
  NodeStatuses statuses;
  statuses.reset(4);
  EXPECT_TRUE(statuses.empty());
  statuses.set(1, kFull);
  statuses.set(2, kFull);
  statuses.set(2, kNotNamed);
  statuses.clear(3);
  EXPECT_EQ(statuses.size(), 2u);
  statuses.resize(2);
  EXPECT_EQ(statuses.size(), 1u);
  EXPECT_EQ(statuses.find(2), nullptr);
}

}  // namespace

}  // namespace berth
