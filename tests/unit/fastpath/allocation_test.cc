// A decision for a pod whose class is known asks for no memory: neither per node nor at all.
#include <gtest/gtest.h>

#include <cstdlib>
#include <deque>
#include <new>

#include "core/api/node.h"
#include "core/api/pod.h"
#include "core/fastpath/fast_path.h"
#include "core/recycled.h"
#include "core/scheduler/scheduling_cycle.h"
#include "plugins/registry.h"
#include "tests/unit/scheduler/scheduling_fixture.h"

namespace {
std::size_t allocated = 0;
}

// Out of line: inlined, one of the pair alone looks mismatched to the compiler.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  ++allocated;
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace berth {
namespace {

constexpr const char* kZone = "topology.kubernetes.io/zone";
constexpr const char* kHost = "kubernetes.io/hostname";

struct ClassCase {
  const char* name;
  void (*shape)(Pod& pod);
};

void spread_over(Pod& pod, bool schedule_anyway) {
  TopologySpreadConstraint constraint;
  constraint.topology_key = kZone;
  constraint.max_skew = 5;
  constraint.label_selector.emplace();
  constraint.label_selector->requirements.push_back({"color", Requirement::Operator::in, {"green"}});
  constraint.schedule_anyway = schedule_anyway;
  pod.spec.edit().topology_spread_constraints.push_back(constraint);
}

PodAffinityTerm near_green(const char* key) {
  PodAffinityTerm term;
  term.label_selector.emplace();
  term.label_selector->requirements.push_back({"color", Requirement::Operator::in, {"green"}});
  term.topology_key = key;
  return term;
}

const ClassCase kClasses[] = {
    {"Basic", [](Pod&) {}},
    {"NodeSelector", [](Pod& pod) { pod.node_selector["disk"] = "ssd"; }},
    {"Toleration",
     [](Pod& pod) { pod.spec.edit().tolerations.push_back({"dedicated", Toleration::Operator::exists, "", {}, {}}); }},
    {"ExtendedResource", [](Pod& pod) { pod.spec.edit().containers[0].requests["example.com/gpu"] = quantity("1"); }},
    {"HostPort", [](Pod& pod) { pod.spec.edit().containers[0].host_ports.push_back({"", "TCP", 80}); }},
    {"Spread", [](Pod& pod) { spread_over(pod, false); }},
    {"PreferredSpread", [](Pod& pod) { spread_over(pod, true); }},
    {"PodAffinity", [](Pod& pod) { pod.affinity->pod_affinity.required.push_back(near_green(kZone)); }},
    {"PodAntiAffinity", [](Pod& pod) { pod.affinity->pod_anti_affinity.required.push_back(near_green(kHost)); }},
    {"PreferredPodAffinity", [](Pod& pod) { pod.affinity->pod_affinity.preferred.push_back({10, near_green(kHost)}); }},
    {"PreferredPodAntiAffinity",
     [](Pod& pod) { pod.affinity->pod_anti_affinity.preferred.push_back({10, near_green(kZone)}); }},
};

class AllocationTest : public ::testing::TestWithParam<ClassCase> {
 protected:
  void SetUp() override {
    if (!kRecycles) GTEST_SKIP() << "under AddressSanitizer nothing is recycled";
    auto made = Framework::make(in_tree_registry(), default_profile(), handle);
    ASSERT_TRUE(made.has_value());
    framework = std::move(*made);
    for (int i = 0; i < 60; ++i) {
      Node node = make_node("node-" + std::to_string(i));
      node.metadata.labels[kZone] = "zone-" + std::to_string(i % 3);
      node.metadata.labels["disk"] = "ssd";
      node.allocatable["example.com/gpu"] = quantity("8");
      cache.set_node(share(std::move(node)));
    }
  }

  PodPtr next_pod() {
    Pod pod = make_pod("p-" + std::to_string(count++), resources({{"cpu", "100m"}}));
    pod.metadata.labels["color"] = "green";
    GetParam().shape(pod);
    return share(std::move(pod));
  }

  // Decides for one more, and counts what that alone allocates; then the pod runs, and the eldest goes.
  std::size_t allocations_of_a_decision() {
    const auto pod = next_pod();
    cache.update_snapshot(handle.snapshot_of_test);
    NodeSearch search{&nominator, {}, 0, &random};
    auto state = std::make_unique<CycleState>();
    const std::size_t before = allocated;
    const ScheduleResult result =
        schedule_pod(*framework, *state, *pod, handle.snapshot_of_test, search, fast_path.get());
    const std::size_t during = allocated - before;
    EXPECT_TRUE(result.status.is_success()) << result.status.message();
    EXPECT_TRUE(cache.assume(pod, result.decision.node).is_success());
    cache.confirm(pod, result.decision.node);
    running.push_back(pod);
    if (running.size() > 30) {
      cache.remove(running.front()->uid());
      running.pop_front();
    }
    return during;
  }

  FakeHandle handle;
  std::unique_ptr<Framework> framework;
  Cache cache;
  Nominator nominator;
  Random random{1};
  std::unique_ptr<NodeEvaluator> fast_path = make_fast_path();
  std::deque<PodPtr> running;
  int count = 0;
};

TEST_P(AllocationTest, ADecisionOfAKnownClassAllocatesNothing) {
  for (int i = 0; i < 2000; ++i) allocations_of_a_decision();
  for (int i = 0; i < 200; ++i) ASSERT_EQ(allocations_of_a_decision(), 0u) << "decision " << i;
}

INSTANTIATE_TEST_SUITE_P(Classes, AllocationTest, ::testing::ValuesIn(kClasses),
                         [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace berth
