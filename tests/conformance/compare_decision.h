// Compares an attempt to place a pod with the recorded one.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/json/json.h"
#include "core/scheduler/scheduling_cycle.h"

namespace berth {

// The volumes chosen for a pod's unbound claims on one node.
struct VolumeChoice {
  std::map<std::string, std::string> bound;  // claim -> volume
  std::vector<std::string> provisioned;      // claims
};

// The result of one attempt.
struct Attempt {
  std::string nominated_node;  // the pod's, before the attempt
  Status gate;                 // of PreEnqueue; unless successful, nothing else ran
  CycleState state;
  ScheduleResult result;
  std::map<std::string, Status> rejected;       // by node
  Status reserve;                               // on the chosen node
  std::map<std::string, VolumeChoice> volumes;  // by feasible node; absent if nothing is to be bound there
};

// The fields in which `got` differs from `want`, each as "<field>: got ..., want ..."; empty if there is no difference.
std::vector<std::string> compare_decision(const Attempt& got, const Json& want);

}  // namespace berth
