// Preferred node affinity and addedAffinity; required node affinity is tested in filters_test.cc.
#include <gtest/gtest.h>

#include "core/api/node.h"
#include "core/random.h"
#include "plugins/nodeaffinity.h"
#include "tests/unit/rounds.h"
#include "tests/unit/scheduler/scheduling_fixture.h"

namespace berth {
namespace {

Result<std::unique_ptr<NodeAffinity>> affinity_plugin(const std::string& args) {
  FakeHandle handle;
  Result<std::unique_ptr<Plugin>> made = NodeAffinity::make(*Json::parse(args), handle);
  if (!made) return made.error();
  return std::unique_ptr<NodeAffinity>(dynamic_cast<NodeAffinity*>(made->release()));
}

const char* const kOnlyCameras = R"({"addedAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":
    {"nodeSelectorTerms":[{"matchExpressions":[{"key":"camera","operator":"Exists"}]}]}}})";
const char* const kPreferCameras = R"({"addedAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":
    [{"weight":10,"preference":{"matchExpressions":[{"key":"camera","operator":"Exists"}]}}]}})";

Node labelled_node(const std::string& name, const Labels& labels) {
  Node node = make_node(name);
  for (const auto& [key, value] : labels) node.metadata.labels[key] = value;
  return node;
}

PreferredNodeTerm prefer(std::int32_t weight, const std::string& key, const std::string& value) {
  return {weight, {{{key, Requirement::Operator::in, {value}}}, {}}};
}

std::int64_t affinity_score(NodeAffinity& plugin, const Pod& pod, const Node& node) {
  CycleState state;
  CHECK(plugin.pre_score(state, pod, {}).is_success());
  std::int64_t score = -1;
  CHECK(plugin.score(state, pod, info_of(node), score).is_success());
  return score;
}

TEST(PreferredNodeAffinity, SumsTheWeightsOfTheTermsThatMatch) {
  NodeAffinity plugin;
  Pod pod = make_pod("p");
  pod.affinity->preferred_node_affinity = {prefer(5, "zone", "a"), prefer(20, "disk", "ssd"), prefer(70, "zone", "b")};
  pod.affinity->preferred_node_affinity.push_back({100, {}});  // an empty term matches nothing
  EXPECT_EQ(affinity_score(plugin, pod, labelled_node("n1", {{"zone", "a"}, {"disk", "ssd"}})), 25);
  EXPECT_EQ(affinity_score(plugin, pod, labelled_node("n2", {{"zone", "b"}})), 70);
  EXPECT_EQ(affinity_score(plugin, pod, labelled_node("n3", {})), 0);
}

TEST(PreferredNodeAffinity, ScalesTheBestNodeToAHundred) {
  NodeAffinity plugin;
  CycleState state;
  std::vector<NodeScore> scores{{"n1", 25}, {"n2", 70}, {"n3", 0}};
  ASSERT_TRUE(plugin.normalize(state, make_pod("p"), scores).is_success());
  EXPECT_EQ(scores[0].score, 35);
  EXPECT_EQ(scores[1].score, 100);
  EXPECT_EQ(scores[2].score, 0);
  std::vector<NodeScore> none{{"n1", 0}, {"n2", 0}};
  ASSERT_TRUE(plugin.normalize(state, make_pod("p"), none).is_success());
  EXPECT_EQ(none[0].score, 0);
}

TEST(PreferredNodeAffinity, IsSkippedForPodsThatPreferNothing) {
  NodeAffinity plugin;
  CycleState state;
  EXPECT_TRUE(plugin.pre_score(state, make_pod("p"), {}).is_skip());
}

TEST(AddedNodeAffinity, IsRequiredInAdditionToThePodsOwn) {
  const auto plugin = affinity_plugin(kOnlyCameras);
  ASSERT_TRUE(plugin.has_value()) << plugin.error().message();
  CycleState state;
  PreFilterResult result;
  Pod pod = make_pod("p");
  EXPECT_TRUE((*plugin)->pre_filter(state, pod, {}, result).is_success());
  EXPECT_TRUE((*plugin)->filter(state, pod, info_of(labelled_node("n1", {{"camera", ""}}))).is_success());
  const Status status = (*plugin)->filter(state, pod, info_of(make_node("n2")));
  EXPECT_EQ(status.code(), Code::unresolvable);
  EXPECT_EQ(status.message(), "node(s) didn't match scheduler-enforced node affinity");
  pod.node_selector["zone"] = "a";
  EXPECT_EQ((*plugin)->filter(state, pod, info_of(labelled_node("n1", {{"camera", ""}}))).message(),
            "node(s) didn't match Pod's node affinity/selector");
}

TEST(AddedNodeAffinity, IsPreferredInAdditionToThePodsOwn) {
  const auto plugin = affinity_plugin(kPreferCameras);
  ASSERT_TRUE(plugin.has_value()) << plugin.error().message();
  Pod pod = make_pod("p");
  EXPECT_EQ(affinity_score(**plugin, pod, labelled_node("n1", {{"camera", ""}})), 10);
  pod.affinity->preferred_node_affinity = {prefer(5, "zone", "a")};
  EXPECT_EQ(affinity_score(**plugin, pod, labelled_node("n1", {{"camera", ""}, {"zone", "a"}})), 15);
}

