// Random small clusters, compared with an exhaustive search of all sets of victims: no pod of equal or higher priority
// is evicted, every victim is needed, pods are reprieved in the defined order, and no other node is better.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <list>

#include "core/api/node.h"
#include "core/api/pod.h"
#include "core/random.h"
#include "tests/unit/plugins/preemption_fixture.h"

namespace berth {
namespace {

constexpr std::int64_t kSum = std::int64_t{1} << 31;

struct Cost {
  std::int64_t violations = 0;
  std::int32_t highest = 0;
  std::int64_t sum = 0;
  std::size_t count = 0;
  std::int64_t start = 0;  // earliest among the highest
  preemption::Pods victims;
};

class PreemptionProperty : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  PreemptionProperty() : random(GetParam()) {}

  std::string cpu(std::uint64_t from, std::uint64_t to) {
    return std::to_string((from + random.below(to - from + 1)) * 100) + "m";
  }

  void build() {
    const std::uint64_t nodes = 1 + random.below(5);
    for (std::uint64_t n = 0; n < nodes; ++n) {
      const std::string node = "n" + std::to_string(n);
      Node made = make_node(node, cpu(8, 16), "4Gi", std::to_string(4 + random.below(5)));
      cluster.cache.set_node(share(std::move(made)));
      const std::uint64_t pods = 2 + random.below(6);
      for (std::uint64_t p = 0; p < pods; ++p) {
        const std::string name = node + "-p" + std::to_string(p);
        Pod& pod = cluster.make(name, static_cast<std::int32_t>(random.below(5)) - 1, cpu(1, 5),
                                static_cast<std::int64_t>(1000 + random.below(4) * 1000));
        if (random.chance(1, 8)) pod.start_time.reset();
        pod.metadata.labels["app"] = random.chance(1, 2) ? "web" : "db";
        cluster.cache.confirm(share(pod), node);
      }
      if (random.chance(1, 3)) {
        Pod& waiting = cluster.make(node + "-waiting", static_cast<std::int32_t>(random.below(5)), cpu(1, 4));
        cluster.nominations.add(share(waiting), node);
      }
    }
    for (const char* app : {"web", "db"}) {
      if (random.chance(1, 2)) cluster.protect({app}, static_cast<std::int32_t>(random.below(3)));
    }
    cluster.drawn = random.below(100);
  }

  // Independent of the plugin. Nominated pods of at least the pod's priority count as if they ran on the node.
  bool fits(const Pod& pod, const NodeInfo& node, const preemption::Pods& without) const {
    std::int64_t used = pod_requests(pod).milli_cpu;
    std::int64_t count = 1;
    auto add = [&](const Pod& other) {
      used += pod_requests(other).milli_cpu;
      ++count;
    };
    for (const auto& other : node.pods) {
      if (std::find(without.begin(), without.end(), other) == without.end()) add(*other);
    }
    for (const auto& other : cluster.nominations.pods_on(node.name())) {
      if (other->priority >= pod.priority) add(*other);
    }
    return used <= node.allocatable.milli_cpu && count <= node.allocatable.allowed_pods;
  }

  static std::int64_t start(const Pod& pod) {
    return pod.start_time ? *pod.start_time : std::numeric_limits<std::int64_t>::max();
  }

  // Of all sets of lower pods whose eviction makes the pod fit, the one that spares the first pod in the order of
  // reprieve, then the second, and so on. Empty: no set helps.
  std::optional<Cost> best_victims(const Pod& pod, const NodeInfo& node) const {
    std::list<PodPtr> lower;
    for (const auto& other : node.pods) {
      if (other->priority < pod.priority) lower.push_back(other);
    }
    lower.sort([](const auto& a, const auto& b) {
      return a->priority != b->priority ? a->priority > b->priority : start(*a) < start(*b);
    });
    preemption::Split split;
    preemption::split_by_budgets({lower.begin(), lower.end()}, cluster.budgets, split);
    preemption::Pods order = split.violating;
    order.insert(order.end(), split.others.begin(), split.others.end());
    const std::size_t sets = std::size_t{1} << order.size();
    for (std::size_t evicted = 0; evicted < sets; ++evicted) {
      preemption::Pods victims;
      for (std::size_t i = 0; i < order.size(); ++i) {
        // The first in the order has the highest bit: it is evicted only when no set of the others helps.
        if ((evicted >> (order.size() - 1 - i) & 1) != 0) victims.push_back(order[i]);
      }
      if (victims.empty() || !fits(pod, node, victims)) continue;
      return cost_of(std::move(victims), split.violating);
    }
    return std::nullopt;
  }

