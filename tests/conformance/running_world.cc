#include "tests/conformance/running_world.h"

#include <optional>
#include <string>
#include <utility>

#include "core/api/timestamp.h"
#include "core/controllers/disruption/eviction.h"
#include "core/controllers/garbage_collector.h"
#include "tests/conformance/verdict.h"
#include "tests/conformance/world_pods.h"

namespace berth {

DeleteOptions delete_options(const Json& json, std::string_view propagation, std::string_view grace) {
  DeleteOptions options;
  const std::string policy = text(at(json, propagation));
  if (policy == "Background") options.propagation = Propagation::background;
  if (policy == "Foreground") options.propagation = Propagation::foreground;
  if (policy == "Orphan") options.propagation = Propagation::orphan;
  if (!at(json, grace).is_null()) options.grace_seconds = number(at(json, grace));
  return options;
}

// What an operation of the case does to a world, apart from time and controllers.
void apply_operation(WorldStore& store, const Json& operation) {
  const std::string op = text(at(operation, "op"));
  const std::string kind = text(at(operation, "kind"));
  const ObjectKey key = key_named(kind, text(at(operation, "namespace")), text(at(operation, "name")));
  if (op == "create") {
    store.create(kind, at(operation, "obj"));
  } else if (op == "update") {
    store.patch(kind, key, at(operation, "merge"));
  } else if (op == "status") {
    store.patch_status(kind, key, Json::object().set("status", at(operation, "merge")));
  } else if (op == "delete") {
    store.remove(kind, key, delete_options(operation, "propagation", "grace"));
  } else {
    apply_pod_operation(store, operation);
  }
}

namespace {

Json to_json(const EvictionAnswer& answer) {
  Json json = Json::object();
  json.set("code", answer.code).set("message", answer.message).set("causes", berth::to_json(answer.causes));
  return json;
}

}  // namespace

RunningWorld::RunningWorld(const Json& input, const MakeControllers& make_controllers)
    : input_(input),
      start_(parse_timestamp(text(at(input, "start"))).value_or(0)),
      world_(start_),
      manager_(world_, make_controllers(nodes_)) {
  for (const std::string& name : strings(at(input, "controllers"))) {
    if (name == "podgc") pod_gc_.emplace(number(at(input, "terminatedPodThreshold")));
    if (name != "node-lifecycle") continue;
    monitor_.emplace(nodes_);
    tainter_.emplace(nodes_);
  }
}

void RunningWorld::run(const Json& operation) {
  const std::string op = text(at(operation, "op"));
  answer_ = Json();
  if (op == "advance") {
    for (std::int64_t i = 0; i < number(at(operation, "seconds")); ++i) tick();
    return;
  }
  if (op == "podLimit") {
    const Json& max = at(operation, "max");
    world_.limit_pods(max.is_null() ? std::nullopt : std::optional(number(max)));
  } else if (op == "setScale") {
    world_.set_scale(text(at(operation, "name")), static_cast<std::int32_t>(number(at(operation, "replicas"))));
  } else if (op == "stopHeartbeat" || op == "startHeartbeat") {
    stop_or_start_heartbeat(operation);
  } else if (op == "evict") {
    answer_ = to_json(evict(world_, {"default", text(at(operation, "name"))}));
  } else {
    apply_operation(world_.store(), operation);
  }
  settle();
}

void RunningWorld::deliver() {
  for (const ObjectChange& change : world_.store().take_changes()) manager_.observe(change);
}

void RunningWorld::settle() {
  do {
    deliver();
    while (manager_.sync_next()) deliver();
  } while (collect_garbage(world_));
}

void RunningWorld::tick() {
  world_.store().set_now((world_.now() / 1000 + 1) * 1000);
  manager_.wake();
  run_heartbeats();
  run_kubelet();
  if (pod_gc_ && (world_.now() - start_) % PodGc::kPeriod == 0) pod_gc_->run(world_);
  settle();
  run_node_lifecycle();
}

void RunningWorld::stop_or_start_heartbeat(const Json& operation) {
  const bool is_start = text(at(operation, "op")) == "startHeartbeat";
  for (const std::string& node : strings(at(operation, "nodes"))) {
    if (!is_start) without_heartbeat_.insert(node);
    if (is_start && without_heartbeat_.erase(node) > 0) {
      renew_lease({std::string(ControlledLease::kNodeNamespace), node});
    }
  }
}

void RunningWorld::renew_lease(const ObjectKey& key) {
  std::string time = to_timestamp(world_.now());
  time.insert(time.size() - 1, ".000000");
  const Json spec = Json::object().set("renewTime", time);
  world_.store().patch(ControlledLease::kKind, key, Json::object().set("spec", spec));
}

void RunningWorld::run_heartbeats() {
  constexpr Millis kHeartbeat = 10'000;
  if (!flag(at(input_, "heartbeat")) || (world_.now() - start_) % kHeartbeat != 0) return;
  for (const ObjectKey& key : world_.store().keys(ControlledLease::kKind, ControlledLease::kNodeNamespace)) {
    if (!without_heartbeat_.contains(key.name)) renew_lease(key);
  }
}

void RunningWorld::run_node_lifecycle() {
  if (!monitor_) return;
  if ((world_.now() - start_) % NodeHealthMonitor::kPeriod == 0) {
    monitor_->run(world_);
    settle();
  }
  tainter_->run(world_);
  settle();
}

void RunningWorld::run_kubelet() {
  const Json& kubelet = at(input_, "kubelet");
  if (kubelet.is_null()) return;
  for (const auto& pod : list_as<ControlledPod>(world_, ControlledPod::kKind, "")) run_kubelet_on(*pod, kubelet);
}

void RunningWorld::run_kubelet_on(const ControlledPod& pod, const Json& kubelet) {
  const Json& ready_after = at(kubelet, "readyAfter");
  const Json& gone_after = at(kubelet, "goneAfter");
  const ObjectKey key = key_of(pod);
  WorldStore& store = world_.store();
  if (pod.metadata.deletion) {
    const std::int64_t grace = number(at(at(*store.find("Pod", key), "metadata"), "deletionGracePeriodSeconds"));
    const Millis asked = *pod.metadata.deletion - grace * 1000;
    if (!gone_after.is_null() && asked + number(gone_after) * 1000 <= store.now()) make_gone(store, key);
  } else if (pod.phase == PodPhase::pending && !ready_after.is_null() &&
             store.created_at("Pod", key) + number(ready_after) * 1000 <= store.now()) {
    make_ready(store, key, text(at(kubelet, "node")));
  }
}

}  // namespace berth
