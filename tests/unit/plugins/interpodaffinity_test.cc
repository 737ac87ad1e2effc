#include "plugins/interpodaffinity.h"
#include "core/api/node.h"
#include "core/api/pod.h"

#include <gtest/gtest.h>

#include "tests/unit/plugins/topology_fixture.h"

namespace berth {
namespace {

const Status kNoAffinity = Status::unresolvable("node(s) didn't match pod affinity rules");
const Status kAntiAffinity = Status::unschedulable("node(s) didn't match pod anti-affinity rules");
const Status kExisting = Status::unschedulable("node(s) didn't satisfy existing pods anti-affinity rules");

PodAffinityTerm term(const std::string& app, const std::string& key = "zone") {
  PodAffinityTerm term;
  term.label_selector = select("app", {app});
  term.topology_key = key;
  return term;
}

PodAffinityTerm term_in(const std::string& app, std::vector<std::string> namespaces) {
  PodAffinityTerm in = term(app);
  in.namespaces = std::move(namespaces);
  return in;
}

PodAffinityTerm term_selecting(const std::string& app, LabelSelector namespaces) {
  PodAffinityTerm in = term(app);
  in.namespace_selector = std::move(namespaces);
  return in;
}

Pod near(Pod pod, std::vector<PodAffinityTerm> terms) {
  pod.affinity->pod_affinity.required = std::move(terms);
  return pod;
}

Pod away(Pod pod, std::vector<PodAffinityTerm> terms) {
  pod.affinity->pod_anti_affinity.required = std::move(terms);
  return pod;
}

Pod app(const std::string& name, const std::string& label, const std::string& name_space = "default") {
  return labelled(name, {{"app", label}}, name_space);
}

class InterPodAffinityTest : public ::testing::Test {
 protected:
  InterPodAffinityTest() { cluster.zones({"a", "a", "b"}); }
  InterPodAffinity& plugin(const std::string& args = "null") {
    plugin_ = make_plugin<InterPodAffinity>(cluster, args);
    return dynamic_cast<InterPodAffinity&>(*plugin_);
  }
  Attempt<InterPodAffinity> attempt(Pod pod, const std::string& args = "null") {
    return {cluster, plugin(args), std::move(pod)};
  }
  TopologyCluster cluster;

