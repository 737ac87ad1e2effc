#include "core/scheduler/scheduling_cycle.h"

#include <algorithm>

#include "core/api/pod.h"

namespace berth {

namespace {

using Nodes = std::vector<std::shared_ptr<const NodeInfo>>;
using Indices = std::vector<std::size_t>;  // in a snapshot

constexpr std::size_t kReasonBytes = 4096;  // of a message; devices give reasons of their own

void note_plugins(Diagnosis& diagnosis, const NodeStatuses& rejected) {
  for (const auto& [status, nodes] : rejected.kinds()) {
    if (nodes == 0 || status.plugin().empty() || !status.is_rejected()) continue;
    diagnosis.unschedulable_plugins.insert(status.plugin());
    if (status.code() == Code::pending) diagnosis.pending_plugins.insert(status.plugin());
  }
}

// One attempt's search: what is constant over it, and what it finds.
struct Search {
  const Framework& framework;
  CycleState& state;
  const Pod& pod;
  const Snapshot& snapshot;
  NodeSearch& how;
  ScheduleResult& result;
  const Rejection* known = nullptr;  // from an evaluator: no node is feasible, and why
  Nodes feasible = {};
};

std::size_t wanted(const Search& search, std::size_t nodes) {
  if (!search.framework.has_score()) return std::min<std::size_t>(nodes, 1);
  return feasible_nodes_to_find(search.framework.completed().percentage_of_nodes_to_score, nodes);
}

// Success unless a Filter broke. Ends early when one feasible node more than wanted was seen, as upstream; rejected
// nodes are put into `rejected`. `indices`: null for all nodes. schedule_one.go findNodesThatPassFilters.
Status filter_nodes(Search& search, const Indices* indices, NodeStatuses& rejected) {
  static const Nominator kNobody;
  const Nominator& nominator = search.how.nominator == nullptr ? kNobody : *search.how.nominator;
  const std::size_t count = indices == nullptr ? search.snapshot.nodes().size() : indices->size();
  const std::size_t enough = wanted(search, count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t turn = (search.how.next_start + i) % count;
    const std::size_t index = indices == nullptr ? turn : (*indices)[turn];
    const auto& node = search.snapshot.nodes()[index];
    if (!search.framework.has_filter()) {
      if (search.feasible.size() == enough) break;  // nothing can reject them: taken unseen
      search.feasible.push_back(node);
      continue;
    }
    Status status = search.framework.run_filter_with_nominated(search.state, search.pod, *node, nominator);
    if (status.code() == Code::error) return status;
    if (!status.is_success()) {
      rejected.set(index, std::move(status));
    } else if (search.feasible.size() == enough) {
      break;
    } else {
      search.feasible.push_back(node);
    }
  }
  return {};
}

// The node nominated by an earlier preemption is tried alone, even when PreFilter left it out. True when it fits; when
// a Filter breaks on it, it does not (schedule_one.go evaluateNominatedNode).
bool nominated_fits(Search& search) {
  if (search.pod.nominated_node_name.empty()) return false;
  Diagnosis& diagnosis = search.result.diagnosis;
  const Indices indices = {search.snapshot.index_of(search.pod.nominated_node_name)};
  if (indices.front() == search.snapshot.nodes().size()) return false;
  NodeStatuses rejected;
  rejected.reset(search.snapshot.nodes().size());
  if (!filter_nodes(search, &indices, rejected).is_success()) return false;
  // Upstream works on a copy of the diagnosis that shares the set of rejecting plugins only: a pending one is among
  // them, but becomes pending when the node is looked at again.
  if (const Status* status = rejected.find(indices.front())) {
    if (!status->plugin().empty()) diagnosis.unschedulable_plugins.insert(status->plugin());
    diagnosis.node_statuses.set(indices.front(), *status);
  }
  return !search.feasible.empty();
}

// The nodes that PreFilter left, by name.
Indices indices_left(const Search& search, const std::set<std::string>& names) {
  Indices left;
  for (const std::string& name : names) {
    const std::size_t index = search.snapshot.index_of(name);
    if (index < search.snapshot.nodes().size()) left.push_back(index);
  }
  return left;
}

void leave_out(Search& search, const PreFilterResult& narrowed) {
  std::string why = "node(s) didn't satisfy plugin(s) [";
  for (const std::string& plugin : narrowed.plugins) why += (why.back() == '[' ? "" : " ") + plugin;
  why += "]";
  search.result.diagnosis.node_statuses.set_others(Status::unresolvable(why),
                                                   indices_left(search, *narrowed.node_names));
}

// Filter over the nodes that PreFilter left. The reason found for the nominated node is kept only where that node is
// not filtered again.
Status filter_those_left(Search& search, const PreFilterResult& narrowed) {
  Diagnosis& diagnosis = search.result.diagnosis;
  NodeStatuses rejected;
  Status status;
  if (search.known != nullptr && !narrowed.node_names) {
    rejected = search.known->node_statuses;
  } else {
    rejected.reset(search.snapshot.nodes().size());
    const Indices indices = narrowed.node_names ? indices_left(search, *narrowed.node_names) : Indices();
    status = search.framework.run_filters(
        [&] { return filter_nodes(search, narrowed.node_names ? &indices : nullptr, rejected); });
  }
  note_plugins(diagnosis, rejected);
  if (diagnosis.node_statuses.empty()) {
    diagnosis.node_statuses = std::move(rejected);
    return status;
  }
  if (rejected.empty()) return status;
  for (std::size_t index = 0; index < search.snapshot.nodes().size(); ++index) {
    if (const Status* reason = rejected.find(index)) diagnosis.node_statuses.set(index, *reason);
  }
  return status;
}

// The evaluator has asked every PreFilter, which left all nodes, and knows why Filter rejects each of them.
bool is_known(const Search& search) {
  return search.known != nullptr && search.pod.nominated_node_name.empty() &&
         !search.framework.post_filter_reads_state(search.pod);
}

// PreFilter and Filter. A rejection by PreFilter counts for every node.
Status find_feasible(Search& search) {
  Diagnosis& diagnosis = search.result.diagnosis;
  PreFilterResult narrowed;
  if (is_known(search)) return filter_those_left(search, narrowed);
  Status status = search.framework.run_pre_filter(search.state, search.pod, search.snapshot, narrowed);
  diagnosis.unschedulable_plugins.insert(narrowed.plugins.begin(), narrowed.plugins.end());
  if (status.is_rejected()) {
    diagnosis.pre_filter_message = status.message();
    diagnosis.node_statuses.set_others(status);
    note_plugins(diagnosis, diagnosis.node_statuses);
    return {};
  }
  if (!status.is_success()) return status;
  if (nominated_fits(search)) return {};
  status = filter_those_left(search, narrowed);
  const std::size_t seen = search.feasible.size() + diagnosis.node_statuses.size();
  search.how.next_start = (search.how.next_start + seen) % search.snapshot.nodes().size();
  if (status.is_success() && narrowed.node_names) leave_out(search, narrowed);
  return status;
}

std::size_t pick(const NodeSearch& how, const std::vector<NodeScore>& totals) {
  return how.pick ? how.pick(totals) : pick_uniformly(*how.random)(totals);
}

Status choose(Search& search) {
  Decision& decision = search.result.decision;
  decision.feasible = search.feasible.size();
  if (search.feasible.size() == 1) {
    decision.node = search.feasible.front()->name();
    return {};
  }
  if (!search.framework.has_score()) {
    for (const auto& node : search.feasible) decision.totals.push_back({node->name(), 1});
  } else {
    Status status = search.framework.run_pre_score(search.state, search.pod, search.feasible);
    if (!status.is_success()) return status;
    status =
        search.framework.run_score(search.state, search.pod, search.feasible, decision.plugin_scores, decision.totals);
    if (!status.is_success()) return status;
  }
  decision.node = decision.totals[pick(search.how, decision.totals)].node;
  return {};
}

// No node is feasible: preemption may find a way for a later attempt; this one has failed either way.
void reject(Search& search) {
  ScheduleResult& result = search.result;
  if (search.framework.has_post_filter()) {
    PostFilterResult after;
    if (search.known != nullptr) search.state.of_class = search.known->of_class;
    const Status post =
        search.framework.run_post_filter(search.state, search.pod, result.diagnosis.node_statuses, after);
    search.state.of_class = nullptr;
    result.nominated_node = std::move(after.nominated_node);
    if (post.is_success()) result.victims = std::move(after.victims);
    result.post_filter_plugin = post.plugin();
    result.diagnosis.post_filter_message = post.message();
  }
  result.status = Status::unschedulable(result.diagnosis.message());
}

}  // namespace

std::string no_node_available(std::size_t nodes_total, const std::map<std::string, std::size_t>& nodes_of_reason) {
  std::set<std::string> lines;  // in the order of the whole text, number first, as upstream
  for (const auto& [reason, count] : nodes_of_reason) lines.insert(std::to_string(count) + " " + reason);
  std::string joined;
  std::size_t left = lines.size();
  for (const std::string& line : lines) {
    if (joined.size() + line.size() > kReasonBytes) break;
    joined += (joined.empty() ? " " : ", ") + line;
    --left;
  }
  if (left > 0) joined += " and " + std::to_string(left) + " other reasons";
  return "0/" + std::to_string(nodes_total) + " nodes are available:" + (joined.empty() ? "" : joined + ".");
}

std::string Diagnosis::message() const {
  std::string text;
  if (!pre_filter_message.empty()) {
    text = no_node_available(nodes_total, {}) + " " + pre_filter_message + ".";
  } else {
    std::map<std::string, std::size_t> nodes_of_reason;
    for (const auto& [status, nodes] : node_statuses.kinds()) {
      if (nodes == 0) continue;
      for (const std::string& reason : status.reasons()) nodes_of_reason[reason] += nodes;
    }
    text = no_node_available(nodes_total, nodes_of_reason);
  }
  return post_filter_message.empty() ? text : text + " " + post_filter_message;
}

PickNode pick_uniformly(Random& random) {
  return [&random](const std::vector<NodeScore>& totals) {
    std::int64_t best = totals.front().score;
    for (const NodeScore& each : totals) best = std::max(best, each.score);
    const auto is_best = [best](const NodeScore& each) { return each.score == best; };
    const auto ties = std::count_if(totals.begin(), totals.end(), is_best);
    std::uint64_t left = ties == 1 ? 0 : random.below(static_cast<std::uint64_t>(ties));
    std::size_t chosen = 0;
    while (!is_best(totals[chosen]) || left-- > 0) ++chosen;
    return chosen;
  };
}

std::size_t feasible_nodes_to_find(int percentage, std::size_t nodes) {
  constexpr std::size_t kMin = 100;
  if (nodes < kMin || percentage == 0) return nodes;
  return std::max(nodes * static_cast<std::size_t>(percentage) / 100, kMin);
}

ScheduleResult schedule_pod(const Framework& framework, CycleState& state, const Pod& pod, const Snapshot& snapshot,
                            NodeSearch& how, NodeEvaluator* evaluator) {
  ScheduleResult result;
  result.diagnosis.nodes_total = snapshot.nodes().size();
  if (snapshot.nodes().empty()) {
    // As upstream: names no plugin, so the pod retries by error backoff.
    result.status = Status::unschedulable("no nodes available to schedule pods");
    return result;
  }
  std::optional<Rejection> rejection;
  if (evaluator != nullptr) {
    Evaluation evaluation = evaluator->evaluate({framework, state, pod, snapshot, how});
    if (evaluation.outcome == Evaluation::Outcome::decided) {
      result.decision = std::move(evaluation.decision);
      return result;
    }
    rejection = std::move(evaluation.rejection);
    result.declined = evaluation.reason;
  }
  result.diagnosis.node_statuses.reset(snapshot.nodes().size());
  Search search{framework, state, pod, snapshot, how, result, rejection ? &*rejection : nullptr};
  result.status = find_feasible(search);
  if (!result.status.is_success()) return result;
  result.decision.evaluated = search.feasible.size() + result.diagnosis.node_statuses.size();
  if (search.feasible.empty()) {
    reject(search);
    return result;
  }
  result.status = choose(search);
  return result;
}

ScheduleResult schedule_pod(const Framework& framework, CycleState& state, const Pod& pod, const Snapshot& snapshot,
                            Random& random) {
  NodeSearch how;
  how.random = &random;
  return schedule_pod(framework, state, pod, snapshot, how);
}

}  // namespace berth
