// One attempt of the scheduler by itself: scripted plugins, and a world around it that only remembers.
#include <gtest/gtest.h>

#include "core/api/pod.h"
#include "core/scheduler/scheduler.h"
#include "tests/unit/scheduler/scheduling_fixture.h"

namespace berth {
namespace {

class QuietHost final : public SchedulerHost {
 public:
  std::shared_ptr<const Pod> find_unplaced(const Pod& pod) const override {
    auto found = pods.find(pod.uid());
    return found == pods.end() ? nullptr : found->second;
  }
  void record_event(const Pod& pod, const SchedulingEvent& event) override {
    events.push_back(pod.metadata.name + " " + std::string(event.reason));
  }
  std::optional<PodCondition> condition_of(const Pod&) const override { return std::nullopt; }
  void patch_status(const Pod&, const StatusPatch&) override {}
  Status evict(const Pod&, const Pod&) override { return {}; }
  std::map<std::string, std::shared_ptr<const Pod>> pods;
  std::vector<std::string> events;
};

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
  EXPECT_TRUE(nominated.containers.empty()) << "it asks for nothing";
}

}  // namespace
}  // namespace berth
