// A workload: how a fleet looks, what runs on it before anything is measured, and what is measured.
#pragma once

#include <cstddef>
#include <string>

#include "core/json/json.h"
#include "core/status.h"

namespace berth::bench {

// Manifests are templates: in every string, {i} is the object's number, {zone} the number modulo three, {100+i} a sum
// and {100+i%50} one with the number modulo 50, so that requests differ from pod to pod. Counts may depend on the
// number of nodes: a number, or an object of numbers by "number of nodes", the largest not above it.
class Workload {
 public:
  static Result<Workload> read(const std::string& path);

  const std::string& name() const { return name_; }
  // "initial_pods", "measured_pods", "pods_per_node", "volumes", "churn_every", "one_by_one" (1: queued so),
  // "changed_nodes_percent" (of the nodes, by 1,000 pods); absent: 0.
  std::size_t count(const char* what, std::size_t nodes) const;
  // "node", "changed_node" (what one becomes in place), "node_pod", "initial", "measured", "volume", "claim",
  // "storage_class"; null: there is none.
  Json object(const char* what, std::size_t number) const;

 private:
  std::string name_;
  Json description_;
};

}  // namespace berth::bench
