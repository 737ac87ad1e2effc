// FastAttempt: one pod's way through what a fast evaluator keeps, and decide(), which leads an attempt from Filter to
// the node. Two kinds: FleetScan::Attempt for the first pod of a class, ClassView::Attempt for those that follow.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "core/scheduler/node_evaluator.h"

namespace berth {

// Why a fast evaluator declines. README.md lists them too.
namespace declined {
inline constexpr std::string_view kNothingToJudge = "no plugin filters, or none scores";
inline constexpr std::string_view kFewerNodes = "the profile looks at a part of the nodes";
inline constexpr std::string_view kNothingDeclared = "no plugin declares what Filter or Score reads";
inline constexpr std::string_view kSums = "a plugin sums over nodes, which takes a view of the class";
inline constexpr std::string_view kTotals = "weights so large that totals need 64 bits";
inline constexpr std::string_view kPreFilter = "PreFilter rejected the pod or named the nodes";
inline constexpr std::string_view kNominated = "pods are nominated to a node that an undeclared Filter has to judge";
inline constexpr std::string_view kBroke = "a plugin failed or scored out of range";
}  // namespace declined

class FastAttempt {
 public:
  virtual ~FastAttempt() = default;
  // Each step that answers false ends the attempt: reason() says why, and the plugins themselves are to be asked.

  // PreFilter and Filter, beginning with the node at `start`. `all`: the verdict on every node is needed, for tell().
  virtual bool filter(std::size_t start, bool all) = 0;
  // How many nodes are feasible; where an undeclared Filter has not been asked about all nodes: may be, before
  // choose(), and are known to be, after it.
  virtual std::size_t feasible() const = 0;
  // Nodes that an undeclared Filter was not asked about, as they could not win.
  virtual std::size_t unasked() const = 0;
  // When no node is feasible. None: why cannot be told from here.
  virtual std::optional<Rejection> rejection() = 0;
  virtual bool fits(std::size_t index) = 0;
  // The only feasible node.
  virtual std::size_t only() const = 0;
  // For the node that the pod gets: whatever its state needs for Reserve.
  virtual bool settle_on(std::size_t index) = 0;
  // PreScore and Score.
  virtual bool score() = 0;
  // Any of the best, each as likely, counted from the node at filter()'s `start` on; none when no node is feasible.
  virtual bool choose(Random& random, std::optional<std::size_t>& chosen) = 0;
  // As Framework::run_score() tells it, in the order from `start` on.
  virtual bool tell(std::vector<Framework::PluginScores>& per_plugin, std::vector<NodeScore>& totals) = 0;

  std::string_view reason() const { return reason_; }

 protected:
  bool decline(std::string_view reason) {
    reason_ = reason;
    return false;
  }

 private:
  std::string_view reason_ = declined::kBroke;
};

Evaluation decide(FastAttempt& attempt, const NodeQuery& query);

// The query's, or one that nobody is nominated in.
const Nominator& nominator_of(const NodeQuery& query);

// Why no fast evaluator decides for such a profile; empty: one may.
std::string_view why_unsuited(const NodeQuery& query);

}  // namespace berth
