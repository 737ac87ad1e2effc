#include "plugins/podtopologyspread.h"
#include "core/api/node.h"
#include "core/api/pod.h"

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
  pod.spec.edit().topology_spread_constraints = std::move(constraints);
  return pod;
}

class PodTopologySpreadTest : public ::testing::Test {
 protected:
  PodTopologySpread& plugin(const std::string& args = "null") {
    plugin_ = make_plugin<PodTopologySpread>(cluster, args);
    return dynamic_cast<PodTopologySpread&>(*plugin_);
  }
  Attempt<PodTopologySpread> attempt(Pod pod, const std::string& args = "null") {
    return {cluster, plugin(args), std::move(pod)};
  }
  // Assigns `count` pods to the node, each with a unique name.
  void assign(const std::string& node, int count, const std::string& app = "web") {
    for (int i = 0; i < count; ++i) {
      cluster.assign(labelled(app + std::to_string(next_++), {{"app", app}}), node);
    }
  }
  TopologyCluster cluster;

 private:
  std::unique_ptr<Plugin> plugin_;
  int next_ = 0;
};

TEST_F(PodTopologySpreadTest, LimitsTheSkewAcrossZones) {
  cluster.zones({"a", "a", "b"});
  assign("n0", 1);
  EXPECT_EQ(attempt(web("p", {spread("zone")})).passing(), "n2") << "1 + 1 - 0 is more than 1 in zone a";
  EXPECT_EQ(attempt(web("p", {spread("zone", 2)})).passing(), "n0 n1 n2");
  assign("n2", 1);
  EXPECT_EQ(attempt(web("p", {spread("zone")})).passing(), "n0 n1 n2");
}

TEST_F(PodTopologySpreadTest, ReportsWhetherPreemptionMightHelp) {
  cluster.zones({"a", "b"});
  cluster.node("n2", {{"kubernetes.io/hostname", "n2"}});
  assign("n0", 1);
  auto pod = attempt(web("p", {spread("zone")}));
  ASSERT_TRUE(pod.pre_filter().is_success());
  EXPECT_EQ(pod.filter("n0"), Status::unschedulable(kSkewed));
  EXPECT_EQ(pod.filter("n2"), Status::unresolvable(kNoLabel));
}

TEST_F(PodTopologySpreadTest, AppliesEveryConstraintAndCountsOnlyNodesThatHaveAllKeys) {
  cluster.zones({"a", "b"});
  cluster.node("bare", {{"zone", "c"}});
  assign("n0", 1);
  // Zone c does not count: its node has no rack. So the minimum is that of zone b.
  cluster.node("n0", {{"zone", "a"}, {"rack", "1"}});
  cluster.node("n1", {{"zone", "b"}, {"rack", "2"}});
  assign("n1", 1);
  auto pod = attempt(web("p", {spread("zone"), spread("rack", 5)}));
  EXPECT_EQ(pod.passing(), "n0 n1");
  EXPECT_EQ(pod.filter("bare").message(), kNoLabel);
}

TEST_F(PodTopologySpreadTest, SkipsAPodWithoutHardConstraints) {
  cluster.zones({"a", "b"});
  EXPECT_EQ(attempt(web("p")).passing(), "skipped");
  EXPECT_EQ(attempt(web("p", {spread("zone", 1, true)})).passing(), "skipped");
}

TEST_F(PodTopologySpreadTest, CountsItselfOnlyWhenItMatches) {
  cluster.zones({"a", "b"});
  assign("n0", 1);
  Pod other = web("p", {spread("zone")});
  other.metadata.labels["app"] = "db";
  EXPECT_EQ(attempt(other).passing(), "n0 n1") << "1 + 0 - 0 is within 1";
}

TEST_F(PodTopologySpreadTest, IgnoresTerminatingPodsAndOtherNamespaces) {
  cluster.zones({"a", "b"});
  Pod leaving = web("leaving");
  leaving.metadata.deleting = true;
  cluster.assign(leaving, "n0");
  cluster.assign(labelled("foreign", {{"app", "web"}}, "team"), "n0");
  EXPECT_EQ(attempt(web("p", {spread("zone")})).passing(), "n0 n1");
}

