// NodeEvaluator: the seam between the scheduling cycle and code that makes the same decision without running every
// plugin on every node (core/fastpath). An evaluator decides, or finds no feasible node, or declines with a reason;
// then the cycle runs the plugins itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/cache/cache.h"
#include "core/framework/framework.h"
#include "core/framework/node_statuses.h"
#include "core/random.h"

namespace berth {

// Chooses one of the feasible nodes: returns an index into `totals`, which is not empty and in the order of evaluation,
// of one of the highest.
using PickNode = std::function<std::size_t(const std::vector<NodeScore>& totals)>;

// What a search for a node needs besides the pod and the snapshot.
struct NodeSearch {
  const Nominator* nominator = nullptr;  // null: nobody is nominated
  PickNode pick;                         // empty: uniformly, by `random`
  // The node to begin with; advanced by every search, so that searches that end early reach all nodes.
  std::size_t next_start = 0;
  Random* random = nullptr;
};

struct Decision {
  std::string node;
  std::size_t evaluated = 0;                           // nodes that are known to be feasible or not
  std::size_t feasible = 0;                            // of them
  std::vector<Framework::PluginScores> plugin_scores;  // empty with one feasible node
  std::vector<NodeScore> totals;
  // The node that a later pod will get, so many decisions after this one, if all of them are for pods like this one and
  // nothing else happens; none: not known. An index in the snapshot.
  static constexpr std::size_t kLikelyAfter = 3;
  std::optional<std::size_t> likely_later = {};
};

// Why no node is feasible, as an evaluator found out.
struct Rejection {
  NodeStatuses node_statuses;
  // What is kept from pod to pod of the class; null unless Filter, AddPod and RemovePod look at one node alone.
  CycleState* of_class = nullptr;
};

// One pod that needs a node. `state` is the pod's own, empty at the beginning.
struct NodeQuery {
  const Framework& framework;
  CycleState& state;
  const Pod& pod;
  const Snapshot& snapshot;  // never empty
  NodeSearch& search;
};

struct Evaluation {
  enum class Outcome : std::uint8_t { decided, rejected, declined };
  static Evaluation decline(std::string_view reason) {
    Evaluation evaluation;
    evaluation.reason = reason;
    return evaluation;
  }

  Outcome outcome = Outcome::declined;
  Decision decision;                   // decided; without search.pick it has neither totals nor plugin_scores
  std::optional<Rejection> rejection;  // rejected: why; none: the plugins have to be asked
  std::string_view reason;             // declined: why; static storage
};

class NodeEvaluator {
 public:
  virtual ~NodeEvaluator() = default;
  // Decides as schedule_pod() does by the plugins alone, the draw among equal totals included. Where it decides,
  // `query.state` has what Reserve and the points after it need.
  virtual Evaluation evaluate(const NodeQuery& query) = 0;
  // Does a part of what evaluate() would do about all nodes before it decides, for so many of them at most. The state
  // of the query is not used. False: nothing was left to do that takes long.
  virtual bool prepare(const NodeQuery& /*query*/, std::size_t /*most*/) { return false; }
  // Memory of what it keeps from pod to pod, about, in bytes.
  virtual std::size_t kept_bytes() const { return 0; }
  // Keeps no more than about so much, from now on: later decisions are the same, and take longer. Between two pods.
  virtual void keep_at_most(std::size_t /*bytes*/) {}
};

}  // namespace berth
