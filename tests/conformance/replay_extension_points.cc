// Extension points: the scheduler's own loop with scripted plugins, and a table of objects that replaces the API server
// and its informers.
#include <algorithm>
#include <map>
#include <optional>

#include "core/api/node.h"
#include "core/api/pod.h"
#include "core/api/volume.h"
#include "core/fastpath/fast_path.h"
#include "core/scheduler/scheduler.h"
#include "plugins/defaultbinder.h"
#include "tests/conformance/scripted_plugin.h"
#include "tests/conformance/verdict.h"

namespace berth {

namespace {

constexpr Millis kStart = 600'000;  // a whole second
constexpr const char* kLeak = "no waiting entry is left behind when PreBindPreFlight fails";

class StepClock final : public Clock {
 public:
  Millis now() const override { return now_ms; }
  Millis wall() const override { return now_ms; }
  Millis now_ms = kStart;
};

class NoObjects final : public Lister {
 public:
  std::shared_ptr<const PersistentVolumeClaim> claim(const std::string&) const override { return nullptr; }
  std::shared_ptr<const PersistentVolume> volume(const std::string&) const override { return nullptr; }
  std::shared_ptr<const StorageClass> storage_class(const std::string&) const override { return nullptr; }
  std::vector<std::shared_ptr<const PersistentVolume>> volumes_of_class(const std::string&) const override {
    return {};
  }
};

// Breaks ties like kube-scheduler 1.35: the root of a max-heap built bottom-up, in which only a strictly greater child
// moves up and the left child is preferred.
std::size_t pick_heap_root(const std::vector<NodeScore>& totals) {
  std::vector<std::size_t> heap(totals.size());
  for (std::size_t i = 0; i < heap.size(); ++i) heap[i] = i;
  for (std::size_t top = heap.size() / 2; top-- > 0;) {
    for (std::size_t parent = top;;) {
      std::size_t child = 2 * parent + 1;
      if (child >= heap.size()) break;
      if (child + 1 < heap.size() && totals[heap[child + 1]].score > totals[heap[child]].score) ++child;
      if (totals[heap[child]].score <= totals[heap[parent]].score) break;
      std::swap(heap[parent], heap[child]);
      parent = child;
    }
  }
  return heap.front();
}

CountedPtr<Pod> read_pod(const Json& json) {
  auto pod = make_counted<Pod>();
  pod->metadata.name = text(at(json, "name"));
  pod->metadata.namespace_ = "default";
  pod->metadata.uid = "default/" + pod->metadata.name;
  pod->metadata.deleting = flag(at(json, "deleting"));
  if (json.find("label") != nullptr) pod->metadata.labels["label"] = text(at(json, "label"));
  pod->priority = static_cast<std::int32_t>(number(at(json, "priority")));
  pod->nominated_node_name = text(at(json, "nominatedNodeName"));
  pod->set_manifest("{}");
  return pod;
}

Json show_condition(const PodCondition& condition) {
  Json json = Json::object();
  json.set("status", condition.status ? "True" : "False").set("reason", condition.reason);
  return json.set("message", condition.message);
}

// The API server's version of each pod; its condition is in the manifest, its node in node_name.
using Table = std::map<std::string, PodPtr>;

class ScriptedCluster final : public SchedulerHost {
 public:
  ScriptedCluster(const Json& input, bool fast)
      : script(input),
        scheduler(clock, lister, *this, {{}, 0, pick_heap_root, nullptr, fast ? make_fast_path() : nullptr, nullptr}) {}

