// The batch methods of the resource plugins give the same answers as the methods for one node, for any amounts.
#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <string>
#include <vector>

#include "core/api/node.h"
#include "core/api/pod.h"
#include "core/random.h"
#include "plugins/noderesources_balanced_allocation.h"
#include "plugins/noderesources_fit.h"
#include "tests/unit/rounds.h"
#include "tests/unit/scheduler/scheduling_fixture.h"

namespace berth {
namespace {

constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();

class ResourceColumnsTest : public ::testing::Test {
 protected:
  std::int64_t one_of(const std::vector<std::int64_t>& amounts) { return amounts[random.below(amounts.size())]; }

  // Half of all clusters have only amounts that fit into columns.
  std::int64_t capacity() {
    const std::int64_t any = static_cast<std::int64_t>(random.next() >> (18 + random.below(46)));
    const std::vector<std::int64_t> small = {0, 1, 2, 3, 7, 100, 4000, any, any, any, (std::int64_t{1} << 46) - 1};
    const std::vector<std::int64_t> large = {std::int64_t{1} << 46,
                                             std::int64_t{1} << 53,
                                             (std::int64_t{1} << 53) + 1,
                                             kLargest / 100,
                                             kLargest / 100 + 1,
                                             kLargest - 1,
                                             kLargest};
    return large_amounts && random.chance(1, 4) ? one_of(large) : one_of(small);
  }

  // Close to `whole`, or anywhere below; the sum of two does not overflow.
  std::int64_t amount(std::int64_t whole) {
    const std::int64_t most = std::min(whole, kLargest / 2 - 1);
    const auto below = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(most) + 1));
    return one_of({0, 1, std::max<std::int64_t>(most - 1, 0), most, most + 1, below, below, most / 2});
  }

  ResourceList amounts(const std::array<std::int64_t, 3>& of) {
    return {{"cpu", Quantity::from_milli(of[0])}, {"memory", Quantity(of[1])}, {"ephemeral-storage", Quantity(of[2])}};
  }

  void make_cluster() {
    Cache cache;
    snapshot = Snapshot();
    std::array<std::int64_t, 3> capacities{};
    for (int i = 0; i < 16; ++i) {
      const std::string name = "n" + std::to_string(i);
      for (std::int64_t& each : capacities) each = capacity();
      Node node = make_node(name);
      for (const auto& [resource, quantity] : amounts(capacities)) node.allocatable[resource] = quantity;
      node.allocatable["pods"] = Quantity(random.chance(1, 4) ? 1 : 2);
      cache.set_node(share(std::move(node)));
      const std::array used = {amount(capacities[0]), amount(capacities[1]), amount(capacities[2])};
      if (random.chance(7, 8)) cache.confirm(share(make_pod("on-" + name, amounts(used))), name);
    }
    cache.update_snapshot(snapshot);
    pod = make_pod("pod", amounts({amount(capacities[0]), amount(capacities[1]), amount(capacities[2])}));
    if (random.chance(1, 4)) pod.spec.edit().containers[0].requests.clear();
  }

  template <class P>
  void compare_scores(const std::string& args) {
    FakeHandle handle;
    const Result<Json> json = Json::parse(args);
    ASSERT_TRUE(json.has_value());
    const auto made = P::make(*json, handle);
    ASSERT_TRUE(made.has_value()) << made.error().message();
    auto& plugin = dynamic_cast<P&>(**made);
    CycleState state;
    if (plugin.pre_score(state, pod, {}).is_skip()) return;
    std::vector<std::int32_t> all(snapshot.nodes().size());
    if (!plugin.score_rows(state, pod, snapshot, Rows::all(snapshot), all.data())) return;
    std::vector<std::int32_t> some(some_rows.size());
    ASSERT_TRUE(plugin.score_rows(state, pod, snapshot, Rows::at(snapshot, some_rows, copies), some.data()));
    for (std::size_t row = 0; row < some.size(); ++row) ASSERT_EQ(some[row], all[some_rows[row]]);
    ++batches;
    for (std::size_t i = 0; i < all.size(); ++i) {
      std::int64_t one = -1;
      ASSERT_TRUE(plugin.score(state, pod, *snapshot.nodes()[i], one).is_success());
      ASSERT_EQ(all[i], one) << args << " " << describe(i);
      // A row alone is read from the node, several from the columns.
      const auto index = static_cast<std::uint32_t>(i);
      std::int32_t alone = -1;
      ASSERT_TRUE(plugin.score_rows(state, pod, snapshot, Rows::at(snapshot, {&index, 1}, copies), &alone));
      ASSERT_EQ(all[i], alone) << args << " " << describe(i);
    }
  }

