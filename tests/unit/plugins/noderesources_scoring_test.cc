// The strategies of NodeResourcesFit, NodeResourcesBalancedAllocation, and the arguments of both.
#include <gtest/gtest.h>

#include "core/api/node.h"
#include "core/api/pod.h"
#include "plugins/noderesources_balanced_allocation.h"
#include "plugins/noderesources_fit.h"
#include "tests/unit/scheduler/scheduling_fixture.h"

namespace berth {
namespace {

template <class P>
Result<std::unique_ptr<P>> made_of(const std::string& args) {
  FakeHandle handle;
  const Result<Json> json = Json::parse(args);
  CHECK(json.has_value());
  Result<std::unique_ptr<Plugin>> made = P::make(*json, handle);
  if (!made) return made.error();
  return std::unique_ptr<P>(dynamic_cast<P*>(made->release()));
}

template <class P>
std::int64_t score(const std::string& args, const Pod& pod, const NodeInfo& node) {
  const auto plugin = made_of<P>(args);
  CHECK(plugin.has_value());
  CycleState state;
  CHECK((*plugin)->pre_score(state, pod, {}).is_success());
  std::int64_t score = -1;
  CHECK((*plugin)->score(state, pod, node, score).is_success());
  return score;
}

// 4 CPUs, 4Gi, 10 of example.com/gpu, 1000 bytes of ephemeral storage; one pod on it requests `used`.
NodeInfo node_using(const ResourceList& used) {
  Node node = make_node("n1");
  for (const auto& [name, amount] : resources({{"example.com/gpu", "10"}, {"ephemeral-storage", "1000"}})) {
    node.allocatable[name] = amount;
  }
  NodeInfo info = info_of(node);
  if (!used.empty()) info.add_pod(share(make_pod("other", used)));
  return info;
}

std::string strategy(const std::string& type, const std::string& resources, const std::string& shape = "") {
  std::string text = R"({"scoringStrategy":{"type":")" + type + R"(","resources":[)" + resources + "]";
  if (!shape.empty()) text += R"(,"requestedToCapacityRatio":{"shape":[)" + shape + "]}";
  return text + "}}";
}

const char* const kCpu = R"({"name":"cpu"})";
const char* const kCpuAndMemory = R"({"name":"cpu"},{"name":"memory"})";
const char* const kFallingThenRising =
    R"({"utilization":0,"score":10},{"utilization":50,"score":2},{"utilization":100,"score":8})";

struct ScoreCase {
  std::string name;
  std::string args;
  ResourceList used;
  ResourceList requested;
  std::int64_t want;
};

class StrategyTable : public ::testing::TestWithParam<ScoreCase> {};

TEST_P(StrategyTable, ScoresAsUpstream) {
  const ScoreCase& param = GetParam();
  EXPECT_EQ(score<NodeResourcesFit>(param.args, make_pod("p", param.requested), node_using(param.used)), param.want);
}

const ResourceList kOneAndOne = resources({{"cpu", "1"}, {"memory", "1Gi"}});
const ResourceList kGpus = resources({{"cpu", "1"}, {"memory", "1Gi"}, {"example.com/gpu", "3"}});

INSTANTIATE_TEST_SUITE_P(
    Cases, StrategyTable,
    ::testing::Values(
        ScoreCase{"least_by_default", "{}", kOneAndOne, resources({{"cpu", "1"}, {"memory", "2Gi"}}), (50 + 25) / 2},
        ScoreCase{"least_weighted", strategy("LeastAllocated", R"({"name":"cpu","weight":3},{"name":"memory"})"),
                  kOneAndOne, resources({{"cpu", "1"}, {"memory", "2Gi"}}), (3 * 50 + 25) / 4},
        ScoreCase{"listed_twice_counts_twice",
                  strategy("LeastAllocated", R"({"name":"cpu"},{"name":"cpu"},{"name":"memory"})"), kOneAndOne,
                  resources({{"cpu", "1"}, {"memory", "2Gi"}}), (2 * 50 + 25) / 3},
        ScoreCase{"most", strategy("MostAllocated", kCpuAndMemory), kOneAndOne,
                  resources({{"cpu", "1"}, {"memory", "2Gi"}}), (50 + 75) / 2},
        ScoreCase{"most_is_full_above_capacity", strategy("MostAllocated", kCpu), kOneAndOne, resources({{"cpu", "9"}}),
                  100},
        ScoreCase{"extended", strategy("MostAllocated", R"({"name":"example.com/gpu"})"),
                  resources({{"example.com/gpu", "2"}}), kGpus, 50},
        ScoreCase{"extended_not_requested_does_not_count",
                  strategy("MostAllocated", R"({"name":"cpu"},{"name":"example.com/gpu","weight":9})"),
                  resources({{"cpu", "1"}, {"example.com/gpu", "10"}}), kOneAndOne, 50},
        ScoreCase{"storage_not_requested_counts",
                  strategy("LeastAllocated", R"({"name":"ephemeral-storage"})"),
                  resources({{"ephemeral-storage", "400"}}),
                  {},
                  60},
        ScoreCase{"resource_that_no_node_has",
                  strategy("LeastAllocated", R"({"name":"example.com/tpu"})"),
                  {},
                  resources({{"example.com/tpu", "1"}}),
                  0},
        ScoreCase{"shape_at_a_point",
                  strategy("RequestedToCapacityRatio", kCpu, kFallingThenRising),
                  {},
                  resources({{"cpu", "2"}}),
                  20},
        ScoreCase{"shape_between_points", strategy("RequestedToCapacityRatio", kCpu, kFallingThenRising),
                  resources({{"cpu", "1"}}), resources({{"cpu", "2"}}), 20 + (80 - 20) * 25 / 50},
        ScoreCase{"shape_above_capacity",
                  strategy("RequestedToCapacityRatio", kCpu, kFallingThenRising),
                  {},
                  resources({{"cpu", "7"}}),
                  80},
        // 25 twice and 75: the mean, 41.67, is rounded, not truncated.
        ScoreCase{"shape_rounds",
                  strategy("RequestedToCapacityRatio", R"({"name":"cpu","weight":2},{"name":"memory"})",
                           R"({"utilization":0,"score":0},{"utilization":100,"score":10})"),
                  {},
                  resources({{"cpu", "1"}, {"memory", "3Gi"}}),
                  42},
        // A resource that scores 0 does not count in the mean.
        ScoreCase{"shape_leaves_out_zero",
                  strategy("RequestedToCapacityRatio", kCpuAndMemory,
                           R"({"utilization":50,"score":0},{"utilization":100,"score":10})"),
                  {},
                  resources({{"cpu", "1"}, {"memory", "3Gi"}}),
                  50},
        ScoreCase{
            "shape_starts_flat",
            strategy("RequestedToCapacityRatio", kCpu, R"({"utilization":50,"score":3},{"utilization":60,"score":9})"),
            {},
            resources({{"cpu", "1"}}),
            30},
        ScoreCase{"shape_ends_flat",
                  strategy("RequestedToCapacityRatio", kCpu, R"({"utilization":10,"score":7})"),
                  {},
                  resources({{"cpu", "3"}}),
                  70}),
    [](const auto& test) { return test.param.name; });

class BalanceTable : public ::testing::TestWithParam<ScoreCase> {};

TEST_P(BalanceTable, ScoresAsUpstream) {
  const ScoreCase& param = GetParam();
  const Pod pod = make_pod("p", param.requested);
  EXPECT_EQ(score<NodeResourcesBalancedAllocation>(param.args, pod, node_using(param.used)), param.want);
}

const char* const kWithGpu = R"({"resources":[{"name":"cpu"},{"name":"memory"},{"name":"example.com/gpu"}]})";

INSTANTIATE_TEST_SUITE_P(
    Cases, BalanceTable,
    ::testing::Values(
        ScoreCase{"even", "{}", kOneAndOne, kOneAndOne, 100},
        ScoreCase{"two", "{}", {}, resources({{"cpu", "1"}, {"memory", "3Gi"}}), 75},
        ScoreCase{"shares_end_at_one", "{}", {}, resources({{"cpu", "8"}, {"memory", "2Gi"}}), 75},
        ScoreCase{"counts_actual_requests_only", "{}", {}, resources({{"cpu", "2"}}), 75},
        // Shares 0.25, 0.25, 0.3: the deviation is 0.02357, truncated, not rounded.
        ScoreCase{"three", kWithGpu, {}, kGpus, 97},
        ScoreCase{"extended_not_requested_does_not_count", kWithGpu, resources({{"example.com/gpu", "10"}}),
                  resources({{"cpu", "1"}, {"memory", "3Gi"}}), 75},
        ScoreCase{"one_alone_is_even", R"({"resources":[{"name":"cpu"}]})", {}, resources({{"cpu", "3"}}), 100}),
    [](const auto& test) { return test.param.name; });

TEST(BalancedAllocation, IsSkippedForAPodThatRequestsNone) {
  const auto plugin = made_of<NodeResourcesBalancedAllocation>(R"({"resources":[{"name":"cpu"}]})");
  ASSERT_TRUE(plugin.has_value());
  CycleState state;
  EXPECT_TRUE((*plugin)->pre_score(state, make_pod("p", resources({{"memory", "1Gi"}})), {}).is_skip());
}

// As upstream: Fit's score ignores spec.resources of the pod being scheduled, balanced allocation counts it.
TEST(PodLevelRequests, OfThePodBeingScheduledCountForBalanceOnly) {
  Pod pod = make_pod("p", resources({{"cpu", "1"}, {"memory", "1Gi"}}));
  pod.spec.edit().requests = resources({{"cpu", "3"}});
  EXPECT_EQ(score<NodeResourcesFit>("{}", pod, node_using({})), 75);
  EXPECT_EQ(score<NodeResourcesBalancedAllocation>("{}", pod, node_using({})), 75);
}

TEST(IgnoredResources, AreNotRequiredOfTheNode) {
  const auto plugin =
      made_of<NodeResourcesFit>(R"({"ignoredResources":["example.com/foo"],"ignoredResourceGroups":["ignored.io"]})");
  ASSERT_TRUE(plugin.has_value()) << plugin.error().message();
  const auto message = [&](const std::string& resource) {
    CycleState state;
    PreFilterResult result;
    CHECK((*plugin)->pre_filter(state, make_pod("p", resources({{resource, "1"}})), {}, result).is_success());
    return (*plugin)->filter(state, make_pod("p"), info_of(make_node("n1"))).message();
  };
  EXPECT_EQ(message("example.com/foo"), "");
  EXPECT_EQ(message("ignored.io/any"), "");
  EXPECT_EQ(message("example.com/bar"), "Insufficient example.com/bar");
  EXPECT_EQ(message("sub.ignored.io/any"), "Insufficient sub.ignored.io/any");
}

TEST(IgnoredResources, AreExtendedOnesOnly) {
  const auto plugin = made_of<NodeResourcesFit>(
      R"({"ignoredResources":["cpu","hugepages-2Mi"],"ignoredResourceGroups":["kubernetes.io"]})");
  ASSERT_TRUE(plugin.has_value()) << plugin.error().message();
  CycleState state;
  PreFilterResult result;
  const Pod pod = make_pod("p", resources({{"cpu", "9"}, {"hugepages-2Mi", "2Mi"}, {"kubernetes.io/x", "1"}}));
  ASSERT_TRUE((*plugin)->pre_filter(state, pod, {}, result).is_success());
  EXPECT_EQ((*plugin)->filter(state, pod, info_of(make_node("n1"))).message(),
            "Insufficient cpu, Insufficient hugepages-2Mi, Insufficient kubernetes.io/x");
}

struct WrongArguments {
  std::string name;
  std::string args;
  std::string want;  // how the error begins
};

class FitArgumentTable : public ::testing::TestWithParam<WrongArguments> {};

TEST_P(FitArgumentTable, RejectsWhatUpstreamRejects) {
  const auto plugin = made_of<NodeResourcesFit>(GetParam().args);
  ASSERT_FALSE(plugin.has_value());
  EXPECT_TRUE(plugin.error().message().starts_with(GetParam().want)) << plugin.error().message();
}

INSTANTIATE_TEST_SUITE_P(
    Cases, FitArgumentTable,
    ::testing::Values(
        WrongArguments{"unknown_field", R"({"scoringStrategie":{}})", "args.scoringStrategie: "},
        WrongArguments{"no_type", R"({"scoringStrategy":{}})", "args.scoringStrategy.type: "},
        WrongArguments{"unknown_type", strategy("Random", kCpu), "args.scoringStrategy.type: "},
        WrongArguments{"weight_below_range", strategy("LeastAllocated", R"({"name":"cpu","weight":-1})"),
                       "args.scoringStrategy.resources[0].weight: "},
        WrongArguments{"weight_above_range", strategy("LeastAllocated", R"({"name":"cpu","weight":101})"),
                       "args.scoringStrategy.resources[0].weight: "},
        WrongArguments{"resource_without_name", strategy("LeastAllocated", R"({"weight":1})"),
                       "args.scoringStrategy.resources[0].name: "},
        WrongArguments{"no_shape", strategy("RequestedToCapacityRatio", kCpu),
                       "args.scoringStrategy.requestedToCapacityRatio: "},
        WrongArguments{"empty_shape",
                       R"({"scoringStrategy":{"type":"LeastAllocated","requestedToCapacityRatio":{"shape":[]}}})",
                       "args.scoringStrategy.requestedToCapacityRatio.shape: "},
        WrongArguments{
            "shape_not_ascending",
            strategy("RequestedToCapacityRatio", kCpu, R"({"utilization":10,"score":1},{"utilization":10,"score":2})"),
            "args.scoringStrategy.requestedToCapacityRatio.shape[1].utilization: "},
        WrongArguments{"utilization_above_range",
                       strategy("RequestedToCapacityRatio", kCpu, R"({"utilization":101,"score":1})"),
                       "args.scoringStrategy.requestedToCapacityRatio.shape[0].utilization: "},
        WrongArguments{"score_above_range",
                       strategy("RequestedToCapacityRatio", kCpu, R"({"utilization":1,"score":11})"),
                       "args.scoringStrategy.requestedToCapacityRatio.shape[0].score: "},
        WrongArguments{"ignored_name", R"({"ignoredResources":["a b"]})", "args.ignoredResources[0]: "},
        WrongArguments{"ignored_group_with_slash", R"({"ignoredResourceGroups":["ok.io","example.com/x"]})",
                       "args.ignoredResourceGroups[1]: "}),
    [](const auto& test) { return test.param.name; });

TEST(BalancedAllocationArguments, RejectWhatUpstreamRejects) {
  const auto why = [](const std::string& args) {
    const auto plugin = made_of<NodeResourcesBalancedAllocation>(args);
    return plugin ? std::string() : plugin.error().message();
  };
  EXPECT_TRUE(why(R"({"resources":[{"name":"cpu","weight":2}]})").starts_with("args.resources[0].weight: "));
  EXPECT_TRUE(why(R"({"resources":[{"name":"cpu"},{"name":"cpu"}]})").starts_with("args.resources[1].name: "));
  EXPECT_TRUE(why(R"({"resource":[]})").starts_with("args.resource: "));
  EXPECT_EQ(why(R"({"resources":[{"name":"cpu","weight":1}]})"), "");
}

TEST(ResourceArguments, AreReportedWithDefaults) {
  const auto fit = made_of<NodeResourcesFit>("{}");
  ASSERT_TRUE(fit.has_value());
  EXPECT_EQ((*fit)->args(), *Json::parse(R"({"scoringStrategy":{"resources":[{"name":"cpu","weight":1},
      {"name":"memory","weight":1}],"type":"LeastAllocated"}})"));
  const std::string given = R"({"scoringStrategy":{"resources":[{"name":"cpu","weight":2}],
      "type":"RequestedToCapacityRatio","requestedToCapacityRatio":{"shape":[{"utilization":5,"score":7}]}},
      "ignoredResources":["example.com/a"]})";
  const auto ratio = made_of<NodeResourcesFit>(given);
  ASSERT_TRUE(ratio.has_value());
  EXPECT_EQ((*ratio)->args(), *Json::parse(given));
  const auto balanced = made_of<NodeResourcesBalancedAllocation>("{}");
  ASSERT_TRUE(balanced.has_value());
  EXPECT_EQ((*balanced)->args(),
            *Json::parse(R"({"resources":[{"name":"cpu","weight":1},{"name":"memory","weight":1}]})"));
}

}  // namespace
}  // namespace berth
