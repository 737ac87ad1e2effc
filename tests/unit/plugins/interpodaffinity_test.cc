#include "plugins/interpodaffinity.h"

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
  InterPodAffinityTest() { town.zones({"a", "a", "b"}); }
  InterPodAffinity& plugin(const std::string& args = "null") {
    plugin_ = make_plugin<InterPodAffinity>(town, args);
    return dynamic_cast<InterPodAffinity&>(*plugin_);
  }
  Attempt<InterPodAffinity> attempt(Pod pod, const std::string& args = "null") {
    return {town, plugin(args), std::move(pod)};
  }
  Town town;

 private:
  std::unique_ptr<Plugin> plugin_;
};

TEST_F(InterPodAffinityTest, PlacesAPodBesideTheOnesItWants) {
  town.place(app("db", "db"), "n0");
  auto pod = attempt(near(app("p", "web"), {term("db")}));
  EXPECT_EQ(pod.passing(), "n0 n1");
  EXPECT_EQ(pod.filter("n2"), kNoAffinity);
  EXPECT_EQ(attempt(near(app("p", "web"), {term("db", "kubernetes.io/hostname")})).passing(), "n0");
}

TEST_F(InterPodAffinityTest, WantsOnePodThatAllTermsMean) {
  town.place(app("db", "db"), "n0");
  town.place(app("cache", "cache"), "n0");
  EXPECT_EQ(attempt(near(app("p", "web"), {term("db"), term("cache")})).passing(), "");
  town.place(labelled("both", {{"app", "db"}, {"tier", "back"}}), "n2");
  PodAffinityTerm back = term("db");
  back.label_selector = select("tier", {"back"});
  EXPECT_EQ(attempt(near(app("p", "web"), {term("db"), back})).passing(), "n2");
}

TEST_F(InterPodAffinityTest, LetsTheFirstOfASeriesGoAnywhereWithTheKeys) {
  town.node("bare", {});
  EXPECT_EQ(attempt(near(app("p", "web"), {term("web")})).passing(), "n0 n1 n2");
  EXPECT_EQ(attempt(near(app("p", "db"), {term("web")})).passing(), "") << "it does not mean itself";
  EXPECT_EQ(attempt(near(app("p", "web"), {term_in("web", {"team"})})).passing(), "");
  town.place(app("first", "web"), "n2");
  EXPECT_EQ(attempt(near(app("p", "web"), {term("web")})).passing(), "n2") << "it is not the first any more";
}

TEST_F(InterPodAffinityTest, KeepsAPodAwayFromTheOnesItAvoids) {
  town.place(app("db", "db"), "n0");
  auto pod = attempt(away(app("p", "web"), {term("db")}));
  EXPECT_EQ(pod.passing(), "n2");
  EXPECT_EQ(pod.filter("n1"), kAntiAffinity);
  EXPECT_EQ(attempt(away(app("p", "web"), {term("db", "rack")})).passing(), "n0 n1 n2") << "no node has a rack";
}

TEST_F(InterPodAffinityTest, AvoidsPodsThatAnyOneTermMeans) {
  town.place(app("db", "db"), "n0");
  EXPECT_EQ(attempt(away(app("p", "web"), {term("db"), term("cache")})).passing(), "n2");
}

TEST_F(InterPodAffinityTest, RespectsTheAntiAffinityOfPodsOnNodes) {
  town.place(away(app("db", "db"), {term("web")}), "n0");
  auto pod = attempt(app("p", "web"));
  EXPECT_EQ(pod.passing(), "n2");
  EXPECT_EQ(pod.filter("n0"), kExisting);
  EXPECT_EQ(attempt(app("p", "cache")).passing(), "skipped");
}

TEST_F(InterPodAffinityTest, SkipsAPodThatNothingConcerns) {
  town.place(near(app("db", "db"), {term("web")}), "n0");
  EXPECT_EQ(attempt(app("p", "web")).passing(), "skipped");
}