  void compare_filter() {
    NodeResourcesFit plugin{FitArguments{}};
    CycleState state;
    PreFilterResult narrowed;
    ASSERT_TRUE(plugin.pre_filter(state, pod, snapshot, narrowed).is_success());
    std::vector<std::uint8_t> all(snapshot.nodes().size());
    if (!plugin.filter_rows(state, pod, snapshot, Rows::all(snapshot), all.data())) return;
    std::vector<std::uint8_t> some(some_rows.size());
    ASSERT_TRUE(plugin.filter_rows(state, pod, snapshot, Rows::at(snapshot, some_rows, copies), some.data()));
    for (std::size_t row = 0; row < some.size(); ++row) ASSERT_EQ(some[row], all[some_rows[row]]);
    ++batches;
    for (std::size_t i = 0; i < all.size(); ++i) {
      ASSERT_EQ(all[i] == 0, plugin.filter(state, pod, *snapshot.nodes()[i]).is_success()) << describe(i);
      const auto index = static_cast<std::uint32_t>(i);
      std::uint8_t alone = 0;
      ASSERT_TRUE(plugin.filter_rows(state, pod, snapshot, Rows::at(snapshot, {&index, 1}, copies), &alone));
      ASSERT_EQ(all[i], alone) << describe(i);
    }
  }

  std::string describe(std::size_t i) const {
    const auto text = [](const Resources& of) {
      return " " + std::to_string(of.milli_cpu) + " " + std::to_string(of.memory) + " " +
             std::to_string(of.ephemeral_storage);
    };
    const NodeInfo& node = *snapshot.nodes()[i];
    return "allocatable" + text(node.allocatable) + ", requested" + text(node.requested) + ", pod" +
           text(pod_requests(pod));
  }

  Random random{1};
  bool large_amounts = false;
  int batches = 0;  // calls that evaluated all nodes at once
  Snapshot snapshot;
  const std::vector<std::uint32_t> some_rows{5, 0, 3, 3};
  Rows::Copies copies;
  Pod pod;
};

constexpr const char* kThree = R"([{"name":"cpu"},{"name":"memory"},{"name":"ephemeral-storage"}])";
constexpr const char* kTwice =
    R"([{"name":"cpu","weight":3},{"name":"memory","weight":7},{"name":"cpu","weight":100}])";
constexpr const char* kShape = R"("requestedToCapacityRatio":{"shape":[{"utilization":10,"score":10},
    {"utilization":37,"score":0},{"utilization":90,"score":7}]},)";

std::string strategy_of(const std::string& type, const std::string& resources) {
  const std::string shape = type == "RequestedToCapacityRatio" ? kShape : "";
  return R"({"scoringStrategy":{"type":")" + type + R"(",)" + shape + R"("resources":)" + resources + "}}";
}

TEST_F(ResourceColumnsTest, AnswerForAllNodesAsForOne) {
  for (int round = 0; round < rounds(3000); ++round) {
    large_amounts = random.chance(1, 2);
    make_cluster();
    compare_filter();
    compare_scores<NodeResourcesFit>("{}");
    for (const char* type : {"LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"}) {
      compare_scores<NodeResourcesFit>(strategy_of(type, kThree));
      compare_scores<NodeResourcesFit>(strategy_of(type, kTwice));
      compare_scores<NodeResourcesFit>(strategy_of(type, R"([{"name":"memory"},{"name":"example.com/gpu"}])"));
    }
    compare_scores<NodeResourcesBalancedAllocation>("{}");
    compare_scores<NodeResourcesBalancedAllocation>(R"({"resources":)" + std::string(kThree) + "}");
    compare_scores<NodeResourcesBalancedAllocation>(R"({"resources":[{"name":"memory"}]})");
    if (HasFatalFailure()) FAIL() << "round " << round;
  }
  EXPECT_GT(batches, rounds(3000) * 4);
}

}  // namespace
}  // namespace berth
