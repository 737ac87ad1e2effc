#include <gtest/gtest.h>

#include <limits>

#include "core/api/pod.h"
#include "core/api/policy.h"
#include "tests/unit/plugins/preemption_fixture.h"

namespace berth {
namespace {

using Names = std::vector<std::string>;

constexpr std::int32_t kLowest = std::numeric_limits<std::int32_t>::min();

class PreemptionTest : public ::testing::Test {
 protected:
  // A pod of priority 100 that requests `cpu`.
  Pod preemptor(const std::string& cpu = "4") {
    Pod pod = make_pod("preemptor", resources({{"cpu", cpu}}));
    pod.priority = 100;
    return pod;
  }
  std::string post_filter_message(const Pod& pod) { return cluster.attempt(pod).diagnosis.post_filter_message; }
  // Terminating because of an earlier preemption.
  void run_terminating(const std::string& name, const std::string& node, std::int32_t priority) {
    Pod pod = cluster.make(name, priority, "4");
    pod.metadata.deleting = true;
    pod.preempted = true;
    cluster.cache.confirm(share(std::move(pod)), node);
  }
  PreemptionCluster cluster;
};

TEST_F(PreemptionTest, NominatesTheNodeAndNamesTheVictims) {
  cluster.add_node("n1");
  cluster.add_node("n2");
  cluster.run("low", "n1", 1);
  cluster.run("high", "n2", 100);
  const ScheduleResult result = cluster.attempt(preemptor());
  EXPECT_EQ(result.status.code(), Code::unschedulable);
  EXPECT_EQ(result.nominated_node, "n1");
  EXPECT_EQ(names(result.victims), Names({"low"}));
  EXPECT_EQ(result.diagnosis.message(), "0/2 nodes are available: 2 Insufficient cpu.");
}

TEST_F(PreemptionTest, NeverTouchesPodsOfTheSamePriority) {
  cluster.add_node("n1");
  cluster.run("equal", "n1", 100);
  const ScheduleResult result = cluster.attempt(preemptor());
  EXPECT_EQ(result.nominated_node, "");
  EXPECT_TRUE(result.victims.empty());
  EXPECT_EQ(result.diagnosis.post_filter_message,
            "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.");
}

TEST_F(PreemptionTest, ObeysThePolicyNeverAndKeepsTheNomination) {
  cluster.add_node("n1");
  cluster.run("low", "n1", 1);
  Pod pod = preemptor();
  pod.spec.edit().never_preempts = true;
  const ScheduleResult result = cluster.attempt(pod);
  EXPECT_EQ(result.nominated_node, std::nullopt);
  EXPECT_EQ(result.diagnosis.post_filter_message, "preemption: not eligible due to preemptionPolicy=Never.");
}

TEST_F(PreemptionTest, WaitsForVictimsThatTerminate) {
  cluster.add_node("n1");
  run_terminating("going", "n1", 1);
  Pod pod = preemptor();
  pod.nominated_node_name = "n1";
  const ScheduleResult result = cluster.attempt(pod);
  EXPECT_EQ(result.nominated_node, std::nullopt);
  EXPECT_EQ(result.diagnosis.post_filter_message,
            "preemption: not eligible due to a terminating pod on the nominated node.");
}

TEST_F(PreemptionTest, WaitsForResourcesStillChargedToTheNominatedNode) {
  cluster.add_node("n1");
  cluster.run("low", "n1", 1, "1");
  cluster.cache.charge("n1", "uid/1.1", to_resources(resources({{"cpu", "1"}})));
  Pod pod = preemptor();
  pod.nominated_node_name = "n1";
  EXPECT_EQ(post_filter_message(pod), "preemption: not eligible due to a terminating pod on the nominated node.");
}

TEST_F(PreemptionTest, DoesNotWaitForPodsThatTerminateForAnotherReason) {
  cluster.add_node("n1");
  Pod going = cluster.make("going", 1, "4");
  going.metadata.deleting = true;
  cluster.cache.confirm(share(std::move(going)), "n1");
  Pod pod = preemptor();
  pod.nominated_node_name = "n1";
  EXPECT_EQ(cluster.attempt(pod).nominated_node, "n1");
}

TEST_F(PreemptionTest, DoesNotWaitForATerminatingPodOfHigherPriority) {
  cluster.add_node("n1", "8");
  run_terminating("going", "n1", 200);
  cluster.run("low", "n1", 1);
  Pod pod = preemptor();
  pod.nominated_node_name = "n1";
  EXPECT_EQ(names(cluster.attempt(pod).victims), Names({"low"}));
}

TEST_F(PreemptionTest, LooksElsewhereWhenTheNominatedNodeCanNotBecomeFeasible) {
  cluster.add_node("n1", "1");
  cluster.add_node("n2");
  run_terminating("going", "n1", 1);
  cluster.run("low", "n2", 1);
  Pod pod = preemptor();
  pod.nominated_node_name = "n1";
  EXPECT_EQ(cluster.attempt(pod).nominated_node, "n2");
}

TEST_F(PreemptionTest, LooksElsewhereWhenTheNominatedNodeIsGone) {
  cluster.add_node("n1");
  cluster.run("low", "n1", 1);
  Pod pod = preemptor();
  pod.nominated_node_name = "ghost";
  EXPECT_EQ(cluster.attempt(pod).nominated_node, "n1");
}

TEST_F(PreemptionTest, ExplainsWhyNoNodeHelps) {
  cluster.add_node("small", "1");
  cluster.add_node("same");
  cluster.run("equal", "same", 100);
  cluster.add_node("mixed");
  cluster.run("strong", "mixed", 100, "2");
  cluster.run("weak", "mixed", 1, "2");
  EXPECT_EQ(post_filter_message(preemptor()),
            "preemption: 0/3 nodes are available: 1 Insufficient cpu, 1 No preemption victims found for incoming pod, "
            "1 Preemption is not helpful for scheduling.");
}

TEST_F(PreemptionTest, SparesTheMostImportantPods) {
  cluster.add_node("n1");
  cluster.run("p3", "n1", 3, "1");
  cluster.run("p1", "n1", 1, "1");
  cluster.run("young", "n1", 2, "1", 2000);
  cluster.run("old", "n1", 2, "1", 1000);
  EXPECT_EQ(names(cluster.attempt(preemptor("2")).victims), Names({"young", "p1"}));
}

TEST_F(PreemptionTest, TreatsAPodThatHasNotStartedAsTheYoungest) {
  cluster.add_node("n1");
  Pod pod = cluster.make("starting", 1, "2");
  pod.start_time.reset();
  cluster.cache.confirm(share(std::move(pod)), "n1");
  cluster.run("started", "n1", 1, "2", 9'000'000'000'000);
  EXPECT_EQ(names(cluster.attempt(preemptor("2")).victims), Names({"starting"}));
}

TEST_F(PreemptionTest, SparesPodsProtectedByABudgetBeforeMoreImportantOnes) {
  cluster.add_node("n1");
  cluster.run("high", "n1", 9, "2");
  cluster.run("low", "n1", 1, "2");
  cluster.protect({"low"});
  EXPECT_EQ(names(cluster.attempt(preemptor("2")).victims), Names({"high"}));
}

TEST_F(PreemptionTest, OrdersVictimsThatViolateABudgetAndOthersByImportance) {
  cluster.add_node("n1");
  cluster.run("high", "n1", 9, "2");
  cluster.run("low", "n1", 1, "2");
  cluster.protect({"low"});
  CycleState state;
  EXPECT_EQ(names(cluster.attempt(preemptor("4"), state).victims), Names({"high", "low"}));
  EXPECT_EQ(state.read<PreemptionRecord>()->candidates().at(0)->candidate.pdb_violations, 1);
}

TEST_F(PreemptionTest, RespectsPodsNominatedToTheNode) {
  cluster.add_node("n1");
  cluster.run("a", "n1", 2, "2");
  cluster.run("b", "n1", 1, "2");
  Pod waiting = cluster.make("waiting", 100, "2");
  cluster.nominations.add(share(std::move(waiting)), "n1");
  EXPECT_EQ(names(cluster.attempt(preemptor("2")).victims), Names({"a", "b"}));
}

TEST_F(PreemptionTest, LeavesTheSnapshotAsItWas) {
  cluster.add_node("n1");
  cluster.run("low", "n1", 1);
  static_cast<void>(cluster.attempt(preemptor()));
  EXPECT_EQ(cluster.snapshot().find("n1")->pods.size(), 1u);
  EXPECT_EQ(cluster.snapshot().find("n1")->requested.milli_cpu, 4000);
}

struct Victim {
  std::string name;
  std::int32_t priority;
  std::int64_t start = 1000;
  std::string cpu = "1";
};
struct ChoiceCase {
  std::string name;
  std::string cpu;  // of each node, and requested by the pod: every pod on the chosen node is a victim
  std::vector<Victim> on_n1, on_n2;
  std::string chosen;
  Names protect = {};
};
void PrintTo(const ChoiceCase& test_case, std::ostream* out) { *out << test_case.name; }

class PreemptionChoice : public ::testing::TestWithParam<ChoiceCase> {};

TEST_P(PreemptionChoice, TakesTheNodeOfTheLowestCost) {
  PreemptionCluster cluster;
  for (const auto& [node, victims] : {std::pair("n1", GetParam().on_n1), std::pair("n2", GetParam().on_n2)}) {
    cluster.add_node(node, GetParam().cpu);
    for (const Victim& victim : victims) cluster.run(victim.name, node, victim.priority, victim.cpu, victim.start);
  }
  if (!GetParam().protect.empty()) cluster.protect(GetParam().protect);
  Pod pod = make_pod("preemptor", resources({{"cpu", GetParam().cpu}}));
  pod.priority = 100;
  EXPECT_EQ(cluster.attempt(pod).nominated_node, GetParam().chosen);
}

INSTANTIATE_TEST_SUITE_P(
    Criteria, PreemptionChoice,
    ::testing::Values(
        ChoiceCase{"FewestBudgetsViolated", "1", {{"a", 1}}, {{"b", 50}}, "n2", {"a"}},
        ChoiceCase{"LowestOfTheHighestPriorities", "2", {{"a", 5}, {"b", -9}}, {{"c", 4}, {"d", 4}}, "n2"},
        ChoiceCase{"LowestSumOfPriorities", "2", {{"a", 5}, {"b", 4}}, {{"c", 5}, {"d", 3}}, "n2"},
        ChoiceCase{"FewPodsOfNegativePriority", "2", {{"a", -5}, {"b", -5}}, {{"c", -5, 1000, "2"}}, "n2"},
        ChoiceCase{
            "SumBeforeNumber", "3", {{"a", 5}, {"b", kLowest}, {"c", kLowest}}, {{"d", 5}, {"e", -3, 1000, "2"}}, "n1"},
        ChoiceCase{"FewestVictims", "2", {{"a", 5}, {"b", kLowest}}, {{"c", 5, 1000, "2"}}, "n2"},
        ChoiceCase{"LatestStart", "1", {{"a", 5, 1000}}, {{"b", 5, 2000}}, "n2"},
        ChoiceCase{"LatestOfTheEarliestStartsOfTheHighest",
                   "3",
                   {{"a", 5, 1500}, {"b", 5, 9000}, {"c", 1, 9000}},
                   {{"d", 5, 2000}, {"e", 5, 2000}, {"f", 1, 1000}},
                   "n2"},
        ChoiceCase{"TheFirstOfATie", "1", {{"a", 5}}, {{"b", 5}}, "n1"}),
    [](const auto& param) { return param.param.name; });

TEST_F(PreemptionTest, BreaksTiesRandomly) {
  for (const char* node : {"n1", "n2", "n3"}) {
    cluster.add_node(node);
    cluster.run("on-" + std::string(node), node, 1);
  }
  std::set<std::string> chosen;
  for (cluster.drawn = 0; cluster.drawn < 3; ++cluster.drawn) {
    CycleState state;
    chosen.insert(cluster.attempt(preemptor(), state).nominated_node.value_or(""));
    EXPECT_EQ(state.read<PreemptionRecord>()->ties(), Names({"n1", "n2", "n3"}));
  }
  EXPECT_EQ(chosen, std::set<std::string>({"n1", "n2", "n3"}));
}

TEST_F(PreemptionTest, DoesNotChangeAnEarlierAttemptsRecordWhenItEvaluatesTheNodeAgain) {
  cluster.add_node("n1");
  cluster.run("first", "n1", 1);
  CycleState of_class;
  CycleState earlier;
  earlier.of_class = &of_class;
  ASSERT_EQ(cluster.attempt(preemptor(), earlier).nominated_node, "n1");
  cluster.cache.remove("uid-first");
  cluster.run("second", "n1", 1);
  CycleState later;
  later.of_class = &of_class;
  ASSERT_EQ(cluster.attempt(preemptor(), later).nominated_node, "n1");
  EXPECT_EQ(names(later.read<PreemptionRecord>()->candidates().at(0)->candidate.victims), Names({"second"}));
  EXPECT_EQ(names(earlier.read<PreemptionRecord>()->candidates().at(0)->candidate.victims), Names({"first"}));
}

class PreemptionSearch : public PreemptionTest {
 protected:
  PreemptionSearch() {
    for (int i = 0; i < 8; ++i) {
      cluster.add_node("n" + std::to_string(i));
      cluster.run("p" + std::to_string(i), "n" + std::to_string(i), 1);
    }
  }
  Names candidates(int percentage, int absolute) {
    CycleState state;
    static_cast<void>(cluster.attempt(
        preemptor(), state,
        Json(Json::Object{{"minCandidateNodesPercentage", percentage}, {"minCandidateNodesAbsolute", absolute}})));
    Names nodes;
    for (const auto& each : state.read<PreemptionRecord>()->candidates()) {
      nodes.push_back(each->candidate.node);
    }
    std::sort(nodes.begin(), nodes.end());
    return nodes;
  }
};

TEST_F(PreemptionSearch, EndsWithEnoughCandidates) {
  EXPECT_EQ(candidates(0, 2), Names({"n0", "n1"}));
  EXPECT_EQ(candidates(50, 2), Names({"n0", "n1", "n2", "n3"}));
  EXPECT_EQ(candidates(10, 100).size(), 8u);
}

TEST_F(PreemptionSearch, StartsAtARandomNode) {
  cluster.drawn = 7;
  EXPECT_EQ(candidates(0, 2), Names({"n0", "n7"}));
}

TEST_F(PreemptionSearch, ContinuesUntilACandidateViolatesNoBudget) {
  cluster.protect({"p0", "p1", "p2"});
  EXPECT_EQ(candidates(0, 2), Names({"n0", "n1", "n3"}));
}

struct SplitCase {
  std::string name;
  void (*change)(PodDisruptionBudget&, Pod&);
  bool violates;
};
void PrintTo(const SplitCase& test_case, std::ostream* out) { *out << test_case.name; }

class PreemptionBudget : public ::testing::TestWithParam<SplitCase> {};

TEST_P(PreemptionBudget, ProtectsAPod) {
  PreemptionCluster cluster;
  auto budget = std::make_shared<PodDisruptionBudget>(cluster.protect({"a"}));
  Pod pod = cluster.make("a", 1, "1");
  GetParam().change(*budget, pod);
  preemption::Split split;
  preemption::split_by_budgets({share(pod)}, {budget}, split);
  EXPECT_EQ(split.violating.size(), GetParam().violates ? 1u : 0u);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, PreemptionBudget,
    ::testing::Values(
        SplitCase{"ThatItSelects", [](auto&, auto&) {}, true},
        SplitCase{"NotWhileItAllowsDisruptions", [](auto& budget, auto&) { budget.disruptions_allowed = 1; }, false},
        SplitCase{"NotInAnotherNamespace", [](auto& budget, auto&) { budget.metadata.namespace_ = "other"; }, false},
        SplitCase{"NotWithoutLabels", [](auto&, auto& pod) { pod.metadata.labels.clear(); }, false},
        SplitCase{"NotWithAnEmptySelector", [](auto& budget, auto&) { budget.selector = LabelSelector(); }, false},
        SplitCase{"NotWithoutASelector", [](auto& budget, auto&) { budget.selector.reset(); }, false},
        SplitCase{"NotAPodThatItRecordsAsDisrupted", [](auto& budget, auto&) { budget.disrupted_pods = {"a"}; },
                  false}),
    [](const auto& param) { return param.param.name; });

TEST(PreemptionBudgets, AreUsedUpInTheOrderOfThePods) {
  PreemptionCluster cluster;
  cluster.protect({"a", "b", "c"}, 1);
  cluster.protect({"c"}, 5);
  preemption::Pods pods;
  for (const char* name : {"a", "b", "c"}) pods.push_back(share(cluster.make(name, 1, "1")));
  preemption::Split split;
  preemption::split_by_budgets(pods, cluster.budgets, split);
  EXPECT_EQ(names(split.violating), Names({"b", "c"}));
  EXPECT_EQ(names(split.others), Names({"a"}));
}

// Fails once a pod has been removed from the node; the error may include the node's name.
class FailingFilter final : public FilterPlugin {
 public:
  explicit FailingFilter(bool names_node) : names_node_(names_node) {}
  std::string_view name() const override { return "Failing"; }
  Status filter(CycleState&, const Pod&, const NodeInfo& node) override {
    if (!node.pods.empty()) return Status::unschedulable("occupied");
    return Status::error("failed" + std::string(names_node_ ? " on " + node.name() : ""));
  }

