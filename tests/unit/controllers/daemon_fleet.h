// A fleet of nodes with a DaemonSet "agent" that has a rollout plan, for tests. Nodes follow it while they answer.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/api/timestamp.h"
#include "core/controllers/daemon_set/daemon_set_controller.h"
#include "tests/conformance/daemon_node.h"
#include "tests/unit/controllers/world_of.h"

namespace berth {

class DaemonFleet {
 public:
  DaemonFleet() : world_(make, R"({"start":"2026-01-05T10:00:00Z"})") {}

  void add_node(const std::string& name, const Labels& labels = {}) {
    const Json metadata = Json::object().set("name", name).set("labels", to_json(labels));
    world_.create("Node", Json::object().set("metadata", metadata).dump());
    nodes_.insert(name);
  }
  void create_set(const std::string& plan, const std::string& strategy = R"("maxUnavailable":1)") {
    world_.create("DaemonSet", R"({"metadata":{"name":"agent","annotations":{"berth/rollout-plan":)" +
                                   Json(plan).dump() +
                                   R"(}},"spec":{"selector":{"matchLabels":{"app":"agent"}},
                      "updateStrategy":{"rollingUpdate":{)" +
                                   strategy + R"(}},"template":{"metadata":{"labels":{"app":"agent"}},
                      "spec":{"containers":[{"name":"c","image":"v1"}]}}}})");
  }
  void merge(const std::string& merge) {
    world_.run(R"({"op":"update","kind":"DaemonSet","name":"agent","merge":)" + merge + "}");
  }
  void set_image(const std::string& image) {
    merge(R"({"spec":{"template":{"spec":{"containers":[{"name":"c","image":")" + image + R"("}]}}}})");
  }
  void annotate(const std::string& key, const std::string& value) {
    merge(R"({"metadata":{"annotations":{")" + key + R"(":)" + Json(value).dump() + "}}}");
  }

  void silence(const std::string& node) {
    if (silent_.insert(node).second) report(node, "Unknown");
  }
  void wake(const std::string& node) {
    if (silent_.erase(node) > 0) report(node, "True");
  }
  // Silent nodes are tainted so where there is node lifecycle.
  void taint_unreachable(const std::string& node) {
    world_.run(R"({"op":"update","kind":"Node","name":")" + node +
               R"(","merge":{"spec":{"taints":[{"key":"node.kubernetes.io/unreachable","effect":"NoSchedule"}]}}})");
  }
  // Pods with this image never become ready on that node.
  void break_image(const std::string& node, const std::string& image) { broken_.emplace(node, image); }

  // Seconds, in each of which the nodes that answer do what they were told in the one before.
  void advance(int seconds) {
    for (int i = 0; i < seconds; ++i) {
      world_.run(R"({"op":"advance","seconds":1})");
      ++now_;
      for (const std::string& pod : world_.names("Pod")) follow(pod);
    }
  }
  void operate(const std::string& op, const std::string& node) {
    for (const std::string& pod : world_.names("Pod")) {
      if (node_of(pod) == node) world_.run(R"({"op":")" + op + R"(","count":9,"pods":[")" + pod + "\"]}");
    }
  }

  // The images of each node's pods that are not being deleted: "v1", "v1+v2"; "": it has none.
  std::map<std::string, std::string> images() {
    std::map<std::string, std::string> images;
    for (const std::string& node : nodes_) images[node];
    for (const std::string& pod : world_.names("Pod")) {
      if (is_deleting(pod)) continue;
      std::string& image = images[node_of(pod)];
      image += (image.empty() ? "" : "+") + image_of(pod);
    }
    return images;
  }
  std::set<std::string> ready_nodes() {
    std::set<std::string> ready;
    for (const std::string& pod : world_.names("Pod")) {
      const Json& conditions = at(world_.status("Pod", pod), "conditions");
      if (!is_deleting(pod) && text(at(at(conditions_by_type(conditions), "Ready"), "status")) == "True")
        ready.insert(node_of(pod));
    }
    return ready;
  }
  std::string rollout(const char* field) { return at(world_.status("DaemonSet", "agent"), "rollout").string_at(field); }
  std::int64_t wave() { return number(at(at(world_.status("DaemonSet", "agent"), "rollout"), "wave")); }
  // Reasons of the set's events since the last call, without those of pods.
  std::set<std::string> events() {
    std::set<std::string> reasons;
    for (const std::string& action : world_.take_actions()) {
      for (const char* reason : {"RolloutStarted", "RolloutWave", "RolloutSoaking", "RolloutComplete", "RolloutPaused",
                                 "RolloutResumed", "RolloutStopped", "RolledBack"}) {
        if (action.find(std::string(" ") + reason + ":") != std::string::npos) reasons.insert(reason);
      }
    }
    return reasons;
  }
  const std::set<std::string>& silent() const { return silent_; }
  int now() const { return now_; }

 private:
  static std::vector<std::unique_ptr<Controller>> make(NodeLifecycle&) {
    static const ZoneFiles kZones;
    std::vector<std::unique_ptr<Controller>> made;
    made.push_back(std::make_unique<DaemonSetController>(kZones));
    return made;
  }
  void report(const std::string& node, const std::string& ready) {
    const std::string time = to_timestamp(at_time("2026-01-05T10:00:00Z") * 1000 + now_ * 1000);
    world_.run(R"({"op":"status","kind":"Node","name":")" + node +
               R"(","merge":{"conditions":[{"type":"Ready","status":")" + ready + R"(","lastTransitionTime":")" + time +
               R"("}]}})");
  }
  std::string node_of(const std::string& pod) { return daemon_node(world_.object("Pod", pod)); }
  std::string image_of(const std::string& pod) {
    return list(at(at(world_.object("Pod", pod), "spec"), "containers")).front().string_at("image");
  }
  bool is_deleting(const std::string& pod) {
    return !at(at(world_.object("Pod", pod), "metadata"), "deletionTimestamp").is_null();
  }
  void follow(const std::string& pod) {
    const std::string node = node_of(pod);
    if (silent_.contains(node)) return;
    std::string op;
    if (is_deleting(pod)) {
      op = "gone";
    } else if (text(at(world_.status("Pod", pod), "phase")) != "Running") {
      op = broken_.contains({node, image_of(pod)}) ? "running" : "ready";
    }
    if (!op.empty()) world_.run(R"({"op":")" + op + R"(","pods":[")" + pod + "\"]}");
  }

  WorldOf world_;
  std::set<std::string> nodes_;
  std::set<std::string> silent_;
  std::set<std::pair<std::string, std::string>> broken_;
  int now_ = 0;  // seconds since the start
};

}  // namespace berth