  PodPtr find_unplaced(const Pod& pod) const override {
    const auto found = seen.find(pod.metadata.name);
    return found == seen.end() || !found->second->node_name.empty() ? nullptr : found->second;
  }
  bool may_try(const Pod& pod) override {
    ++script.attempts[pod.metadata.name];
    return true;
  }
  void record_event(const Pod& pod, const SchedulingEvent& event) override {
    Json json = Json::object();
    json.set("pod", pod.metadata.name).set("type", event.type).set("reason", event.reason);
    events.push_back(json.set("action", event.action).set("note", event.note));
  }
  std::optional<PodCondition> condition_of(const Pod& pod) const override {
    const Json json = at(pod.manifest().json(), "condition");
    if (json.is_null()) return std::nullopt;
    return PodCondition{text(at(json, "status")) == "True", text(at(json, "reason")), text(at(json, "message"))};
  }
  void patch_status(const Pod& pod, const StatusPatch& patch) override {
    const auto found = api.find(pod.metadata.name);
    if (found == api.end()) return;
    auto changed = make_counted<Pod>(*found->second);
    Json json = Json::object();
    json.set("pod", pod.metadata.name);
    if (patch.condition) {
      changed->set_manifest(Json(Json::Object{{"condition", show_condition(*patch.condition)}}).dump());
      json.set("condition", show_condition(*patch.condition));
    }
    if (patch.nominated_node) {
      changed->nominated_node_name = *patch.nominated_node;
      json.set("nominatedNodeName", patch.nominated_node->empty() ? "(cleared)" : *patch.nominated_node);
    }
    found->second = std::move(changed);
    patches.push_back(std::move(json));
  }
  Status bind(const Pod& pod, const std::string& node) override {
    script.call(pod.metadata.name, "Bind", DefaultBinder::kName, node);
    const Json& refusal = script.rule(DefaultBinder::kName, "Bind", pod.metadata.name, node);
    if (!refusal.is_null())
      return Status::error(list(at(refusal, "reasons")).empty() ? "" : strings(at(refusal, "reasons"))[0]);
    const auto found = api.find(pod.metadata.name);
    if (found == api.end()) return Status::error("pods \"" + pod.metadata.name + "\" not found");
    auto bound = make_counted<Pod>(*found->second);
    bound->node_name = node;
    bound->nominated_node_name = "";
    bound->set_manifest(Json(Json::Object{{"condition", show_condition({true, "", ""})}}).dump());
    found->second = std::move(bound);
    bindings.set(pod.metadata.name, node);
    return {};
  }
  Status evict(const Pod&, const Pod&) override { return Status::error("not used by the recorded cases"); }

  StepClock clock;
  NoObjects lister;
  PluginScript script;
  Table api, seen;
  Json::Array events, patches;
  Json bindings = Json::object();
  Scheduler scheduler;
};

class Replay {
 public:
  Replay(const Json& input, bool fast) : cluster_(input, fast) {}

  Status set_up(const Json& input) {
    if (Status added = register_scripted(registry_, cluster_.script); !added.is_success()) return added;
    Status made = cluster_.scheduler.add_profile(registry_, scripted_profile(cluster_.script));
    if (!made.is_success()) return made;
    for (const std::string& node : strings(at(input, "nodes"))) add_node(node);
    for (const Json& pod : list(at(input, "pods"))) add_pod(pod);
    return {};
  }

  void run(const Json& step) {
    tick(1);
    const std::string op = text(at(step, "op"));
    const std::string pod = text(at(step, "pod"));
    WaitingPods& waiting = cluster_.scheduler.waiting_pods();
    if (op == "schedule") return schedule();
    if (op == "advance") return tick(number(at(step, "ms")));
    if (op == "addNode") return add_node(text(at(step, "node")));
    if (op == "addPod") return add_pod(at(step, "new"));
    if (op == "sync") return sync();
    if (op == "updatePod") update_pod(at(step, "new"));
    if (op == "deletePod") delete_pod(pod);
    if (op == "allow") waiting.allow("default/" + pod, text(at(step, "plugin")));
    if (op == "reject") waiting.reject("default/" + pod, text(at(step, "plugin")), text(at(step, "message")));
    if (op == "timeout") waiting.expire(*waiting.next_deadline());  // one pod waits in these cases
    deliver();
  }

  // What happened since the last record, and the current state.
  Json take_record();

 private:
  void tick(Millis ms) {
    Queue& queue = cluster_.scheduler.queue();
    const Millis end = cluster_.clock.now_ms + ms;
    for (auto next = queue.next_flush(); next && *next <= end; next = queue.next_flush()) {
      cluster_.clock.now_ms = std::max(cluster_.clock.now_ms, *next);
      queue.flush();
    }
    cluster_.clock.now_ms = end;
  }

