// Sabotage: what `--break NAME` corrupts, to verify that the check of the invariant NAME fires.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace berth::sim {

enum class Sabotage {
  none,
  s1,       // the store restarts its positions after a few
  s2,       // the store returns the same position twice
  s3,       // Bind is sent together with each PreBind
  s4,       // a stopped workload keeps running
  s5,       // a device loses the slot of a running pod from its flash
  s6,       // a repeated request leaves a mark in the device's flash
  s7,       // the gateway's flash loses its release list
  s8,       // a device's slot is duplicated
  s9,       // the cache has a charge without a release entry
  s10,      // the queue loses a pod
  s11,      // objects never reach the flash
  s12,      // answers count as those of the row's node
  held,     // a machine keeps what it should remove
  ports,    // a slot with a host port is duplicated
  devices,  // a slot with an extended resource is duplicated
  volumes,  // a claim on the gateway's flash refers to another volume
  final_,   // a slot reappears after its final answer
  l1,       // the queue loses a pod after the fault phase
  l2,       // all PreBound answers are lost
  l3,       // all Released answers are lost
  l4,       // all Bound answers are lost
  l5,       // every preparation fails
  m,        // published statuses are lost after the fault phase
  order,    // an additional version is published while the gateway is disconnected
  rollout,  // a Deployment asks for more pods than its operator expects
};

struct SabotageName {
  Sabotage sabotage;
  std::string_view name;  // of the invariant it breaks
};
const std::vector<SabotageName>& sabotages();
std::optional<Sabotage> find_sabotage(std::string_view name);
std::string_view to_string(Sabotage sabotage);

}  // namespace berth::sim
