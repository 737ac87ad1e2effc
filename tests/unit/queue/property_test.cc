// Random sequences of calls, checked against a model that knows, for each pod, whether an event that its plugin
// registered has happened since its last attempt.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/api/pod.h"
#include "core/queue/queue.h"
#include "core/random.h"
#include "tests/unit/rounds.h"
#include "tests/unit/scheduler/scheduling_fixture.h"

namespace berth {
namespace {

constexpr int kPlugins = 3;

// Plugin i registers events with resource kResources[i]; its hint skips pods with the label skip-i.
constexpr EventResource kResources[kPlugins] = {EventResource::node, EventResource::persistent_volume,
                                                EventResource::assigned_pod};

class Waker final : public BindPlugin, public EnqueueExtensions {
 public:
  explicit Waker(int index) : index_(index), name_("w" + std::to_string(index)) {}
  std::string_view name() const override { return name_; }
  Status bind(CycleState&, const Pod&, const std::string&) override { return {}; }
  std::vector<EventWithHint> events_to_register() const override {
    return {{{kResources[index_], kUpdate, ""}, [index = index_](const Pod& pod, const EventObjects&) {
               return pod.metadata.labels.contains("skip-" + std::to_string(index)) ? Hint::skip : Hint::queue;
             }}};
  }

 private:
  int index_;
  std::string name_;
};

struct Model {
  bool in_flight = false;
  bool woken = true;            // may be tried: new, failed with an error, or an event happened
  std::set<int> rejected_by;    // since the last attempt
  std::set<int> events_of;      // plugins whose events happened since pop
  std::uint64_t popped_at = 0;  // number of events before the pop
  Millis since = 0;
};

class QueueProperty : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  QueueProperty() : random(GetParam()) {
    for (int i = 0; i < kPlugins; ++i) {
      const std::string name = "w" + std::to_string(i);
      CHECK(scripted.registry
                .add(name,
                     [i](const Json&, Handle&) { return Result<std::unique_ptr<Plugin>>(std::make_unique<Waker>(i)); })
                .is_success());
      scripted.profile.enable(name);
    }
    Queue::Options options;
    options.event_ring = 8;
    queue = std::make_unique<Queue>(clock, [this](const Pod&) { return &scripted.get(); }, options);
  }
  bool wakes(const Pod& pod, int plugin) const {
    return !pod.metadata.labels.contains("skip-" + std::to_string(plugin));
  }

  void add() {
    Pod pod = make_pod("p" + std::to_string(next_name++));
    pod.priority = static_cast<std::int32_t>(random.below(3));
    for (int i = 0; i < kPlugins; ++i) {
      if (random.chance(1, 4)) pod.metadata.labels["skip-" + std::to_string(i)] = "";
    }
    auto shared = share(std::move(pod));
    pods[shared->uid()] = shared;
    models[shared->uid()] = Model();
    queue->add(shared);
  }
  void pop() {
    std::optional<QueuedPod> next = queue->pop();
    if (!next) return;
    Model& model = models.at(next->pod->uid());
    ASSERT_FALSE(model.in_flight) << "popped twice";
    ASSERT_TRUE(model.woken) << next->pod->uid() << " was retried without a cause";
    model = Model();
    model.in_flight = true;
    model.woken = false;
    model.popped_at = events;
    in_flight.push_back(std::move(*next));
  }
  void finish_attempt() {
    if (in_flight.empty()) return;
    const std::size_t which = random.below(in_flight.size());
    QueuedPod pod = std::move(in_flight[which]);
    in_flight.erase(in_flight.begin() + static_cast<std::ptrdiff_t>(which));
    const std::string uid = pod.pod->uid();
    Model& model = models.at(uid);
    model.in_flight = false;
    model.since = clock.now_ms;
    if (random.chance(1, 5)) {
      model.woken = true;
      return queue->requeue(std::move(pod), Status::error("broken"), {}, {});
    }
    if (random.chance(1, 6)) {
      queue->done(uid);
      models.erase(uid);
      pods.erase(uid);
      return;
    }
    std::set<std::string> plugins;
    while (model.rejected_by.empty()) {
      for (int i = 0; i < kPlugins; ++i) {
        if (random.chance(1, 3)) model.rejected_by.insert(i);
      }
    }
    for (const int each : model.rejected_by) {
      plugins.insert("w" + std::to_string(each));
      model.woken = model.woken || model.events_of.contains(each);
    }
    model.woken = model.woken || events - model.popped_at > 8;  // older than the ring
    queue->requeue(std::move(pod), Status::unschedulable("no"), plugins, {});
  }
  void send_event() {
    const int plugin = static_cast<int>(random.below(kPlugins));
    ++events;
    for (auto& [uid, model] : models) {
      if (!wakes(*pods.at(uid), plugin)) continue;
      if (model.in_flight) model.events_of.insert(plugin);
      if (model.rejected_by.contains(plugin)) model.woken = true;
    }
    queue->move_all({kResources[plugin], kUpdate, ""}, {});
  }
  void pass_time() {
    clock.now_ms += static_cast<Millis>(random.below(2500));
    queue->flush();
    if (!random.chance(1, 50)) return;
    // Pods that waited too long are retried; for those in flight that is an event like any other.
    const bool stale = std::any_of(models.begin(), models.end(),
                                   [](const auto& entry) { return !entry.second.in_flight && !entry.second.woken; });
    clock.now_ms += 6 * 60 * 1000;
    queue->flush();
    if (stale) ++events;
    for (auto& [uid, model] : models) {
      if (!model.in_flight) model.woken = true;
      for (int i = 0; stale && model.in_flight && i < kPlugins; ++i) model.events_of.insert(i);
    }
  }
  // Woken pods are in active or backoff, all others in unschedulable.
  void check() {
    for (const auto& [uid, model] : models) {
      const Queue::Where where = queue->where(uid);
      if (model.in_flight) {
        ASSERT_EQ(where, Queue::Where::in_flight);
      } else if (model.woken) {
        ASSERT_TRUE(where == Queue::Where::active || where == Queue::Where::backoff) << uid << " was lost";
      } else {
        ASSERT_EQ(where, Queue::Where::unschedulable) << uid << " was woken without a cause";
      }
    }
    ASSERT_EQ(queue->uids().size(), models.size());
  }

  Random random;
  ScriptedFramework scripted{std::vector<std::string>{}};
  FakeClock clock;
  std::unique_ptr<Queue> queue;
  std::map<std::string, PodPtr> pods;
  std::map<std::string, Model> models;
  std::vector<QueuedPod> in_flight;
  std::uint64_t events = 0;
  int next_name = 0;
};

TEST_P(QueueProperty, MissesNoEventAndRetriesNothingWithoutCause) {
  for (int step = 0; step < rounds(3000); ++step) {
    switch (random.below(6)) {
      case 0:
        if (models.size() < 30) add();
        break;
      case 1:
      case 2: pop(); break;
      case 3: finish_attempt(); break;
      case 4: send_event(); break;
      default: pass_time(); break;
    }
    check();
    if (HasFatalFailure()) FAIL() << "step " << step << " of seed " << GetParam();
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, QueueProperty, ::testing::Range<std::uint64_t>(1, 21));

}  // namespace
}  // namespace berth