 private:
  std::unique_ptr<Plugin> plugin_;
};

TEST_F(InterPodAffinityTest, AllowsNodesInTheDomainOfMatchingPods) {
  cluster.assign(app("db", "db"), "n0");
  auto pod = attempt(near(app("p", "web"), {term("db")}));
  EXPECT_EQ(pod.passing(), "n0 n1");
  EXPECT_EQ(pod.filter("n2"), kNoAffinity);
  EXPECT_EQ(attempt(near(app("p", "web"), {term("db", "kubernetes.io/hostname")})).passing(), "n0");
}

TEST_F(InterPodAffinityTest, RequiresOnePodThatMatchesAllTerms) {
  cluster.assign(app("db", "db"), "n0");
  cluster.assign(app("cache", "cache"), "n0");
  EXPECT_EQ(attempt(near(app("p", "web"), {term("db"), term("cache")})).passing(), "");
  cluster.assign(labelled("both", {{"app", "db"}, {"tier", "back"}}), "n2");
  PodAffinityTerm back = term("db");
  back.label_selector = select("tier", {"back"});
  EXPECT_EQ(attempt(near(app("p", "web"), {term("db"), back})).passing(), "n2");
}

TEST_F(InterPodAffinityTest, LetsTheFirstPodOfASeriesUseAnyNodeWithTheKeys) {
  cluster.node("bare", {});
  EXPECT_EQ(attempt(near(app("p", "web"), {term("web")})).passing(), "n0 n1 n2");
  EXPECT_EQ(attempt(near(app("p", "db"), {term("web")})).passing(), "") << "it does not match its own term";
  EXPECT_EQ(attempt(near(app("p", "web"), {term_in("web", {"team"})})).passing(), "");
  cluster.assign(app("first", "web"), "n2");
  EXPECT_EQ(attempt(near(app("p", "web"), {term("web")})).passing(), "n2") << "it is no longer the first";
}

TEST_F(InterPodAffinityTest, RejectsNodesInTheDomainOfAvoidedPods) {
  cluster.assign(app("db", "db"), "n0");
  auto pod = attempt(away(app("p", "web"), {term("db")}));
  EXPECT_EQ(pod.passing(), "n2");
  EXPECT_EQ(pod.filter("n1"), kAntiAffinity);
  EXPECT_EQ(attempt(away(app("p", "web"), {term("db", "rack")})).passing(), "n0 n1 n2") << "no node has a rack";
}

TEST_F(InterPodAffinityTest, AvoidsPodsThatMatchAnyTerm) {
  cluster.assign(app("db", "db"), "n0");
  EXPECT_EQ(attempt(away(app("p", "web"), {term("db"), term("cache")})).passing(), "n2");
}

TEST_F(InterPodAffinityTest, RespectsTheAntiAffinityOfPodsOnNodes) {
  cluster.assign(away(app("db", "db"), {term("web")}), "n0");
  auto pod = attempt(app("p", "web"));
  EXPECT_EQ(pod.passing(), "n2");
  EXPECT_EQ(pod.filter("n0"), kExisting);
  EXPECT_EQ(attempt(app("p", "cache")).passing(), "skipped");
}

TEST_F(InterPodAffinityTest, SkipsAPodThatNoTermConcerns) {
  cluster.assign(near(app("db", "db"), {term("web")}), "n0");
  EXPECT_EQ(attempt(app("p", "web")).passing(), "skipped");
}

TEST_F(InterPodAffinityTest, NamesTheFirstOfSeveralReasons) {
  cluster.assign(away(app("db", "db"), {term("web")}), "n0");
  auto pod = attempt(away(near(app("p", "web"), {term("cache")}), {term("db")}));
  ASSERT_TRUE(pod.pre_filter().is_success());
  EXPECT_EQ(pod.filter("n0"), kNoAffinity);
  auto other = attempt(away(app("p", "web"), {term("db")}));
  ASSERT_TRUE(other.pre_filter().is_success());
  EXPECT_EQ(other.filter("n0"), kAntiAffinity);
}

TEST_F(InterPodAffinityTest, MatchesPodsOfItsOwnNamespaceByDefault) {
  cluster.assign(app("db", "db", "team"), "n0");
  EXPECT_EQ(attempt(near(app("p", "web"), {term("db")})).passing(), "");
  EXPECT_EQ(attempt(near(app("p", "web"), {term_in("db", {"team", "other"})})).passing(), "n0 n1");
  EXPECT_EQ(attempt(near(app("p", "web"), {term_in("db", {"other"})})).passing(), "");
}

TEST_F(InterPodAffinityTest, SelectsNamespacesByTheirLabels) {
  cluster.assign(app("db", "db", "team"), "n0");
  const Pod pod = app("p", "web");
  EXPECT_EQ(attempt(near(pod, {term_selecting("db", LabelSelector())})).passing(), "n0 n1") << "empty: all of them";
  EXPECT_EQ(attempt(near(pod, {term_selecting("db", select("env", {"prod"}))})).passing(), "");
  cluster.name_space("team", {{"env", "prod"}});
  EXPECT_EQ(attempt(near(pod, {term_selecting("db", select("env", {"prod"}))})).passing(), "n0 n1");
  EXPECT_EQ(attempt(near(pod, {term_selecting("db", select("env", {"test"}))})).passing(), "");
  PodAffinityTerm both = term_selecting("db", select("env", {"test"}));
  both.namespaces = {"team"};
  EXPECT_EQ(attempt(near(pod, {both})).passing(), "n0 n1") << "names and selector are combined";
}

TEST_F(InterPodAffinityTest, MatchesEveryNamespaceByAnOwnSelectorThatMatchesNoLabels) {
  const LabelSelector not_prod{{{"env", Requirement::Operator::not_in, {"prod"}}}};
  cluster.name_space("team", {{"env", "prod"}});
  cluster.assign(app("db", "db", "team"), "n0");
  EXPECT_EQ(attempt(near(app("p", "web"), {term_selecting("db", not_prod)})).passing(), "n0 n1");
  EXPECT_EQ(attempt(away(app("p", "web"), {term_selecting("db", not_prod)})).passing(), "n2");
}

TEST_F(InterPodAffinityTest, TreatsANamespaceWithoutAnObjectAsUnlabelled) {
  const LabelSelector unlabelled{{{"env", Requirement::Operator::does_not_exist, {}}}};
  cluster.assign(away(app("watch", "watch", "team"), {term_selecting("web", unlabelled)}), "n2");
  EXPECT_EQ(attempt(app("p", "web")).passing(), "n0 n1");
  cluster.name_space("default", {{"env", "prod"}});
  EXPECT_EQ(attempt(app("p", "web")).passing(), "skipped");
}

TEST_F(InterPodAffinityTest, MatchesSelectorsOfPodsOnNodesAgainstThePodsNamespace) {
  cluster.assign(away(app("db", "db", "team"), {term_selecting("web", select("env", {"prod"}))}), "n0");
  EXPECT_EQ(attempt(app("p", "web")).passing(), "skipped");
  cluster.name_space("default", {{"env", "prod"}});
  EXPECT_EQ(attempt(app("p", "web")).passing(), "n2");
}

TEST_F(InterPodAffinityTest, MatchesNoPodWithoutASelector) {
  cluster.assign(app("db", "db"), "n0");
  PodAffinityTerm none = term("db");
  none.label_selector.reset();
  EXPECT_EQ(attempt(near(app("p", "web"), {none})).passing(), "");
  EXPECT_EQ(attempt(away(app("p", "web"), {none})).passing(), "n0 n1 n2");
}

TEST_F(InterPodAffinityTest, CountsPodsAddedAndRemovedInTheCycleState) {
  const Pod guard = away(app("guard", "guard"), {term("web")});
  const Pod db = app("db", "db");
  cluster.assign(guard, "n0");
  cluster.assign(db, "n2");
  auto pod = attempt(away(near(app("p", "web"), {term("db")}), {term("cache")}));
  EXPECT_EQ(pod.passing(), "n2");
  ASSERT_TRUE(pod.add(db, "n1").is_success());
  EXPECT_EQ(pod.passing_now(), "n2");
  ASSERT_TRUE(pod.remove(guard, "n0").is_success());
  EXPECT_EQ(pod.passing_now(), "n0 n1 n2");
  ASSERT_TRUE(pod.add(app("cache", "cache"), "n2").is_success());
  EXPECT_EQ(pod.passing_now(), "n0 n1");
}

TEST_F(InterPodAffinityTest, IsUnaffectedByPodsAddedToACopy) {
  cluster.assign(app("db", "db"), "n2");
  auto pod = attempt(away(app("p", "web"), {term("db")}));
  EXPECT_EQ(pod.passing(), "n0 n1");
  EXPECT_EQ(pod.passing_with(app("nominated", "db"), "n0"), "");
  EXPECT_EQ(pod.passing_now(), "n0 n1");
}

TEST_F(InterPodAffinityTest, RequiresPreFilterBeforeFilter) {
  auto pod = attempt(app("p", "web"));
  static_cast<void>(cluster.update_snapshot());
  EXPECT_EQ(pod.filter("n0").code(), Code::error);
  EXPECT_EQ(pod.add(app("q", "web"), "n0").code(), Code::error);
}

TEST_F(InterPodAffinityTest, ScoresByThePodsOwnPreferences) {
  cluster.assign(app("db", "db"), "n0");
  cluster.assign(app("noisy", "noisy"), "n1");
  Pod pod = app("p", "web");
  pod.affinity->pod_affinity.preferred = {{30, term("db")}};
  pod.affinity->pod_anti_affinity.preferred = {{10, term("noisy", "kubernetes.io/hostname")}};
  auto scored = attempt(pod);
  EXPECT_EQ(scored.scores(), "100 66 0");
  EXPECT_EQ(scored.raw, "30 20 0");
}

TEST_F(InterPodAffinityTest, ScoresByThePreferencesOfPodsOnNodes) {
  Pod friendly = app("friendly", "db");
  friendly.affinity->pod_affinity.preferred = {{40, term("web")}};
  Pod shy = app("shy", "db");
  shy.affinity->pod_anti_affinity.preferred = {{15, term("web", "kubernetes.io/hostname")}};
  cluster.assign(friendly, "n0");
  cluster.assign(shy, "n1");
  auto scored = attempt(app("p", "web"));
  EXPECT_EQ(scored.scores(), "100 62 0");
  EXPECT_EQ(scored.raw, "40 25 0");
  EXPECT_EQ(attempt(app("p", "cache")).scores(), "skipped");
}

TEST_F(InterPodAffinityTest, ScoresByTheRequiredAffinityOfPodsOnNodes) {
  cluster.assign(near(app("db", "db"), {term("web")}), "n2");
  auto scored = attempt(app("p", "web"));
  EXPECT_EQ(scored.scores(), "0 0 100");
  EXPECT_EQ(scored.raw, "0 0 1");
  auto heavy = attempt(app("p", "web"), R"({"hardPodAffinityWeight": 100})");
  EXPECT_EQ(heavy.scores(), "0 0 100");
  EXPECT_EQ(heavy.raw, "0 0 100");
  EXPECT_EQ(attempt(app("p", "web"), R"({"hardPodAffinityWeight": 0})").scores(), "skipped");
}

TEST_F(InterPodAffinityTest, IgnoresPreferencesOfExistingPodsIfConfigured) {
  Pod friendly = app("friendly", "db");
  friendly.affinity->pod_affinity.preferred = {{40, term("web")}};
  cluster.assign(friendly, "n0");
  const std::string args = R"({"ignorePreferredTermsOfExistingPods": true})";
  EXPECT_EQ(attempt(app("p", "web"), args).scores(), "skipped");
  Pod pod = app("p", "web");
  pod.affinity->pod_affinity.preferred = {{20, term("db")}};
  auto scored = attempt(pod, args);
  EXPECT_EQ(scored.scores(), "100 100 0");
  EXPECT_EQ(scored.raw, "60 60 0") << "with preferences of its own, those of existing pods count too";
}

TEST_F(InterPodAffinityTest, KeepsAScoreThatCancelsOut) {
  Pod friendly = app("friendly", "db");
  friendly.affinity->pod_affinity.preferred = {{40, term("web")}};
  friendly.affinity->pod_anti_affinity.preferred = {{40, term("web")}};
  cluster.assign(friendly, "n0");
  EXPECT_EQ(attempt(app("p", "web")).scores(), "0 0 0") << "counted, not skipped";
}

TEST_F(InterPodAffinityTest, RejectsWrongArgumentsByName) {
  const std::map<std::string, std::string> cases{
      {R"({"hardPodAffinityWeight": 101})", "args.hardPodAffinityWeight"},
      {R"({"hardPodAffinityWeight": -1})", "args.hardPodAffinityWeight"},
      {R"({"hardPodAffinityWeight": "much"})", "args.hardPodAffinityWeight"},
      {R"({"ignorePreferredTermsOfExistingPods": 1})", "args.ignorePreferredTermsOfExistingPods"},
      {R"({"hardPodAffinity": 1})", "args.hardPodAffinity: unknown field"},
  };
  for (const auto& [text, want] : cases) {
    Result<std::unique_ptr<Plugin>> made = InterPodAffinity::make(*Json::parse(text), cluster);
    ASSERT_FALSE(made.has_value()) << text;
    EXPECT_TRUE(made.error().message().find(want) != std::string::npos) << made.error().message();
  }
}

class RandomCluster {
 public:
  explicit RandomCluster(std::uint64_t seed) : random_(seed) {
    for (std::uint64_t i = 0; i < 2 + random_.below(6); ++i) {
      names_.push_back("n" + std::to_string(i));
      Labels labels{{"zone", std::string(1, static_cast<char>('a' + random_.below(3)))}, {"host", names_.back()}};
      if (random_.chance(1, 5)) labels.erase("zone");
      cluster.node(names_.back(), labels);
    }
    cluster.name_space("team", {{"env", "prod"}});
  }
  PodAffinityTerm some_term() {
    PodAffinityTerm some = term(random_.chance(1, 2) ? "web" : "db", random_.chance(1, 2) ? "zone" : "host");
    if (random_.chance(1, 4)) some.namespaces = {"team"};
    if (random_.chance(1, 4)) some.namespace_selector = select("env", {"prod"});
    return some;
  }
  Pod some_pod(const std::string& name) {
    Pod pod = app(name, random_.chance(1, 2) ? "web" : "db", random_.chance(1, 4) ? "team" : "default");
    for (std::uint64_t i = random_.below(3); i > 0; --i) pod.affinity->pod_affinity.required.push_back(some_term());
    for (std::uint64_t i = random_.below(2); i > 0; --i)
      pod.affinity->pod_anti_affinity.required.push_back(some_term());
    return pod;
  }
  const std::string& some_node() { return names_[random_.below(names_.size())]; }
  Random& random() { return random_; }
  TopologyCluster cluster;

