#include "plugins/podtopologyspread.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "plugins/natural_log.h"
#include "tests/unit/plugins/topology_fixture.h"

namespace berth {
namespace {

constexpr const char* kSkewed = "node(s) didn't match pod topology spread constraints";
constexpr const char* kNoLabel = "node(s) didn't match pod topology spread constraints (missing required label)";

TopologySpreadConstraint spread(const std::string& key, std::int32_t max_skew = 1, bool anyway = false) {
  TopologySpreadConstraint constraint;
  constraint.topology_key = key;
  constraint.max_skew = max_skew;
  constraint.schedule_anyway = anyway;
  constraint.label_selector = select("app", {"web"});
  return constraint;
}

Pod web(const std::string& name, std::vector<TopologySpreadConstraint> constraints = {}) {
  Pod pod = labelled(name, {{"app", "web"}});
  pod.topology_spread_constraints = std::move(constraints);
  return pod;
}

class PodTopologySpreadTest : public ::testing::Test {
 protected:
  PodTopologySpread& plugin(const std::string& args = "null") {
    plugin_ = make_plugin<PodTopologySpread>(town, args);
    return dynamic_cast<PodTopologySpread&>(*plugin_);
  }
  Attempt<PodTopologySpread> attempt(Pod pod, const std::string& args = "null") {
    return {town, plugin(args), std::move(pod)};
  }
  // "web" pods on the nodes, as many as it says; each has a name of its own.
  void place(const std::string& node, int count, const std::string& app = "web") {
    for (int i = 0; i < count; ++i) {
      town.place(labelled(app + std::to_string(next_++), {{"app", app}}), node);
    }
  }
  Town town;

