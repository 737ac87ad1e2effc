// Decisions from the view of a class are those of the plugins themselves, whatever happens to the fleet in between.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "core/api/pod.h"
#include "core/fastpath/class_views.h"
#include "core/fastpath/pod_class.h"
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

TEST_F(ClassViewsTest, BeginsOneViewForEachClassHoweverManyThereAre) {
  ClassViews views;
  in_turn(views, 1000, 3);
  EXPECT_EQ(views.begun(), 1000u);
  EXPECT_EQ(views.size(), 1000u);
}

TEST_F(ClassViewsTest, KeepsItsViewsWithinTheMemoryItIsGiven) {
  ClassViews views(100'000);
  in_turn(views, 200, 3);
  decide(views, 0);  // the bound is kept before a pod, not after it
  EXPECT_LE(views.bytes(), 110'000u);
  EXPECT_GT(views.size(), 10u);
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
  other.tolerations.emplace_back();
  EXPECT_FALSE(is_same_class(pod, other, true));
  other = pod;
  other.needs.push_back({"probes", "spec.containers[0].livenessProbe"});
  EXPECT_FALSE(is_same_class(pod, other, true));
}

}  // namespace

}  // namespace berth
