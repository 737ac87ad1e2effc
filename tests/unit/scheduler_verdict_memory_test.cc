// Decisions from memory are those of the plugins themselves, whatever happens to the fleet in between.
#include <gtest/gtest.h>

#include "core/scheduler/scheduling_cycle.h"
#include "plugins/registry.h"
#include "tests/unit/scheduling_fixture.h"

namespace berth {

namespace {

constexpr const char* kZone = "topology.kubernetes.io/zone";

class VerdictMemoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = Framework::make(in_tree_registry(), default_profile(), handle);
    ASSERT_TRUE(made.has_value());
    framework = std::move(*made);
  }

  std::string node_name() { return "node-" + std::to_string(random.below(nodes)); }

  Node node(const std::string& name) {
    Node made = make_node(name, std::to_string(2 + random.below(3)), "8Gi", "12");
    made.metadata.labels[kZone] = "zone-" + std::to_string(random.below(3));
    if (random.chance(1, 3)) made.metadata.labels["disk"] = "ssd";
    if (random.chance(1, 8)) made.taints.push_back({"dedicated", "x", TaintEffect::no_schedule});
    if (random.chance(1, 4)) made.taints.push_back({"slow", "", TaintEffect::prefer_no_schedule});
    made.unschedulable = random.chance(1, 20);
    if (random.chance(1, 4)) made.images.push_back({{"docker.io/library/app:latest", "app:1"}, 300'000'000});
    return made;
  }

  // Twenty classes: resources, selectors, tolerations, ports, spreading, affinity.
  Pod pod() {
    const std::uint64_t kind = random.below(20);
    const std::string number = std::to_string(count++);
    Pod made = make_pod("pod-" + number, resources({{"cpu", std::to_string(100 + 100 * (kind % 3)) + "m"}}));
    made.metadata.labels["color"] = kind % 2 == 0 ? "green" : "red";
    made.priority = static_cast<std::int32_t>(kind % 2);
    LabelSelector green;
    green.requirements.push_back({"color", Requirement::Operator::in, {"green"}});
    PodAffinityTerm near;
    near.label_selector = green;
    near.topology_key = kZone;
    if (kind == 3) made.node_selector["disk"] = "ssd";
    if (kind == 4) made.tolerations.push_back({"dedicated", Toleration::Operator::exists, "", {}, {}});
    if (kind == 5) made.containers[0].host_ports.push_back({"", "TCP", 80});
    if (kind == 6 || kind == 7) {
      TopologySpreadConstraint spread;
      spread.topology_key = kZone;
      spread.label_selector = green;
      spread.schedule_anyway = kind == 7;
      made.topology_spread_constraints.push_back(spread);
    }
    if (kind == 8) made.pod_affinity.required.push_back(near);
    if (kind == 9) made.pod_anti_affinity.preferred.push_back({10, near});
    if (kind == 10) {
      near.topology_key = "kubernetes.io/hostname";
      made.pod_anti_affinity.required.push_back(near);
    }
    if (kind == 11) made.containers[0].requests = resources({{"cpu", "9"}});
    if (kind == 12) made.containers[0].image = "app:1";
    if (kind == 13) {
      NodeSelectorTerm ssd;
      ssd.match_expressions.push_back({"disk", Requirement::Operator::exists, {}});
      made.preferred_node_affinity.push_back({5, ssd});
    }
    return made;
  }

  void change_something() {
    const std::string name = node_name();
    const std::uint64_t what = random.below(12);
    if (what < 3) cache.set_node(share(node(name)));
    if (what == 3) cache.remove_node(name);
    if (what == 4 && !placed.empty()) {
      cache.remove(placed[random.below(placed.size())]->uid());
    }
    if (what == 5) {
      const auto promised = share(pod());
      nominator.add(promised, name);
      nominated.push_back(promised->uid());
    }
    if (what == 6 && !nominated.empty()) {
      for (const std::string& uid : nominated) nominator.remove(uid);
      nominated.clear();
    }
    if (what == 7) cache.charge(name, "gone/1", to_resources(resources({{"cpu", "500m"}})));
    if (what == 8) cache.discharge(name, "gone/1");
  }

