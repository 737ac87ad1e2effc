// NodeEvaluator: the seam between the scheduling cycle and whoever finds the same node without asking every plugin
// about every node (core/fastpath). An evaluator decides, or finds that no node is feasible, or declines and says why;
// then the cycle asks the plugins themselves.
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

// Which of the feasible nodes wins: an index into `totals` (never empty, in the order of evaluation). Whatever it does
// about equal totals, it gives one of the highest.
using PickNode = std::function<std::size_t(const std::vector<NodeScore>& totals)>;

// What a search for nodes needs besides the pod and the snapshot.
struct NodeSearch {
  const Nominator* nominator = nullptr;  // null: nobody is nominated
  PickNode pick;                         // empty: uniformly, by `random`
  // The node to begin with. Moves on with every search, so that a search that ends early is fair to all.
  std::size_t next_start = 0;
  Random* random = nullptr;
};

struct Decision {
  std::string node;
  std::size_t evaluated = 0;  // nodes that Filter has judged, or an evaluator knows the verdict on
  std::size_t feasible = 0;   // of them
  std::vector<Framework::PluginScores> plugin_scores;  // empty with one feasible node
  std::vector<NodeScore> totals;
};

// Why no node is feasible, as it was learnt without asking every plugin about each of them.
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
};

}  // namespace berth
