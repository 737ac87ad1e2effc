// Queue traces: runs a script of operations on the scheduling queue, with a clock controlled by the script.
#include <algorithm>
#include <map>

#include "core/api/pod.h"
#include "core/api/volume.h"
#include "core/check.h"
#include "core/framework/framework.h"
#include "core/queue/queue.h"
#include "core/scheduler/event_handlers.h"
#include "plugins/prioritysort.h"
#include "tests/conformance/event_names.h"
#include "tests/conformance/verdict.h"

namespace berth {

namespace {

using Hints = std::map<std::string, std::string>;  // "plugin/pod" or "plugin" -> "Queue", "QueueSkip", "Error"

class TraceClock final : public Clock {
 public:
  Millis now() const override { return now_ms; }
  Millis wall() const override { return now_ms + start_ms; }
  Millis now_ms = 0;
  Millis start_ms = 0;
};

// State of the scripted plugins: closed gates, and the hints for each event. An event is identified by one of its
// objects, which the queue keeps to replay the event.
struct Script {
  std::set<std::string> closed;
  std::map<const Pod*, Hints> hints;
  Hint answer(const std::string& plugin, const Pod& pod, const EventObjects& objects) const {
    auto found = hints.find(objects.new_pod.get());
    if (found == hints.end()) found = hints.find(objects.old_pod.get());
    if (found == hints.end()) return Hint::queue;
    for (const std::string& name : {plugin + "/" + pod.metadata.name, plugin}) {
      if (const auto hint = found->second.find(name); hint != found->second.end()) {
        return hint->second == "QueueSkip" ? Hint::skip : Hint::queue;
      }
    }
    return Hint::queue;
  }
};

class TracePlugin : public BindPlugin, public EnqueueExtensions {
 public:
  TracePlugin(std::string name, std::vector<ClusterEvent> events, const Script& script)
      : name_(std::move(name)), events_(std::move(events)), script_(script) {}
  std::string_view name() const override { return name_; }
  Status bind(CycleState&, const Pod&, const std::string&) override { return {}; }
  std::vector<EventWithHint> events_to_register() const override {
    std::vector<EventWithHint> registered;
    for (const ClusterEvent& event : events_) {
      registered.push_back(
          {event, [this](const Pod& pod, const EventObjects& objects) { return script_.answer(name_, pod, objects); }});
    }
    return registered;
  }

 protected:
  const std::string name_;
  const std::vector<ClusterEvent> events_;
  const Script& script_;
};

class TraceGate final : public TracePlugin, public PreEnqueuePlugin {
 public:
  using TracePlugin::TracePlugin;
  std::string_view name() const override { return name_; }
  Status pre_enqueue(const Pod& pod) override {
    const auto& gates = pod.spec->scheduling_gates;
    const bool named = std::find(gates.begin(), gates.end(), name_) != gates.end();
    return named || script_.closed.contains(name_) ? Status::unresolvable("gate " + name_ + " is closed") : Status();
  }
};

class TraceHandle final : public Handle, public Lister {
 public:
  explicit TraceHandle(const Clock& clock) : clock_(clock) {}
  const Clock& clock() const override { return clock_; }
  const Snapshot& snapshot() const override { return snapshot_; }
  const Lister& lister() const override { return *this; }
  const Nominator& nominator() const override { return nominator_; }
  std::shared_ptr<const PersistentVolumeClaim> claim(const std::string&) const override { return nullptr; }
  std::shared_ptr<const PersistentVolume> volume(const std::string&) const override { return nullptr; }
  std::shared_ptr<const StorageClass> storage_class(const std::string&) const override { return nullptr; }
  std::vector<std::shared_ptr<const PersistentVolume>> volumes_of_class(const std::string&) const override {
    return {};
  }

