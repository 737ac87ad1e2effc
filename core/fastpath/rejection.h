// Why no node is feasible, as it was learnt without asking each of them anew.
#pragma once

#include "core/framework/cycle_state.h"
#include "core/framework/node_statuses.h"

namespace berth {

struct Rejection {
  NodeStatuses node_statuses;
  // What is kept from pod to pod of the class; null unless Filter, AddPod and RemovePod look at one node alone.
  CycleState* of_class = nullptr;
};

}  // namespace berth