  void add_node(const std::string& name) {
    auto node = std::make_shared<Node>();
    node->metadata.name = name;
    node->metadata.labels["kubernetes.io/hostname"] = name;
    for (const auto& [resource, amount] : {std::pair{"cpu", "8"}, {"memory", "32Gi"}, {"pods", "110"}}) {
      node->allocatable[resource] = *Quantity::parse(amount);
    }
    cluster_.scheduler.handlers().node_set(nullptr, node);
  }

  void add_pod(const Json& json) {
    const PodPtr pod = read_pod(json);
    cluster_.api[pod->metadata.name] = cluster_.seen[pod->metadata.name] = pod;
    cluster_.scheduler.handlers().pod_added(pod);
    tick(1);
  }

  void update_pod(const Json& json) {
    const PodPtr pod = read_pod(json);
    const PodPtr before = cluster_.seen[pod->metadata.name];
    cluster_.api[pod->metadata.name] = cluster_.seen[pod->metadata.name] = pod;
    tell_update(before, pod);
  }

  // As PodRegistry and PodLifecycle tell the scheduler.
  void tell_update(const PodPtr& before, const PodPtr& pod) {
    cluster_.scheduler.handlers().pod_updated(before, pod);
    if (pod->metadata.deleting) cluster_.scheduler.waiting_pods().reject(pod->uid(), "", "removed");
  }

  void delete_pod(const std::string& name) {
    const PodPtr pod = cluster_.seen[name];
    cluster_.api.erase(name);
    cluster_.seen.erase(name);
    EventHandlers& handlers = cluster_.scheduler.handlers();
    if (!pod->node_name.empty()) return handlers.pod_left(*pod, pod->node_name);
    if (cluster_.scheduler.cache().is_placed(pod->uid())) {
      auto leaving = make_counted<Pod>(*pod);
      leaving->metadata.deleting = true;
      tell_update(pod, leaving);
      deliver();
    }
    handlers.pod_deleted(pod);
  }

  void sync() {
    for (const auto& [name, pod] : cluster_.api) {
      const PodPtr before = std::exchange(cluster_.seen[name], pod);
      if (before == pod) continue;
      if (before->node_name.empty() && !pod->node_name.empty()) {
        cluster_.scheduler.handlers().pod_bound(pod, pod->node_name);
      } else if (pod->node_name.empty()) {
        cluster_.scheduler.handlers().pod_updated(before, pod);
      }
    }
  }

  void schedule() {
    Scheduler::Attempt attempt = cluster_.scheduler.schedule_one();
    idle_ = !attempt.popped;
    if (attempt.binding != nullptr && attempt.binding->waits) {
      const std::string uid = attempt.binding->queued.pod->uid();
      waiting_[uid] = std::move(attempt.binding);
    } else if (attempt.binding != nullptr) {
      run_binding(*attempt.binding);
    }
    deliver();
  }

  void deliver() {
    for (const auto& [uid, status] : cluster_.scheduler.waiting_pods().take_decided()) {
      const std::unique_ptr<BindingCycle> cycle = std::move(waiting_.extract(uid).mapped());
      if (status.is_success()) {
        run_binding(*cycle);
      } else {
        cluster_.scheduler.reject_waiting(*cycle, status);
      }
    }
  }

  void run_binding(BindingCycle& cycle) {
    Scheduler& scheduler = cluster_.scheduler;
    scheduler.leave_queue(cycle);
    PlacementRequest request;
    Status status = scheduler.pre_bind(cycle, request);
    if (status.is_success()) status = scheduler.bind(cycle);
    if (!status.is_success()) return scheduler.fail_binding(cycle, status);
    scheduler.finish_binding(cycle);
    scheduler.post_bind(cycle);
  }

  Json show_state() const;
  Json show_queued(const std::string& uid) const;