TEST_F(InterPodAffinityTest, NamesTheFirstOfSeveralReasons) {
  town.place(away(app("db", "db"), {term("web")}), "n0");
  auto pod = attempt(away(near(app("p", "web"), {term("cache")}), {term("db")}));
  ASSERT_TRUE(pod.pre_filter().is_success());
  EXPECT_EQ(pod.filter("n0"), kNoAffinity);
  auto other = attempt(away(app("p", "web"), {term("db")}));
  ASSERT_TRUE(other.pre_filter().is_success());
  EXPECT_EQ(other.filter("n0"), kAntiAffinity);
}

TEST_F(InterPodAffinityTest, LooksInItsOwnNamespaceUnlessToldOtherwise) {
  town.place(app("db", "db", "team"), "n0");
  EXPECT_EQ(attempt(near(app("p", "web"), {term("db")})).passing(), "");
  EXPECT_EQ(attempt(near(app("p", "web"), {term_in("db", {"team", "other"})})).passing(), "n0 n1");
  EXPECT_EQ(attempt(near(app("p", "web"), {term_in("db", {"other"})})).passing(), "");
}

TEST_F(InterPodAffinityTest, SelectsNamespacesByTheirLabels) {
  town.place(app("db", "db", "team"), "n0");
  const Pod pod = app("p", "web");
  EXPECT_EQ(attempt(near(pod, {term_selecting("db", LabelSelector())})).passing(), "n0 n1") << "empty: all of them";
  EXPECT_EQ(attempt(near(pod, {term_selecting("db", select("env", {"prod"}))})).passing(), "");
  town.name_space("team", {{"env", "prod"}});
  EXPECT_EQ(attempt(near(pod, {term_selecting("db", select("env", {"prod"}))})).passing(), "n0 n1");
  EXPECT_EQ(attempt(near(pod, {term_selecting("db", select("env", {"test"}))})).passing(), "");
  PodAffinityTerm both = term_selecting("db", select("env", {"test"}));
  both.namespaces = {"team"};
  EXPECT_EQ(attempt(near(pod, {both})).passing(), "n0 n1") << "names and selector add up";
}

TEST_F(InterPodAffinityTest, MeansEveryNamespaceByASelectorOfItsOwnThatHoldsWithoutLabels) {
  const LabelSelector not_prod{{{"env", Requirement::Operator::not_in, {"prod"}}}};
  town.name_space("team", {{"env", "prod"}});
  town.place(app("db", "db", "team"), "n0");
  EXPECT_EQ(attempt(near(app("p", "web"), {term_selecting("db", not_prod)})).passing(), "n0 n1");
  EXPECT_EQ(attempt(away(app("p", "web"), {term_selecting("db", not_prod)})).passing(), "n2");
}

TEST_F(InterPodAffinityTest, TakesANamespaceWithoutAnObjectAsWithoutLabels) {
  const LabelSelector unlabelled{{{"env", Requirement::Operator::does_not_exist, {}}}};
  town.place(away(app("watch", "watch", "team"), {term_selecting("web", unlabelled)}), "n2");
  EXPECT_EQ(attempt(app("p", "web")).passing(), "n0 n1");
  town.name_space("default", {{"env", "prod"}});
  EXPECT_EQ(attempt(app("p", "web")).passing(), "skipped");
}

TEST_F(InterPodAffinityTest, MatchesSelectorsOfPodsOnNodesAgainstThePodsNamespace) {
  town.place(away(app("db", "db", "team"), {term_selecting("web", select("env", {"prod"}))}), "n0");
  EXPECT_EQ(attempt(app("p", "web")).passing(), "skipped");
  town.name_space("default", {{"env", "prod"}});
  EXPECT_EQ(attempt(app("p", "web")).passing(), "n2");
}