 private:
  const Clock& clock_;
  Snapshot snapshot_;
  Nominator nominator_;
};

PodPtr read_queued_pod(const Json& json) {
  auto pod = make_counted<Pod>();
  pod->metadata.name = text(at(json, "name"));
  pod->metadata.namespace_ = "default";
  pod->metadata.uid = pod->metadata.name;
  pod->priority = static_cast<std::int32_t>(number(at(json, "priority")));
  pod->spec.edit().scheduling_gates = strings(at(json, "gates"));
  if (const std::string label = text(at(json, "label")); !label.empty()) pod->metadata.labels["label"] = label;
  Container& container = pod->spec.edit().containers.emplace_back();
  if (const std::int64_t milli = number(at(json, "cpuMilli")); milli > 0) {
    container.requests["cpu"] = Quantity::from_milli(milli);
  }
  pod->spec.edit().tolerations.edit().resize(static_cast<std::size_t>(number(at(json, "tolerations"))));
  pod->nominated_node_name = text(at(json, "nominatedNodeName"));
  return pod;
}

Hints read_hints(const Json& json) {
  Hints hints;
  if (json.is_object()) {
    for (const auto& [name, answer] : json.as_object()) hints[name] = text(answer);
  }
  return hints;
}

class Trace {
 public:
  explicit Trace(const Json& input) : handle_(clock_) {
    clock_.start_ms = number(at(input, "startMs"));
    Registry registry;
    Profile profile;
    CHECK(registry.add(PrioritySort::kName, PrioritySort::make).is_success());
    profile.enable(PrioritySort::kName);
    if (at(input, "plugins").is_object()) {
      for (const auto& [name, plugin] : at(input, "plugins").as_object()) add_plugin(name, plugin, registry, profile);
    }
    add_plugin("bind", Json(), registry, profile);
    Result<std::unique_ptr<Framework>> made = Framework::make(registry, profile, handle_);
    CHECK(made);
    framework_ = std::move(*made);
    Queue::Options options;
    options.event_ring = 1 << 20;
    queue_ = std::make_unique<Queue>(clock_, [this](const Pod&) { return framework_.get(); }, options);
    handlers_ = std::make_unique<EventHandlers>(*queue_, cache_);
  }

  // The differences between the result and `want`; "" if there are none.
  std::string step(const Json& op, const Json& want) {
    advance(number(at(op, "t")));
    std::map<std::string, std::string> got = run(op);
    describe(got);
    std::string differences;
    for (const auto& [field, value] : got) {
      const std::string expected = expected_text(field, at(want, field));
      if (value != expected) differences += field + ": got " + value + ", want " + expected + "; ";
    }
    return differences;
  }

 private:
  void add_plugin(const std::string& name, const Json& plugin, Registry& registry, Profile& profile) {
    std::vector<ClusterEvent> events;
    for (const Json& event : list(at(plugin, "events"))) {
      events.push_back({resource_named(text(at(event, "resource"))), action_named(text(at(event, "action"))), ""});
    }
    const bool gate = flag(at(plugin, "gate"));
    const auto maker = [this, name, events, gate](const Json&, Handle&) -> Result<std::unique_ptr<Plugin>> {
      if (gate) return std::unique_ptr<Plugin>(std::make_unique<TraceGate>(name, events, script_));
      return std::unique_ptr<Plugin>(std::make_unique<TracePlugin>(name, events, script_));
    };
    CHECK(registry.add(name, maker).is_success());
    profile.enable(name);
  }

  // Advances the clock and runs the timers that become due, each at its own time.
  void advance(Millis to) {
    for (auto next = queue_->next_flush(); next && *next <= to; next = queue_->next_flush()) {
      clock_.now_ms = std::max(clock_.now_ms, *next);
      queue_->flush();
      if (queue_->next_flush() == next) break;
    }
    clock_.now_ms = to;
    queue_->flush();
  }

