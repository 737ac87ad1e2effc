// A world with controllers: operations of a case happen in it, and after each the controllers run until nothing is left
// to do.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "core/controllers/manager.h"
#include "tests/conformance/world.h"

namespace berth {

// What an operation does to the objects, apart from time and controllers.
void apply_operation(WorldStore& store, const Json& operation);
// The options of a deletion in an operation or action, by the names that it has for them.
DeleteOptions delete_options(const Json& json, std::string_view propagation, std::string_view grace);

class RunningWorld {
 public:
  // `input`: of a case; its `start` and `kubelet` are read. It must outlive the world.
  RunningWorld(const Json& input, std::vector<std::unique_ptr<Controller>> controllers);

  World& world() { return world_; }
  Millis start() const { return start_; }
  // One of the operations of a case.
  void run(const Json& operation);

 private:
  void deliver();
  void settle();
  void tick();
  void run_kubelet();
  void run_kubelet_on(const ControlledPod& pod, const Json& kubelet);

  const Json& input_;
  Millis start_;
  World world_;
  ControllerManager manager_;
};

}  // namespace berth