 private:
  std::unique_ptr<Plugin> plugin_;
  int next_ = 0;
};

TEST_F(PodTopologySpreadTest, KeepsTheSkewOverZones) {
  town.zones({"a", "a", "b"});
  place("n0", 1);
  EXPECT_EQ(attempt(web("p", {spread("zone")})).passing(), "n2") << "1 + 1 - 0 is more than 1 in zone a";
  EXPECT_EQ(attempt(web("p", {spread("zone", 2)})).passing(), "n0 n1 n2");
  place("n2", 1);
  EXPECT_EQ(attempt(web("p", {spread("zone")})).passing(), "n0 n1 n2");
}

TEST_F(PodTopologySpreadTest, SaysWhetherPreemptionMightHelp) {
  town.zones({"a", "b"});
  town.node("n2", {{"kubernetes.io/hostname", "n2"}});
  place("n0", 1);
  auto pod = attempt(web("p", {spread("zone")}));
  ASSERT_TRUE(pod.pre_filter().is_success());
  EXPECT_EQ(pod.filter("n0"), Status::unschedulable(kSkewed));
  EXPECT_EQ(pod.filter("n2"), Status::unresolvable(kNoLabel));
}

TEST_F(PodTopologySpreadTest, HoldsEveryConstraintAndCountsOnlyNodesThatHaveAllKeys) {
  town.zones({"a", "b"});
  town.node("bare", {{"zone", "c"}});
  place("n0", 1);
  // Zone c does not count: its node has no rack. So the least over zones is that of b.
  town.node("n0", {{"zone", "a"}, {"rack", "1"}});
  town.node("n1", {{"zone", "b"}, {"rack", "2"}});
  place("n1", 1);
  auto pod = attempt(web("p", {spread("zone"), spread("rack", 5)}));
  EXPECT_EQ(pod.passing(), "n0 n1");
  EXPECT_EQ(pod.filter("bare").message(), kNoLabel);
}

TEST_F(PodTopologySpreadTest, SkipsAPodWithoutHardConstraints) {
  town.zones({"a", "b"});
  EXPECT_EQ(attempt(web("p")).passing(), "skipped");
  EXPECT_EQ(attempt(web("p", {spread("zone", 1, true)})).passing(), "skipped");
}

TEST_F(PodTopologySpreadTest, CountsItselfOnlyWhenItMatches) {
  town.zones({"a", "b"});
  place("n0", 1);
  Pod other = web("p", {spread("zone")});
  other.metadata.labels["app"] = "db";
  EXPECT_EQ(attempt(other).passing(), "n0 n1") << "1 + 0 - 0 is within 1";
}

TEST_F(PodTopologySpreadTest, LeavesOutTerminatingPodsAndOtherNamespaces) {
  town.zones({"a", "b"});
  Pod leaving = web("leaving");
  leaving.metadata.deleting = true;
  town.place(leaving, "n0");
  town.place(labelled("foreign", {{"app", "web"}}, "team"), "n0");
  EXPECT_EQ(attempt(web("p", {spread("zone")})).passing(), "n0 n1");
}

TEST_F(PodTopologySpreadTest, TakesTheLeastAsZeroBelowMinDomains) {
  town.zones({"a", "b"});
  place("n0", 1);
  place("n1", 1);
  TopologySpreadConstraint constraint = spread("zone");
  constraint.min_domains = 2;
  EXPECT_EQ(attempt(web("p", {constraint})).passing(), "n0 n1");
  constraint.min_domains = 3;
  EXPECT_EQ(attempt(web("p", {constraint})).passing(), "");
}

TEST_F(PodTopologySpreadTest, HonoursNodeAffinityUnlessToldToIgnoreIt) {
  town.zones({"a", "b"});
  place("n0", 1);
  Pod pod = web("p", {spread("zone")});
  pod.node_selector["zone"] = "a";
  EXPECT_EQ(attempt(pod).passing(), "n0 n1") << "zone b is not the pod's, so it does not count";
  pod.topology_spread_constraints[0].honor_node_affinity = false;
  EXPECT_EQ(attempt(pod).passing(), "n1");
}

TEST_F(PodTopologySpreadTest, IgnoresTaintsUnlessToldToHonourThem) {
  town.zones({"a", "b"});
  town.node("n1", {{"zone", "b"}}, {{"dedicated", "gpu", TaintEffect::no_schedule}});
  place("n0", 1);
  Pod pod = web("p", {spread("zone")});
  EXPECT_EQ(attempt(pod).passing(), "n1");
  pod.topology_spread_constraints[0].honor_node_taints = true;
  EXPECT_EQ(attempt(pod).passing(), "n0 n1");
  Toleration toleration;
  toleration.key = "dedicated";
  toleration.op = Toleration::Operator::exists;
  pod.tolerations = {toleration};
  EXPECT_EQ(attempt(pod).passing(), "n1");
}

TEST_F(PodTopologySpreadTest, MergesMatchLabelKeysThatThePodHas) {
  town.zones({"a", "b"});
  town.place(labelled("old", {{"app", "web"}, {"version", "1"}}), "n0");
  Pod pod = web("p", {spread("zone")});
  pod.topology_spread_constraints[0].match_label_keys = {"version", "absent"};
  EXPECT_EQ(attempt(pod).passing(), "n1") << "the pod has neither key";
  pod.metadata.labels["version"] = "2";
  EXPECT_EQ(attempt(pod).passing(), "n0 n1") << "pods of version 1 do not count";
}

TEST_F(PodTopologySpreadTest, CountsNothingForAnEmptySelectorButItself) {
  town.zones({"a", "b"});
  place("n0", 3);
  Pod pod = web("p", {spread("zone")});
  pod.topology_spread_constraints[0].label_selector = LabelSelector();
  EXPECT_EQ(attempt(pod).passing(), "n0 n1");
  pod.topology_spread_constraints[0].min_domains = 3;
  EXPECT_EQ(attempt(pod).passing(), "n0 n1") << "0 + 1 - 0";
}

TEST_F(PodTopologySpreadTest, SelectsNoPodWithoutASelector) {
  town.zones({"a", "b"});
  place("n0", 3);
  Pod pod = web("p", {spread("zone")});
  pod.topology_spread_constraints[0].label_selector.reset();
  EXPECT_EQ(attempt(pod).passing(), "n0 n1");
}

TEST_F(PodTopologySpreadTest, FollowsPodsAddedAndRemovedOnTrial) {
  town.zones({"a", "b"});
  const Pod victim = web("victim");
  town.place(victim, "n0");
  auto pod = attempt(web("p", {spread("zone")}));
  EXPECT_EQ(pod.passing(), "n1");
  ASSERT_TRUE(pod.remove(victim, "n0").is_success());
  EXPECT_EQ(pod.passing_now(), "n0 n1");
  ASSERT_TRUE(pod.add(web("nominated"), "n1").is_success());
  EXPECT_EQ(pod.passing_now(), "n0");
}

TEST_F(PodTopologySpreadTest, TriesPodsOnACopyWithoutATrace) {
  town.zones({"a", "b"});
  auto pod = attempt(web("p", {spread("zone")}));
  EXPECT_EQ(pod.passing(), "n0 n1");
  EXPECT_EQ(pod.passing_with(web("nominated"), "n1"), "n0");
  EXPECT_EQ(pod.passing_now(), "n0 n1");
}

TEST_F(PodTopologySpreadTest, LowersTheCountForATerminatingVictimThoughItNeverCounted) {
  town.zones({"a", "b"});
  Pod leaving = web("leaving");
  leaving.metadata.deleting = true;
  town.place(leaving, "n0");
  place("n0", 1);
  auto pod = attempt(web("p", {spread("zone")}));
  EXPECT_EQ(pod.passing(), "n1");
  ASSERT_TRUE(pod.remove(leaving, "n0").is_success());
  EXPECT_EQ(pod.passing_now(), "n0 n1") << "upstream's rule";
}

TEST_F(PodTopologySpreadTest, AsksForPreFilterBeforeFilter) {
  town.zones({"a"});
  auto pod = attempt(web("p", {spread("zone")}));
  static_cast<void>(town.look());
  EXPECT_EQ(pod.filter("n0").code(), Code::error);
  EXPECT_EQ(pod.add(web("q"), "n0").code(), Code::error);
}

TEST_F(PodTopologySpreadTest, PrefersTheEmptierDomain) {
  town.zones({"a", "a", "b", "c"});
  place("n0", 2);
  place("n1", 1);
  place("n2", 1);
  auto pod = attempt(web("p", {spread("zone", 1, true)}));
  EXPECT_EQ(pod.scores(), "0 0 60 100");
  EXPECT_EQ(pod.raw, "5 5 2 0") << "pods x ln(3 zones + 2), rounded: 3 x 1.609, 1 x 1.609, 0";
}

TEST_F(PodTopologySpreadTest, CountsTheHostNamePerNodeAndWeighsItByTheFeasibleNodes) {
  town.zones({"a", "a", "b"});
  place("n0", 2);
  place("n1", 1);
  auto pod = attempt(web("p", {spread("kubernetes.io/hostname", 3, true)}));
  EXPECT_EQ(pod.scores(), "40 60 100");
  EXPECT_EQ(pod.raw, "5 4 2") << "pods x ln(3 + 2) + 2";
  EXPECT_EQ(pod.scores({"n0", "n1"}), "60 100");
  EXPECT_EQ(pod.raw, "5 3") << "pods x ln(2 + 2) + 2";
}

TEST_F(PodTopologySpreadTest, ScoresNodesWithoutAllKeysZero) {
  town.zones({"a", "b"});
  town.node("n2", {{"kubernetes.io/hostname", "n2"}});
  place("n0", 1);
  place("n2", 5);
  auto pod = attempt(web("p", {spread("zone", 1, true)}));
  EXPECT_EQ(pod.scores(), "0 100 0");
}

TEST_F(PodTopologySpreadTest, ScoresAllFullWhenNothingMatches) {
  town.zones({"a", "b"});
  EXPECT_EQ(attempt(web("p", {spread("zone", 1, true)})).scores(), "100 100");
}

TEST_F(PodTopologySpreadTest, SkipsScoringWithoutSoftConstraints) {
  town.zones({"a", "b"});
  EXPECT_EQ(attempt(web("p")).scores(), "skipped");
  EXPECT_EQ(attempt(web("p", {spread("zone")})).scores(), "skipped");
}

TEST_F(PodTopologySpreadTest, SpreadsByDefaultWhatAServiceSelects) {
  const std::string zone(kZoneLabel);
  const std::string host(kHostnameLabel);
  town.node("n0", {{zone, "a"}, {host, "n0"}});
  town.node("n1", {{zone, "b"}, {host, "n1"}});
  town.node("n2", {{host, "n2"}});
  place("n0", 4);
  EXPECT_EQ(attempt(web("p")).scores(), "skipped") << "no service selects it";
  town.service("team", {{"app", "web"}});
  town.service("default", {{"app", "db"}});
  EXPECT_EQ(attempt(web("p")).scores(), "skipped");
  town.service("default", {{"app", "web"}});
  auto pod = attempt(web("p"));
  EXPECT_EQ(pod.scores(), "10 78 100") << "the node without a zone is not left out";
  EXPECT_EQ(pod.raw, "19 6 2") << "4 x ln 5 + 2 by host, 4 x ln 5 + 4 by zone; no zone is a domain too";
  EXPECT_EQ(attempt(web("p", {spread("rack", 1)})).scores(), "skipped") << "own constraints replace the defaults";
  EXPECT_EQ(attempt(web("p")).passing(), "skipped") << "the system's defaults are wishes";
}

TEST_F(PodTopologySpreadTest, JoinsTheSelectorsOfAllServicesThatSelectThePod) {
  town.zones({"a", "b"});
  town.service("default", {{"app", "web"}});
  town.service("default", {{"tier", "front"}});
  place("n0", 1);
  Pod pod = web("p");
  pod.metadata.labels["tier"] = "front";
  const std::string args = R"({"defaultingType": "List", "defaultConstraints":
      [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}]})";
  EXPECT_EQ(attempt(pod, args).passing(), "n0 n1") << "pods that are web but not front do not count";
  pod.metadata.labels.erase("tier");
  EXPECT_EQ(attempt(pod, args).passing(), "n1");
}

