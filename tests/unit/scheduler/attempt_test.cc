// One attempt of the scheduler by itself, with scripted plugins and a host that only records.
#include <gtest/gtest.h>

#include "core/api/pod.h"
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

}  // namespace
}  // namespace berth