  std::map<std::string, std::string> run(const Json& op) {
    const std::string verb = text(at(op, "op"));
    const std::string uid = text(at(op, "pod"));
    std::map<std::string, std::string> got{{"popped", ""}, {"attempts", "0"}, {"unschedulableCount", "0"}};
    got["consecutiveErrors"] = "0";
    if (verb == "add") {
      const auto pod = read_queued_pod(at(op, "new"));
      newest_[pod->uid()] = pod;
      handlers_->pod_added(pod);
    } else if (verb == "pop") {
      if (std::optional<QueuedPod> popped = queue_->pop()) {
        got["popped"] = popped->pod->uid();
        got["attempts"] = std::to_string(popped->attempts);
        in_flight_[popped->pod->uid()] = std::move(*popped);
      }
    } else if (verb == "return") {
      return_pod(op, uid, got);
    } else if (verb == "done") {
      queue_->done(uid);
      in_flight_.erase(uid);
    } else if (verb == "update") {
      const auto pod = read_queued_pod(at(op, "new"));
      const auto before = newest_.contains(pod->uid()) ? newest_.at(pod->uid()) : pod;
      newest_[pod->uid()] = pod;
      kept_.push_back(pod);
      script_.hints[pod.get()] = read_hints(at(op, "hints"));
      tell_update(before, pod);
    } else if (verb == "delete") {
      tell_delete(newest_.at(uid));
      if (!in_flight_.contains(uid)) newest_.erase(uid);
    } else if (verb == "event") {
      run_event(op);
    } else if (verb == "activate") {
      queue_->activate(strings(at(op, "pods")));
    } else if (verb == "open" || verb == "close") {
      const std::string plugin = text(at(op, "plugin"));
      verb == "open" ? static_cast<void>(script_.closed.erase(plugin))
                     : static_cast<void>(script_.closed.insert(plugin));
    } else if (verb == "nominate") {
      if (newest_.contains(uid)) queue_->nominator().add(newest_.at(uid), text(at(op, "node")));
    } else if (verb == "denominate") {
      queue_->nominator().remove(uid);
    }
    return got;
  }

  // The queue alone was recorded: the event that the handlers add when a nomination goes is not in the traces.
  void tell_update(const PodPtr& before, const PodPtr& pod) {
    const bool is_promise_over =
        !before->nominated_node_name.empty() && before->nominated_node_name != pod->nominated_node_name;
    is_promise_over ? queue_->update(before, pod) : handlers_->pod_updated(before, pod);
  }

  void tell_delete(const PodPtr& pod) {
    pod->nominated_node_name.empty() ? handlers_->pod_deleted(pod) : queue_->remove(pod->uid());
  }

  void return_pod(const Json& op, const std::string& uid, std::map<std::string, std::string>& got) {
    QueuedPod pod = std::move(in_flight_.at(uid));
    in_flight_.erase(uid);
    pod.pod = newest_.at(uid);
    std::set<std::string> unschedulable;
    std::set<std::string> pending;
    for (const std::string& name : strings(at(op, "unschedulable"))) unschedulable.insert(name);
    for (const std::string& name : strings(at(op, "pending"))) pending.insert(name);
    const bool failed = unschedulable.empty() && pending.empty();
    queue_->requeue(std::move(pod), failed ? Status::error("failed") : Status::unschedulable("does not fit"),
                    unschedulable, pending);
    if (const QueuedPod* back = queue_->find(uid)) {
      got["unschedulableCount"] = std::to_string(back->unschedulable_count);
      got["consecutiveErrors"] = std::to_string(back->consecutive_errors);
    }
  }

  void run_event(const Json& op) {
    const Json& event = at(op, "event");
    ClusterEvent cluster_event{resource_named(text(at(event, "resource"))), action_named(text(at(event, "action"))),
                               ""};
    auto mark = make_counted<Pod>();  // identifies the event in script_.hints
    kept_.push_back(mark);
    script_.hints[mark.get()] = read_hints(at(op, "hints"));
    EventObjects objects;
    objects.old_pod = mark;
    if (const std::string target = text(at(op, "object")); !target.empty()) {
      auto pod = make_counted<Pod>();
      pod->metadata.uid = target;
      objects.new_pod = std::move(pod);
    }
    Queue::PreCheck pre_check;
    if (at(op, "preCheck").is_array()) {
      pre_check = [names = strings(at(op, "preCheck"))](const Pod& pod) {
        return std::find(names.begin(), names.end(), pod.uid()) != names.end();
      };
    }
    queue_->move_all(cluster_event, objects, pre_check);
  }