TEST(AddedNodeAffinity, RequeuesAPodWhenANodeStartsToMatch) {
  const auto plugin = affinity_plugin(kOnlyCameras);
  ASSERT_TRUE(plugin.has_value());
  const HintFunction hint = (*plugin)->events_to_register().at(0).hint;
  EventObjects objects;
  objects.old_node = share(make_node("n1"));
  objects.new_node = share(labelled_node("n1", {{"zone", "a"}}));
  EXPECT_EQ(hint(make_pod("p"), objects), Hint::skip);
  objects.new_node = share(labelled_node("n1", {{"camera", ""}}));
  EXPECT_EQ(hint(make_pod("p"), objects), Hint::queue);
}

TEST(AddedNodeAffinity, IsReportedAsConfigured) {
  const auto plugin = affinity_plugin(kPreferCameras);
  ASSERT_TRUE(plugin.has_value());
  EXPECT_EQ((*plugin)->args(), *Json::parse(kPreferCameras));
}

Requirement any_requirement(Random& random) {
  const auto any = [&](std::initializer_list<const char*> of) {
    return std::string(of.begin()[random.below(of.size())]);
  };
  const std::string key = any({"disk", "tier", "level", "missing"});
  switch (random.below(5)) {
    case 0: return {key, Requirement::Operator::in, {any({"a", "b", "3"}), any({"a", "none"})}};
    case 1: return {key, Requirement::Operator::not_in, {any({"a", "b", "5"})}};
    case 2: return {key, Requirement::Operator::exists, {}};
    case 3: return {key, Requirement::Operator::does_not_exist, {}};
    default: return {"level", Requirement::Operator::gt, {any({"2", "4"})}};
  }
}

TEST(NodeAffinity, ScoresManyNodesAsItScoresOne) {
  Random random(1);
  const auto made = affinity_plugin(kPreferCameras);
  ASSERT_TRUE(made.has_value());
  NodeAffinity& plugin = **made;
  for (int round = 0; round < rounds(300); ++round) {
    Cache cache;
    for (int i = 0; i < 40; ++i) {
      Labels labels;
      if (random.chance(2, 3)) labels["disk"] = random.chance(1, 2) ? "a" : "b";
      if (random.chance(1, 2)) labels["tier"] = random.chance(1, 2) ? "a" : "none";
      if (random.chance(1, 2)) labels["level"] = std::to_string(random.below(7));
      if (random.chance(1, 4)) labels["camera"] = "";
      cache.set_node(share(labelled_node("n" + std::to_string(i), labels)));
    }
    Snapshot snapshot;
    cache.update_snapshot(snapshot);
    Pod pod = make_pod("pod");
    for (std::uint64_t terms = random.below(4); terms > 0; --terms) {
      NodeSelectorTerm term;
      for (std::uint64_t each = random.below(3); each > 0; --each) {
        term.match_expressions.push_back(any_requirement(random));
      }
      pod.affinity->preferred_node_affinity.push_back({static_cast<std::int32_t>(random.below(101)), term});
    }
    CycleState state;
    std::vector<std::int32_t> scores(snapshot.nodes().size(), -1);
    ASSERT_TRUE(plugin.score_rows(state, pod, snapshot, Rows::all(snapshot), scores.data()));
    for (std::size_t index = 0; index < scores.size(); ++index) {
      std::int64_t one = -1;
      ASSERT_TRUE(plugin.score(state, pod, *snapshot.nodes()[index], one).is_success());
      ASSERT_EQ(scores[index], one) << "round " << round << ", " << snapshot.nodes()[index]->name();
    }
  }
}

TEST(NodeAffinity, LeavesTermsAboutNodeNamesToTheNodes) {
  const auto made = affinity_plugin("{}");
  ASSERT_TRUE(made.has_value());
  Cache cache;
  cache.set_node(share(make_node("n")));
  Snapshot snapshot;
  cache.update_snapshot(snapshot);
  Pod pod = make_pod("pod");
  pod.affinity->preferred_node_affinity.push_back({5, {{}, {{"metadata.name", Requirement::Operator::in, {"n"}}}}});
  CycleState state;
  std::int32_t score = 0;
  EXPECT_FALSE((*made)->score_rows(state, pod, snapshot, Rows::all(snapshot), &score));
}

struct WrongAffinity {
  std::string name;
  std::string args;
  std::string want;  // how the error begins
};

class NodeAffinityArguments : public ::testing::TestWithParam<WrongAffinity> {};

TEST_P(NodeAffinityArguments, AreRejectedWithTheirPath) {
  const auto plugin = affinity_plugin(GetParam().args);
  ASSERT_FALSE(plugin.has_value());
  EXPECT_TRUE(plugin.error().message().starts_with(GetParam().want)) << plugin.error().message();
}

INSTANTIATE_TEST_SUITE_P(
    Cases, NodeAffinityArguments,
    ::testing::Values(
        WrongAffinity{"unknown_field", R"({"addedAffinty":{}})", "args.addedAffinty: "},
        WrongAffinity{"no_object", R"({"addedAffinity":[]})", "args.addedAffinity: "},
        WrongAffinity{
            "no_terms",
            R"({"addedAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[]}}})",
            "args.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: "},
        WrongAffinity{"unknown_operator",
                      R"({"addedAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":
                           [{"matchExpressions":[{"key":"a","operator":"Near"}]}]}}})",
                      "args.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]"
                      ".matchExpressions[0].operator: "},
        WrongAffinity{"weight_too_large",
                      R"({"addedAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":
                           [{"weight":101,"preference":{}}]}})",
                      "args.addedAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: "}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace berth