TEST_F(PodTopologySpreadTest, TreatsTheMinimumAsZeroBelowMinDomains) {
  cluster.zones({"a", "b"});
  assign("n0", 1);
  assign("n1", 1);
  TopologySpreadConstraint constraint = spread("zone");
  constraint.min_domains = 2;
  EXPECT_EQ(attempt(web("p", {constraint})).passing(), "n0 n1");
  constraint.min_domains = 3;
  EXPECT_EQ(attempt(web("p", {constraint})).passing(), "");
}

TEST_F(PodTopologySpreadTest, HonoursNodeAffinityUnlessConfiguredToIgnoreIt) {
  cluster.zones({"a", "b"});
  assign("n0", 1);
  Pod pod = web("p", {spread("zone")});
  pod.node_selector["zone"] = "a";
  EXPECT_EQ(attempt(pod).passing(), "n0 n1") << "the pod does not select zone b, so it does not count";
  pod.spec.edit().topology_spread_constraints[0].honor_node_affinity = false;
  EXPECT_EQ(attempt(pod).passing(), "n1");
}

TEST_F(PodTopologySpreadTest, IgnoresTaintsUnlessConfiguredToHonourThem) {
  cluster.zones({"a", "b"});
  cluster.node("n1", {{"zone", "b"}}, {{"dedicated", "gpu", TaintEffect::no_schedule}});
  assign("n0", 1);
  Pod pod = web("p", {spread("zone")});
  EXPECT_EQ(attempt(pod).passing(), "n1");
  pod.spec.edit().topology_spread_constraints[0].honor_node_taints = true;
  EXPECT_EQ(attempt(pod).passing(), "n0 n1");
  Toleration toleration;
  toleration.key = "dedicated";
  toleration.op = Toleration::Operator::exists;
  pod.spec.edit().tolerations = {toleration};
  EXPECT_EQ(attempt(pod).passing(), "n1");
}

TEST_F(PodTopologySpreadTest, MergesMatchLabelKeysThatThePodHas) {
  cluster.zones({"a", "b"});
  cluster.assign(labelled("old", {{"app", "web"}, {"version", "1"}}), "n0");
  Pod pod = web("p", {spread("zone")});
  pod.spec.edit().topology_spread_constraints[0].match_label_keys = {"version", "absent"};
  EXPECT_EQ(attempt(pod).passing(), "n1") << "the pod has neither key";
  pod.metadata.labels["version"] = "2";
  EXPECT_EQ(attempt(pod).passing(), "n0 n1") << "pods of version 1 do not count";
}

TEST_F(PodTopologySpreadTest, CountsOnlyItselfForAnEmptySelector) {
  cluster.zones({"a", "b"});
  assign("n0", 3);
  Pod pod = web("p", {spread("zone")});
  pod.spec.edit().topology_spread_constraints[0].label_selector = LabelSelector();
  EXPECT_EQ(attempt(pod).passing(), "n0 n1");
  pod.spec.edit().topology_spread_constraints[0].min_domains = 3;
  EXPECT_EQ(attempt(pod).passing(), "n0 n1") << "0 + 1 - 0";
}

TEST_F(PodTopologySpreadTest, SelectsNoPodWithoutASelector) {
  cluster.zones({"a", "b"});
  assign("n0", 3);
  Pod pod = web("p", {spread("zone")});
  pod.spec.edit().topology_spread_constraints[0].label_selector.reset();
  EXPECT_EQ(attempt(pod).passing(), "n0 n1");
}

TEST_F(PodTopologySpreadTest, CountsPodsAddedAndRemovedInTheCycleState) {
  cluster.zones({"a", "b"});
  const Pod victim = web("victim");
  cluster.assign(victim, "n0");
  auto pod = attempt(web("p", {spread("zone")}));
  EXPECT_EQ(pod.passing(), "n1");
  ASSERT_TRUE(pod.remove(victim, "n0").is_success());
  EXPECT_EQ(pod.passing_now(), "n0 n1");
  ASSERT_TRUE(pod.add(web("nominated"), "n1").is_success());
  EXPECT_EQ(pod.passing_now(), "n0");
}