TEST_F(InterPodAffinityTest, MeansNoPodWithoutASelector) {
  town.place(app("db", "db"), "n0");
  PodAffinityTerm none = term("db");
  none.label_selector.reset();
  EXPECT_EQ(attempt(near(app("p", "web"), {none})).passing(), "");
  EXPECT_EQ(attempt(away(app("p", "web"), {none})).passing(), "n0 n1 n2");
}

TEST_F(InterPodAffinityTest, FollowsPodsAddedAndRemovedOnTrial) {
  const Pod guard = away(app("guard", "guard"), {term("web")});
  const Pod db = app("db", "db");
  town.place(guard, "n0");
  town.place(db, "n2");
  auto pod = attempt(away(near(app("p", "web"), {term("db")}), {term("cache")}));
  EXPECT_EQ(pod.passing(), "n2");
  ASSERT_TRUE(pod.add(db, "n1").is_success());
  EXPECT_EQ(pod.passing_now(), "n2");
  ASSERT_TRUE(pod.remove(guard, "n0").is_success());
  EXPECT_EQ(pod.passing_now(), "n0 n1 n2");
  ASSERT_TRUE(pod.add(app("cache", "cache"), "n2").is_success());
  EXPECT_EQ(pod.passing_now(), "n0 n1");
}

TEST_F(InterPodAffinityTest, TriesPodsOnACopyWithoutATrace) {
  town.place(app("db", "db"), "n2");
  auto pod = attempt(away(app("p", "web"), {term("db")}));
  EXPECT_EQ(pod.passing(), "n0 n1");
  EXPECT_EQ(pod.passing_with(app("nominated", "db"), "n0"), "");
  EXPECT_EQ(pod.passing_now(), "n0 n1");
}

TEST_F(InterPodAffinityTest, AsksForPreFilterBeforeFilter) {
  auto pod = attempt(app("p", "web"));
  static_cast<void>(town.look());
  EXPECT_EQ(pod.filter("n0").code(), Code::error);
  EXPECT_EQ(pod.add(app("q", "web"), "n0").code(), Code::error);
}

TEST_F(InterPodAffinityTest, ScoresByThePodsOwnPreferences) {
  town.place(app("db", "db"), "n0");
  town.place(app("noisy", "noisy"), "n1");
  Pod pod = app("p", "web");
  pod.affinity->pod_affinity.preferred = {{30, term("db")}};
  pod.affinity->pod_anti_affinity.preferred = {{10, term("noisy", "kubernetes.io/hostname")}};
  auto tried = attempt(pod);
  EXPECT_EQ(tried.scores(), "100 66 0");
  EXPECT_EQ(tried.raw, "30 20 0");
}

TEST_F(InterPodAffinityTest, ScoresByThePreferencesOfPodsOnNodes) {
  Pod friendly = app("friendly", "db");
  friendly.affinity->pod_affinity.preferred = {{40, term("web")}};
  Pod shy = app("shy", "db");
  shy.affinity->pod_anti_affinity.preferred = {{15, term("web", "kubernetes.io/hostname")}};
  town.place(friendly, "n0");
  town.place(shy, "n1");
  auto tried = attempt(app("p", "web"));
  EXPECT_EQ(tried.scores(), "100 62 0");
  EXPECT_EQ(tried.raw, "40 25 0");
  EXPECT_EQ(attempt(app("p", "cache")).scores(), "skipped");
}

TEST_F(InterPodAffinityTest, WeighsTheRequiredAffinityOfPodsOnNodes) {
  town.place(near(app("db", "db"), {term("web")}), "n2");
  auto tried = attempt(app("p", "web"));
  EXPECT_EQ(tried.scores(), "0 0 100");
  EXPECT_EQ(tried.raw, "0 0 1");
  auto heavy = attempt(app("p", "web"), R"({"hardPodAffinityWeight": 100})");
  EXPECT_EQ(heavy.scores(), "0 0 100");
  EXPECT_EQ(heavy.raw, "0 0 100");
  EXPECT_EQ(attempt(app("p", "web"), R"({"hardPodAffinityWeight": 0})").scores(), "skipped");
}

