// Explanation: one scheduling cycle told in full, as a JSON record for people and programs: why each node was rejected,
// what every plugin gave the others, why the winner won, what preemption found. Beside it the pod's queue position
// and what would wake it.
//
// The record, members without a value left out:
//   fits       true when a node was found;  node: which
//   message    upstream's text of a failure: "0/3 nodes are available: ..."
//   nodes      how many there are;  evaluated, feasible: how many were looked at and fit
//   groups     nodes of one fate: {verdict: "fits", "rejected" or "not looked at", plugin, code, reasons, count, names,
//              more: how many names are left out, filters: [{plugin, code, reasons}] when all were asked}; the largest
//              first. moreGroups, moreGroupNodes: what is left out of the list itself
//   chosen     {why: "only feasible node", "nominated node", "highest total" or "drawn among equals", total, ties,
//   seed} scores     {plugins: [{name, weight}], rows: [{node, total, normalized: [], raw: []}], more}; best first, the
//   numbers
//              in the order of the plugins, normalized before the weight
//   preemption {message, nominatedNode, victims: [{pod, priority}], more}: who would have to go; nobody goes for this
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "core/cache/cache.h"
#include "core/json/json.h"
#include "core/queue/queue.h"
#include "core/random.h"
#include "core/scheduler/scheduling_cycle.h"

namespace berth {

struct ExplainOptions {
  bool all_filters = false;    // every filter's word about every node, not only the first rejection
  std::string node;            // named first where its group is told; empty: none
  std::uint64_t seed = 0;      // to be told where equal totals are drawn
  std::size_t bytes = 48'000;  // about what the record may take as text
};

struct Explanation {
  ScheduleResult result;
  Json record;
};

// Runs PreFilter to pick for the pod on its own CycleState and tells of it. Reserves, evicts and binds nothing.
// `search` moves as in a real cycle, its source of chance too. For the same arguments the same record.
Explanation explain_cycle(const Framework& framework, const Pod& pod, const Snapshot& snapshot, NodeSearch& search,
                          const ExplainOptions& options);

// What a trial on the live state is lent: plugins read this snapshot and draw from this source of chance, as real
// cycles do. All is as it was when the trial is over.
struct TrialGround {
  const Cache& cache;
  Snapshot& snapshot;
  Random& random;
  NodeSearch& search;
};

// explain_cycle() on the cache as it is now, the pod of uid `excluded_uid` taken out (empty: none). Leaves no trace.
Explanation explain_on(const TrialGround& ground, const Framework& framework, const Pod& pod,
                       const std::string& excluded_uid, const ExplainOptions& options);

// [{plugin, resource, actions}]: the events that these plugins registered for, so those that may wake a pod which they
// rejected. A plugin that registered nothing at all is not named.
Json wakers_of(const Framework& framework, const std::set<std::string>& plugins);

// {place, attempts, dueInMs, plugins, gatedBy, wokenBy}; place "none": the queue does not know the pod. dueInMs: when
// time alone brings it to its turn, 0: it waits for its turn only.
Json queue_place(const Queue& queue, const Framework* framework, const std::string& uid, Millis now);

}  // namespace berth
