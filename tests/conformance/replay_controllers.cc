// Replays a case of the workload controllers: operations on a small world of objects, the product's controllers until
// nothing is left to do, and beside them a second world that becomes what was recorded.
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/controllers/cron_job/cron_job_controller.h"
#include "core/controllers/daemon_set/daemon_set_controller.h"
#include "core/controllers/deployment/deployment_controller.h"
#include "core/controllers/disruption/disruption_controller.h"
#include "core/controllers/job/job_controller.h"
#include "core/controllers/nodes/node_lifecycle_controller.h"
#include "core/controllers/nodes/taint_eviction_controller.h"
#include "core/controllers/replica_set/replica_set_controller.h"
#include "core/controllers/stateful_set/stateful_set_controller.h"
#include "core/controllers/ttl_after_finished_controller.h"
#include "core/json/canonical.h"
#include "firmware-host/gateway/time_zone_folder.h"
#include "tests/conformance/compare_worlds.h"
#include "tests/conformance/running_world.h"
#include "tests/conformance/verdict.h"
#include "tests/conformance/world_pods.h"

namespace berth {
namespace {

// Null if Berth has no controller of this name.
std::unique_ptr<Controller> make_controller(const std::string& name, const Json& input) {
  static const TimeZoneFolder kZones;
  if (name == "cronjob") return std::make_unique<CronJobController>(kZones);
  if (name == "job") return std::make_unique<JobController>();
  if (name == "daemonset") return std::make_unique<DaemonSetController>(kZones);
  if (name == "disruption") return std::make_unique<DisruptionController>();
  if (name == "deployment") return std::make_unique<DeploymentController>(kZones);
  if (name == "replicaset") return std::make_unique<ReplicaSetController>();
  if (name == "replicationcontroller") return std::make_unique<ReplicaSetController>(kReplicationController);
  if (name == "taint-eviction") return std::make_unique<TaintEvictionController>();
  if (name == "ttl-after-finished") return std::make_unique<TtlAfterFinishedController>();
  if (name == "statefulset") {
    StatefulSetOptions options;
    options.max_unavailable = flag(at(at(input, "featureGates"), "MaxUnavailableStatefulSet"));
    return std::make_unique<StatefulSetController>(options);
  }
  return nullptr;
}

// RunningWorld has PodGC, and the parts of node lifecycle that look at all nodes.
bool runs_by_clock(const std::string& name) { return name == "podgc" || name == "node-lifecycle"; }

bool is_known(const std::string& name, const Json& input) {
  return runs_by_clock(name) || make_controller(name, input) != nullptr;
}

RunningWorld::MakeControllers make_controllers(const Json& input) {
  return [&input](NodeLifecycle& nodes) {
    std::vector<std::unique_ptr<Controller>> controllers;
    for (const std::string& name : strings(at(input, "controllers"))) {
      if (name == "node-lifecycle") controllers.push_back(std::make_unique<NodeLifecycleController>(nodes));
      if (!runs_by_clock(name)) controllers.push_back(make_controller(name, input));
      if (name == "disruption") controllers.push_back(std::make_unique<StaleDisruptionController>());
    }
    return controllers;
  };
}

// The world as it was recorded.
class Recorded {
 public:
  Recorded(const Json& input, Millis start) : input_(input), start_(start), store_(start) {}

  const WorldStore& store() const { return store_; }

  // Applies an operation and what was recorded with it; the actions in the form of World::take_actions(). `ours`: what
  // became of the product's world.
  std::multiset<std::string> apply(const Json& operation, const Json& record, const WorldStore& ours) {
    const std::string op = text(at(operation, "op"));
    const std::int64_t t = number(at(record, "t"));
    store_.set_now(start_ + t * 1000);
    const bool is_of_world = op == "advance" || op == "podLimit" || op == "setScale" || op == "evict" ||
                             op == "stopHeartbeat" || op == "startHeartbeat";
    if (!is_of_world) apply_operation(store_, operation);
    std::multiset<std::string> actions;
    for (const Json& action : list(at(record, "actions"))) {
      store_.set_now(start_ + (at(action, "t").is_null() ? t : number(at(action, "t"))) * 1000);
      apply_action(action, actions, ours);
    }
    if (op == "advance") store_.set_now(start_ + (t + number(at(operation, "seconds"))) * 1000);
    for (const Json& event : list(at(record, "events"))) {
      actions.insert(name_event(text(at(event, "kind")), text(at(event, "name")), text(at(event, "type")),
                                text(at(event, "reason")), text(at(event, "message"))));
    }
    store_.take_changes();
    return actions;
  }