TEST_F(InterPodAffinityTest, LeavesOthersPreferencesOutWhenToldTo) {
  Pod friendly = app("friendly", "db");
  friendly.affinity->pod_affinity.preferred = {{40, term("web")}};
  town.place(friendly, "n0");
  const std::string args = R"({"ignorePreferredTermsOfExistingPods": true})";
  EXPECT_EQ(attempt(app("p", "web"), args).scores(), "skipped");
  Pod pod = app("p", "web");
  pod.affinity->pod_affinity.preferred = {{20, term("db")}};
  auto tried = attempt(pod, args);
  EXPECT_EQ(tried.scores(), "100 100 0");
  EXPECT_EQ(tried.raw, "60 60 0") << "with preferences of its own, it takes the others' too";
}

TEST_F(InterPodAffinityTest, KeepsAScoreThatCancelsOut) {
  Pod friendly = app("friendly", "db");
  friendly.affinity->pod_affinity.preferred = {{40, term("web")}};
  friendly.affinity->pod_anti_affinity.preferred = {{40, term("web")}};
  town.place(friendly, "n0");
  EXPECT_EQ(attempt(app("p", "web")).scores(), "0 0 0") << "counted, not skipped";
}

TEST_F(InterPodAffinityTest, RefusesWrongArgumentsByName) {
  const std::map<std::string, std::string> cases{
      {R"({"hardPodAffinityWeight": 101})", "args.hardPodAffinityWeight"},
      {R"({"hardPodAffinityWeight": -1})", "args.hardPodAffinityWeight"},
      {R"({"hardPodAffinityWeight": "much"})", "args.hardPodAffinityWeight"},
      {R"({"ignorePreferredTermsOfExistingPods": 1})", "args.ignorePreferredTermsOfExistingPods"},
      {R"({"hardPodAffinity": 1})", "args.hardPodAffinity: unknown field"},
  };
  for (const auto& [text, want] : cases) {
    Result<std::unique_ptr<Plugin>> made = InterPodAffinity::make(*Json::parse(text), town);
    ASSERT_FALSE(made.has_value()) << text;
    EXPECT_TRUE(made.error().message().find(want) != std::string::npos) << made.error().message();
  }
}