TEST_F(PodTopologySpreadTest, IsUnaffectedByPodsAddedToACopy) {
  cluster.zones({"a", "b"});
  auto pod = attempt(web("p", {spread("zone")}));
  EXPECT_EQ(pod.passing(), "n0 n1");
  EXPECT_EQ(pod.passing_with(web("nominated"), "n1"), "n0");
  EXPECT_EQ(pod.passing_now(), "n0 n1");
}

TEST_F(PodTopologySpreadTest, LowersTheCountForATerminatingVictimThatWasNotCounted) {
  cluster.zones({"a", "b"});
  Pod leaving = web("leaving");
  leaving.metadata.deleting = true;
  cluster.assign(leaving, "n0");
  assign("n0", 1);
  auto pod = attempt(web("p", {spread("zone")}));
  EXPECT_EQ(pod.passing(), "n1");
  ASSERT_TRUE(pod.remove(leaving, "n0").is_success());
  EXPECT_EQ(pod.passing_now(), "n0 n1") << "as upstream";
}

TEST_F(PodTopologySpreadTest, RequiresPreFilterBeforeFilter) {
  cluster.zones({"a"});
  auto pod = attempt(web("p", {spread("zone")}));
  static_cast<void>(cluster.update_snapshot());
  EXPECT_EQ(pod.filter("n0").code(), Code::error);
  EXPECT_EQ(pod.add(web("q"), "n0").code(), Code::error);
}

TEST_F(PodTopologySpreadTest, PrefersTheEmptierDomain) {
  cluster.zones({"a", "a", "b", "c"});
  assign("n0", 2);
  assign("n1", 1);
  assign("n2", 1);
  auto pod = attempt(web("p", {spread("zone", 1, true)}));
  EXPECT_EQ(pod.scores(), "0 0 60 100");
  EXPECT_EQ(pod.raw, "5 5 2 0") << "pods x ln(3 zones + 2), rounded: 3 x 1.609, 1 x 1.609, 0";
}

TEST_F(PodTopologySpreadTest, CountsByHostNameAndScalesByTheNumberOfFeasibleNodes) {
  cluster.zones({"a", "a", "b"});
  assign("n0", 2);
  assign("n1", 1);
  auto pod = attempt(web("p", {spread("kubernetes.io/hostname", 3, true)}));
  EXPECT_EQ(pod.scores(), "40 60 100");
  EXPECT_EQ(pod.raw, "5 4 2") << "pods x ln(3 + 2) + 2";
  EXPECT_EQ(pod.scores({"n0", "n1"}), "60 100");
  EXPECT_EQ(pod.raw, "5 3") << "pods x ln(2 + 2) + 2";
}

TEST_F(PodTopologySpreadTest, ScoresNodesWithoutAllKeysZero) {
  cluster.zones({"a", "b"});
  cluster.node("n2", {{"kubernetes.io/hostname", "n2"}});
  assign("n0", 1);
  assign("n2", 5);
  auto pod = attempt(web("p", {spread("zone", 1, true)}));
  EXPECT_EQ(pod.scores(), "0 100 0");
}

TEST_F(PodTopologySpreadTest, ScoresAllFullWhenNothingMatches) {
  cluster.zones({"a", "b"});
  EXPECT_EQ(attempt(web("p", {spread("zone", 1, true)})).scores(), "100 100");
}

TEST_F(PodTopologySpreadTest, SkipsScoringWithoutSoftConstraints) {
  cluster.zones({"a", "b"});
  EXPECT_EQ(attempt(web("p")).scores(), "skipped");
  EXPECT_EQ(attempt(web("p", {spread("zone")})).scores(), "skipped");
}

