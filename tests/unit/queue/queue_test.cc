#include <gtest/gtest.h>

#include "core/api/pod.h"
#include "core/metrics.h"
#include "core/queue/queue.h"
#include "tests/unit/scheduler/scheduling_fixture.h"

namespace berth {
namespace {

constexpr ClusterEvent kNodeAdd{EventResource::node, kAdd, "NodeAdd"};
constexpr ClusterEvent kVolumeAdd{EventResource::persistent_volume, kAdd, "PvAdd"};

// Gates pods with a scheduling gate; registers gate removal, and Node/Add with a hint that skips pods labelled
// skip=yes.
class GateKeeper final : public PreEnqueuePlugin, public BindPlugin, public EnqueueExtensions {
 public:
  std::string_view name() const override { return "GateKeeper"; }
  Status bind(CycleState&, const Pod&, const std::string&) override { return {}; }
  Status pre_enqueue(const Pod& pod) override {
    ++calls;
    return pod.spec->scheduling_gates.empty() ? Status() : Status::unresolvable("gated");
  }
  std::vector<EventWithHint> events_to_register() const override {
    return {{{EventResource::pod, kUpdatePodSchedulingGatesEliminated, ""}, nullptr},
            {{EventResource::node, kAdd, ""}, [](const Pod& pod, const EventObjects&) {
               return pod.metadata.labels.contains("skip") ? Hint::skip : Hint::queue;
             }}};
  }
  static inline int calls = 0;
};

class QueueTest : public ::testing::Test {
 protected:
  QueueTest() {
    CHECK(scripted.registry
              .add("GateKeeper",
                   [](const Json&, Handle&) { return Result<std::unique_ptr<Plugin>>(std::make_unique<GateKeeper>()); })
              .is_success());
    scripted.profile.enable("GateKeeper");
    GateKeeper::calls = 0;
    clock.now_ms = 100'000;
    restart();
  }
  void restart(Queue::Options options = {}) {
    queue = std::make_unique<Queue>(clock, [this](const Pod&) { return &scripted.get(); }, options);
  }
  PodPtr add(const std::string& name, std::int32_t priority = 0) {
    Pod pod = make_pod(name);
    pod.priority = priority;
    auto shared = share(std::move(pod));
    queue->add(shared);
    return shared;
  }
  QueuedPod pop() {
    std::optional<QueuedPod> next = queue->pop();
    CHECK(next.has_value());
    return *next;
  }
  void reject(QueuedPod pod, const std::set<std::string>& plugins = {"GateKeeper"},
              const std::set<std::string>& pending = {}) {
    queue->requeue(std::move(pod), Status::unschedulable("insufficient cpu"), plugins, pending);
  }
  void fail(QueuedPod pod) { queue->requeue(std::move(pod), Status::error("broken"), {}, {}); }
  Queue::Where where(const std::string& name) const { return queue->where("uid-" + name); }
  void advance(Millis by) {
    clock.now_ms += by;
    queue->flush();
  }