TEST_F(PodTopologySpreadTest, RequiresAllKeysOfListedDefaults) {
  town.zones({"a", "b"});
  town.node("n2", {{"kubernetes.io/hostname", "n2"}});
  town.service("default", {{"app", "web"}});
  place("n0", 1);
  const std::string args = R"({"defaultingType": "List", "defaultConstraints":
      [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}]})";
  EXPECT_EQ(attempt(web("p"), args).scores(), "0 100 0");
}

TEST_F(PodTopologySpreadTest, RefusesWrongArgumentsByName) {
  const std::map<std::string, std::string> cases{
      {R"({"defaultConstraints": [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}]})",
       "args.defaultingType: System takes no defaultConstraints; write List, or remove them"},
      {R"({"defaultingType": "Lists"})", "args.defaultingType"},
      {R"({"defaultingType": "List", "defaultConstraints": [{"topologyKey": "zone",
          "whenUnsatisfiable": "ScheduleAnyway"}]})",
       "args.defaultConstraints[0].maxSkew"},
      {R"({"defaultingType": "List", "defaultConstraints": [{"maxSkew": 0, "topologyKey": "zone",
          "whenUnsatisfiable": "ScheduleAnyway"}]})",
       "args.defaultConstraints[0].maxSkew"},
      {R"({"defaultingType": "List", "defaultConstraints": [{"maxSkew": 1, "topologyKey": "a b",
          "whenUnsatisfiable": "ScheduleAnyway"}]})",
       "args.defaultConstraints[0].topologyKey"},
      {R"({"defaultingType": "List", "defaultConstraints": [{"maxSkew": 1, "topologyKey": "zone"}]})",
       "args.defaultConstraints[0].whenUnsatisfiable"},
      {R"({"defaultingType": "List", "defaultConstraints": [{"maxSkew": 1, "topologyKey": "zone",
          "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {}}]})",
       "args.defaultConstraints[0].labelSelector"},
      {R"({"defaultingType": "List", "defaultConstraints": [
          {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"},
          {"maxSkew": 2, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}]})",
       "args.defaultConstraints[1].topologyKey"},
      {R"({"defaultType": "List"})", "args.defaultType: unknown field"},
      {R"(["List"])", "args: "},
  };
  for (const auto& [text, want] : cases) {
    Result<std::unique_ptr<Plugin>> made = PodTopologySpread::make(*Json::parse(text), town);
    ASSERT_FALSE(made.has_value()) << text;
    EXPECT_TRUE(made.error().message().find(want) != std::string::npos) << made.error().message();
  }
}

