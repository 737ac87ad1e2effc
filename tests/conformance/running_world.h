// A world with controllers: operations of a case happen in it, and after each the controllers run until nothing is left
// to do.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/controllers/manager.h"
#include "core/controllers/nodes/no_execute_tainter.h"
#include "core/controllers/nodes/node_health_monitor.h"
#include "core/controllers/pod_gc.h"
#include "tests/conformance/world.h"

namespace berth {

// What an operation does to the objects, apart from time and controllers.
void apply_operation(WorldStore& store, const Json& operation);
// The options of a deletion in an operation or action, by the names that it has for them.
DeleteOptions delete_options(const Json& json, std::string_view propagation, std::string_view grace);

class RunningWorld {
 public:
  using MakeControllers = std::function<std::vector<std::unique_ptr<Controller>>(NodeLifecycle& nodes)>;
  // `input`: of a case; its `start`, `kubelet`, `heartbeat`, and what PodGC and node lifecycle need are read. It must
  // outlive the world.
  RunningWorld(const Json& input, const MakeControllers& make_controllers);

  World& world() { return world_; }
  Millis start() const { return start_; }
  // One of the operations of a case.
  void run(const Json& operation);
  // What the last operation answered; null unless it was an eviction.
  const Json& answer() const { return answer_; }

 private:
  void deliver();
  void settle();
  void tick();
  void stop_or_start_heartbeat(const Json& operation);
  void renew_lease(const ObjectKey& key);
  void run_heartbeats();
  void run_node_lifecycle();
  void run_kubelet();
  void run_kubelet_on(const ControlledPod& pod, const Json& kubelet);

  const Json& input_;
  Millis start_;
  World world_;
  NodeLifecycle nodes_;
  ControllerManager manager_;
  std::optional<PodGc> pod_gc_;
  std::optional<NodeHealthMonitor> monitor_;
  std::optional<NoExecuteTainter> tainter_;
  std::set<std::string> without_heartbeat_;  // nodes
  Json answer_;
};

}  // namespace berth
