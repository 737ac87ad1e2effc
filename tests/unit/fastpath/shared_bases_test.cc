// What a second reading of shared base views found: each was decided differently, or read what was gone.
#include <gtest/gtest.h>

#include "core/fastpath/class_views.h"
#include "tests/unit/fastpath/both_ways.h"

namespace berth {
namespace {

constexpr const char* kRack = "rack";

class SharedBases : public BothWays {
 protected:
  void put(int number, const std::string& zone, bool image = false) {
    Node made = make_node("node-" + std::to_string(number));
    made.metadata.labels[kRack] = zone;
    if (image) made.images.edit().push_back({{"big:1"}, std::int64_t{1} << 30});
    cache.set_node(share(std::move(made)));
  }
  static Pod spread_pod(const std::string& name, bool hard = true) {
    Pod pod = make_pod(name, resources({{"cpu", "100m"}}));
    pod.metadata.labels["app"] = "a";
    TopologySpreadConstraint spread;
    spread.topology_key = kRack;
    spread.schedule_anyway = !hard;
    spread.label_selector.emplace().requirements.push_back({"app", Requirement::Operator::in, {"a"}});
    pod.spec.edit().topology_spread_constraints.push_back(spread);
    return pod;
  }
  ScheduleResult decide(const Pod& pod, NodeEvaluator* by) {
    cache.update_snapshot(handle.snapshot_of_test);
    Random same(7);
    NodeSearch search{&handle.nominator_of_test, {}, 0, &same};
    CycleState state;
    return schedule_pod(*framework, state, pod, handle.snapshot_of_test, search, by);
  }
  void alike(const Pod& pod) {
    const auto fast = decide(pod, &views);
    const auto plain = decide(pod, nullptr);
    EXPECT_EQ(fast.declined, "");
    EXPECT_EQ(fast.status, plain.status) << fast.status.message() << " / " << plain.status.message();
    EXPECT_EQ(fast.decision.node, plain.decision.node);
    EXPECT_EQ(fast.decision.feasible, plain.decision.feasible);
  }
  ClassViews views{kSchedulingCacheBytes};
};

TEST_F(SharedBases, TheLogOfObjectsForgetsNoMoreThanItHas) {
  for (int i = 0; i < 10; ++i) put(i, "z");
  cache.update_snapshot(handle.snapshot_of_test);
  for (int i = 0; i < 400; ++i) {
    put(i % 10, "z" + std::to_string(i % 3));
    cache.update_snapshot(handle.snapshot_of_test);
  }
}

// Each change is judged with what the node had then or later: the last one decides, also where an earlier one alone
// took the node out or brought it back.
TEST_F(SharedBases, ANodeThatChangedTwiceIsJudgedByItsLastState) {
  for (const bool ends_full : {false, true}) {
    for (int i = 0; i < 4; ++i) put(i, "a");
    const Pod waits = make_pod("waits", resources({{"cpu", "1"}}));
    const Pod other = make_pod("other", resources({{"cpu", "2"}}));
    alike(waits);
    const auto fills = share(make_pod("fills-" + std::to_string(ends_full), resources({{"cpu", "3500m"}})));
    for (int turn = 0; turn < 3; ++turn) {
      cache.confirm(fills, "node-1");
      alike(other);
      if (ends_full && turn == 2) break;
      cache.remove(fills->uid());
      alike(other);
    }
    alike(waits);
  }
}

TEST_F(SharedBases, AKeyThatBecameUniquePerNodeIsOneForNewViewsAsForOldOnes) {
  put(0, "a");
  put(1, "a");
  put(2, "b");
  put(3, "c");
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(
        cache.assume(share(spread_pod("placed-" + std::to_string(i))), "node-" + std::to_string(i * 2)).is_success());
  }
  alike(spread_pod("first"));
  put(1, "d");
  alike(spread_pod("second"));
  put(2, "b", true);
  alike(spread_pod("third"));
  ASSERT_TRUE(cache.assume(share(spread_pod("placed-x")), "node-3").is_success());
  alike(spread_pod("fourth"));
}

class OnlyPreFilter final : public PreFilterPlugin {
 public:
  std::string_view name() const override { return "OnlyPreFilter"; }
  Reads reads(const Pod&, Point) const override { return Reads::node; }
  Status pre_filter(CycleState&, const Pod& pod, const Snapshot&, PreFilterResult&) override {
    return pod.metadata.namespace_ == "forbidden" ? Status::unresolvable("forbidden") : Status();
  }
};
TEST_F(SharedBases, APluginThatOnlyPreFiltersTellsPodsApart) {
  Registry registry = in_tree_registry();
  ASSERT_TRUE(
      registry
          .add("OnlyPreFilter",
               [](const Json&, Handle&) { return Result<std::unique_ptr<Plugin>>(std::make_unique<OnlyPreFilter>()); })
          .is_success());
  Profile profile = default_profile();
  profile.enable("OnlyPreFilter");
  make_framework(registry, profile);
  for (int i = 0; i < 4; ++i) put(i, "a");
  alike(make_pod("p", resources({{"cpu", "100m"}})));
  Pod other = make_pod("q", resources({{"cpu", "100m"}}));
  other.metadata.namespace_ = "forbidden";
  const auto plain = decide(other, nullptr);
  const auto fast = decide(other, &views);
  EXPECT_FALSE(plain.status.is_success());
  EXPECT_EQ(fast.status, plain.status) << fast.decision.node;
}

TEST_F(SharedBases, ManyLabelsAreForgottenBetweenDecisionsAlone) {
  for (int i = 0; i < 200; ++i) put(i, i % 2 == 0 ? "a" : "b");
  for (int k = 0; k < 80; ++k) {
    Pod pod = spread_pod("p", false);
    pod.node_selector["key-" + std::to_string(k)] = "v";
    for (int i = 0; i < 20; ++i) {
      Node made = make_node("node-" + std::to_string(i));
      made.metadata.labels[kRack] = i % 2 == 0 ? "a" : "b";
      made.metadata.labels["key-" + std::to_string(k)] = "v";
      cache.set_node(share(std::move(made)));
    }
    alike(pod);
  }
}

}  // namespace
}  // namespace berth