 private:
  bool names_node_;
};

class FailingFilterPreemption : public PreemptionTest {
 protected:
  // PostFilter when every node was rejected.
  Status run_on(const std::vector<std::string>& nodes, bool names_node) {
    for (const std::string& node : nodes) {
      cluster.add_node(node);
      cluster.run("low-" + node, node, 1);
    }
    Registry registry = in_tree_registry();
    const auto make = [names_node](const Json&, Handle&) {
      return Result<std::unique_ptr<Plugin>>(std::make_unique<FailingFilter>(names_node));
    };
    CHECK(registry.add("Failing", make).is_success());
    Profile profile;
    profile.enable("PrioritySort").enable("Failing").enable("DefaultPreemption").enable("DefaultBinder");
    const auto framework = Framework::make(registry, profile, cluster);
    CHECK(framework.has_value());
    static_cast<void>(cluster.attempt(preemptor()));  // updates the cluster's snapshot
    NodeStatuses rejected;
    rejected.reset(nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i) rejected.set(i, Status::unschedulable("occupied"));
    CycleState state;
    return (*framework)->run_post_filter(state, preemptor(), rejected, result);
  }
  PostFilterResult result;
};

TEST_F(FailingFilterPreemption, IsAnErrorWhenAFilterFailsAndNoNodeIsLeft) {
  const Status status = run_on({"n1"}, true);
  EXPECT_EQ(status.code(), Code::error);
  EXPECT_EQ(status.message(), "preemption: running \"Failing\" filter plugin: failed on n1");
  EXPECT_EQ(result.nominated_node, std::nullopt);
}

TEST_F(FailingFilterPreemption, ListsEveryDistinctError) {
  EXPECT_EQ(run_on({"n1", "n2"}, true).message(),
            "preemption: [running \"Failing\" filter plugin: failed on n1, "
            "running \"Failing\" filter plugin: failed on n2]");
}

TEST_F(FailingFilterPreemption, ListsAnErrorOnceThoughTwoNodesReportIt) {
  EXPECT_EQ(run_on({"n1", "n2"}, false).message(), "preemption: running \"Failing\" filter plugin: failed");
}

struct ArgsCase {
  std::string name;
  std::string args;
  std::string error;
};
void PrintTo(const ArgsCase& test_case, std::ostream* out) { *out << test_case.name; }

class PreemptionArgs : public ::testing::TestWithParam<ArgsCase> {};

TEST_P(PreemptionArgs, AreChecked) {
  const Result<Json> args = Json::parse(GetParam().args);
  ASSERT_TRUE(args.has_value());
  PreemptionCluster cluster;
  const auto made = DefaultPreemption::make(*args, cluster);
  EXPECT_NE((made ? std::string() : made.error().message()).find(GetParam().error), std::string::npos)
      << (made ? "accepted" : made.error().message());
  EXPECT_EQ(made.has_value(), GetParam().error.empty());
}

INSTANTIATE_TEST_SUITE_P(
    Cases, PreemptionArgs,
    ::testing::Values(
        ArgsCase{"Empty", "{}", ""}, ArgsCase{"Null", "null", ""},
        ArgsCase{"WithTheirKind", R"({"apiVersion":"kubescheduler.config.k8s.io/v1","kind":"DefaultPreemptionArgs"})",
                 ""},
        ArgsCase{"OneOfThemZero", R"({"minCandidateNodesPercentage":0})", ""},
        ArgsCase{"PercentageAbove100", R"({"minCandidateNodesPercentage":101})", "args.minCandidateNodesPercentage"},
        ArgsCase{"PercentageBelow0", R"({"minCandidateNodesPercentage":-1})", "args.minCandidateNodesPercentage"},
        ArgsCase{"AbsoluteBelow0", R"({"minCandidateNodesAbsolute":-1})", "args.minCandidateNodesAbsolute"},
        ArgsCase{"BothZero", R"({"minCandidateNodesPercentage":0,"minCandidateNodesAbsolute":0})",
                 "args.minCandidateNodesPercentage: 0 together with minCandidateNodesAbsolute 0"},
        ArgsCase{"Unknown", R"({"minCandidateNodes":3})", "args.minCandidateNodes"},
        ArgsCase{"NoObject", "[]", "args"}),
    [](const auto& param) { return param.param.name; });

TEST(PreemptionArguments, AreReportedWithTheirDefaults) {
  PreemptionCluster cluster;
  const auto made = DefaultPreemption::make({}, cluster);
  ASSERT_TRUE(made.has_value());
  EXPECT_EQ((*made)->args().dump(), R"({"minCandidateNodesPercentage":10,"minCandidateNodesAbsolute":100})");
}

TEST(PreemptionEvents, AreNone) {
  PreemptionCluster cluster;
  EXPECT_TRUE((*cluster.make_framework())->events_of("DefaultPreemption").empty());
}

}  // namespace
}  // namespace berth