 private:
  Random random_;
  std::vector<std::string> names_;
};

// Random pods are added to and removed from random nodes; the incremental counts must agree with a fresh count.
TEST(InterPodAffinity, IncrementalCountsAgreeWithAFreshCount) {
  int compared = 0;
  for (std::uint64_t round = 0; round < 60; ++round) {
    RandomCluster random_cluster(round);
    std::unique_ptr<Plugin> made = make_plugin<InterPodAffinity>(random_cluster.cluster);
    auto& plugin = dynamic_cast<InterPodAffinity&>(*made);
    const Pod pod = random_cluster.some_pod("p");
    Attempt<InterPodAffinity> incremental(random_cluster.cluster, plugin, pod);
    if (incremental.pre_filter().is_skip()) continue;  // the framework does not call add_pod either
    std::vector<std::pair<Pod, std::string>> placed;
    for (int step = 0; step < 60; ++step, ++compared) {
      if (!placed.empty() && random_cluster.random().chance(2, 5)) {
        const std::size_t which = random_cluster.random().below(placed.size());
        random_cluster.cluster.remove(placed[which].first.uid());
        ASSERT_TRUE(incremental.remove(placed[which].first, placed[which].second).is_success());
        placed.erase(placed.begin() + static_cast<std::ptrdiff_t>(which));
      } else {
        placed.emplace_back(random_cluster.some_pod("q" + std::to_string(step)), random_cluster.some_node());
        random_cluster.cluster.assign(placed.back().first, placed.back().second);
        ASSERT_TRUE(incremental.add(placed.back().first, placed.back().second).is_success());
      }
      Attempt<InterPodAffinity> fresh(random_cluster.cluster, plugin, pod);
      ASSERT_EQ(incremental.passing_now(), fresh.passing()) << "round " << round << ", step " << step;
    }
  }
  EXPECT_GT(compared, 2000);
}

class InterPodAffinityHints : public InterPodAffinityTest {
 protected:
  Hint pod_event(std::uint32_t action, const std::optional<Pod>& before, const std::optional<Pod>& after) {
    EventObjects objects;
    if (before) objects.old_pod = share(*before);
    if (after) objects.new_pod = share(*after);
    return ask(plugin(), {EventResource::assigned_pod, action, ""}, waiting, objects);
  }
  Hint node_event(std::uint32_t action, const std::optional<Labels>& before, const Labels& after) {
    EventObjects objects;
    Node node = make_node("n0");
    if (before) {
      node.metadata.labels = *before;
      objects.old_node = share(node);
    }
    node.metadata.labels = after;
    objects.new_node = share(node);
    return ask(plugin(), {EventResource::node, action, ""}, waiting, objects);
  }
  static Pod assigned(const std::string& label) {
    Pod pod = app("assigned", label);
    pod.node_name = "n0";
    return pod;
  }
  Pod waiting = app("waiting", "web");
};

TEST_F(InterPodAffinityHints, RequeuesWhenAMatchingPodIsAdded) {
  waiting = near(waiting, {term("db")});
  EXPECT_EQ(pod_event(kAdd, {}, assigned("db")), Hint::queue);
  EXPECT_EQ(pod_event(kAdd, {}, assigned("cache")), Hint::skip);
  EXPECT_EQ(pod_event(kAdd, {}, app("unassigned", "db")), Hint::skip);
  EXPECT_EQ(pod_event(kDelete, assigned("db"), {}), Hint::skip);
  EXPECT_EQ(pod_event(kUpdatePodLabel, assigned("cache"), assigned("db")), Hint::queue);
  EXPECT_EQ(pod_event(kUpdatePodLabel, assigned("db"), assigned("cache")), Hint::skip);
}

TEST_F(InterPodAffinityHints, RequeuesWhenAnAvoidedPodIsRemoved) {
  waiting = away(waiting, {term("db")});
  EXPECT_EQ(pod_event(kDelete, assigned("db"), {}), Hint::queue);
  EXPECT_EQ(pod_event(kDelete, assigned("cache"), {}), Hint::skip);
  EXPECT_EQ(pod_event(kAdd, {}, assigned("db")), Hint::skip);
  EXPECT_EQ(pod_event(kUpdatePodLabel, assigned("db"), assigned("cache")), Hint::queue);
  EXPECT_EQ(pod_event(kUpdatePodLabel, assigned("cache"), assigned("db")), Hint::skip);
}

TEST_F(InterPodAffinityHints, RequeuesForANodeThatAddsATopologyKeyOfAffinity) {
  waiting = near(waiting, {term("db")});
  EXPECT_EQ(node_event(kAdd, {}, {{"zone", "a"}}), Hint::queue);
  EXPECT_EQ(node_event(kAdd, {}, {{"rack", "1"}}), Hint::skip);
  EXPECT_EQ(node_event(kUpdateNodeLabel, Labels{{"rack", "1"}}, {{"zone", "a"}}), Hint::queue);
  EXPECT_EQ(node_event(kUpdateNodeLabel, Labels{{"zone", "a"}}, {{"zone", "b"}}), Hint::queue);
  EXPECT_EQ(node_event(kUpdateNodeLabel, Labels{{"zone", "a"}}, {{"rack", "1"}}), Hint::skip);
  EXPECT_EQ(node_event(kUpdateNodeLabel, Labels{{"zone", "a"}}, {{"zone", "a"}, {"rack", "1"}}), Hint::skip);
}

TEST_F(InterPodAffinityHints, RequeuesForANodeThatLeavesADomainOfAntiAffinity) {
  waiting = away(waiting, {term("db")});
  EXPECT_EQ(node_event(kAdd, {}, {{"rack", "1"}}), Hint::queue);
  EXPECT_EQ(node_event(kUpdateNodeLabel, Labels{{"zone", "a"}}, {{"rack", "1"}}), Hint::queue);
  EXPECT_EQ(node_event(kUpdateNodeLabel, Labels{{"zone", "a"}}, {{"zone", "b"}}), Hint::queue);
  EXPECT_EQ(node_event(kUpdateNodeLabel, Labels{{"rack", "1"}}, {{"zone", "a"}}), Hint::skip);
}

}  // namespace
}  // namespace berth
