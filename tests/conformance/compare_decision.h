// One attempt to place a pod, held against the recorded one.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/json/json.h"
#include "core/scheduler/scheduling_cycle.h"

namespace berth {

// What the unbound claims of a pod get on one node.
struct VolumeChoice {
  std::map<std::string, std::string> bound;  // claim -> volume
  std::vector<std::string> provisioned;      // claims
};

// What one attempt answered.
struct Attempt {
  std::string nominated_node;  // of the pod, at the start
  Status gate;                 // PreEnqueue; unless success, nothing else ran
  CycleState state;
  ScheduleResult result;
  std::map<std::string, Status> rejected;       // by node
  Status reserve;                               // on the chosen node
  std::map<std::string, VolumeChoice> volumes;  // by feasible node; absent: nothing to bind there
};

// The fields of `want` that `got` does not meet, each as "<field>: got ..., want ...". Empty: all of them are met.
std::vector<std::string> compare_decision(const Attempt& got, const Json& want);

}  // namespace berth
