// The zones of a cluster: how many of their nodes are ready, and how fast nodes that are not get NoExecute taints
// (pkg/controller/nodelifecycle/node_lifecycle_controller.go, ComputeZoneState and handleDisruption).
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "core/clock.h"
#include "core/controllers/nodes/taint_queue.h"

namespace berth {

struct ZoneCount {
  std::int32_t ready = 0;
  std::int32_t not_ready = 0;
};

enum class ZoneState {
  initial,  // not counted so far
  normal,
  partial,  // more than 2 nodes and 55% of all are not ready
  full,     // no node is ready
  empty,    // none of its nodes counts any more
};
ZoneState state_of(const ZoneCount& count);

// Taints a second in a zone of so many nodes.
float taint_rate(ZoneState state, std::int32_t nodes);

class NodeZones {
 public:
  bool knows(const std::string& zone) const { return states_.contains(zone); }
  // A zone that is new gets a queue of its own; nothing happens for others.
  void add(const std::string& zone);
  // By zone. A zone that is not known any more keeps its queue.
  std::map<std::string, TaintQueue>& queues() { return queues_; }
  // Of a zone that was added before.
  TaintQueue& queue(const std::string& zone) { return queues_.at(zone); }

  enum class Turn {
    none,
    lost,      // now no zone has a ready node: no taint is added until one has; those that are there go
    recovered  // one has again: all nodes have a new grace period
  };
  // What the zones are now; sets the rates of their queues. `counts`: of all zones with nodes that count.
  Turn update(const std::map<std::string, ZoneCount>& counts, Millis now);

 private:
  bool forget_uncounted(const std::map<std::string, ZoneCount>& counts);

  std::map<std::string, ZoneState> states_;
  std::map<std::string, TaintQueue> queues_;
};

}  // namespace berth
