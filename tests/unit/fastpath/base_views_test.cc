// What classes share, and when they part.
#include <gtest/gtest.h>

#include "core/fastpath/class_views.h"
#include "tests/unit/fastpath/both_ways.h"

namespace berth {
namespace {

class BaseViewsTest : public BothWays {
 protected:
  static constexpr std::size_t kNodes = 2000;
  void SetUp() override {
    BothWays::SetUp();
    for (std::size_t i = 0; i < kNodes; ++i) {
      Node node = make_node("node-" + std::to_string(i));
      node.metadata.labels["kubernetes.io/hostname"] = node.metadata.name;
      node.metadata.labels["topology.kubernetes.io/zone"] = "zone-" + std::to_string(i % 4);
      cache.set_node(share(std::move(node)));
    }
    cache.update_snapshot(handle.snapshot_of_test);
  }
  static Pod of_app(const std::string& app, const std::string& key = "", bool hard = true) {
    Pod pod = make_pod("p", resources({{"cpu", "100m"}}));
    pod.metadata.labels["app"] = app;
    if (key.empty()) return pod;
    TopologySpreadConstraint spread;
    spread.topology_key = key;
    spread.schedule_anyway = !hard;
    spread.label_selector.emplace().requirements.push_back({"app", Requirement::Operator::in, {app}});
    pod.spec.edit().topology_spread_constraints.push_back(spread);
    return pod;
  }
  ScheduleResult decide(ClassViews& by, const Pod& pod) {
    cache.update_snapshot(handle.snapshot_of_test);
    NodeSearch search{&handle.nominator_of_test, {}, 0, &random};
    CycleState state;
    return schedule_pod(*framework, state, pod, handle.snapshot_of_test, search, &by);
  }
  // The bytes that the view of one more class takes.
  std::size_t another(const std::string& key, bool hard = true) {
    ClassViews fresh(kSchedulingCacheBytes);
    EXPECT_EQ(decide(fresh, of_app("first", key, hard)).declined, "");
    const std::size_t before = fresh.kept_bytes();
    EXPECT_EQ(decide(fresh, of_app("second", key, hard)).declined, "");
    return fresh.kept_bytes() - before;
  }
  ClassViews views{kSchedulingCacheBytes};
};

TEST_F(BaseViewsTest, AreSharedByClassesThatDifferInWhatTheyAskOfOtherPods) {
  constexpr std::size_t kOwn = 2 * kNodes;  // at least
  EXPECT_LT(another("topology.kubernetes.io/zone"), kOwn + 4096);
  EXPECT_LT(another("topology.kubernetes.io/zone", false), kOwn + 4096);
  EXPECT_GT(another("kubernetes.io/hostname", false), 2 * kOwn) << "nodes have traits of their own";
}

TEST_F(BaseViewsTest, GoWithTheLastClassThatUsesThem) {
  const auto zoned = [](int i) { return of_app(std::to_string(i), "topology.kubernetes.io/zone"); };
  static_cast<void>(decide(views, zoned(0)));
  const std::size_t one = views.kept_bytes();
  for (int i = 1; i < 10; ++i) static_cast<void>(decide(views, zoned(i)));
  static_cast<void>(decide(views, make_pod("p", resources({{"cpu", "200m"}}))));
  views.keep_at_most(0);
  EXPECT_EQ(views.size(), 1u);
  EXPECT_LE(views.kept_bytes(), one);
}

TEST_F(BaseViewsTest, ArePartedWhenANodeGetsAnImageThatOneClassRuns) {
  const auto running = [](const std::string& image) {
    Pod pod = make_pod("p", resources({{"cpu", "100m"}}));
    pod.spec.edit().containers.edit().front().image = image;
    return pod;
  };
  for (const char* image : {"big:1", "other:1"}) static_cast<void>(decide(views, running(image)));
  Node node = *cache.find("node-7")->node;
  node.images.edit().push_back({{"big:1"}, std::int64_t{4} << 40});
  cache.set_node(share(std::move(node)));
  EXPECT_EQ(decide(views, running("big:1")).decision.node, "node-7");
  std::set<std::string> nodes;
  for (int i = 0; i < 5; ++i) nodes.insert(decide(views, running("other:1")).decision.node);
  EXPECT_GT(nodes.size(), 1u) << "for the other class all nodes are alike";
}

TEST_F(BaseViewsTest, APodThatNamesItsNodeBeginsNoView) {
  Pod pod = of_app("daemon");
  NodeSelectorTerm term;
  term.match_fields.push_back({"metadata.name", Requirement::Operator::in, {"node-3"}});
  pod.affinity.edit().required_node_affinity.emplace().terms.push_back(term);
  const ScheduleResult result = decide(views, pod);
  EXPECT_EQ(result.decision.node, "node-3");
  EXPECT_EQ(result.declined, declined::kPreFilter);
  EXPECT_EQ(views.begun(), 0u);
}

}  // namespace
}  // namespace berth
