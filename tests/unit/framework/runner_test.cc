// One case per extension point and status code: what the runner returns, and which calls follow.
#include <gtest/gtest.h>

#include "core/api/pod.h"
#include "tests/unit/scheduler/scheduling_fixture.h"

namespace berth {
namespace {

Status status_of(Code code) {
  if (code == Code::success) return {};
  return {code, std::vector<std::string>{"why"}};
}

constexpr Code S = Code::success, E = Code::error, U = Code::unschedulable, R = Code::unresolvable, W = Code::wait,
               K = Code::skip, P = Code::pending;

struct PointCase {
  std::string point;
  Code answer;  // of plugin "a"; "b" always succeeds
  Code want;
  bool b_called;
  std::string name() const { return point + std::string(to_string(answer)); }
};

class Runner : public ::testing::TestWithParam<PointCase> {
 protected:
  Status run(const std::string& point) {
    const Framework& framework = scripted.get();
    const std::vector<std::shared_ptr<const NodeInfo>> nodes{std::make_shared<NodeInfo>(info_of(make_node("n1")))};
    if (point == "PreEnqueue") return framework.run_pre_enqueue(pod);
    if (point == "PreFilter") return framework.run_pre_filter(state, pod, Snapshot(), pre_filter_result);
    if (point == "Filter") return framework.run_filter(state, pod, *nodes[0]);
    if (point == "PostFilter") return framework.run_post_filter(state, pod, {}, post_filter_result);
    if (point == "PreScore") return framework.run_pre_score(state, pod, nodes);
    if (point == "Score" || point == "Normalize") return framework.run_score(state, pod, nodes, per_plugin, totals);
    if (point == "Reserve") return framework.binding().run_reserve(state, pod, "n1");
    if (point == "Permit") return framework.binding().run_permit(state, pod, "n1", timeouts);
    if (point == "PreFlight") return framework.binding().run_pre_bind_pre_flight(state, pod, "n1");
    if (point == "PreBind") return framework.binding().run_pre_bind(state, pod, "n1", request);
    return framework.binding().run_bind(state, pod, "n1");
  }
  bool called(const std::string& entry) const {
    return std::find(scripted.diary.begin(), scripted.diary.end(), entry) != scripted.diary.end();
  }