class RandomTown {
 public:
  explicit RandomTown(std::uint64_t seed) : random_(seed) {
    for (std::uint64_t i = 0; i < 2 + random_.below(6); ++i) {
      names_.push_back("n" + std::to_string(i));
      Labels labels{{"zone", std::string(1, static_cast<char>('a' + random_.below(3)))}, {"host", names_.back()}};
      if (random_.chance(1, 5)) labels.erase("zone");
      town.node(names_.back(), labels);
    }
    town.name_space("team", {{"env", "prod"}});
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
  Town town;

 private:
  Random random_;
  std::vector<std::string> names_;
};

// Random pods come to and go from random nodes; what was kept in step must answer as a fresh count does.
TEST(InterPodAffinity, KeepsInStepWithAFreshCount) {
  int compared = 0;
  for (std::uint64_t round = 0; round < 60; ++round) {
    RandomTown here(round);
    std::unique_ptr<Plugin> made = make_plugin<InterPodAffinity>(here.town);
    auto& plugin = dynamic_cast<InterPodAffinity&>(*made);
    const Pod pod = here.some_pod("p");
    Attempt<InterPodAffinity> kept(here.town, plugin, pod);
    if (kept.pre_filter().is_skip()) continue;  // the runner leaves add_pod out too
    std::vector<std::pair<Pod, std::string>> placed;
    for (int step = 0; step < 60; ++step, ++compared) {
      if (!placed.empty() && here.random().chance(2, 5)) {
        const std::size_t which = here.random().below(placed.size());
        here.town.take(placed[which].first.uid());
        ASSERT_TRUE(kept.remove(placed[which].first, placed[which].second).is_success());
        placed.erase(placed.begin() + static_cast<std::ptrdiff_t>(which));
      } else {
        placed.emplace_back(here.some_pod("q" + std::to_string(step)), here.some_node());
        here.town.place(placed.back().first, placed.back().second);
        ASSERT_TRUE(kept.add(placed.back().first, placed.back().second).is_success());
      }
      Attempt<InterPodAffinity> fresh(here.town, plugin, pod);
      ASSERT_EQ(kept.passing_now(), fresh.passing()) << "round " << round << ", step " << step;
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
  static Pod there(const std::string& label) {
    Pod pod = app("there", label);
    pod.node_name = "n0";
    return pod;
  }
  Pod waiting = app("waiting", "web");
};

TEST_F(InterPodAffinityHints, WakesForAWantedPodThatComes) {
  waiting = near(waiting, {term("db")});
  EXPECT_EQ(pod_event(kAdd, {}, there("db")), Hint::queue);
  EXPECT_EQ(pod_event(kAdd, {}, there("cache")), Hint::skip);
  EXPECT_EQ(pod_event(kAdd, {}, app("unplaced", "db")), Hint::skip);
  EXPECT_EQ(pod_event(kDelete, there("db"), {}), Hint::skip);
  EXPECT_EQ(pod_event(kUpdatePodLabel, there("cache"), there("db")), Hint::queue);
  EXPECT_EQ(pod_event(kUpdatePodLabel, there("db"), there("cache")), Hint::skip);
}

TEST_F(InterPodAffinityHints, WakesForAnAvoidedPodThatGoes) {
  waiting = away(waiting, {term("db")});
  EXPECT_EQ(pod_event(kDelete, there("db"), {}), Hint::queue);
  EXPECT_EQ(pod_event(kDelete, there("cache"), {}), Hint::skip);
  EXPECT_EQ(pod_event(kAdd, {}, there("db")), Hint::skip);
  EXPECT_EQ(pod_event(kUpdatePodLabel, there("db"), there("cache")), Hint::queue);
  EXPECT_EQ(pod_event(kUpdatePodLabel, there("cache"), there("db")), Hint::skip);
}

TEST_F(InterPodAffinityHints, WakesForANodeThatBringsAffinityAKey) {
  waiting = near(waiting, {term("db")});
  EXPECT_EQ(node_event(kAdd, {}, {{"zone", "a"}}), Hint::queue);
  EXPECT_EQ(node_event(kAdd, {}, {{"rack", "1"}}), Hint::skip);
  EXPECT_EQ(node_event(kUpdateNodeLabel, Labels{{"rack", "1"}}, {{"zone", "a"}}), Hint::queue);
  EXPECT_EQ(node_event(kUpdateNodeLabel, Labels{{"zone", "a"}}, {{"zone", "b"}}), Hint::queue);
  EXPECT_EQ(node_event(kUpdateNodeLabel, Labels{{"zone", "a"}}, {{"rack", "1"}}), Hint::skip);
  EXPECT_EQ(node_event(kUpdateNodeLabel, Labels{{"zone", "a"}}, {{"zone", "a"}, {"rack", "1"}}), Hint::skip);
}

TEST_F(InterPodAffinityHints, WakesForANodeThatLeavesWhatAntiAffinityAvoids) {
  waiting = away(waiting, {term("db")});
  EXPECT_EQ(node_event(kAdd, {}, {{"rack", "1"}}), Hint::queue);
  EXPECT_EQ(node_event(kUpdateNodeLabel, Labels{{"zone", "a"}}, {{"rack", "1"}}), Hint::queue);
  EXPECT_EQ(node_event(kUpdateNodeLabel, Labels{{"zone", "a"}}, {{"zone", "b"}}), Hint::queue);
  EXPECT_EQ(node_event(kUpdateNodeLabel, Labels{{"rack", "1"}}, {{"zone", "a"}}), Hint::skip);
}

}  // namespace
}  // namespace berth
