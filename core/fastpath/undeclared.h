// Undeclared: plugins that do not declare what their results depend on (core/framework/declarations.h). The fast path
// decides for all other plugins from what it keeps, and calls these for every pod, on the pod's own state, for no more
// nodes than the decision needs:
//
//   PreFilter                           for every pod
//   Filter                              nodes that all others accept, by descending total, until the best one is
//   certain;
//                                       all of them when some score depends on which nodes are feasible
//   Score, if it does not normalize     the same nodes in the same order: a node whose total is lower by more than 100
//                                       times the weight cannot become the best
//   Score with normalize(), PreScore    every feasible node
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/random.h"
#include "core/scheduler/node_evaluator.h"

namespace berth {

// The undeclared plugins for pods of one class, by number.
struct UndeclaredPlugins {
  PluginBits own;        // at some point: PreFilter, PreScore and Score run on the pod's own state
  PluginBits filter;     // of those: Filter does, too
  PluginBits pre_score;  // of those: PreScore may read the feasible nodes
  bool all = false;      // no other plugin filters or scores

  bool any() const { return own.any(); }
  // `tracked`: TrackingPlugins that have a key for the pod.
  static UndeclaredPlugins of(const Framework& framework, const Pod& pod, const PluginBits& tracked);
};

// Nodes by descending total of all other plugins' scores.
class NodesByTotal {
 public:
  using Indices = std::span<const std::uint32_t>;
  virtual ~NodesByTotal() = default;
  // The nodes with the next lower total; false: there are no more.
  virtual bool next(std::int64_t& total, Indices& nodes) = 0;
};

// One attempt at a time; memory is kept from one to the next. What answers false broke: the plugins themselves are to
// be asked, in the runner's order.
class Undeclared {
 public:
  using Index = std::uint32_t;
  using Indices = std::vector<Index>;

  // Begins an attempt, after PreFilter of `plugins` on its state: who takes part, which PreScore tells where it looks
  // at no nodes.
  bool begin(const UndeclaredPlugins& plugins, const NodeQuery& query);
  // Begins an attempt without undeclared plugins.
  void begin_without();
  // True when some plugin's Filter, or Score, was not skipped.
  bool filters() const { return filters_.any(); }
  bool scores() const { return scores_.any() || pre_scores_.any(); }
  bool filters(std::size_t plugin) const { return filters_.test(plugin); }
  // True when their scores depend on which nodes are feasible: score_all() has to be used.
  bool needs_all() const { return needs_all_; }

  // Filter, for a node that all others accept. Each node is judged once.
  bool judge(Index node, bool& fits);
  std::size_t asked() const { return asked_; }
  std::size_t fitting() const { return asked_ - rejected_.size(); }
  using Rejected = std::vector<std::pair<Index, Status>>;
  const Rejected& rejected() const { return rejected_; }
  bool is_rejected(Index node) const { return !verdicts_.empty() && verdicts_[node] == Verdict::rejected; }

  // Draws one of the nodes with the highest total, these plugins' scores included, as pick_uniformly() does from the
  // nodes in the order from `start` on; none when Filter rejects all.
  bool find_best(NodesByTotal& nodes, std::size_t start, Random& random, std::optional<std::size_t>& chosen);

  // PreScore, Score and normalize for all feasible nodes; adds the weighted scores to `totals`.
  bool score_all(const Indices& feasible, std::vector<std::int64_t>& totals);
  // Draws one of these nodes by their totals, as pick_uniformly(); none when there are no nodes.
  std::optional<std::size_t> draw_best(const Indices& nodes, const std::vector<std::int64_t>& totals, Random& random);
  // After score_all(); null for a plugin that skipped or is declared.
  const std::vector<NodeScore>* scores_of(std::size_t score_plugin) const;

 private:
  enum class Verdict : std::uint8_t { unknown, fits, rejected };
  bool score(Index node, std::int64_t& total);
  bool collect_best(NodesByTotal& nodes);
  bool pre_score(const Indices& feasible);
  bool normalize(std::vector<std::int64_t>& totals);

  const Framework* framework_ = nullptr;  // of the attempt
  CycleState* state_ = nullptr;
  const Pod* pod_ = nullptr;
  const Snapshot* snapshot_ = nullptr;
  PluginBits filters_;
  PluginBits pre_scores_;
  PluginBits scores_;
  std::int64_t most_ = 0;  // the highest result of score()
  bool needs_all_ = false;
  std::vector<Verdict> verdicts_;  // by index; empty: no plugin filters
  std::size_t asked_ = 0;
  Rejected rejected_;
  std::vector<std::vector<NodeScore>> all_scores_;  // by Score plugin
  std::vector<std::shared_ptr<const NodeInfo>> feasible_;
  Indices best_;
};

}  // namespace berth
