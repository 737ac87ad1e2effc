// Decisions from the view of a class are those of the plugins themselves, whatever happens to the fleet in between.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <functional>
#include <limits>
#include <string>

#include "core/api/pod.h"
#include "core/fastpath/class_views.h"
#include "core/fastpath/pod_class.h"
#include "plugins/podtopologyspread_state.h"
#include "tests/unit/fastpath/both_ways.h"

namespace berth {

namespace {

using ClassViewTest = BothWays;

// From the environment.
int number(const char* name, int otherwise) {
  const char* given = std::getenv(name);
  return given == nullptr ? otherwise : std::stoi(given);
}

TEST_F(ClassViewTest, DecidesAsThePluginsOverAThousandChangesOfASmallFleet) {
  play(1, 40, 1000);
  EXPECT_GT(from_view, rounds(100));
  EXPECT_GT(volumes_chosen, rounds(5));
}

TEST_F(ClassViewTest, DecidesAsThePluginsWhereEveryPodHasVolumes) {
  only_volumes = true;
  play(6, 30, 1500);
  EXPECT_GT(volumes_from_view, rounds(30));
}

TEST_F(ClassViewTest, DecidesAsThePluginsWhereDevicesMakeVolumes) {
  only_volumes = makes_volumes = true;
  for (int i = 0; i < kClaims; ++i) claim(i, false);
  play(16, 12, 2000);
  EXPECT_GT(unfinished, rounds(100));
  EXPECT_GT(volumes_made, rounds(50));
  EXPECT_GT(from_view, rounds(30));
}

class ClassViewsTest : public BothWays {
 protected:
  void decide(ClassViews& views, int number) {
    const Pod pod = make_pod("p", resources({{"cpu", std::to_string(100 + number) + "m"}}));
    NodeSearch search{&handle.nominator_of_test, {}, 0, &random};
    CycleState state;
    const ScheduleResult result = schedule_pod(*framework, state, pod, handle.snapshot_of_test, search, &views);
    ASSERT_TRUE(result.status.is_success());
    ASSERT_EQ(result.declined, "");
  }
  void in_turn(ClassViews& views, int number_of_classes, int rounds) {
    for (int i = 0; i < number_of_classes * rounds; ++i) decide(views, i % number_of_classes);
  }
  void SetUp() override {
    BothWays::SetUp();
    for (int i = 0; i < 10; ++i) cache.set_node(share(make_node("node-" + std::to_string(i))));
    cache.update_snapshot(handle.snapshot_of_test);
  }
};

TEST_F(ClassViewsTest, TellsWhichNodeALaterPodOfTheClassWillGetInALargeFleet) {
  for (int i = 10; i < 3000; ++i) cache.set_node(share(make_node("node-" + std::to_string(i))));
  cache.update_snapshot(handle.snapshot_of_test);
  ClassViews views(kSchedulingCacheBytes);
  NodeSearch search{&handle.nominator_of_test, {}, 1234, &random};
  std::vector<std::optional<std::size_t>> told;
  for (int i = 0; i < 200; ++i) {
    const auto pod = share(make_pod("p" + std::to_string(i), resources({{"cpu", "1"}})));
    CycleState state;
    const ScheduleResult result = schedule_pod(*framework, state, *pod, handle.snapshot_of_test, search, &views);
    ASSERT_TRUE(result.status.is_success());
    if (told.size() >= Decision::kLikelyAfter) {
      ASSERT_EQ(told[told.size() - Decision::kLikelyAfter], handle.snapshot_of_test.index_of(result.decision.node))
          << i;
    }
    told.push_back(result.decision.likely_later);
    ASSERT_TRUE(told.back());
    ASSERT_TRUE(cache.assume(pod, result.decision.node).is_success());
    cache.update_snapshot(handle.snapshot_of_test);
  }
}

TEST_F(ClassViewsTest, BeginsOneViewForEachClass) {
  ClassViews views(kSchedulingCacheBytes);
  in_turn(views, ClassViews::kNewcomers, 3);
  EXPECT_EQ(views.begun(), ClassViews::kNewcomers);
  EXPECT_EQ(views.size(), ClassViews::kNewcomers);
}

TEST_F(ClassViewsTest, BeginsNoMoreThanTwoForEachHoweverManyThereAre) {
  ClassViews views(kSchedulingCacheBytes);
  constexpr int kClasses = 2 * ClassViews::kNewcomers;
  in_turn(views, kClasses, 2);
  EXPECT_GT(views.begun(), std::uint64_t{kClasses});
  EXPECT_LE(views.begun(), std::uint64_t{2 * kClasses});
  const std::uint64_t before = views.begun();
  in_turn(views, kClasses, 2);
  EXPECT_EQ(views.begun(), before);
  EXPECT_EQ(views.size(), std::size_t{kClasses});
}

// A view for each pod that was pinned to its node cost more than its decision: each was new memory.
TEST_F(ClassViewsTest, AClassThatCameOnceLeavesItsMemoryToTheNext) {
  ClassViews views(kSchedulingCacheBytes);
  decide(views, 2500);
  decide(views, 2500);
  in_turn(views, 2000, 1);
  EXPECT_GE(views.size(), ClassViews::kNewcomers);
  EXPECT_LT(views.size(), ClassViews::kNewcomers + 50u) << "besides those that are taken for known ones";
  const std::uint64_t before = views.begun();
  decide(views, 2500);
  EXPECT_EQ(views.begun(), before) << "this one came twice";
}

// All pods with claims had one hash: each looked at the views of all others, and none of these was ever dropped.
TEST_F(ClassViewsTest, APodWithABoundClaimOfItsOwnLeavesItsMemoryToTheNextToo) {
  ClassViews views(kSchedulingCacheBytes);
  Random drawing(1);
  for (std::uint64_t i = 0; i < 400; ++i) {
    const std::string name = std::to_string(i);
    claim(static_cast<int>(i), true);
    PersistentVolume made;
    made.metadata.name = "volume-" + name;
    made.node_affinity = NodeSelector{
        {{{{"kubernetes.io/hostname", Requirement::Operator::in, {"node-" + std::to_string(i % 10)}}}, {}}}};
    handle.objects.put(std::move(made));
    const Pod pod = pod_with_claim(static_cast<int>(i));
    NodeSearch search{&handle.nominator_of_test, {}, 0, &drawing};
    CycleState state;
    const ScheduleResult result = schedule_pod(*framework, state, pod, handle.snapshot_of_test, search, &views);
    ASSERT_EQ(result.decision.node, "node-" + std::to_string(i % 10));
    ASSERT_EQ(result.declined, "");
  }
  EXPECT_EQ(views.begun(), 400u);
  EXPECT_LE(views.size(), ClassViews::kNewcomers + 1);
}

class PoolViewsTest : public BothWays {
 protected:
  void SetUp() override {
    BothWays::SetUp();
    makes_volumes = true;
    for (const int number : {1, 2}) claim(number, false);
    Node node = make_node("node-0");
    node.volume_pools = std::vector<VolumePool>{{"made", "/made", quantity("1Gi")}};
    cache.set_node(share(node));
    cache.update_snapshot(handle.snapshot_of_test);
  }
  bool fits(const Pod& pod, CycleState& state) {
    NodeSearch search{&handle.nominator_of_test, {}, 0, &random};
    const ScheduleResult result = schedule_pod(*framework, state, pod, handle.snapshot_of_test, search, &views);
    EXPECT_EQ(result.declined, "");
    return result.status.is_success();
  }
  bool fits(const Pod& pod) {
    CycleState state;
    return fits(pod, state);
  }
  ClassViews views{kSchedulingCacheBytes};
};

TEST_F(PoolViewsTest, RoomThatIsPromisedAndTakenBackIsSeenWithoutAnyChangeOfTheNode) {
  const Pod first = pod_with_claim(1);
  const Pod second = pod_with_claim(2);
  CycleState state;
  ASSERT_TRUE(fits(second));
  ASSERT_TRUE(fits(first, state));
  ASSERT_TRUE(framework->binding().run_reserve(state, first, "node-0").is_success());
  EXPECT_FALSE(fits(second));
  framework->binding().run_unreserve(state, first, "node-0");
  EXPECT_TRUE(fits(second));
  EXPECT_EQ(views.size(), 1u) << "the claims differ in nothing but their names";
}

TEST_F(PoolViewsTest, VolumesAreLookedAtInPartsBeforeAPodThatMayGetOne) {
  for (const char* name : {"v1", "v2", "v3"}) {
    PersistentVolume made;
    made.metadata.name = name;
    made.storage_class_name = "made";
    handle.objects.put(std::move(made));
  }
  const auto& filters = framework->filters();
  const auto tracking = std::find_if(filters.begin(), filters.end(), [](const auto& each) { return each.tracking; });
  ASSERT_NE(tracking, filters.end());
  const Pod pod = pod_with_claim(1);
  EXPECT_TRUE(tracking->tracking->prepare(pod, 2));
  EXPECT_FALSE(tracking->tracking->prepare(pod, 2));
  EXPECT_FALSE(tracking->tracking->prepare(make_pod("without"), 2));
}

TEST_F(PoolViewsTest, AVolumeThatADeviceMadeTakesRoomUntilItIsGone) {
  const Pod pod = pod_with_claim(1);
  ASSERT_TRUE(fits(pod));
  PersistentVolume made;
  made.metadata.name = "pvc-1";
  made.metadata.annotations = {{std::string(kProvisionedBy), std::string(StorageClass::kLocalProvisioner)},
                               {std::string(kOfferedBy), "node-0"}};
  made.storage_class_name = "made";
  made.capacity = quantity("1Mi");
  made.claim_ref = "default/other";
  handle.objects.put(std::move(made));
  EXPECT_FALSE(fits(pod));
  handle.objects.remove("pvc-1");
  EXPECT_TRUE(fits(pod));
}

TEST_F(ClassViewsTest, KeepsItsViewsWithinTheMemoryItIsGiven) {
  ClassViews views(100'000);
  in_turn(views, 200, 3);
  decide(views, 0);  // the bound is kept before a pod, not after it
  EXPECT_LE(views.kept_bytes(), 110'000u);
  EXPECT_GT(views.size(), 10u);
}

TEST_F(ClassViewsTest, GivesUpViewsAtOnceWhenLessMemoryIsLeft) {
  ClassViews views(kSchedulingCacheBytes);
  in_turn(views, 100, 2);
  EXPECT_EQ(views.size(), 100u);
  const std::size_t all = views.kept_bytes();
  views.keep_at_most(all / 2);
  EXPECT_LE(views.kept_bytes(), all / 2);
  EXPECT_GT(views.kept_bytes(), all / 3);
  views.keep_at_most(0);
  EXPECT_EQ(views.size(), 1u);
  views.keep_at_most(kSchedulingCacheBytes);
  in_turn(views, 100, 1);
  EXPECT_EQ(views.size(), 100u);
}

TEST_F(ClassViewsTest, LetsMoreClassesThanFitInTurnUseWhatFits) {
  ClassViews views(100'000);
  in_turn(views, 40, 1);
  const std::uint64_t before = views.begun();
  in_turn(views, 40, 10);
  EXPECT_LT(views.begun() - before, 250u) << "of 400: had the eldest view gone, each turn would begin one";
}

TEST_F(ClassViewsTest, KeepsTheViewOfAClassThatIsAskedForMoreOftenThanOthers) {
  ClassViews views(100'000);
  for (int i = 0; i < 20; ++i) decide(views, 7);
  const std::uint64_t before = views.begun();
  for (int i = 0; i < 100; ++i) {
    decide(views, 100 + i);
    decide(views, 7);
  }
  EXPECT_EQ(views.begun() - before, 100u);
}

// Plugins that ask for no sums came behind PodTopologySpread in the default profile: then every attempt of such a pod
// asked all plugins about all nodes.
TEST_F(ClassViewsTest, TellWhyAPodThatIsSpreadFitsNowhere) {
  Pod pod = make_pod("p", resources({{"cpu", "1m"}}));
  TopologySpreadConstraint spread;
  spread.topology_key = "nowhere";
  spread.label_selector = LabelSelector{};
  pod.spec.edit().topology_spread_constraints.push_back(spread);
  pod.priority = 1;
  ClassViews views(kSchedulingCacheBytes);
  NodeSearch search{&handle.nominator_of_test, {}, 0, &random};
  CycleState state;
  const Evaluation evaluation = views.evaluate({*framework, state, pod, handle.snapshot_of_test, search});
  EXPECT_EQ(evaluation.outcome, Evaluation::Outcome::rejected);
  ASSERT_TRUE(evaluation.rejection.has_value());
  EXPECT_EQ(evaluation.rejection->node_statuses.size(), 10u);

  const auto try_pod = [&](const Pod& tried) {
    CycleState own;
    const ScheduleResult result = schedule_pod(*framework, own, tried, handle.snapshot_of_test, search, &views);
    EXPECT_FALSE(result.status.is_success());
    EXPECT_EQ(result.diagnosis.post_filter_message,
              "preemption: 0/10 nodes are available: 10 Preemption is not helpful for scheduling.");
    return own.read<spreading::Spread>() != nullptr;
  };
  EXPECT_FALSE(try_pod(pod)) << "nobody could be preempted, so nothing needs what PreFilter writes";
  ASSERT_TRUE(cache.assume(share(make_pod("low")), "node-3").is_success());
  cache.update_snapshot(handle.snapshot_of_test);
  EXPECT_TRUE(try_pod(pod));
  pod.priority = 0;
  EXPECT_FALSE(try_pod(pod));
}

TEST_F(ClassViewTest, DecidesAsThePluginsWhereNobodyCountsChangesOfVolumes) {
  handle.objects.counts_volumes = false;
  only_volumes = true;
  play(9, 30, 1000);
  EXPECT_GT(volumes_chosen, rounds(5));
}

TEST_F(ClassViewTest, DecidesAsThePluginsWhereEveryPodIsTheFirstOfItsClass) {
  all_new = true;
  play(8, 40, 1500);
  EXPECT_GT(from_view, rounds(300));
}

TEST_F(ClassViewTest, DecidesAsThePluginsWherePodsSpreadOverTwoKeysAndNodesLackOne) {
  spreads_twice = true;
  play(15, 40, 1500);
  EXPECT_GT(from_view, rounds(300));
}

TEST_F(ClassViewTest, DecidesAsThePluginsWhileNodesOfALargeFleetComeAndGo) {
  comes_and_goes = true;
  has_images =
      false;  // with them each view starts from scratch: how widely they are spread depends on how many nodes there are
  play(10, 160, 400);
  EXPECT_GT(last_changes, rounds(50));
  EXPECT_GT(from_view, rounds(100));
}

TEST_F(ClassViewTest, PreemptsAsThePluginsWhileNodesOfALargeFleetComeAndGo) {
  comes_and_goes = true;
  has_images = false;
  preempts = true;
  play(12, 130, 300);
  EXPECT_GT(last_changes, rounds(30));
}

TEST_F(ClassViewTest, TriesANodeAgainForAPodThatIsNotTheOneNominatedToIt) {
  cache.set_node(share(make_node("n1", "4", "8Gi", "10")));
  cache.confirm(share(make_pod("low", resources({{"cpu", "2"}}))), "n1");
  const auto attempt = [&](const std::string& name, const std::string& nominated_node) {
    Pod high = make_pod(name, resources({{"cpu", "3"}}));
    high.priority = 10;
    high.nominated_node_name = nominated_node;
    const auto asked = share(std::move(high));
    handle.nominator_of_test.add(asked, nominated_node);
    cache.update_snapshot(handle.snapshot_of_test);
    NodeSearch search{&handle.nominator_of_test, {}, 0, &random};
    CycleState state;
    return schedule_pod(*framework, state, *asked, handle.snapshot_of_test, search, fast_path.get()).nominated_node;
  };
  EXPECT_EQ(attempt("first", ""), "n1");  // no view yet
  EXPECT_EQ(attempt("promised", "n1"), "n1");
  EXPECT_EQ(attempt("other", ""), "") << "the promised one takes the room of the victim";
}

TEST_F(ClassViewTest, PreemptsAsThePlugins) {
  preempts = true;
  play(7, 30, 2000);
  EXPECT_GT(preempted, rounds(50));
}

// As much as is asked for: BERTH_FLEET nodes, BERTH_EVENTS events, seed BERTH_SEED; with BERTH_PREEMPTS=1 pods preempt.
TEST_F(ClassViewTest, DecidesAsThePluginsInAFleetOfAnySize) {
  preempts = number("BERTH_PREEMPTS", 0) != 0;
  play(static_cast<std::uint64_t>(number("BERTH_SEED", 4)), static_cast<std::size_t>(number("BERTH_FLEET", 100)),
       number("BERTH_EVENTS", 200));
}

TEST_F(ClassViewTest, DecidesAsThePluginsWhileDevicesRefusePods) {
  refuses = true;
  play(13, 30, 2000);
  EXPECT_GT(refused, rounds(200));
  EXPECT_GT(from_view, rounds(200));
}

TEST_F(ClassViewTest, DecidesAsThePluginsWhereDevicesCanDoDifferentThings) {
  asks_features = true;
  play(14, 30, 2000);
  EXPECT_GT(from_view, rounds(200));
}

// Sums of own scores beyond two bytes: what exceeds them is a trait of the node's group.
TEST_F(ClassViewTest, DecidesAsThePluginsWithWeightsThatTwoBytesCannotHold) {
  Profile profile = default_profile();
  for (auto& plugin : profile.multi_point.enabled) plugin.weight = plugin.weight * 1000 + 7;
  make_framework(in_tree_registry(), profile);
  play(15, 60, 800);
  EXPECT_GT(from_view, rounds(100));
}

TEST_F(ClassViewTest, DeclinesWeightsThatFourBytesCannotHold) {
  Profile profile = default_profile();
  for (auto& plugin : profile.multi_point.enabled) plugin.weight = 30'000'000;
  make_framework(in_tree_registry(), profile);
  play(16, 20, 200);
  EXPECT_GT(declined[declined::kTotals], rounds(50));
}

// Scores before normalize() from the least to the greatest that four bytes hold.
class WideScore final : public ScorePlugin, public NormalizeScorePlugin {
 public:
  std::string_view name() const override { return "WideScore"; }
  Reads reads(const Pod&, Point) const override { return Reads::node; }
  Status score(CycleState&, const Pod&, const NodeInfo& node, std::int64_t& score) override {
    const std::int64_t least = std::numeric_limits<std::int32_t>::min();
    const std::int64_t most = std::numeric_limits<std::int32_t>::max();
    score = std::array{least, most, most - 1, std::int64_t{0}}[std::hash<std::string>()(node.name()) % 4];
    return {};
  }
  Status normalize(CycleState&, const Pod&, std::vector<NodeScore>& scores) override {
    for (NodeScore& each : scores) each.score = each.score > 0 ? 90 : each.score == 0 ? 40 : 10;
    return {};
  }
};

// On processors of 32 bits the span of such scores is one more than a size can be.
TEST_F(ClassViewTest, DecidesAsThePluginsWithScoresAsFarApartAsFourBytesAllow) {
  Registry registry = in_tree_registry();
  const auto make = [](const Json&, Handle&) { return Result<std::unique_ptr<Plugin>>(std::make_unique<WideScore>()); };
  ASSERT_TRUE(registry.add("WideScore", make).is_success());
  Profile profile = default_profile();
  profile.enable("WideScore");
  make_framework(registry, profile);
  play(17, 40, 400);
  EXPECT_GT(from_view, rounds(50));
}

TEST_F(ClassViewTest, DecidesAsThePluginsForManyClassesInTurn) {
  classes = 200;
  play(17, 120, 2500);
  EXPECT_GT(from_view, rounds(1000));
}

TEST_F(ClassViewTest, DecidesAsThePluginsWhereTheViewsOfManyClassesDoNotFit) {
  classes = 60;
  fast_path = std::make_unique<ClassViews>(60'000);
  drawn_path = std::make_unique<ClassViews>(60'000);
  play(18, 60, 1500);
  EXPECT_GT(from_view, rounds(500));
}

TEST_F(ClassViewTest, DecidesAsThePluginsWithMemoryForOneViewAlone) {
  classes = 20;
  fast_path = make_fast_path(0);
  drawn_path = make_fast_path(0);
  play(23, 50, 800);
  EXPECT_GT(from_view, rounds(200));
}

// The bound changes between decisions, as where the memory of a gateway gets short and is free again.
class ShortOfMemory : public ClassViewTest {
 protected:
  void change_promises() override {
    ClassViewTest::change_promises();
    for (NodeEvaluator* each : {fast_path.get(), drawn_path.get()}) {
      const std::size_t before = each->kept_bytes();
      each->keep_at_most(random.chance(1, 3) ? 0 : random.below(200'000));
      given_up += before > each->kept_bytes() ? 1 : 0;
    }
  }
  int given_up = 0;
};

TEST_F(ShortOfMemory, DecidesAsThePlugins) {
  changes_promises = true;
  classes = 20;
  play(24, 50, 800);
  EXPECT_GT(from_view, rounds(100));
  EXPECT_GT(given_up, rounds(200));
}

TEST_F(ShortOfMemory, PreemptsAsThePlugins) {
  preempts = true;
  play(25, 30, 1200);
  EXPECT_GT(preempted, rounds(30));
  EXPECT_GT(given_up, rounds(100));
}

// As much as is asked for: BERTH_FLEET nodes, BERTH_EVENTS events, seed BERTH_SEED; BERTH_CLASSES workloads.
TEST_F(ClassViewTest, DecidesAsThePluginsForAnyNumberOfClasses) {
  classes = static_cast<std::uint64_t>(number("BERTH_CLASSES", 20));
  play(static_cast<std::uint64_t>(number("BERTH_SEED", 19)), static_cast<std::size_t>(number("BERTH_FLEET", 100)),
       number("BERTH_EVENTS", 200));
}

TEST_F(ClassViewTest, DecidesAsThePluginsInALargeFleet) { play(2, 500, 200); }

TEST_F(ClassViewTest, DecidesAsThePluginsInATinyFleetThatComesAndGoes) { play(3, 4, 1000); }

TEST(ClassView, TellsPodsApartByWhatTheyAsk) {
  const Pod pod = make_pod("a", resources({{"cpu", "1"}}));
  EXPECT_TRUE(is_same_class(pod, make_pod("b", resources({{"cpu", "1"}})), true));
  EXPECT_FALSE(is_same_class(pod, make_pod("b", resources({{"cpu", "2"}})), true));
  Pod other = pod;
  other.metadata.labels["color"] = "green";
  EXPECT_FALSE(is_same_class(pod, other, true));
  other = pod;
  other.spec.edit().tolerations.emplace_back();
  EXPECT_FALSE(is_same_class(pod, other, true));
  other = pod;
  other.spec.edit().needs.push_back({"probes", "spec.containers[0].livenessProbe"});
  EXPECT_FALSE(is_same_class(pod, other, true));
}

}  // namespace

}  // namespace berth