// Random pods come to and go from random nodes; what was kept in step must answer as a fresh count does.
TEST_F(PodTopologySpreadTest, KeepsInStepWithAFreshCount) {
  Random random(20240611);
  for (int round = 0; round < 40; ++round) {
    Town here;
    std::vector<std::string> names;
    for (std::uint64_t i = 0; i < 2 + random.below(6); ++i) {
      names.push_back("n" + std::to_string(i));
      Labels labels{{"zone", std::string(1, static_cast<char>('a' + random.below(3)))}, {"host", names.back()}};
      if (random.chance(1, 5)) labels.erase("zone");
      std::vector<Taint> taints;
      if (random.chance(1, 4)) taints.push_back({"spot", "", TaintEffect::no_execute});
      here.node(names.back(), labels, taints);
    }
    Pod pod = web("p", {spread("zone", 1 + static_cast<std::int32_t>(random.below(2)))});
    if (random.chance(1, 2)) pod.topology_spread_constraints.push_back(spread("host", 2));
    pod.topology_spread_constraints[0].honor_node_taints = random.chance(1, 2);
    pod.topology_spread_constraints[0].min_domains = static_cast<std::int32_t>(1 + random.below(3));
    std::unique_ptr<Plugin> made = make_plugin<PodTopologySpread>(here);
    auto& plugin = dynamic_cast<PodTopologySpread&>(*made);
    Attempt<PodTopologySpread> kept(here, plugin, pod);
    ASSERT_TRUE(kept.pre_filter().is_success());
    std::vector<std::pair<Pod, std::string>> placed;
    for (int step = 0; step < 60; ++step) {
      if (!placed.empty() && random.chance(2, 5)) {
        const std::size_t which = random.below(placed.size());
        here.take(placed[which].first.uid());
        ASSERT_TRUE(kept.remove(placed[which].first, placed[which].second).is_success());
        placed.erase(placed.begin() + static_cast<std::ptrdiff_t>(which));
      } else {
        const std::string name = "q" + std::to_string(step);
        Pod next =
            labelled(name, {{"app", random.chance(3, 4) ? "web" : "db"}}, random.chance(1, 5) ? "team" : "default");
        const std::string& node = names[random.below(names.size())];
        here.place(next, node);
        ASSERT_TRUE(kept.add(next, node).is_success());
        placed.emplace_back(next, node);
      }
      Attempt<PodTopologySpread> fresh(here, plugin, pod);
      const std::string want = fresh.passing();
      ASSERT_EQ(kept.passing_now(), want) << "round " << round << ", step " << step;
    }
  }
}

