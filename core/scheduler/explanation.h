// Explanation: one scheduling cycle in full, as a JSON record for people and programs: why each node was rejected, what
// every plugin scored, why the chosen node won, what preemption found. Also where the pod is queued and which events
// would wake it.
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
  bool all_filters = false;    // the result of every filter for every node, not only the first rejection
  std::string node;            // listed first in its group; empty: none
  std::uint64_t seed = 0;      // reported where one of equal totals is drawn
  std::size_t bytes = 48'000;  // about what the record may take as text
};

struct Explanation {
  ScheduleResult result;
  Json record;
};

// Runs the cycle from PreFilter to the choice of a node on a CycleState of its own and describes it. Reserves, evicts
// and binds nothing. `search` advances as in a real cycle, its random source too. Equal arguments give equal records.
Explanation explain_cycle(const Framework& framework, const Pod& pod, const Snapshot& snapshot, NodeSearch& search,
                          const ExplainOptions& options);

// The live state that a trial uses: plugins read this snapshot and draw from this random source, as in real cycles. It
// is restored when the trial is over.
struct TrialGround {
  const Cache& cache;
  Snapshot& snapshot;
  Random& random;
  NodeSearch& search;
};

// explain_cycle() on the cache as it is now, without the pod of uid `excluded_uid` (empty: none). Changes nothing.
Explanation explain_on(const TrialGround& ground, const Framework& framework, const Pod& pod,
                       const std::string& excluded_uid, const ExplainOptions& options);

// [{plugin, resource, actions}]: the events that these plugins registered for, so those that may wake a pod which they
// rejected. A plugin that registered nothing at all is not named.
Json wakers_of(const Framework& framework, const std::set<std::string>& plugins);

// {place, attempts, dueInMs, plugins, gatedBy, wokenBy}; place "none": the queue does not know the pod. dueInMs: when
// time alone brings it to its turn, 0: it waits for its turn only.
Json queue_place(const Queue& queue, const Framework* framework, const std::string& uid, Millis now);

}  // namespace berth
