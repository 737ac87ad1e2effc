// The scheduling cycle: a plain function of a snapshot that cannot suspend (kube-scheduler schedule_one.go
// schedulingCycle, schedulePod).
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/api/pod.h"
#include "core/cache/cache.h"
#include "core/framework/framework.h"
#include "core/framework/node_statuses.h"
#include "core/random.h"
#include "core/scheduler/node_evaluator.h"
#include "core/status.h"

namespace berth {

// Why a pod found no node (FitError). message() is upstream's text:
// "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) had untolerated taint(s)."
struct Diagnosis {
  NodeStatuses node_statuses;
  std::size_t nodes_total = 0;
  std::string pre_filter_message;
  std::string post_filter_message;
  std::set<std::string> unschedulable_plugins;
  std::set<std::string> pending_plugins;
  std::string message() const;
};

// "0/N nodes are available: ...", as upstream's FitError words it; with how many nodes have each reason.
std::string no_node_available(std::size_t nodes_total, const std::map<std::string, std::size_t>& nodes_of_reason);

struct ScheduleResult {
  Status status;  // success: `decision` holds; rejected: `diagnosis` holds; error otherwise
  Decision decision;
  Diagnosis diagnosis;
  // What becomes of the pod's nomination when the attempt fails: "" clears it, a name replaces it, none leaves it.
  std::optional<std::string> nominated_node = "";
  std::vector<PodPtr> victims;     // from PostFilter: to be evicted from nominated_node
  std::string post_filter_plugin;  // who chose them
  std::string_view declined;       // why the evaluator declined; empty: it did not, or there is none
};

// Uniform among the nodes of the highest total. `random` outlives it.
PickNode pick_uniformly(Random& random);

// PreFilter, Filter, [PostFilter], PreScore, Score, pick. Changes nothing but `state`, search.next_start and the
// evaluator. `evaluator` (null: none) is tried first; when it declines, the plugins are run on every node. The outcome
// is the same, except that after an evaluator's decision `state` has only what Reserve needs and, without search.pick,
// the decision has neither totals nor plugin_scores.
ScheduleResult schedule_pod(const Framework& framework, CycleState& state, const Pod& pod, const Snapshot& snapshot,
                            NodeSearch& search, NodeEvaluator* evaluator = nullptr);
// The same from the first node on, over all nodes, with nobody nominated and equal totals left to `random`.
ScheduleResult schedule_pod(const Framework& framework, CycleState& state, const Pod& pod, const Snapshot& snapshot,
                            Random& random);

// How many feasible nodes end a search over `nodes` nodes, when something scores: that percentage of them, at least 100
// (schedule_one.go numFeasibleNodesToFind). 0: all, where upstream takes the fewer the larger the fleet.
std::size_t feasible_nodes_to_find(int percentage, std::size_t nodes);

}  // namespace berth