class PodTopologySpreadHints : public PodTopologySpreadTest {
 protected:
  Hint pod_event(std::uint32_t action, const std::optional<Pod>& before, const std::optional<Pod>& after) {
    EventObjects objects;
    if (before) objects.old_pod = share(*before);
    if (after) objects.new_pod = share(*after);
    return ask(plugin(), {EventResource::assigned_pod, action, ""}, waiting, objects);
  }
  Hint node_event(std::uint32_t action, const std::optional<Node>& before, const std::optional<Node>& after) {
    EventObjects objects;
    if (before) objects.old_node = share(*before);
    if (after) objects.new_node = share(*after);
    return ask(plugin(), {EventResource::node, action, ""}, waiting, objects);
  }
  static Pod there(const Labels& labels, const std::string& name_space = "default") {
    Pod pod = labelled("there", labels, name_space);
    pod.node_name = "n0";
    return pod;
  }
  static Node zoned(const Labels& labels) {
    Node node = make_node("n0");
    node.metadata.labels = labels;
    return node;
  }
  Pod waiting = web("waiting", {spread("zone")});
};

TEST_F(PodTopologySpreadHints, WakesForAPodThatCountsComingOrGoing) {
  EXPECT_EQ(pod_event(kAdd, {}, there({{"app", "web"}})), Hint::queue);
  EXPECT_EQ(pod_event(kDelete, there({{"app", "web"}}), {}), Hint::queue);
  EXPECT_EQ(pod_event(kAdd, {}, there({{"app", "db"}})), Hint::skip);
  EXPECT_EQ(pod_event(kAdd, {}, there({{"app", "web"}}, "team")), Hint::skip);
  Pod nowhere = there({{"app", "web"}});
  nowhere.node_name = "";
  EXPECT_EQ(pod_event(kDelete, nowhere, {}), Hint::skip);
}