  std::string show_pod(const QueuedPod& pod) const {
    const auto end = queue_->backoff_end(pod);
    std::string line = pod.pod->uid();
    if (end) line += " until " + std::to_string(*end);
    line += " " + show({pod.unschedulable_plugins.begin(), pod.unschedulable_plugins.end()});
    line += " " + show({pod.pending_plugins.begin(), pod.pending_plugins.end()});
    return line + " " + pod.gating_plugin;
  }

  void describe(std::map<std::string, std::string>& got) const {
    const Queue::Content content = queue_->content();
    std::vector<std::string> active;
    for (const QueuedPod* pod : content.active) active.push_back(pod->pod->uid());
    got["active"] = show(active);
    auto show_all = [this](const std::vector<const QueuedPod*>& pods) {
      std::vector<std::string> lines;
      for (const QueuedPod* pod : pods) lines.push_back(show_pod(*pod));
      return show(lines);
    };
    got["backoff"] = show_all(content.backoff);
    std::vector<const QueuedPod*> errors = content.error_backoff;
    std::stable_sort(errors.begin(), errors.end(), [this](const QueuedPod* a, const QueuedPod* b) {
      return std::pair(queue_->backoff_end(*a), a->pod->uid()) < std::pair(queue_->backoff_end(*b), b->pod->uid());
    });
    got["errorBackoff"] = show_all(errors);
    got["unschedulable"] = show_all(content.unschedulable);
    got["gated"] = show_all(content.gated);
    got["inFlight"] = show(content.in_flight);
    got["inFlightEvents"] = std::to_string(content.in_flight_events);
    std::vector<std::string> nominated;
    for (const auto& [node, pods] : queue_->nominator().by_node()) {
      for (const auto& pod : pods) nominated.push_back(node + "/" + pod->uid());
    }
    got["nominated"] = show(nominated);
  }

  static std::string expected_text(const std::string& field, const Json& want) {
    if (field == "popped") return text(want);
    if (field == "attempts" || field == "unschedulableCount" || field == "consecutiveErrors" ||
        field == "inFlightEvents") {
      return std::to_string(number(want));
    }
    std::vector<std::string> lines;
    if (field == "nominated") {
      if (want.is_object()) {
        for (const auto& [node, pods] : want.as_object()) {
          for (const std::string& pod : strings(pods)) lines.push_back(node + "/" + pod);
        }
      }
      return show(lines);
    }
    for (const Json& item : list(want)) {
      if (item.is_string()) {
        lines.push_back(item.as_string());
        continue;
      }
      std::string line = text(at(item, "pod"));
      if (at(item, "expiryMs").is_integer()) line += " until " + std::to_string(number(at(item, "expiryMs")));
      std::vector<std::string> plugins = strings(at(item, "plugins"));
      std::vector<std::string> pending = strings(at(item, "pending"));
      std::sort(plugins.begin(), plugins.end());
      std::sort(pending.begin(), pending.end());
      lines.push_back(line + " " + show(plugins) + " " + show(pending) + " " + text(at(item, "gatingPlugin")));
    }
    return show(lines);
  }

  TraceClock clock_;
  Script script_;
  TraceHandle handle_;
  std::unique_ptr<Framework> framework_;
  Cache cache_;  // nothing is placed
  std::unique_ptr<Queue> queue_;
  std::unique_ptr<EventHandlers> handlers_;
  std::map<std::string, PodPtr> newest_;  // as the API server holds them
  std::map<std::string, QueuedPod> in_flight_;
  std::vector<PodPtr> kept_;  // keys of script_.hints
};

}  // namespace

Verdict replay_queue(const Json& test_case) {
  Verdict verdict;
  Trace trace(at(test_case, "input"));
  const Json::Array& ops = list(at(at(test_case, "input"), "ops"));
  const Json::Array& expect = list(at(test_case, "expect"));
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const std::string difference = trace.step(ops[i], i < expect.size() ? expect[i] : Json());
    if (difference.empty()) {
      ++verdict.same;
      continue;
    }
    verdict.differences.push_back("op " + std::to_string(i) + " (" + text(at(ops[i], "op")) + "): " + difference);
    break;  // later operations depend on it
  }
  return verdict;
}

}  // namespace berth