  void decide_both_ways() {
    const auto asked = share(pod());
    cache.update_snapshot(handle.snapshot_of_test);
    const std::uint64_t seed = random.next();
    Random plain_random(seed);
    Random fast_random(seed);
    std::vector<NodeScore> plain_totals;
    std::vector<NodeScore> fast_totals;
    NodeSearch plain_search{&nominator, recording(plain_random, plain_totals), next_start};
    NodeSearch fast_search{&nominator, recording(fast_random, fast_totals), next_start};
    CycleState plain_state;
    CycleState fast_state;
    const Snapshot& snapshot = handle.snapshot_of_test;
    const ScheduleResult plain = schedule_pod(*framework, plain_state, *asked, snapshot, plain_search);
    const ScheduleResult fast = schedule_pod(*framework, fast_state, *asked, snapshot, fast_search, &memory);
    next_start = plain_search.next_start;
    ASSERT_EQ(fast.status, plain.status) << fast.status.message() << " / " << plain.status.message();
    ASSERT_EQ(fast.decision.node, plain.decision.node);
    ASSERT_EQ(fast.decision.feasible, plain.decision.feasible);
    ASSERT_EQ(fast.decision.evaluated, plain.decision.evaluated);
    ASSERT_EQ(fast_search.next_start, plain_search.next_start);
    ASSERT_EQ(fast_totals.size(), plain_totals.size());
    for (std::size_t i = 0; i < plain_totals.size(); ++i) {
      ASSERT_EQ(fast_totals[i].node, plain_totals[i].node);
      ASSERT_EQ(fast_totals[i].score, plain_totals[i].score) << plain_totals[i].node;
    }
    if (!plain.status.is_success()) {
      ASSERT_EQ(fast.diagnosis.node_statuses, plain.diagnosis.node_statuses);
      ASSERT_EQ(fast.diagnosis.unschedulable_plugins, plain.diagnosis.unschedulable_plugins);
      ASSERT_EQ(fast.nominated_node, plain.nominated_node);
      return;
    }
    placed.push_back(asked);
    ASSERT_TRUE(cache.assume(asked, plain.decision.node).is_success());
    cache.confirm(asked, plain.decision.node);
  }

  static PickNode recording(Random& from, std::vector<NodeScore>& totals) {
    return [pick = pick_uniformly(from), &totals](const std::vector<NodeScore>& all) {
      totals = all;
      return pick(all);
    };
  }

  void play(std::uint64_t seed, std::size_t fleet, int events) {
    random = Random(seed);
    nodes = fleet;
    for (std::size_t i = 0; i < fleet; ++i) cache.set_node(share(node("node-" + std::to_string(i))));
    for (int i = 0; i < events && !HasFatalFailure(); ++i) {
      change_something();
      decide_both_ways();
    }
  }

  Random random{1};
  std::size_t nodes = 0;
  int count = 0;
  std::size_t next_start = 0;
  FakeHandle handle;
  std::unique_ptr<Framework> framework;
  Cache cache;
  Nominator nominator;
  VerdictMemory memory;
  std::vector<std::shared_ptr<const Pod>> placed;
  std::vector<std::string> nominated;
};

TEST_F(VerdictMemoryTest, DecidesAsThePluginsOverAThousandChangesOfASmallFleet) { play(1, 40, 1000); }

TEST_F(VerdictMemoryTest, DecidesAsThePluginsInALargeFleet) { play(2, 500, 200); }

TEST_F(VerdictMemoryTest, DecidesAsThePluginsInATinyFleetThatComesAndGoes) { play(3, 4, 1000); }

TEST(VerdictMemory, TellsPodsApartByWhatTheyAsk) {
  const Pod pod = make_pod("a", resources({{"cpu", "1"}}));
  EXPECT_TRUE(is_same_class(pod, make_pod("b", resources({{"cpu", "1"}}))));
  EXPECT_FALSE(is_same_class(pod, make_pod("b", resources({{"cpu", "2"}}))));
  Pod other = pod;
  other.metadata.labels["color"] = "green";
  EXPECT_FALSE(is_same_class(pod, other));
  other = pod;
  other.tolerations.emplace_back();
  EXPECT_FALSE(is_same_class(pod, other));
}

}  // namespace

}  // namespace berth
