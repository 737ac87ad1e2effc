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

// Notes of which pods it was asked.
class NotingEvaluator final : public NodeEvaluator {
 public:
  explicit NotingEvaluator(std::vector<std::string>& pods) : pods_(pods) {}
  Evaluation evaluate(const NodeQuery& query) override {
    pods_.push_back(query.pod.metadata.name);
    return Evaluation::decline("it only takes note");
  }

 private:
  std::vector<std::string>& pods_;
};

TEST_F(ClassViewTest, IsBegunByTheFirstPodWhoseVolumesItKeepsTrackOf) {
  std::vector<std::string> scanned;
  ClassViews views(std::make_unique<NotingEvaluator>(scanned));
  cache.set_node(share(make_node("n1")));
  cache.update_snapshot(handle.snapshot_of_test);
  claim(1, false);
  for (const char* name : {"plain", "with-volume", "with-volume-again", "plain-again"}) {
    Pod pod = make_pod(name);
    if (pod.metadata.name.starts_with("with")) {
      pod.volumes.push_back({"disk", "claim-1", false, {}});
    }
    NodeSearch search{&handle.nominator_of_test, {}, 0, &random};
    CycleState state;
    schedule_pod(*framework, state, pod, handle.snapshot_of_test, search, &views);
  }
  EXPECT_EQ(scanned, std::vector<std::string>{"plain"});
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
  const auto number = [](const char* name, int otherwise) {
    const char* given = std::getenv(name);
    return given == nullptr ? otherwise : std::stoi(given);
  };
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