TEST_F(PodTopologySpreadTest, SpreadsPodsSelectedByAServiceByDefault) {
  const std::string zone(kZoneLabel);
  const std::string host(kHostnameLabel);
  cluster.node("n0", {{zone, "a"}, {host, "n0"}});
  cluster.node("n1", {{zone, "b"}, {host, "n1"}});
  cluster.node("n2", {{host, "n2"}});
  assign("n0", 4);
  EXPECT_EQ(attempt(web("p")).scores(), "skipped") << "no service selects it";
  cluster.service("team", {{"app", "web"}});
  cluster.service("default", {{"app", "db"}});
  EXPECT_EQ(attempt(web("p")).scores(), "skipped");
  cluster.service("default", {{"app", "web"}});
  auto pod = attempt(web("p"));
  EXPECT_EQ(pod.scores(), "10 78 100") << "the node without a zone is scored too";
  EXPECT_EQ(pod.raw, "19 6 2") << "4 x ln 5 + 2 by host, 4 x ln 5 + 4 by zone; a missing zone is a domain too";
  EXPECT_EQ(attempt(web("p", {spread("rack", 1)})).scores(), "skipped") << "own constraints replace the defaults";
  EXPECT_EQ(attempt(web("p")).passing(), "skipped") << "the system's defaults are soft constraints";
}

TEST_F(PodTopologySpreadTest, CombinesTheSelectorsOfAllServicesThatSelectThePod) {
  cluster.zones({"a", "b"});
  cluster.service("default", {{"app", "web"}});
  cluster.service("default", {{"tier", "front"}});
  assign("n0", 1);
  Pod pod = web("p");
  pod.metadata.labels["tier"] = "front";
  const std::string args = R"({"defaultingType": "List", "defaultConstraints":
      [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}]})";
  EXPECT_EQ(attempt(pod, args).passing(), "n0 n1") << "pods that are web but not front do not count";
  pod.metadata.labels.erase("tier");
  EXPECT_EQ(attempt(pod, args).passing(), "n1");
}

TEST_F(PodTopologySpreadTest, RequiresAllKeysOfListedDefaults) {
  cluster.zones({"a", "b"});
  cluster.node("n2", {{"kubernetes.io/hostname", "n2"}});
  cluster.service("default", {{"app", "web"}});
  assign("n0", 1);
  const std::string args = R"({"defaultingType": "List", "defaultConstraints":
      [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}]})";
  EXPECT_EQ(attempt(web("p"), args).scores(), "0 100 0");
}

TEST_F(PodTopologySpreadTest, RejectsWrongArgumentsByName) {
  const std::map<std::string, std::string> cases{
      {R"({"defaultConstraints": [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}]})",
       "args.defaultingType: System does not allow defaultConstraints; use List, or remove them"},
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
    Result<std::unique_ptr<Plugin>> made = PodTopologySpread::make(*Json::parse(text), cluster);
    ASSERT_FALSE(made.has_value()) << text;
    EXPECT_TRUE(made.error().message().find(want) != std::string::npos) << made.error().message();
  }
}

