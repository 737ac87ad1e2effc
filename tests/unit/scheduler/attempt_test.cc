// One attempt of the scheduler by itself, with scripted plugins and a host that only records.
#include <gtest/gtest.h>

#include "core/api/pod.h"
#include "core/fastpath/fast_path.h"
#include "core/scheduler/scheduler.h"
#include "tests/unit/scheduler/quiet_host.h"

namespace berth {
namespace {

class AttemptTest : public ::testing::Test {
 protected:
  AttemptTest() { CHECK(scheduler.add_profile(scripted.registry, scripted.profile).is_success()); }
  void arrive(Pod pod) {
    const auto shared = share(std::move(pod));
    host.pods[shared->uid()] = shared;
    scheduler.handlers().pod_added(shared);
  }
  ScriptedFramework scripted;
  QuietHost host;
  FakeClock clock;
  FakeVolumes lister;
  Scheduler scheduler{clock, lister, host, {}};
};

TEST_F(AttemptTest, KeepsOnlyTheNameOfANominatedPodThatIsNotTriedBecauseItIsDeleted) {
  scheduler.cache().set_node(share(make_node("n1")));
  Pod leaving = make_pod("leaving", resources({{"cpu", "3"}}));
  leaving.priority = 10;
  leaving.nominated_node_name = "n1";
  leaving.metadata.deleting = true;
  arrive(leaving);
  ASSERT_EQ(scheduler.queue().nominator().pods_on("n1").at(0)->priority, 10);
  ASSERT_TRUE(scheduler.schedule_one().popped);
  EXPECT_EQ(host.events, std::vector<std::string>{"leaving FailedScheduling"});
  const Pod& nominated = *scheduler.queue().nominator().pods_on("n1").at(0);
  EXPECT_EQ(nominated.uid(), "uid-leaving");
  EXPECT_EQ(nominated.priority, 0) << "a pod of priority 5 does not count it";
  EXPECT_TRUE(nominated.spec->containers.empty()) << "it asks for nothing";
}

class PrepareTest : public ::testing::Test {
 protected:
  PrepareTest() {
    CHECK(scheduler.add_profile(scripted.registry, scripted.profile).is_success());
    for (const char* name : {"n1", "n2", "n3"}) scheduler.handlers().node_set(nullptr, share(make_node(name)));
  }
  static Scheduler::Options with_evaluator() {
    Scheduler::Options options;
    options.evaluator = make_fast_path();
    return options;
  }
  PodPtr pinned_pod() {
    Pod pod = make_pod("pinned");
    pod.node_selector["kubernetes.io/hostname"] = "n2";
    host.pods[pod.uid()] = share(pod);
    return host.pods[pod.uid()];
  }
  // Of columns that nobody asked for yet.
  std::size_t label_values() const { return scheduler.snapshot().columns().kept_values(); }
  ScriptedFramework scripted;
  QuietHost host;
  FakeClock clock;
  FakeVolumes lister;
  Scheduler scheduler{clock, lister, host, with_evaluator()};
};

TEST_F(PrepareTest, TheColumnsThatANewPodsDecisionReadsAreBuiltBeforeIt) {
  EXPECT_FALSE(scheduler.prepare()) << "nobody waits";
  scheduler.handlers().pod_added(pinned_pod());
  while (scheduler.prepare()) {
  }
  EXPECT_EQ(scheduler.snapshot().nodes().size(), 3u);
  EXPECT_EQ(label_values(), 3u);
}

TEST_F(PrepareTest, ThoseOfAPodThatWaitedBeforeARestartAreToo) {
  scheduler.handlers().pod_restored(pinned_pod(), {});
  while (scheduler.prepare()) {
  }
  EXPECT_EQ(label_values(), 3u);
}

TEST_F(PrepareTest, NodesThatComeAllTheTimeKeepNoPodWaiting) {
  scheduler.handlers().pod_added(pinned_pod());
  ASSERT_TRUE(scheduler.prepare());
  scheduler.handlers().node_set(nullptr, share(make_node("n4")));
  EXPECT_FALSE(scheduler.prepare()) << "the pod is decided on before all is prepared again";
  EXPECT_TRUE(scheduler.schedule_one().popped);
}

TEST_F(PrepareTest, NodesAreNumberedAheadOnceNoneCameOrWentForAWhile) {
  EXPECT_FALSE(scheduler.prepare_ahead()) << "more may come";
  EXPECT_TRUE(scheduler.snapshot().nodes().empty());
  while (scheduler.prepare_ahead()) {
  }
  EXPECT_EQ(scheduler.snapshot().nodes().size(), 3u);
}

TEST(NeedsOfPods, AreTheLabelsThatTheyNameAndKindsOfPodsForThoseThatLookAtOthers) {
  NeedsOfPods needs;
  Pod pod = make_pod("p");
  pod.node_selector["selected"] = "yes";
  pod.affinity->required_node_affinity.emplace().terms.push_back(
      {{{"required", Requirement::Operator::exists, {}}}, {}});
  pod.affinity->preferred_node_affinity.push_back({1, {{{"preferred", Requirement::Operator::exists, {}}}, {}}});
  needs.note(pod);
  EXPECT_FALSE(needs.needs().pod_kinds);
  Pod with_volume = make_pod("v");
  with_volume.volumes.edit().emplace_back().claim_name = "claim";
  needs.note(with_volume);  // local volumes name hosts
  pod.affinity->pod_affinity.required.emplace_back().topology_key = "near";
  pod.affinity->pod_anti_affinity.preferred.emplace_back().term.topology_key = "far";
  pod.spec.edit().topology_spread_constraints.emplace_back().topology_key = "spread";
  needs.note(pod);
  EXPECT_TRUE(needs.needs().pod_kinds);
  const auto keys = needs.needs().label_keys;
  EXPECT_EQ(std::vector<std::string>(keys.begin(), keys.end()),
            (std::vector<std::string>{"selected", "required", "preferred", "kubernetes.io/hostname", "near", "far",
                                      "spread"}));
}

TEST(NeedsOfPods, AreNotAnyNumberOfLabels) {
  NeedsOfPods needs;
  for (int i = 0; i < 100; ++i) {
    Pod pod = make_pod("p");
    pod.node_selector["key-" + std::to_string(i)] = "";
    needs.note(pod);
  }
  EXPECT_EQ(needs.needs().label_keys.size(), 32u) << "the columns of more would drive each other out";
}

}  // namespace
}  // namespace berth