  ScriptedCluster cluster_;
  Registry registry_;
  std::map<std::string, std::unique_ptr<BindingCycle>> waiting_;  // by uid
  bool idle_ = false;
};

Json list_of(const std::set<std::string>& names) { return Json(Json::Array(names.begin(), names.end())); }

// The name as in the records.
std::string name_of(const std::string& uid) { return uid.substr(uid.find('/') + 1); }

Json Replay::show_queued(const std::string& uid) const {
  const Queue& queue = cluster_.scheduler.queue();
  const QueuedPod* queued = queue.find(uid);
  if (queued == nullptr) return {};
  std::string where;
  switch (queue.where(uid)) {
    case Queue::Where::gated: where = "gated"; break;
    case Queue::Where::active: where = "active"; break;
    case Queue::Where::unschedulable: where = "unschedulable"; break;
    case Queue::Where::backoff: where = queued->unschedulable_plugins.empty() ? "errorBackoff" : "backoff"; break;
    case Queue::Where::in_flight:
    case Queue::Where::none: return {};
  }
  Json json = Json::object();
  json.set("queue", where).set("gatingPlugin", queued->gating_plugin);
  json.set("unschedulablePlugins", list_of(queued->unschedulable_plugins));
  return json.set("pendingPlugins", list_of(queued->pending_plugins));
}

Json Replay::show_state() const {
  const Scheduler& scheduler = cluster_.scheduler;
  Json queued = Json::object(), waiting = Json::object(), assumed = Json::object(), nominator = Json::object(),
       api = Json::object();
  std::set<std::string> in_flight;
  for (const std::string& uid : scheduler.queue().uids()) {
    if (scheduler.queue().where(uid) == Queue::Where::in_flight) in_flight.insert(name_of(uid));
    if (Json shown = show_queued(uid); !shown.is_null()) queued.set(name_of(uid), std::move(shown));
  }
  for (const auto& [uid, pod] : scheduler.waiting_pods().all()) {
    std::set<std::string> plugins;
    for (const auto& [plugin, wait] : pod.plugins) plugins.insert(plugin);
    waiting.set(name_of(uid), list_of(plugins));
  }
  for (const auto& [name, attempts] : cluster_.script.attempts) {
    if (scheduler.cache().is_assumed("default/" + name)) {
      assumed.set(name, *scheduler.cache().node_of("default/" + name));
    }
  }
  for (const auto& [node, pods] : scheduler.nominator().by_node()) {
    Json::Array names;
    for (const auto& pod : pods) names.emplace_back(pod->metadata.name);
    nominator.set(node, Json(std::move(names)));
  }
  for (const auto& [name, pod] : cluster_.api) {
    Json shown = Json::object();
    shown.set("node", pod->node_name.get()).set("nominatedNodeName", pod->nominated_node_name.get());
    api.set(name, shown.set("condition", at(pod->manifest().json(), "condition")));
  }
  Json state = Json::object();
  state.set("queued", queued).set("inFlight", list_of(in_flight)).set("waiting", waiting).set("assumed", assumed);
  return state.set("nominator", nominator).set("api", api);
}

Json Replay::take_record() {
  std::vector<std::string> calls = std::exchange(cluster_.script.calls, {});
  const auto is_gate = [](const std::string& call) { return call.find(" PreEnqueue ") != std::string::npos; };
  for (auto run = calls.begin(); run != calls.end();) {
    const auto end = std::find_if_not(run, calls.end(), is_gate);
    std::sort(run, end);
    run = std::find_if(end, calls.end(), is_gate);
  }
  Json record = Json::object();
  record.set("idle", std::exchange(idle_, false));
  record.set("calls", Json(Json::Array(calls.begin(), calls.end())));
  record.set("events", Json(std::exchange(cluster_.events, {})));
  record.set("patches", Json(std::exchange(cluster_.patches, {})));
  record.set("bindings", std::exchange(cluster_.bindings, Json::object()));
  return record.set("state", show_state());
}

// All leaves by path. Null, false and empty values count as absent; a list of strings is one leaf.
void flatten(const std::string& path, const Json& json, std::map<std::string, std::string>& leaves) {
  if (json.is_object()) {
    for (const auto& [key, value] : json.as_object()) {
      // A patch that clears the nomination differs from one without it.
      const bool cleared = key == "nominatedNodeName" && path.starts_with("patches") && text(value).empty();
      flatten(path.empty() ? key : path + "." + key, cleared ? Json("(cleared)") : value, leaves);
    }
    return;
  }
  if (json.is_array() && !json.as_array().empty() && json.as_array().front().is_string()) {
    std::vector<std::string> texts;
    for (const std::string& each : strings(json)) texts.push_back("'" + each + "'");
    if (path == "state.inFlight") std::sort(texts.begin(), texts.end());
    leaves[path] = show(texts);
    return;
  }
  if (json.is_array()) {
    for (std::size_t i = 0; i < json.as_array().size(); ++i) {
      flatten(path + "[" + std::to_string(i) + "]", json.as_array()[i], leaves);
    }
    return;
  }
  if (json.is_null() || (json.is_bool() && !json.as_bool()) || (json.is_string() && json.as_string().empty())) return;
  leaves[path] = json.is_string() ? json.as_string() : json.dump();
}

// "%!..." is how Go formats a missing error: only the text before it is compared.
bool same(const std::string& got, const std::string& want) {
  const std::size_t artefact = want.find("%!");
  return artefact == std::string::npos ? got == want : got.substr(0, artefact) == want.substr(0, artefact);
}

// A pod that upstream still lists as waiting after its attempt has ended.
bool is_leak(const std::string& path, const Json& want) {
  constexpr std::string_view kWaiting = "state.waiting.";
  if (!path.starts_with(kWaiting)) return false;
  return at(at(at(want, "state"), "assumed"), path.substr(kWaiting.size())).is_null();
}

void compare(const std::string& step, const Json& got, const Json& want, Verdict& verdict) {
  std::map<std::string, std::string> mine, theirs;
  flatten("", got, mine);
  flatten("", want, theirs);
  std::string differences;
  bool leak = false;
  for (const auto& [path, text] : theirs) {
    const auto found = mine.find(path);
    if (found != mine.end() && same(found->second, text)) continue;
    if (found == mine.end() && is_leak(path, want)) {
      leak = true;
      continue;
    }
    differences += path + ": got " + (found == mine.end() ? "nothing" : found->second) + ", want " + text + "; ";
  }
  for (const auto& [path, text] : mine) {
    if (!theirs.contains(path)) differences += path + ": got " + text + ", want nothing; ";
  }
  if (!differences.empty()) {
    verdict.differences.push_back(step + ": " + differences);
  } else if (leak) {
    ++verdict.intended[kLeak];
  } else {
    ++verdict.same;
  }
}

Verdict replay(const Json& test_case, bool fast) {
  Verdict verdict;
  const Json& input = at(test_case, "input");
  const Json::Array& steps = list(at(input, "steps"));
  const Json::Array& expect = list(at(test_case, "expect"));
  Replay replay(input, fast);
  const Status ready = replay.set_up(input);
  if (!ready.is_success() || expect.size() != steps.size() + 1) {
    verdict.differences.push_back(ready.is_success() ? "expected one record per step and one for the start"
                                                     : ready.message());
    return verdict;
  }
  compare("start", replay.take_record(), expect[0], verdict);
  for (std::size_t i = 0; i < steps.size() && verdict.differences.empty(); ++i) {
    replay.run(steps[i]);
    compare("step " + std::to_string(i + 1) + " (" + text(at(steps[i], "op")) + ")", replay.take_record(),
            expect[i + 1], verdict);
  }
  return verdict;
}

}  // namespace

// Replays with and without remembered results. The scripted plugins do not declare what they read, so the recorded
// calls are the same in both modes.
Verdict replay_extension_points(const Json& test_case) {
  Verdict verdict = replay(test_case, true);
  for (const std::string& difference : replay(test_case, false).differences) {
    verdict.differences.push_back("without remembered results: " + difference);
  }
  return verdict;
}

}  // namespace berth