  ScriptedFramework scripted{std::vector<std::string>{}};
  FakeClock clock;
  std::unique_ptr<Queue> queue;
};

using Where = Queue::Where;

TEST_F(QueueTest, PopsByPriorityThenByArrival) {
  add("low");
  add("first", 5);
  add("second", 5);
  EXPECT_EQ(pop().pod->metadata.name, "first");
  EXPECT_EQ(pop().pod->metadata.name, "second");
  EXPECT_EQ(pop().pod->metadata.name, "low");
  EXPECT_FALSE(queue->pop());
  EXPECT_EQ(queue->counts().in_flight, 3u);
}

TEST_F(QueueTest, CountsAttemptsAndClearsTheLastRejection) {
  add("p");
  reject(pop());
  queue->move_all(kNodeAdd, {});
  const QueuedPod again = pop();
  EXPECT_EQ(again.attempts, 2);
  EXPECT_EQ(again.unschedulable_count, 1);
  EXPECT_EQ(again.initial_attempt, 100'000);
  EXPECT_TRUE(again.unschedulable_plugins.empty());
}

TEST_F(QueueTest, BacksOffForOneTwoFourEightTenSeconds) {
  const Backoff backoff(1000, 10'000);
  QueuedPod pod;
  pod.timestamp = 5'300;
  std::vector<Millis> seconds;
  for (pod.unschedulable_count = 0; pod.unschedulable_count < 7; ++pod.unschedulable_count) {
    seconds.push_back(backoff.duration(pod));
  }
  EXPECT_EQ(seconds, (std::vector<Millis>{0, 1000, 2000, 4000, 8000, 10'000, 10'000}));
  pod.unschedulable_count = 1'000'000;
  EXPECT_EQ(backoff.duration(pod), 10'000);
  pod.consecutive_errors = 1;
  EXPECT_EQ(backoff.duration(pod), 1000) << "consecutive errors take precedence over rejections";
  EXPECT_EQ(Backoff(1000, 0).duration(pod), 0) << "0 disables";
}

TEST_F(QueueTest, TruncatesBackoffToTheSecondAndKeepsThePodForAllOfIt) {
  clock.now_ms = 100'900;
  add("p");
  fail(pop());
  EXPECT_EQ(where("p"), Where::backoff);
  EXPECT_EQ(queue->next_flush(), 102'000);  // expiry 101.9 is truncated to 101, and second 101 still backs off
  clock.now_ms = 101'999;
  queue->flush();
  EXPECT_EQ(where("p"), Where::backoff);
  clock.now_ms = 102'000;
  queue->flush();
  EXPECT_EQ(where("p"), Where::active);
}

TEST_F(QueueTest, TakesUnexpiredPodsFromBackoffButNeverFromErrorBackoff) {
  add("error");
  fail(pop());
  EXPECT_FALSE(queue->pop());
  add("woken");
  QueuedPod woken = pop();
  queue->move_all(kNodeAdd, {});
  reject(std::move(woken));
  EXPECT_EQ(where("woken"), Where::backoff);
  EXPECT_EQ(pop().pod->metadata.name, "woken");
  EXPECT_EQ(where("error"), Where::backoff);
}

TEST_F(QueueTest, OrdersPodsWithTheSameBackoffSecondByPriority) {
  for (const char* name : {"low", "high"}) {
    add(name, name[0] == 'h' ? 9 : 0);
    QueuedPod pod = pop();
    queue->move_all(kNodeAdd, {});
    clock.now_ms += 1;
    reject(std::move(pod));
  }
  EXPECT_EQ(pop().pod->metadata.name, "high");
}

TEST_F(QueueTest, KeepsARejectedPodUntilAnEventOfItsPlugin) {
  add("p");
  reject(pop());
  EXPECT_EQ(where("p"), Where::unschedulable);
  queue->move_all(kVolumeAdd, {});
  EXPECT_EQ(where("p"), Where::unschedulable);
  queue->move_all(kNodeAdd, {});
  EXPECT_EQ(where("p"), Where::backoff);
}

TEST_F(QueueTest, CallsTheHint) {
  Pod skipped = make_pod("skipped");
  skipped.metadata.labels["skip"] = "yes";
  queue->add(share(skipped));
  reject(pop());
  queue->move_all(kNodeAdd, {});
  EXPECT_EQ(where("skipped"), Where::unschedulable);
}

TEST_F(QueueTest, MovesAPodPastItsBackoffStraightToActive) {
  add("p");
  reject(pop());
  advance(2000);
  queue->move_all(kNodeAdd, {});
  EXPECT_EQ(where("p"), Where::active);
}

TEST_F(QueueTest, MovesAPendingPodToActiveWithoutBackoff) {
  add("p");
  reject(pop(), {}, {"GateKeeper"});
  EXPECT_EQ(queue->find("uid-p")->unschedulable_plugins, std::set<std::string>{"GateKeeper"}) << "in both lists";
  queue->move_all(kNodeAdd, {});
  EXPECT_EQ(where("p"), Where::active);
}

TEST_F(QueueTest, TreatsARejectionThatNamesNoPluginAsAnError) {
  add("p");
  reject(pop(), {});
  EXPECT_EQ(where("p"), Where::backoff);
  EXPECT_EQ(queue->find("uid-p")->consecutive_errors, 1);
  EXPECT_FALSE(queue->pop());
}

TEST_F(QueueTest, ResetsErrorsAtARejection) {
  add("p");
  fail(pop());
  advance(10'000);
  reject(pop());
  EXPECT_EQ(queue->find("uid-p")->consecutive_errors, 0);
  EXPECT_EQ(queue->find("uid-p")->unschedulable_count, 1);
}

TEST_F(QueueTest, ReplaysEventsDuringTheFlight) {
  add("p");
  QueuedPod pod = pop();
  queue->move_all(kNodeAdd, {});
  reject(std::move(pod));
  EXPECT_EQ(where("p"), Where::backoff);
}

TEST_F(QueueTest, DoesNotReplayEventsBeforeTheFlight) {
  add("a");
  QueuedPod a = pop();
  queue->move_all(kNodeAdd, {});
  add("b");
  reject(pop());
  EXPECT_EQ(where("b"), Where::unschedulable);
  reject(std::move(a));
  EXPECT_EQ(where("a"), Where::backoff);
}

TEST_F(QueueTest, RetriesAPodOlderThanTheRing) {
  Queue::Options options;
  options.event_ring = 2;
  restart(options);
  Pod skipped = make_pod("p");
  skipped.metadata.labels["skip"] = "yes";
  queue->add(share(skipped));
  QueuedPod pod = pop();
  queue->move_all(kNodeAdd, {});
  queue->move_all(kNodeAdd, {});
  reject(pod);
  EXPECT_EQ(where("p"), Where::unschedulable) << "the ring still holds both events, and the hint skips both";
  queue->remove("uid-p");
  queue->add(share(skipped));
  pod = pop();
  for (int i = 0; i < 3; ++i) queue->move_all(kNodeAdd, {});
  reject(std::move(pod));
  EXPECT_EQ(where("p"), Where::backoff);
}

TEST_F(QueueTest, RetriesAPodWhoseFlightEnded) {
  add("p");
  QueuedPod pod = pop();
  queue->done("uid-p");
  EXPECT_EQ(where("p"), Where::none);
  reject(std::move(pod));
  EXPECT_EQ(where("p"), Where::backoff);
}

TEST_F(QueueTest, RetriesGatedPodsOnlyOnEventsOfTheGatingPlugin) {
  Pod gated = make_pod("p");
  gated.spec.edit().scheduling_gates = {"wait"};
  auto before = share(gated);
  queue->add(before);
  EXPECT_EQ(where("p"), Where::gated);
  EXPECT_EQ(queue->counts().gated, 1u);
  advance(6 * 60 * 1000);
  EXPECT_EQ(where("p"), Where::gated) << "a gate never times out";
  EXPECT_EQ(GateKeeper::calls, 1);
  queue->move_all(kVolumeAdd, {});
  EXPECT_EQ(GateKeeper::calls, 1);
  queue->move_all(kNodeAdd, {});
  EXPECT_EQ(GateKeeper::calls, 2);
  EXPECT_EQ(where("p"), Where::gated);
  gated.spec.edit().scheduling_gates.clear();
  queue->update(before, share(gated));
  EXPECT_EQ(where("p"), Where::active);
  EXPECT_TRUE(pop().gating_plugin.empty());
}

TEST_F(QueueTest, RunsPreEnqueueWhenEnteringBackoffNotWhenLeavingIt) {
  add("p");
  EXPECT_EQ(GateKeeper::calls, 1);
  fail(pop());
  EXPECT_EQ(GateKeeper::calls, 2);
  advance(5000);
  EXPECT_EQ(where("p"), Where::active);
  EXPECT_EQ(GateKeeper::calls, 2);
}

TEST_F(QueueTest, FlushesUnschedulablePodsAfterFiveMinutesEveryThirtySeconds) {
  add("p");
  reject(pop());
  EXPECT_EQ(queue->next_flush(), 130'000);
  advance(300'000);
  EXPECT_EQ(where("p"), Where::unschedulable) << "exactly five minutes are not enough";
  advance(29'999);
  EXPECT_EQ(where("p"), Where::unschedulable) << "only every 30 s";
  advance(1);
  EXPECT_EQ(where("p"), Where::active);
}

TEST_F(QueueTest, DoesNotRetryGatedPodsAtTheFiveMinuteFlush) {
  Pod gated = make_pod("p");
  gated.spec.edit().scheduling_gates = {"wait"};
  queue->add(share(gated));
  advance(600'000);
  EXPECT_EQ(where("p"), Where::gated);
  EXPECT_EQ(GateKeeper::calls, 1);
}

TEST_F(QueueTest, ActivatesWaitingPodsAndThoseInFlight) {
  add("waiting");
  reject(pop());
  add("error");
  fail(pop());
  add("in-flight");
  QueuedPod in_flight = pop();
  queue->activate({"uid-waiting", "uid-error", "uid-in-flight", "uid-unknown"});
  EXPECT_EQ(where("waiting"), Where::active);
  EXPECT_EQ(where("error"), Where::active);
  reject(std::move(in_flight));
  EXPECT_EQ(where("in-flight"), Where::backoff);
}

TEST_F(QueueTest, RemovesAPodWhereverItIs) {
  add("active");
  queue->remove("uid-active");
  add("waiting");
  reject(pop());
  queue->remove("uid-waiting");
  add("error");
  fail(pop());
  queue->remove("uid-error");
  add("in-flight");
  pop();
  queue->done("uid-in-flight");
  EXPECT_TRUE(queue->uids().empty());
  EXPECT_FALSE(queue->pop());
  EXPECT_FALSE(queue->next_flush());
}

TEST_F(QueueTest, RequeuesAPodAsUpdatedDuringItsFlight) {
  auto before = add("p");
  QueuedPod pod = pop();
  Pod after = *before;
  after.metadata.labels["v"] = "2";
  queue->update(before, share(after));
  reject(std::move(pod));
  EXPECT_EQ(queue->find("uid-p")->pod->metadata.labels.at("v"), "2");
}

TEST_F(QueueTest, AddsAnUnknownPodAtUpdate) {
  auto pod = share(make_pod("p"));
  queue->update(pod, pod);
  EXPECT_EQ(where("p"), Where::active);
}

TEST_F(QueueTest, KeepsOneEntryWhenAPodIsAddedTwice) {
  add("p");
  add("p");
  EXPECT_EQ(queue->uids(), std::vector<std::string>{"uid-p"});
  pop();
  add("p");
  EXPECT_EQ(queue->uids(), std::vector<std::string>{"uid-p"});
}

TEST_F(QueueTest, RestoresAPodWithItsAttemptsAndTheRestOfItsBackoff) {
  auto pod = share(make_pod("p"));
  queue->restore(pod, {99'500, 4, 3, 0, 90'000});
  EXPECT_EQ(queue->where(pod->uid()), Queue::Where::backoff);
  EXPECT_FALSE(queue->is_error_backoff(pod->uid()));
  EXPECT_EQ(queue->find(pod->uid())->attempts, 4);
  EXPECT_EQ(queue->find(pod->uid())->initial_attempt, 90'000);
  clock.now_ms = 105'000;
  queue->flush();
  EXPECT_EQ(pop().attempts, 5);
}

TEST_F(QueueTest, RestoresAPodWhoseBackoffIsOverToItsOldPosition) {
  add("new");
  queue->restore(share(make_pod("old")), {50'000, 2, 1, 0, 50'000});
  EXPECT_EQ(pop().pod->metadata.name, "old");
  EXPECT_EQ(pop().pod->metadata.name, "new");
}

TEST_F(QueueTest, RestoresErrorsToErrorBackoffAndGatedPodsToTheirGate) {
  auto failed = share(make_pod("failed"));
  queue->restore(failed, {100'000, 2, 0, 2, 90'000});
  EXPECT_TRUE(queue->is_error_backoff(failed->uid()));
  Pod gated = make_pod("gated");
  gated.spec.edit().scheduling_gates = {"wait"};
  auto shared = share(std::move(gated));
  queue->restore(shared, {90'000, 1, 1, 0, 90'000});
  EXPECT_EQ(queue->where(shared->uid()), Queue::Where::gated);
}

TEST_F(QueueTest, ReturnsEachRequeuedPodOnce) {
  for (const char* name : {"a", "b", "c"}) add(name);
  for (int i = 0; i < 3; ++i) reject(pop());
  EXPECT_EQ(queue->take_returned(2).size(), 2u);
  EXPECT_EQ(queue->take_returned(2).size(), 1u);
  EXPECT_TRUE(queue->take_returned(2).empty());
}

TEST_F(QueueTest, CountsIncomingPodsByPartAndEvent) {
  Metrics metrics;
  Queue::Options options;
  options.metrics = &metrics;
  restart(options);
  add("p");
  reject(pop());
  queue->move_all(kNodeAdd, {});
  clock.now_ms += 60'000;
  queue->flush();
  fail(pop());
  const auto count = [&metrics](std::string_view part, std::string_view event) {
    return metrics.incoming_pods.at({part, event}).value();
  };
  EXPECT_EQ(count("active", "UnschedulablePodAdd"), 1u);
  EXPECT_EQ(count("unschedulable", "ScheduleAttemptFailure"), 1u);
  EXPECT_EQ(count("backoff", "NodeAdd"), 1u);
  EXPECT_EQ(count("active", "BackoffComplete"), 1u);
  EXPECT_EQ(count("backoff", "ScheduleAttemptFailure"), 1u);
  EXPECT_EQ(metrics.hint_duration.at({"GateKeeper", "NodeAdd", "Queue"}).count(), 1u);
  add("q");
  pop();
  queue->move_all(kNodeAdd, {});
  EXPECT_EQ(queue->in_flight_events(), (std::map<std::string_view, std::size_t>{{"NodeAdd", 1}}));
}

}  // namespace
}  // namespace berth