TEST_F(PodTopologySpreadHints, WakesWhenALabelChangesWhatCounts) {
  EXPECT_EQ(pod_event(kUpdatePodLabel, there({{"app", "web"}}), there({{"app", "db"}})), Hint::queue);
  EXPECT_EQ(pod_event(kUpdatePodLabel, there({{"app", "db"}}), there({{"app", "web"}})), Hint::queue);
  EXPECT_EQ(pod_event(kUpdatePodLabel, there({{"app", "db"}}), there({{"app", "x"}})), Hint::skip);
}

TEST_F(PodTopologySpreadHints, WakesForItsOwnTolerationOnlyWhenTaintsAreHonoured) {
  Pod after = waiting;
  after.tolerations.emplace_back();
  EXPECT_EQ(pod_event(kUpdatePodToleration, waiting, after), Hint::skip);
  waiting.topology_spread_constraints[0].honor_node_taints = true;
  EXPECT_EQ(pod_event(kUpdatePodToleration, waiting, after), Hint::queue);
  Pod other = there({{"app", "web"}});
  after = other;
  after.tolerations.emplace_back();
  EXPECT_EQ(pod_event(kUpdatePodToleration, other, after), Hint::skip);
}

TEST_F(PodTopologySpreadHints, WakesForNodesThatJoinLeaveOrChangeTheirDomain) {
  const Node in_a = zoned({{"zone", "a"}});
  const Node outside = zoned({{"rack", "1"}});
  EXPECT_EQ(node_event(kAdd, {}, in_a), Hint::queue);
  EXPECT_EQ(node_event(kAdd, {}, outside), Hint::skip);
  EXPECT_EQ(node_event(kDelete, in_a, {}), Hint::queue);
  EXPECT_EQ(node_event(kDelete, outside, {}), Hint::skip);
  EXPECT_EQ(node_event(kUpdateNodeLabel, outside, in_a), Hint::queue);
  EXPECT_EQ(node_event(kUpdateNodeLabel, in_a, outside), Hint::queue);
  EXPECT_EQ(node_event(kUpdateNodeLabel, in_a, zoned({{"zone", "b"}})), Hint::queue);
  EXPECT_EQ(node_event(kUpdateNodeLabel, in_a, zoned({{"zone", "a"}, {"rack", "1"}})), Hint::skip);
}

TEST_F(PodTopologySpreadHints, WakesForTaintsOfNodesThatCount) {
  const Node before = zoned({{"zone", "a"}});
  Node after = before;
  after.taints.push_back({"spot", "", TaintEffect::no_schedule});
  EXPECT_EQ(node_event(kUpdateNodeTaint, before, after), Hint::queue);
  Node outside = after;
  outside.metadata.labels.clear();
  EXPECT_EQ(node_event(kUpdateNodeTaint, zoned({}), outside), Hint::skip);
}

TEST(NaturalLog, IsWithinOneUlpOfTheExactValue) {
  for (int n = 2; n <= 200000; ++n) {
    const double ours = natural_log(n);
    const double theirs = std::log(static_cast<double>(n));
    const auto distance = std::bit_cast<std::int64_t>(ours) - std::bit_cast<std::int64_t>(theirs);
    ASSERT_LE(std::abs(distance), 1) << n;
  }
}

// Where this algorithm and the nearest double differ (3, 14, 48, 74), the algorithm's bits count.
TEST(NaturalLog, GivesTheBitsOfTheReference) {
  EXPECT_EQ(natural_log(1), 0.0);
  EXPECT_EQ(natural_log(2), 0x1.62e42fefa39efp-1);
  EXPECT_EQ(natural_log(3), 0x1.193ea7aad030ap+0);
  EXPECT_EQ(natural_log(5), 0x1.9c041f7ed8d33p+0);
  EXPECT_EQ(natural_log(10), 0x1.26bb1bbb55516p+1);
  EXPECT_EQ(natural_log(14), 0x1.51cca16d7bba8p+1);
  EXPECT_EQ(natural_log(48), 0x1.ef8383c50bb74p+1);
  EXPECT_EQ(natural_log(74), 0x1.1375cd6fcab1cp+2);
  EXPECT_EQ(natural_log(5002), 0x1.10901f6dc84b9p+3);
  EXPECT_EQ(natural_log(200000), 0x1.869825a924dfap+3);
}

}  // namespace
}  // namespace berth
