// Sweep: stops the workloads without a slot that the agent finds when it starts. At the first boot of a store there are
// no slots, so this is everything (core/handshake/rules.md N0).
#pragma once

#include <set>
#include <string>

#include "core/agent/rules.h"
#include "core/agent/runtime.h"
#include "core/log.h"
#include "core/turn.h"

namespace berth {

class Sweep {
 public:
  // All references must outlive this.
  Sweep(Runtime& runtime, Turn& turn, Log& log) : runtime_(runtime), turn_(turn), log_(log) {}

  // `ended`: tags that are being undone already. After an error nothing may be answered.
  Status start(const NodeState& state, const std::set<Tag>& ended);
  bool is_done() const { return stopping_.empty(); }
  // True if a workload of another epoch of this pod is still being stopped. may_resume() then tells when the pod's slot
  // can go on.
  bool holds_back(const std::string& uid);
  // The runtime has stopped this workload; false if it is not one of the sweep.
  bool stopped(const Tag& tag) { return stopping_.erase(tag) > 0; }
  // True once, when nothing holds the pod back any more.
  bool may_resume(const std::string& uid);

 private:
  bool stops(const std::string& uid) const;

  Runtime& runtime_;
  Turn& turn_;
  Log& log_;
  std::set<Tag> stopping_;
  std::set<std::string> held_back_;  // by pod uid
};

}  // namespace berth