  static Cost cost_of(preemption::Pods victims, const preemption::Pods& violating) {
    Cost cost;
    cost.victims = std::move(victims);
    cost.count = cost.victims.size();
    cost.highest = (*std::max_element(cost.victims.begin(), cost.victims.end(), [](const auto& a, const auto& b) {
                     return a->priority < b->priority;
                   }))->priority;
    cost.start = std::numeric_limits<std::int64_t>::max();
    for (const auto& victim : cost.victims) {
      cost.violations += std::count(violating.begin(), violating.end(), victim);
      cost.sum += victim->priority + kSum;
      if (victim->priority == cost.highest) cost.start = std::min(cost.start, start(*victim));
    }
    return cost;
  }

  static bool better(const Cost& a, const Cost& b) {
    if (a.violations != b.violations) return a.violations < b.violations;
    if (a.highest != b.highest) return a.highest < b.highest;
    if (a.sum != b.sum) return a.sum < b.sum;
    if (a.count != b.count) return a.count < b.count;
    return a.start > b.start;
  }

  static std::set<std::string> names_of(const preemption::Pods& pods) {
    const std::vector<std::string> list = names(pods);
    return {list.begin(), list.end()};
  }

  void check_victims(const Pod& pod, const NodeInfo& node, const preemption::Pods& victims) const {
    for (const auto& victim : victims) EXPECT_LT(victim->priority, pod.priority) << victim->metadata.name;
    EXPECT_TRUE(fits(pod, node, victims));
    for (const auto& spared : victims) {
      preemption::Pods fewer;
      std::copy_if(victims.begin(), victims.end(), std::back_inserter(fewer),
                   [&spared](const auto& victim) { return victim != spared; });
      EXPECT_FALSE(fits(pod, node, fewer)) << spared->metadata.name << " need not be evicted";
    }
    EXPECT_TRUE(std::is_sorted(victims.begin(), victims.end(),
                               [](const auto& a, const auto& b) { return preemption::more_important(*a, *b); }));
  }

  Random random;
  PreemptionCluster cluster;
};

TEST_P(PreemptionProperty, ChoosesTheNodeAndVictimsOfTheLowestCost) {
  build();
  Pod pod = make_pod("preemptor", resources({{"cpu", cpu(4, 12)}}));
  pod.priority = static_cast<std::int32_t>(random.below(5));
  const ScheduleResult result = cluster.attempt(pod);
  if (result.status.is_success()) return;
  std::map<std::string, Cost> costs;
  for (const auto& node : cluster.snapshot().nodes()) {
    if (auto cost = best_victims(pod, *node)) costs.emplace(node->name(), std::move(*cost));
  }
  const std::string chosen = result.nominated_node.value_or("unset");
  EXPECT_EQ(chosen.empty(), costs.empty()) << result.diagnosis.message();
  if (chosen.empty() || costs.empty()) return;
  ASSERT_TRUE(costs.contains(chosen)) << chosen;
  check_victims(pod, *cluster.snapshot().find(chosen), result.victims);
  EXPECT_EQ(names_of(result.victims), names_of(costs.at(chosen).victims));
  for (const auto& [node, cost] : costs) EXPECT_FALSE(better(cost, costs.at(chosen))) << node << " beats " << chosen;
}

TEST_P(PreemptionProperty, FindsTheSameVictimsBySumsAsOnCopies) {
  build();
  Pod pod = make_pod("preemptor", resources({{"cpu", cpu(4, 12)}}));
  pod.priority = 4;
  Snapshot snapshot;
  cluster.cache.update_snapshot(snapshot);
  const Result<std::unique_ptr<Framework>> framework = cluster.make_framework();
  ASSERT_TRUE(framework);
  CycleState state;
  PreFilterResult narrowed;
  ASSERT_TRUE((*framework)->run_pre_filter(state, pod, snapshot, narrowed).is_success());
  preemption::AmountsTrial by_sums;
  by_sums.begin(**framework, state, pod);
  ASSERT_TRUE(by_sums.is_possible());
  for (const auto& node : snapshot.nodes()) {
    if (!preemption::has_victims(*node, pod)) continue;
    preemption::Workspace workspace;
    workspace.node = *node;
    workspace.state.become(state);
    preemption::Candidate expected;
    const Status status = select_victims(**framework, Nominator(), cluster.budgets, pod, workspace, expected);
    preemption::Candidate found;
    EXPECT_EQ(by_sums.select_victims(*node, cluster.budgets, pod, found), status);
    if (!status.is_success()) continue;
    EXPECT_EQ(found.node, expected.node);
    EXPECT_EQ(found.victims, expected.victims);
    EXPECT_EQ(found.pdb_violations, expected.pdb_violations);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, PreemptionProperty, ::testing::Range<std::uint64_t>(1, 401));

}  // namespace
}  // namespace berth
