// FastAttempt: the steps of one decision, as the fast path takes them, and decide(), which runs them from Filter to the
// chosen node.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "core/scheduler/node_evaluator.h"

namespace berth {

// Why a fast evaluator declines; README.md explains when.
namespace declined {
inline constexpr std::string_view kNothingToJudge = "no plugin filters, or none scores";
inline constexpr std::string_view kFewerNodes = "the profile looks at a part of the nodes";
inline constexpr std::string_view kNothingDeclared = "no plugin declares what Filter or Score reads";
inline constexpr std::string_view kTotals = "weights so large that totals need 64 bits";
inline constexpr std::string_view kGroups = "nodes differ in more ways than a view can number";
inline constexpr std::string_view kPreFilter = "PreFilter rejected the pod or named the nodes";
inline constexpr std::string_view kNominated = "pods are nominated to a node that an undeclared Filter has to judge";
inline constexpr std::string_view kBroke = "a plugin failed or scored out of range";
}  // namespace declined

class FastAttempt {
 public:
  virtual ~FastAttempt() = default;
  // A step that returns false ends the attempt: reason() says why, and the plain path has to decide.

  // PreFilter and Filter, beginning with the node at `start`. `all`: every node has to be judged, for tell().
  virtual bool filter(std::size_t start, bool all) = 0;
  // The number of feasible nodes. While an undeclared Filter has not judged all nodes: of those that may be feasible
  // before choose(), of those that are known to be after it.
  virtual std::size_t feasible() const = 0;
  // The number of nodes that an undeclared Filter did not judge, as they could not be the best.
  virtual std::size_t unasked() const = 0;
  // When no node is feasible: why. None: not known here.
  virtual std::optional<Rejection> rejection() = 0;
  virtual bool fits(std::size_t index) = 0;
  // The only feasible node.
  virtual std::size_t only() const = 0;
  // For the chosen node: writes what Reserve needs into the pod's state.
  virtual bool settle_on(std::size_t index) = 0;
  // PreScore and Score.
  virtual bool score() = 0;
  // Draws uniformly one of the best nodes, in the order from filter()'s `start` on; none when no node is feasible.
  virtual bool choose(Random& random, std::optional<std::size_t>& chosen) = 0;
  // Decision::likely_later, after choose().
  virtual std::optional<std::size_t> likely_later() const { return std::nullopt; }
  // The scores of all feasible nodes as from Framework::run_score(), in the order from `start` on.
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

// The query's, or an empty one.
const Nominator& nominator_of(const NodeQuery& query);

// Why the fast path cannot decide for this profile; empty: it can.
std::string_view why_unsuited(const NodeQuery& query);

}  // namespace berth
