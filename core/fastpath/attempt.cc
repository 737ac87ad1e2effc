#include "core/fastpath/attempt.h"

#include <functional>

#include "core/api/pod.h"
#include "core/scheduler/scheduling_cycle.h"

namespace berth {

namespace {

Evaluation reject(FastAttempt& attempt) {
  Evaluation evaluation;
  evaluation.outcome = Evaluation::Outcome::rejected;
  evaluation.rejection = attempt.rejection();
  return evaluation;
}

// For an attempt with nodes that may be feasible; `decision` gets no node when none is. False: declined.
bool choose_node(FastAttempt& attempt, const NodeQuery& query, Decision& decision) {
  const auto& nodes = query.snapshot.nodes();
  const NodeSearch& search = query.search;
  if (attempt.feasible() == 1) {
    decision.node = nodes[attempt.only()]->name();
    return attempt.settle_on(attempt.only());
  }
  if (!attempt.score()) return false;
  if (search.pick) {
    if (!attempt.tell(decision.plugin_scores, decision.totals)) return false;
    decision.node = decision.totals[search.pick(decision.totals)].node;
    return true;
  }
  std::optional<std::size_t> chosen;
  if (!attempt.choose(*search.random, chosen)) return false;
  if (!chosen) return true;
  decision.node = nodes[*chosen]->name();
  decision.likely_later = attempt.likely_later();
  return attempt.settle_on(*chosen);
}

}  // namespace

Evaluation decide(FastAttempt& attempt, const NodeQuery& query) {
  const auto& nodes = query.snapshot.nodes();
  const std::size_t start = query.search.next_start % nodes.size();
  const bool tells_all = static_cast<bool>(query.search.pick);
  // By reference: a std::function allocates memory for a large callable.
  const auto filter = [&] { return attempt.filter(start, tells_all) ? Status() : Status::error(""); };
  if (!query.framework.run_filters(std::cref(filter)).is_success()) return Evaluation::decline(attempt.reason());
  if (attempt.feasible() == 0) return reject(attempt);
  Evaluation evaluation;
  Decision& decision = evaluation.decision;
  const std::string& nominated = query.pod.nominated_node_name;
  if (!nominated.empty()) {
    const std::size_t index = query.snapshot.index_of(nominated);
    if (index < nodes.size() && attempt.fits(index)) {
      if (!attempt.settle_on(index)) return Evaluation::decline(attempt.reason());
      decision.node = nominated;
      decision.feasible = decision.evaluated = 1;
      evaluation.outcome = Evaluation::Outcome::decided;
      return evaluation;
    }
  }
  const auto choose = [&] { return choose_node(attempt, query, decision) ? Status() : Status::error(""); };
  if (!query.framework.run_as("Score", std::cref(choose)).is_success()) return Evaluation::decline(attempt.reason());
  if (decision.node.empty()) return reject(attempt);
  decision.evaluated = nodes.size() - attempt.unasked();
  decision.feasible = attempt.feasible();
  query.search.next_start = start;
  evaluation.outcome = Evaluation::Outcome::decided;
  return evaluation;
}

const Nominator& nominator_of(const NodeQuery& query) {
  static const Nominator kNobody;
  return query.search.nominator == nullptr ? kNobody : *query.search.nominator;
}

std::string_view why_unsuited(const NodeQuery& query) {
  if (!query.framework.has_filter() || !query.framework.has_score()) return declined::kNothingToJudge;
  for (const auto& entry : query.framework.pre_filters()) {
    if (entry.plugin->names_nodes(query.pod)) return declined::kPreFilter;
  }
  const std::size_t nodes = query.snapshot.nodes().size();
  const int percentage = query.framework.completed().percentage_of_nodes_to_score;
  return feasible_nodes_to_find(percentage, nodes) == nodes ? std::string_view() : declined::kFewerNodes;
}

}  // namespace berth
