// A workload: a description of the fleet, of the pods that run before the measurement, and of the measured pods.
#pragma once

#include <cstddef>
#include <string>

#include "core/json/json.h"
#include "core/status.h"

namespace berth::bench {

// Manifests are templates: in every string, {i} is replaced by the object's number, {zone} by the number modulo three,
// {100+i} by the sum and {100+i%50} by the sum with the number modulo 50, so that requests can differ from pod to pod.
// A count is a number, or an object of numbers by number of nodes; the entry with the largest key not above the fleet's
// size applies.
class Workload {
 public:
  static Result<Workload> read(const std::string& path);

  const std::string& name() const { return name_; }
  // "initial_pods", "measured_pods", "pods_per_node", "volumes", "churn_every", "one_by_one" (1: pods are queued one by
  // one), "changed_nodes_percent" (of the nodes, per 1,000 pods). 0 if absent.
  std::size_t count(const char* what, std::size_t nodes) const;
  // "node", "changed_node" (an update of a node), "node_pod", "initial", "measured", "volume", "claim",
  // "storage_class". Null if absent.
  Json object(const char* what, std::size_t number) const;

 private:
  std::string name_;
  Json description_;
};

}  // namespace berth::bench
