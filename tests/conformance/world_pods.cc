#include "tests/conformance/world_pods.h"

#include <utility>

#include "core/api/timestamp.h"
#include "tests/conformance/daemon_node.h"
#include "tests/conformance/verdict.h"

namespace berth {
namespace {

void bind(WorldStore& store, const ObjectKey& key, std::string node) {
  const Json& pod = *store.find("Pod", key);
  if (!text(at(at(pod, "spec"), "nodeName")).empty()) return;
  if (node.empty()) node = daemon_node(pod);
  if (node.empty()) node = "n1";
  store.patch("Pod", key, Json::object().set("spec", Json::object().set("nodeName", node)));
}

Json status_of(const WorldStore& store, const ObjectKey& key) {
  const Json& status = at(*store.find("Pod", key), "status");
  return status.is_object() ? status : Json::object();
}

void write(WorldStore& store, const ObjectKey& key, Json status) {
  store.patch_status("Pod", key, Json::object().set("status", std::move(status)));
}

void set_pod_condition(Json& status, const std::string& type, bool value, Millis now, const std::string& reason = "") {
  Json by_type = conditions_by_type(at(status, "conditions"));
  Json condition = at(by_type, type);
  const char* wanted = value ? "True" : "False";
  if (text(at(condition, "status")) != wanted) condition.set("lastTransitionTime", to_timestamp(now));
  condition.set("status", wanted);
  if (!reason.empty()) condition.set("reason", reason);
  by_type.set(type, std::move(condition));
  status.set("conditions", conditions_list(by_type));
}

void start(Json& status, Millis now) {
  if (at(status, "startTime").is_null()) status.set("startTime", to_timestamp(now));
}

// The first container ends with `exit_code`, the others with 0.
void end_containers(const Json& pod, Json& status, std::int64_t exit_code, Millis now) {
  Json statuses = Json::array();
  const Json::Array& before = list(at(status, "containerStatuses"));
  for (const Json& container : list(at(at(pod, "spec"), "containers"))) {
    Json each = Json::object();
    for (const Json& old : before) {
      if (at(old, "name") == at(container, "name")) each = old;
    }
    Json terminated = Json::object();
    terminated.set("exitCode", statuses.is_array() && statuses.as_array().empty() ? exit_code : 0);
    terminated.set("finishedAt", to_timestamp(now));
    each.set("name", at(container, "name")).set("state", Json::object().set("terminated", std::move(terminated)));
    statuses.push_back(std::move(each));
  }
  status.set("containerStatuses", std::move(statuses));
}

void end(WorldStore& store, const ObjectKey& key, const char* phase, const Json& operation, std::int64_t exit_code) {
  Json status = status_of(store, key);
  const Millis now = store.now();
  status.set("phase", phase);
  if (const std::string reason = text(at(operation, "reason")); !reason.empty()) status.set("reason", reason);
  if (std::string_view(phase) == "Failed" && text(at(operation, "op")) == "fail") start(status, now);
  set_pod_condition(status, "Ready", false, now);
  if (const std::string condition = text(at(operation, "condition")); !condition.empty()) {
    set_pod_condition(status, condition, true, now, text(at(operation, "conditionReason")));
  }
  end_containers(*store.find("Pod", key), status, exit_code, now);
  write(store, key, std::move(status));
}

void run(WorldStore& store, const ObjectKey& key, bool is_ready) {
  Json status = status_of(store, key);
  status.set("phase", "Running");
  start(status, store.now());
  if (is_ready) set_pod_condition(status, "Ready", true, store.now());
  write(store, key, std::move(status));
}

void restart(WorldStore& store, const ObjectKey& key, std::int64_t count) {
  Json status = status_of(store, key);
  Json statuses = at(status, "containerStatuses");
  if (list(statuses).empty()) {
    const Json::Array& containers = list(at(at(*store.find("Pod", key), "spec"), "containers"));
    if (containers.empty()) return;
    statuses.push_back(Json::object().set("name", at(containers.front(), "name")));
  }
  Json& first = statuses.as_array().front();
  first.set("restartCount", number(at(first, "restartCount")) + count);
  status.set("containerStatuses", std::move(statuses));
  write(store, key, std::move(status));
}

void apply_to(WorldStore& store, const ObjectKey& key, const Json& operation) {
  const std::string op = text(at(operation, "op"));
  if (op == "gone") {
    make_gone(store, key);
    return;
  }
  if (op == "unready") {
    Json status = status_of(store, key);
    set_pod_condition(status, "Ready", false, store.now());
    write(store, key, std::move(status));
    return;
  }
  if (op == "restart") {
    restart(store, key, number(at(operation, "count")));
    return;
  }
  bind(store, key, text(at(operation, "node")));
  if (op == "ready" || op == "running") run(store, key, op == "ready");
  if (op == "succeed") end(store, key, "Succeeded", operation, 0);
  if (op == "fail") {
    end(store, key, "Failed", operation, at(operation, "exitCode").is_null() ? 1 : number(at(operation, "exitCode")));
  }
}

}  // namespace

void make_ready(WorldStore& store, const ObjectKey& pod, const std::string& node) {
  bind(store, pod, node);
  run(store, pod, true);
}

void make_gone(WorldStore& store, const ObjectKey& pod) {
  const std::string phase = text(at(status_of(store, pod), "phase"));
  if (phase != "Failed" && phase != "Succeeded") end(store, pod, "Failed", Json::object(), 137);
  DeleteOptions options;
  options.grace_seconds = 0;
  store.remove("Pod", pod, options);
}

void apply_pod_operation(WorldStore& store, const Json& operation) {
  for (const std::string& name : strings(at(operation, "pods"))) {
    const ObjectKey key{"default", name};
    if (store.find("Pod", key) != nullptr) apply_to(store, key, operation);
  }
}

}  // namespace berth
