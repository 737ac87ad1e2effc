// ControllerManager: the controllers that run, in order, and the work queue of each. Whoever owns it tells it every
// change, and calls sync_next() until nothing is left to do; nothing happens between calls.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/controllers/controller.h"

namespace berth {

class ControllerManager {
 public:
  // `cluster` must outlive the manager.
  ControllerManager(ClusterAccess& cluster, std::vector<std::unique_ptr<Controller>> controllers);

  // Queues what the change concerns. Changes that sync_next() itself has made are told after it has returned.
  void observe(const ObjectChange& change);
  // Synchronises the first key of the first controller that has one. False: nothing to do.
  bool sync_next();
  // Queues the keys whose time has come, by ClusterAccess::now().
  void wake();
  // When wake() has something to do, milliseconds since 1970; none: never.
  std::optional<Millis> next_wake() const;

 private:
  struct Running {
    std::unique_ptr<Controller> controller;
    WorkQueue queue;
  };
  ClusterAccess& cluster_;
  std::vector<Running> running_;
};

}  // namespace berth