  ScriptedFramework scripted;
  CycleState state;
  Pod pod = make_pod("p");
  PreFilterResult pre_filter_result;
  PostFilterResult post_filter_result;
  std::vector<Framework::PluginScores> per_plugin;
  std::vector<NodeScore> totals;
  std::map<std::string, Millis> timeouts;
  PlacementRequest request;
};

TEST_P(Runner, GivesEachStatusItsConsequence) {
  const PointCase& param = GetParam();
  scripted.scripts["a"].answers[param.point] = status_of(param.answer);
  const Status status = run(param.point);
  EXPECT_EQ(status.code(), param.want) << status.message();
  const std::string calls_of = param.point == "Filter" ? "b Filter n1" : "b " + param.point;
  if (param.point != "Normalize") {
    EXPECT_EQ(called(calls_of), param.b_called);
  }
  const bool by_a = status.is_rejected() || status.code() == Code::error;
  if (by_a) {
    EXPECT_EQ(status.plugin(), "a");
  }
  if (status.is_rejected()) {
    EXPECT_EQ(status.message(), "why");
  }
  if (status.code() == Code::error && param.point == "PostFilter" && param.answer == E) {
    EXPECT_EQ(status.message(), "why") << "the one point whose errors upstream passes on unchanged";
  } else if (status.code() == Code::error && param.point == "PreFlight" && param.answer != E) {
    EXPECT_EQ(status.message(),
              "PreBindPreFlight a returned \"" + std::string(to_string(param.answer)) +
                  "\", which is unsupported. It is supposed to return Success, Skip, or Error status");
  } else if (status.code() == Code::error) {
    EXPECT_NE(status.message().find("\"a\""), std::string::npos) << status.message();
  }
}

INSTANTIATE_TEST_SUITE_P(
    Points, Runner,
    ::testing::Values(
        PointCase{"PreFilter", S, S, true}, PointCase{"PreFilter", E, E, false}, PointCase{"PreFilter", U, U, true},
        PointCase{"PreFilter", R, R, false}, PointCase{"PreFilter", W, E, false}, PointCase{"PreFilter", K, S, true},
        PointCase{"PreFilter", P, E, false},  //
        PointCase{"Filter", S, S, true}, PointCase{"Filter", E, E, false}, PointCase{"Filter", U, U, false},
        PointCase{"Filter", R, R, false}, PointCase{"Filter", W, E, false}, PointCase{"Filter", K, E, false},
        PointCase{"Filter", P, P, false},  //
        PointCase{"PostFilter", S, S, false}, PointCase{"PostFilter", E, E, false}, PointCase{"PostFilter", U, S, true},
        PointCase{"PostFilter", R, R, false}, PointCase{"PostFilter", W, E, false},
        PointCase{"PostFilter", K, E, false}, PointCase{"PostFilter", P, S, true},  //
        PointCase{"PreScore", S, S, true}, PointCase{"PreScore", E, E, false}, PointCase{"PreScore", U, E, false},
        PointCase{"PreScore", R, E, false}, PointCase{"PreScore", W, E, false}, PointCase{"PreScore", K, S, true},
        PointCase{"PreScore", P, E, false},  //
        PointCase{"Score", S, S, true}, PointCase{"Score", E, E, false}, PointCase{"Score", U, E, false},
        PointCase{"Score", R, E, false}, PointCase{"Score", W, E, false}, PointCase{"Score", K, E, false},
        PointCase{"Score", P, E, false},  //
        PointCase{"Normalize", S, S, true}, PointCase{"Normalize", E, E, false}, PointCase{"Normalize", U, E, false},
        PointCase{"Reserve", S, S, true}, PointCase{"Reserve", E, E, false}, PointCase{"Reserve", U, U, false},
        PointCase{"Reserve", R, R, false}, PointCase{"Reserve", W, E, false}, PointCase{"Reserve", K, E, false},
        PointCase{"Reserve", P, P, false}),
    [](const auto& param) { return param.param.name(); });

INSTANTIATE_TEST_SUITE_P(BindingPoints, Runner,
                         ::testing::Values(PointCase{"Permit", S, S, true}, PointCase{"Permit", E, E, false},
                                           PointCase{"Permit", U, U, false}, PointCase{"Permit", R, R, false},
                                           PointCase{"Permit", W, W, true}, PointCase{"Permit", K, E, false},
                                           PointCase{"Permit", P, P, false},  //
                                           PointCase{"PreFlight", S, S, true}, PointCase{"PreFlight", E, E, false},
                                           PointCase{"PreFlight", U, E, false}, PointCase{"PreFlight", R, E, false},
                                           PointCase{"PreFlight", W, E, false}, PointCase{"PreFlight", K, S, true},
                                           PointCase{"PreFlight", P, E, false},  //
                                           PointCase{"PreBind", S, S, true}, PointCase{"PreBind", E, E, false},
                                           PointCase{"PreBind", U, U, false}, PointCase{"PreBind", R, R, false},
                                           PointCase{"PreBind", W, E, false}, PointCase{"PreBind", K, E, false},
                                           PointCase{"PreBind", P, P, false},  //
                                           PointCase{"Bind", S, S, false}, PointCase{"Bind", E, E, false},
                                           PointCase{"Bind", U, U, false}, PointCase{"Bind", R, R, false},
                                           PointCase{"Bind", W, E, false}, PointCase{"Bind", K, S, true},
                                           PointCase{"Bind", P, P, false}),
                         [](const auto& param) { return param.param.name(); });

INSTANTIATE_TEST_SUITE_P(Enqueue, Runner,
                         ::testing::Values(PointCase{"PreEnqueue", S, S, true}, PointCase{"PreEnqueue", E, E, false},
                                           PointCase{"PreEnqueue", U, U, false}, PointCase{"PreEnqueue", R, R, false},
                                           PointCase{"PreEnqueue", P, P, false}),
                         [](const auto& param) { return param.param.name(); });

using RunnerRules = Runner;

TEST_F(RunnerRules, CallTheLastGatingPluginFirst) {
  scripted.scripts["a"].answers["PreEnqueue"] = status_of(Code::unresolvable);
  scripted.scripts["b"].answers["PreEnqueue"] = status_of(Code::unresolvable);
  EXPECT_EQ(scripted.get().run_pre_enqueue(pod).plugin(), "a");
  EXPECT_EQ(scripted.get().run_pre_enqueue(pod, "b").plugin(), "b");
}

TEST_F(RunnerRules, SkipTheFilterOfAPluginThatSkippedPreFilter) {
  scripted.scripts["a"].answers["PreFilter"] = Status::skip();
  scripted.scripts["a"].answers["Filter"] = status_of(Code::unschedulable);
  ASSERT_TRUE(run("PreFilter").is_success());
  EXPECT_TRUE(run("Filter").is_success());
  EXPECT_FALSE(called("a Filter n1"));
}

TEST_F(RunnerRules, LetTheLastUnschedulablePreFilterWin) {
  scripted.scripts["a"].answers["PreFilter"] = status_of(Code::unschedulable);
  scripted.scripts["b"].answers["PreFilter"] = status_of(Code::unschedulable);
  EXPECT_EQ(run("PreFilter").plugin(), "b");
}

TEST_F(RunnerRules, IntersectTheNodesThatPreFilterNames) {
  scripted.scripts["a"].node_names = {{"n1", "n2"}};
  scripted.scripts["b"].node_names = {{"n2", "n3"}};
  ASSERT_TRUE(run("PreFilter").is_success());
  EXPECT_EQ(pre_filter_result.node_names, std::set<std::string>{"n2"});
  EXPECT_EQ(pre_filter_result.plugins, (std::set<std::string>{"a", "b"}));
}

TEST_F(RunnerRules, RejectWhenPreFilterLeavesNoNode) {
  scripted.scripts["a"].node_names = {{"n1"}};
  scripted.scripts["b"].node_names = {{"n2"}};
  const Status status = run("PreFilter");
  EXPECT_EQ(status.code(), Code::unresolvable);
  EXPECT_EQ(status.message(), "node(s) didn't satisfy plugin(s) [a b] simultaneously");
}

TEST_F(RunnerRules, KeepTheNominationOfAPostFilterThatRejected) {
  scripted.scripts["a"].answers["PostFilter"] = status_of(Code::unschedulable);
  scripted.scripts["a"].nominated_node = "";
  scripted.scripts["b"].answers["PostFilter"] = status_of(Code::unschedulable);
  const Status status = run("PostFilter");
  EXPECT_EQ(status.code(), Code::unschedulable);
  EXPECT_EQ(status.message(), "why, why");
  EXPECT_EQ(status.plugin(), "a");
  EXPECT_EQ(post_filter_result.nominated_node, "");
}

TEST_F(RunnerRules, LetALaterSuccessWithoutResultDiscardAnEarlierNomination) {
  scripted.scripts["a"].answers["PostFilter"] = status_of(Code::unschedulable);
  scripted.scripts["a"].nominated_node = "n1";
  EXPECT_TRUE(run("PostFilter").is_success());
  EXPECT_FALSE(post_filter_result.nominated_node);
}

TEST_F(RunnerRules, WeighScores) {
  scripted.profile.multi_point.enabled[1].weight = 3;
  scripted.scripts["a"].score = 10;
  scripted.scripts["b"].score = 5;
  ASSERT_TRUE(run("Score").is_success());
  ASSERT_EQ(totals.size(), 1u);
  EXPECT_EQ(totals[0].score, 35);
  EXPECT_EQ(per_plugin[0].scores[0].score, 10);
}

TEST_F(RunnerRules, SkipTheScoreOfAPluginThatSkippedPreScore) {
  scripted.scripts["a"].answers["PreScore"] = Status::skip();
  ASSERT_TRUE(run("PreScore").is_success());
  ASSERT_TRUE(run("Score").is_success());
  ASSERT_EQ(per_plugin.size(), 1u);
  EXPECT_EQ(per_plugin[0].plugin, "b");
}

TEST_F(RunnerRules, RefuseScoresOutsideTheRange) {
  for (const std::int64_t score : {-1, 101}) {
    scripted.scripts["a"].score = score;
    const Status status = run("Score");
    EXPECT_EQ(status.code(), Code::error);
    EXPECT_EQ(status.message(),
              "applying score defaultWeights on Score plugins: plugin \"a\" returns an invalid score " +
                  std::to_string(score) + ", it should in the range of [0, 100] after normalizing");
  }
}

TEST_F(RunnerRules, UnreserveInReverseIncludingPluginsNotCalled) {
  scripted.scripts["a"].answers["Reserve"] = status_of(Code::unschedulable);
  EXPECT_EQ(run("Reserve").code(), Code::unschedulable);
  scripted.get().binding().run_unreserve(state, pod, "n1");
  EXPECT_EQ(scripted.diary, (std::vector<std::string>{"a Reserve", "b Unreserve", "a Unreserve"}));
}

TEST_F(RunnerRules, CapPermitWaitsAtFifteenMinutes) {
  scripted.scripts["a"].answers["Permit"] = Status(Code::wait, "why");
  scripted.scripts["a"].timeout = 3'600'000;
  EXPECT_TRUE(run("Permit").is_wait());
  EXPECT_EQ(timeouts, (std::map<std::string, Millis>{{"a", 900'000}}));
}

TEST_F(RunnerRules, RejectAtPermitThoughAnotherWaits) {
  scripted.scripts["a"].answers["Permit"] = Status(Code::wait, "why");
  scripted.scripts["b"].answers["Permit"] = status_of(Code::unschedulable);
  EXPECT_EQ(run("Permit").plugin(), "b");
  EXPECT_TRUE(timeouts.empty());
}

TEST_F(RunnerRules, SkipThePreBindOfAPluginThatSkippedPreFlight) {
  scripted.scripts["a"].answers["PreFlight"] = Status::skip();
  ASSERT_TRUE(run("PreFlight").is_success());
  ASSERT_TRUE(run("PreBind").is_success());
  ASSERT_EQ(request.volumes.size(), 1u);
  EXPECT_EQ(request.volumes[0].claim, "default/b");
}

TEST_F(RunnerRules, SkipPreFlightWhenEveryPluginDoes) {
  scripted.scripts["a"].answers["PreFlight"] = Status::skip();
  scripted.scripts["b"].answers["PreFlight"] = Status::skip();
  EXPECT_TRUE(run("PreFlight").is_skip());
}

TEST_F(RunnerRules, SkipWhenEveryBindPluginDoes) {
  scripted.scripts["a"].answers["Bind"] = Status::skip();
  scripted.scripts["b"].answers["Bind"] = Status::skip();
  EXPECT_TRUE(run("Bind").is_skip());
}

struct Number final : StateEntry {
  int value = 0;
  std::unique_ptr<StateEntry> clone() const override { return std::make_unique<Number>(*this); }
};

std::unique_ptr<Number> number(int value) {
  auto entry = std::make_unique<Number>();
  entry->value = value;
  return entry;
}

TEST(CycleState, ClonesWhatPluginsWrote) {
  CycleState state;
  state.write(number(1));
  state.skip_filter.set(7);
  CycleState copy = state.clone();
  copy.edit<Number>()->value = 2;
  EXPECT_EQ(state.read<Number>()->value, 1);
  EXPECT_EQ(copy.read<Number>()->value, 2);
  EXPECT_TRUE(copy.skip_filter.test(7));
}

TEST(CycleState, SharesAnEntryWithItsCloneUntilEitherChangesIt) {
  CycleState state;
  state.write(number(1));
  const CycleState copy = state.clone();
  EXPECT_EQ(state.read<Number>(), copy.read<Number>());
  state.edit<Number>()->value = 2;
  EXPECT_EQ(copy.read<Number>()->value, 1);
  const Number* own = state.read<Number>();
  state.edit<Number>()->value = 3;
  EXPECT_EQ(state.read<Number>(), own);
}

TEST(CycleState, BecomesACloneAndDropsItsOwnState) {
  struct Other final : StateEntry {
    std::unique_ptr<StateEntry> clone() const override { return std::make_unique<Other>(); }
  };
  CycleState state;
  state.write(number(1));
  state.pods_to_activate().insert("u");
  CycleState trial;
  trial.write(std::make_unique<Other>());
  trial.skip_score.set(3);
  trial.of_class = &state;
  trial.become(state);
  EXPECT_EQ(trial.read<Other>(), nullptr);
  EXPECT_EQ(trial.read<Number>()->value, 1);
  EXPECT_FALSE(trial.skip_score.test(3));
  EXPECT_EQ(trial.of_class, nullptr);
  EXPECT_TRUE(trial.activates_pods());
}

TEST(CycleState, KeepsTheLastEntryOfAType) {
  CycleState state;
  EXPECT_EQ(state.read<Number>(), nullptr);
  EXPECT_EQ(state.edit<Number>(), nullptr);
  state.write(number(1));
  state.write(number(2));
  EXPECT_EQ(state.read<Number>()->value, 2);
}

}  // namespace
}  // namespace berth