 private:
  void apply_action(const Json& action, std::multiset<std::string>& actions, const WorldStore& ours) {
    const std::string what = text(at(action, "do"));
    const std::string kind = text(at(action, "kind"));
    const ObjectKey key = key_named(kind, text(at(action, "namespace")), text(at(action, "name")));
    if (what == "ready") make_ready(store_, key, text(at(at(input_, "kubelet"), "node")));
    if (what == "gone") make_gone(store_, key);
    if (what == "update" || what == "updateStatus") store_.patch_recorded(kind, key, at(action, "merge"));
    if (what != "create" && what != "delete" && what != "createRefused") return;
    actions.insert(name_action(what, kind, key.name));
    if (what == "delete") store_.remove(kind, key, delete_options(action, "propagationPolicy", "gracePeriodSeconds"));
    if (what == "create") {
      const std::string like = text(at(action, "like"));
      if (like.empty()) created_[kind + " " + key.name].push_back(at(action, "obj"));
      Json object = like.empty() ? at(action, "obj") : like_created(kind + " " + like, ours.find(kind, key));
      object.find("metadata")->set("name", key.name).set("namespace", key.name_space);
      store_.create(kind, std::move(object));
    }
  }

  // What was created under that name before. When there was more than one, the record does not say which: that with the
  // labels of ours.
  Json like_created(const std::string& name, const Json* ours) {
    const std::vector<Json>& all = created_[name];
    const auto labels = [](const Json& object) { return at(at(object, "metadata"), "labels"); };
    for (const Json& each : all) {
      if (ours != nullptr && is_same(labels(each), labels(*ours))) return each;
    }
    return all.empty() ? Json() : all.back();
  }

  const Json& input_;
  Millis start_;
  WorldStore store_;
  std::map<std::string, std::vector<Json>> created_;  // by kind and name, without the name
};

// The hashes in names, "h1" of "web-h1", each once.
std::vector<std::string> hashes_of(const Json::Array& records) {
  std::vector<std::string> hashes;
  for (const Json& record : records) {
    for (const Json& action : list(at(record, "actions"))) {
      const std::string kind = text(at(action, "kind"));
      if (text(at(action, "do")) != "create" || (kind != "ReplicaSet" && kind != "ControllerRevision")) continue;
      const std::string name = text(at(action, "name"));
      std::string hash = name.substr(name.rfind('-') + 1);
      if (std::find(hashes.begin(), hashes.end(), hash) == hashes.end()) hashes.push_back(std::move(hash));
    }
  }
  return hashes;
}

}  // namespace

Verdict replay_controllers(const Json& test_case) {
  Verdict verdict;
  const Json& input = at(test_case, "input");
  const Json::Array& operations = list(at(input, "ops"));
  const Json::Array& records = list(at(test_case, "expect"));
  for (const std::string& name : strings(at(input, "controllers"))) {
    if (is_known(name, input)) continue;
    verdict.left_out[name + " controller"] = static_cast<int>(operations.size());
    return verdict;
  }
  RunningWorld replay(input, make_controllers(input));
  replay.world().expect_hashes(hashes_of(records));
  Recorded recorded(input, replay.start());
  for (std::size_t i = 0; i < operations.size() && i < records.size(); ++i) {
    replay.run(operations[i]);
    const std::multiset<std::string> wanted = recorded.apply(operations[i], records[i], replay.world().store());
    std::string difference = compare_actions(replay.world().take_actions(), wanted);
    if (difference.empty()) difference = compare_answers(replay.answer(), at(records[i], "result"));
    if (difference.empty()) difference = compare_worlds(replay.world().store(), recorded.store());
    if (!difference.empty()) {
      // What follows depends on it.
      verdict.differences.push_back("operation " + std::to_string(i) + " (" + text(at(operations[i], "op")) +
                                    "): " + difference);
      return verdict;
    }
    ++verdict.same;
  }
  const std::string difference = compare_with_final(replay.world().store(), at(test_case, "final"));
  if (!difference.empty()) verdict.differences.push_back("final: " + difference);
  return verdict;
}

}  // namespace berth
