#include "core/framework/changed_rows.h"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string>

#include "core/random.h"
#include "tests/unit/scheduler/scheduling_fixture.h"

namespace berth {

namespace {

constexpr int kNodes = 200;

class ChangedRowsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (int i = 0; i < kNodes; ++i) cache.set_node(share(node(i)));
    cache.update_snapshot(snapshot);
  }
  static std::string name_of(int number) { return "n" + std::to_string(number); }
  static Node node(int number, const std::string& cpu = "8") {
    Node made = make_node(name_of(number));
    made.allocatable["cpu"] = quantity(cpu);
    return made;
  }
  void place(int number, const std::string& cpu = "100m") {
    cache.confirm(share(make_pod("pod-" + std::to_string(pods++), resources({{"cpu", cpu}}))), name_of(number));
    cache.update_snapshot(snapshot);
  }
  void set(int number, const std::string& cpu) {
    cache.set_node(share(node(number, cpu)));
    cache.update_snapshot(snapshot);
  }
  // The last row of each node has what its node has now.
  void compare(std::int64_t noted) {
    const Rows rows = changed.since(snapshot, noted);
    const auto indices = snapshot.changed().since(noted);
    ASSERT_EQ(rows.size(), indices.size());
    const NodeColumns& columns = snapshot.columns();
    std::set<std::size_t> seen;
    for (std::size_t row = rows.size(); row-- > 0;) {
      ASSERT_EQ(rows[row], indices[row]);
      ASSERT_EQ(rows.is_last(row), seen.insert(rows[row]).second);
      if (!rows.is_last(row)) continue;
      for (const auto resource : {NodeColumns::milli_cpu, NodeColumns::memory}) {
        const NodeColumns::OfResource& column = columns.of(resource);
        const Rows::OfResource of = rows.of(resource);
        ASSERT_EQ(of.allocatable[row], column.allocatable[rows[row]]);
        ASSERT_EQ(of.requested[row], column.requested[rows[row]]);
        ASSERT_EQ(of.requested_for_scoring[row], column.requested_for_scoring[rows[row]]);
        ASSERT_EQ(of.reciprocal[row], column.reciprocal[rows[row]]);
        ASSERT_EQ(of.inexact, column.inexact);
        ASSERT_EQ(of.without, column.without);
      }
      ASSERT_EQ(rows.full()[row], columns.full()[rows[row]]);
    }
  }
  std::int64_t made() const { return snapshot.changed().made(); }

  Cache cache;
  Snapshot snapshot;
  ChangedRows changed;
  int pods = 0;
};

TEST_F(ChangedRowsTest, HaveWhatTheNodesHaveForEachWhoFollowsThem) {
  Random random(1);
  std::array<std::int64_t, 3> noted{};
  noted.fill(made());
  for (int i = 0; i < 2000; ++i) {
    place(static_cast<int>(random.below(kNodes)));
    if (random.chance(1, 8)) set(static_cast<int>(random.below(kNodes)), random.chance(1, 2) ? "4" : "8");
    std::int64_t& one = noted[random.below(noted.size())];
    if (snapshot.changed().reaches(one)) compare(one);
    if (::testing::Test::HasFatalFailure()) return;
    one = made();
  }
}

TEST_F(ChangedRowsTest, StartAgainWhenNodesAreNumberedAfresh) {
  const std::int64_t before = made();
  place(1);
  compare(before);
  for (int i = 0; i < kNodes / 2; ++i) cache.remove_node(name_of(i + 50));
  cache.update_snapshot(snapshot);
  ASSERT_FALSE(snapshot.changed().reaches(before));
  const std::int64_t after = made();
  place(2);
  place(3);
  compare(after);
}

TEST_F(ChangedRowsTest, AreCopiedAgainWhereANodeHadAmountsThatNoLoopTakes) {
  for (const char* special : {"0", "100000000000"}) {
    const std::int64_t noted = made();
    set(5, special);
    place(6);
    compare(noted);
    set(5, "8");
    compare(noted);
    const Rows rows = changed.since(snapshot, noted);
    const Rows::OfResource cpu = rows.of(NodeColumns::milli_cpu);
    for (std::size_t row = 0; row < rows.size(); ++row) EXPECT_EQ(cpu.allocatable[row], 8000) << special << row;
  }
}

}  // namespace

}  // namespace berth