// Random pods are added to and removed from random nodes; the incremental counts must agree with a fresh count.
TEST_F(PodTopologySpreadTest, IncrementalCountsAgreeWithAFreshCount) {
  Random random(20240611);
  for (int round = 0; round < 40; ++round) {
    TopologyCluster random_cluster;
    std::vector<std::string> names;
    for (std::uint64_t i = 0; i < 2 + random.below(6); ++i) {
      names.push_back("n" + std::to_string(i));
      Labels labels{{"zone", std::string(1, static_cast<char>('a' + random.below(3)))}, {"host", names.back()}};
      if (random.chance(1, 5)) labels.erase("zone");
      std::vector<Taint> taints;
      if (random.chance(1, 4)) taints.push_back({"spot", "", TaintEffect::no_execute});
      random_cluster.node(names.back(), labels, taints);
    }
    Pod pod = web("p", {spread("zone", 1 + static_cast<std::int32_t>(random.below(2)))});
    if (random.chance(1, 2)) pod.spec.edit().topology_spread_constraints.push_back(spread("host", 2));
    pod.spec.edit().topology_spread_constraints[0].honor_node_taints = random.chance(1, 2);
    pod.spec.edit().topology_spread_constraints[0].min_domains = static_cast<std::int32_t>(1 + random.below(3));
    std::unique_ptr<Plugin> made = make_plugin<PodTopologySpread>(random_cluster);
    auto& plugin = dynamic_cast<PodTopologySpread&>(*made);
    Attempt<PodTopologySpread> incremental(random_cluster, plugin, pod);
    ASSERT_TRUE(incremental.pre_filter().is_success());
    std::vector<std::pair<Pod, std::string>> placed;
    for (int step = 0; step < 60; ++step) {
      if (!placed.empty() && random.chance(2, 5)) {
        const std::size_t which = random.below(placed.size());
        random_cluster.remove(placed[which].first.uid());
        ASSERT_TRUE(incremental.remove(placed[which].first, placed[which].second).is_success());
        placed.erase(placed.begin() + static_cast<std::ptrdiff_t>(which));
      } else {
        const std::string name = "q" + std::to_string(step);
        Pod next =
            labelled(name, {{"app", random.chance(3, 4) ? "web" : "db"}}, random.chance(1, 5) ? "team" : "default");
        const std::string& node = names[random.below(names.size())];
        random_cluster.assign(next, node);
        ASSERT_TRUE(incremental.add(next, node).is_success());
        placed.emplace_back(next, node);
      }
      Attempt<PodTopologySpread> fresh(random_cluster, plugin, pod);
      const std::string want = fresh.passing();
      ASSERT_EQ(incremental.passing_now(), want) << "round " << round << ", step " << step;
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
  static Pod assigned(const Labels& labels, const std::string& name_space = "default") {
    Pod pod = labelled("assigned", labels, name_space);
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

TEST_F(PodTopologySpreadHints, RequeuesWhenACountedPodIsAddedOrRemoved) {
  EXPECT_EQ(pod_event(kAdd, {}, assigned({{"app", "web"}})), Hint::queue);
  EXPECT_EQ(pod_event(kDelete, assigned({{"app", "web"}}), {}), Hint::queue);
  EXPECT_EQ(pod_event(kAdd, {}, assigned({{"app", "db"}})), Hint::skip);
  EXPECT_EQ(pod_event(kAdd, {}, assigned({{"app", "web"}}, "team")), Hint::skip);
  Pod unassigned = assigned({{"app", "web"}});
  unassigned.node_name = "";
  EXPECT_EQ(pod_event(kDelete, unassigned, {}), Hint::skip);
}

TEST_F(PodTopologySpreadHints, RequeuesWhenALabelChangesTheCount) {
  EXPECT_EQ(pod_event(kUpdatePodLabel, assigned({{"app", "web"}}), assigned({{"app", "db"}})), Hint::queue);
  EXPECT_EQ(pod_event(kUpdatePodLabel, assigned({{"app", "db"}}), assigned({{"app", "web"}})), Hint::queue);
  EXPECT_EQ(pod_event(kUpdatePodLabel, assigned({{"app", "db"}}), assigned({{"app", "x"}})), Hint::skip);
}

TEST_F(PodTopologySpreadHints, RequeuesForItsOwnTolerationOnlyWhenTaintsAreHonoured) {
  Pod after = waiting;
  after.spec.edit().tolerations.emplace_back();
  EXPECT_EQ(pod_event(kUpdatePodToleration, waiting, after), Hint::skip);
  waiting.spec.edit().topology_spread_constraints[0].honor_node_taints = true;
  EXPECT_EQ(pod_event(kUpdatePodToleration, waiting, after), Hint::queue);
  Pod other = assigned({{"app", "web"}});
  after = other;
  after.spec.edit().tolerations.emplace_back();
  EXPECT_EQ(pod_event(kUpdatePodToleration, other, after), Hint::skip);
}

TEST_F(PodTopologySpreadHints, RequeuesForNodesThatJoinLeaveOrChangeTheirDomain) {
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

TEST_F(PodTopologySpreadHints, RequeuesForTaintsOfNodesThatCount) {
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
    const double actual = natural_log(n);
    const double expected = std::log(static_cast<double>(n));
    const auto distance = std::bit_cast<std::int64_t>(actual) - std::bit_cast<std::int64_t>(expected);
    ASSERT_LE(std::abs(distance), 1) << n;
  }
}

// Where the result of this algorithm is not the nearest double (3, 14, 48, 74), the algorithm's bits are expected.
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
