// What workloads cost the gateway: when their status is stored, and how often they are synchronised.
#include "tests/unit/gateway/workloads_fixture.h"

namespace berth {
namespace {

class WorkloadCostsTest : public WorkloadsFixture {
 protected:
  // Each look takes a millisecond.
  class SlowClock final : public Clock {
   public:
    Millis now() const override { return ms; }
    std::int64_t now_us() const override { return us += 1'000; }
    Millis wall() const override { return 1'750'000'000'000 + ms; }
    Millis ms = 1'000;

   private:
    mutable std::int64_t us = 0;
  };
  void start_slow() {
    gateway = std::make_unique<Gateway>(options, registry, slow, transport, store, timers, log);
    ASSERT_TRUE(gateway->start().is_success());
    turn();
    connect();
    pass(1'000);
  }
  void pass(Millis ms) {
    const Millis end = slow.ms + ms;
    while (timers.next() && *timers.next() <= end) {
      slow.ms = std::max(slow.ms, *timers.next());
      timers.run_due(slow.ms);
      turn();
    }
    slow.ms = end;
  }
  // As a restart would find it.
  Json stored_status(const std::string& record) const {
    const auto found = store.durable().find({Table::object, record});
    return found == store.durable().end() ? Json() : member(*Json::parse(found->second.value), "status");
  }
  // As its Deployment wrote it last.
  std::int64_t replicas_of_set() const {
    const auto& sets = gateway->objects().workloads().of(Kind::replica_set);
    return member(member(sets.begin()->second.manifest, "spec"), "replicas").as_int();
  }

  SlowClock slow;
};

TEST_F(WorkloadCostsTest, AStatusThatCanBeCountedAgainIsStoredOnceASecond) {
  start_with_device();
  apply(deployment("web", 3));
  run_devices();
  EXPECT_EQ(count_of("deploy", "web", "readyReplicas"), 3);
  EXPECT_TRUE(member(stored_status("deployments/default/web"), "readyReplicas").is_null());
  const std::uint64_t changes = store.changes();
  advance(1'000);
  EXPECT_EQ(member(stored_status("deployments/default/web"), "readyReplicas"), Json(std::int64_t{3}));
  EXPECT_LE(store.changes(), changes + 3) << "the Deployment, its ReplicaSet, and an event";
  const std::uint64_t after = store.changes();
  advance(5'000);
  EXPECT_EQ(store.changes(), after);
}

TEST_F(WorkloadCostsTest, AStatusThatWasNotStoredIsCountedAgainAfterARestart) {
  start_with_device();
  apply(deployment("web", 3));
  run_devices();
  restart();
  connect_device();
  run_devices_for(2'000);
  EXPECT_EQ(count_of("deploy", "web", "replicas"), 3);
}

TEST_F(WorkloadCostsTest, ACleanEndStoresWhatWaited) {
  start_with_device();
  apply(deployment("web", 2));
  run_devices();
  gateway->say_goodbye();
  turn();
  EXPECT_EQ(member(stored_status("deployments/default/web"), "readyReplicas"), Json(std::int64_t{2}));
}

TEST_F(WorkloadCostsTest, AJobsStatusIsStoredWithThePodsThatItCounts) {
  start_with_device();
  apply(R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"once"},"spec":{"template":{"spec":
    {"restartPolicy":"Never","containers":[{"name":"c","image":"app:1"}]}}}})");
  run_devices();
  end_pod(*pods().front(), "Succeeded");
  turn();
  EXPECT_EQ(stored_status("jobs/default/once").dump(), member(get("job", "once"), "status").dump());
}

TEST_F(WorkloadCostsTest, AfterASynchronisationThatTookLongChangesAreReadTogether) {
  start_slow();
  apply(deployment("web", 2));
  pass(1'000);
  EXPECT_EQ(pods().size(), 2u);
  apply(deployment("web", 3));
  const std::int64_t first = replicas_of_set();
  apply(deployment("web", 4));
  apply(deployment("web", 5));
  EXPECT_EQ(replicas_of_set(), first);
  pass(1'000);
  EXPECT_EQ(pods().size(), 5u);
}

}  // namespace
}  // namespace berth
