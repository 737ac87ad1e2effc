#include "core/placement/live_epochs.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

constexpr Epoch kNext{3, 100};

TEST(LiveEpochsOfANode, HaveTheLowestAsFloorInWhateverOrderTheyCome) {
  LiveEpochs epochs;
  EXPECT_EQ(epochs.floor_of("n1", kNext), kNext);
  epochs.hold("n1", {2, 7}, Text("b"));
  epochs.hold("n1", {1, 9}, Text("a"));
  epochs.hold("n2", {1, 1}, Text("c"));
  EXPECT_EQ(epochs.floor_of("n1", kNext), (Epoch{1, 9}));
  epochs.drop("n1", {1, 9}, "a");
  EXPECT_EQ(epochs.floor_of("n1", kNext), (Epoch{2, 7}));
  epochs.drop("n1", {2, 7}, "b");
  EXPECT_EQ(epochs.floor_of("n1", kNext), kNext);
  EXPECT_EQ(epochs.of("n1"), nullptr);
}

TEST(LiveEpochsOfANode, NameThePodOnlyWhileOneAloneHasTheEpoch) {
  LiveEpochs epochs;
  const Epoch both{1, 5};
  epochs.hold("n1", both, Text("a"));
  epochs.hold("n1", both, Text("a"));  // its row, and its entry
  EXPECT_EQ(epochs.uid_of("n1", both), "a");
  epochs.hold("n1", both, Text("b"));
  EXPECT_EQ(epochs.uid_of("n1", both), "");
  epochs.drop("n1", both, "a");
  EXPECT_EQ(epochs.uid_of("n1", both), "b");
  EXPECT_EQ(epochs.uid_of("n1", {1, 4}), "");
  EXPECT_EQ(epochs.uid_of("n2", both), "");
}

TEST(LiveEpochsOfANode, StayWhenAnotherPodsAreDropped) {
  LiveEpochs epochs;
  epochs.hold("n1", {1, 5}, Text("a"));
  epochs.drop("n1", {1, 5}, "b");
  epochs.drop("n1", {1, 6}, "a");
  epochs.drop("n2", {1, 5}, "a");
  EXPECT_EQ(epochs.uid_of("n1", {1, 5}), "a");
}

}  // namespace
}  // namespace berth
