// Sabotage: what `--break NAME` corrupts, so that the invariant of that name is seen to be able to fail.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace berth::sim {

enum class Sabotage {
  none,
  s1,       // the store counts its positions anew after a few
  s2,       // the store gives one position twice
  s3,       // with each PreBind its Bind leaves
  s4,       // a stopped workload goes on
  s5,       // a device loses the slot of a running pod from its flash
  s6,       // a repeated request leaves a mark in the device's flash
  s7,       // the gateway's flash loses its release list
  s8,       // a device finds its slot twice
  s9,       // the cache is charged for nothing
  s10,      // the queue loses a pod
  s11,      // objects never reach the flash
  s12,      // answers are taken for those of the node that the row names
  held,     // a machine keeps what it should undo
  ports,    // a device finds a slot with a host port twice
  devices,  // a device finds a slot with an extended resource twice
  volumes,  // a claim on the gateway's flash names another volume
  final_,   // a slot comes back after its final answer
  l1,       // the queue loses a pod when faults stop
  l2,       // answers PreBound are lost for ever
  l3,       // answers Released are lost for ever
  l4,       // answers Bound are lost for ever
  l5,       // nothing can be prepared
  m,        // what the gateway shows is lost once faults stop
  order,    // while the gateway is away somebody says one word more
};

struct SabotageName {
  Sabotage sabotage;
  std::string_view name;  // of the invariant it breaks
};
const std::vector<SabotageName>& sabotages();
std::optional<Sabotage> find_sabotage(std::string_view name);
std::string_view to_string(Sabotage sabotage);

}  // namespace berth::sim
