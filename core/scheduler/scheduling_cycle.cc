#include "core/scheduler/scheduling_cycle.h"

#include <algorithm>

#include "core/check.h"

namespace berth {

namespace {

using Nodes = std::vector<std::shared_ptr<const NodeInfo>>;

void note_plugin(Diagnosis& diagnosis, const Status& status) {
  if (status.plugin().empty() || !status.is_rejected()) return;
  diagnosis.unschedulable_plugins.insert(status.plugin());
  if (status.code() == Code::pending) diagnosis.pending_plugins.insert(status.plugin());
}

void reject_node(Diagnosis& diagnosis, const std::string& node, Status status) {
  note_plugin(diagnosis, status);
  diagnosis.node_statuses.insert_or_assign(node, std::move(status));
}

// One attempt's search: what is constant over it, and what it finds.
struct Search {
  const Framework& framework;
  CycleState& state;
  const Pod& pod;
  const Snapshot& snapshot;
  NodeSearch& how;
  ScheduleResult& result;
  VerdictMemory* memory = nullptr;
  ClassVerdicts* verdicts = nullptr;  // null: `feasible` holds what the plugins said
  Nodes feasible = {};
  const Nodes& found() const { return verdicts == nullptr ? feasible : verdicts->feasible(); }
};

std::size_t wanted(const Search& search, std::size_t nodes) {
  if (!search.framework.has_score()) return std::min<std::size_t>(nodes, 1);
  return feasible_nodes_to_find(search.framework.completed().percentage_of_nodes_to_score, nodes);
}

// Success unless a Filter broke. Ends early when one feasible node more than wanted was seen, as upstream; rejected
// nodes are put into `rejected`. schedule_one.go findNodesThatPassFilters.
Status filter_nodes(Search& search, const Nodes& nodes, std::map<std::string, Status>& rejected) {
  static const Nominator kNobody;
  const Nominator& nominator = search.how.nominator == nullptr ? kNobody : *search.how.nominator;
  const std::size_t enough = wanted(search, nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto& node = nodes[(search.how.next_start + i) % nodes.size()];
    if (!search.framework.has_filter()) {
      if (search.feasible.size() == enough) break;  // nothing can reject them: taken unseen
      search.feasible.push_back(node);
      continue;
    }
    Status status = search.framework.run_filter_with_nominated(search.state, search.pod, *node, nominator);
    if (status.code() == Code::error) return status;
    if (!status.is_success()) {
      rejected.insert_or_assign(node->name(), std::move(status));
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
  for (const auto& node : search.snapshot.nodes()) {
    if (node->name() != search.pod.nominated_node_name) continue;
    std::map<std::string, Status> rejected;
    if (!filter_nodes(search, {node}, rejected).is_success()) return false;
    // Upstream learns the plugin's name here only when PreFilter had named some already; a node that is looked at again
    // names it then.
    for (auto& [name, status] : rejected) {
      if (!diagnosis.unschedulable_plugins.empty()) note_plugin(diagnosis, status);
      diagnosis.node_statuses.insert_or_assign(name, std::move(status));
    }
  }
  return !search.feasible.empty();
}

// The nodes that PreFilter left, by name; all of them when it narrowed nothing.
Nodes nodes_left(const Search& search, const PreFilterResult& narrowed) {
  if (!narrowed.node_names) return search.snapshot.nodes();
  std::map<std::string, std::shared_ptr<const NodeInfo>> by_name;
  for (const auto& node : search.snapshot.nodes()) {
    if (narrowed.node_names->contains(node->name())) by_name.emplace(node->name(), node);
  }
  Nodes left;
  for (auto& [name, node] : by_name) left.push_back(std::move(node));
  return left;
}

void leave_out(Search& search, const PreFilterResult& narrowed) {
  if (!narrowed.node_names) return;
  std::string why = "node(s) didn't satisfy plugin(s) [";
  for (const std::string& plugin : narrowed.plugins) why += (why.back() == '[' ? "" : " ") + plugin;
  why += "]";
  for (const auto& node : search.snapshot.nodes()) {
    if (narrowed.node_names->contains(node->name())) continue;
    search.result.diagnosis.node_statuses.emplace(node->name(), Status::unresolvable(why));
  }
}

// A promise to a pod that this one gives way to makes verdicts depend on more than the node.
bool is_anybody_nominated(const Search& search) {
  if (search.how.nominator == nullptr) return false;
  for (const auto& [node, pods] : search.how.nominator->by_node()) {
    for (const auto& nominated : pods) {
      if (nominated->priority >= search.pod.priority && nominated->uid() != search.pod.uid()) return true;
    }
  }
  return false;
}

// Filter from memory. False: this pod has to be filtered without.
bool remember_feasible(Search& search, const PreFilterResult& narrowed) {
  const std::size_t nodes = search.snapshot.nodes().size();
  if (search.memory == nullptr || narrowed.node_names || !search.framework.has_filter()) return false;
  if (search.framework.filters_by_node() == 0) return false;  // nobody declares anything
  if (wanted(search, nodes) != nodes || is_anybody_nominated(search)) return false;
  ClassVerdicts& verdicts = search.memory->of(search.framework, search.pod);
  const std::size_t start = search.how.next_start % nodes;
  const Status status =
      search.framework.run_filters([&] { return verdicts.filter(search.state, search.pod, search.snapshot, start); });
  if (!status.is_success()) {
    search.memory->forget(verdicts);
    return false;
  }
  search.verdicts = &verdicts;
  search.how.next_start = start;
  if (!verdicts.feasible().empty()) return true;
  for (std::size_t i = 0; i < nodes; ++i) {
    reject_node(search.result.diagnosis, search.snapshot.nodes()[i]->name(), *verdicts.rejection(i));
  }
  return true;
}

// PreFilter and Filter. A rejection by PreFilter counts for every node.
Status find_feasible(Search& search) {
  Diagnosis& diagnosis = search.result.diagnosis;
  PreFilterResult narrowed;
  Status status = search.framework.run_pre_filter(search.state, search.pod, search.snapshot, narrowed);
  diagnosis.unschedulable_plugins.insert(narrowed.plugins.begin(), narrowed.plugins.end());
  if (status.is_rejected()) {
    diagnosis.pre_filter_message = status.message();
    for (const auto& node : search.snapshot.nodes()) reject_node(diagnosis, node->name(), status);
    return {};
  }
  if (!status.is_success()) return status;
  if (nominated_fits(search)) return {};
  if (remember_feasible(search, narrowed)) return {};
  const Nodes left = nodes_left(search, narrowed);
  std::map<std::string, Status> rejected;
  status = search.framework.run_filters([&] { return filter_nodes(search, left, rejected); });
  for (auto& [name, reason] : rejected) reject_node(diagnosis, name, std::move(reason));
  const std::size_t seen = search.feasible.size() + diagnosis.node_statuses.size();
  search.how.next_start = (search.how.next_start + seen) % search.snapshot.nodes().size();
  if (!status.is_success()) return status;
  leave_out(search, narrowed);
  return {};
}

// Score from memory. False: the plugins have to be asked.
bool remember_scores(Search& search) {
  if (search.verdicts == nullptr) return false;
  if (search.framework.run_scores([&] { return search.verdicts->score(search.state, search.pod); }).is_success()) {
    return true;
  }
  search.feasible = search.verdicts->feasible();
  search.memory->forget(*search.verdicts);
  search.verdicts = nullptr;
  return false;
}

Status choose(Search& search) {
  Decision& decision = search.result.decision;
  decision.feasible = search.found().size();
  if (search.found().size() == 1) {
    decision.node = search.found().front()->name();
    return {};
  }
  if (!search.framework.has_score()) {
    for (const auto& node : search.found()) decision.totals.push_back({node->name(), 1});
  } else {
    Status status = search.framework.run_pre_score(search.state, search.pod, search.found());
    if (!status.is_success()) return status;
    if (remember_scores(search)) {
      decision.node = search.verdicts->totals()[search.how.pick(search.verdicts->totals())].node;
      return {};
    }
    status =
        search.framework.run_score(search.state, search.pod, search.feasible, decision.plugin_scores, decision.totals);
    if (!status.is_success()) return status;
  }
  decision.node = decision.totals[search.how.pick(decision.totals)].node;
  return {};
}

// No node is feasible: preemption may find a way for a later attempt; this one has failed either way.
void reject(Search& search) {
  ScheduleResult& result = search.result;
  if (search.framework.has_post_filter()) {
    PostFilterResult after;
    const Status post =
        search.framework.run_post_filter(search.state, search.pod, result.diagnosis.node_statuses, after);
    result.nominated_node = std::move(after.nominated_node);
    if (post.is_success()) result.victims = std::move(after.victims);
    result.post_filter_plugin = post.plugin();
    result.diagnosis.post_filter_message = post.message();
  }
  result.status = Status::unschedulable(result.diagnosis.message());
}

}  // namespace

std::string Diagnosis::message() const {
  std::string text = "0/" + std::to_string(nodes_total) + " nodes are available:";
  if (!pre_filter_message.empty()) {
    text += " " + pre_filter_message + ".";
  } else {
    std::map<std::string, std::size_t> nodes_of_reason;
    for (const auto& [node, status] : node_statuses) {
      for (const std::string& reason : status.reasons()) ++nodes_of_reason[reason];
    }
    std::set<std::string> lines;  // in the order of the whole text, number first, as upstream
    for (const auto& [reason, count] : nodes_of_reason) lines.insert(std::to_string(count) + " " + reason);
    std::string joined;
    for (const std::string& line : lines) joined += (joined.empty() ? " " : ", ") + line;
    if (!joined.empty()) text += joined + ".";
  }
  if (!post_filter_message.empty()) text += " " + post_filter_message;
  return text;
}

PickNode pick_uniformly(Random& random) {
  return [&random](const std::vector<NodeScore>& totals) {
    std::size_t chosen = 0;
    std::uint64_t equal = 1;
    for (std::size_t i = 1; i < totals.size(); ++i) {
      if (totals[i].score > totals[chosen].score) {
        chosen = i;
        equal = 1;
      } else if (totals[i].score == totals[chosen].score && random.below(++equal) == 0) {
        chosen = i;
      }
    }
    return chosen;
  };
}

std::size_t feasible_nodes_to_find(int percentage, std::size_t nodes) {
  constexpr std::size_t kMin = 100;
  if (nodes < kMin || percentage == 0) return nodes;
  return std::max(nodes * static_cast<std::size_t>(percentage) / 100, kMin);
}

ScheduleResult schedule_pod(const Framework& framework, CycleState& state, const Pod& pod, const Snapshot& snapshot,
                            NodeSearch& how, VerdictMemory* memory) {
  ScheduleResult result;
  result.diagnosis.nodes_total = snapshot.nodes().size();
  if (snapshot.nodes().empty()) {
    // As upstream: names no plugin, so the pod retries by error backoff.
    result.status = Status::unschedulable("no nodes available to schedule pods");
    return result;
  }
  Search search{framework, state, pod, snapshot, how, result, memory};
  result.status = find_feasible(search);
  if (!result.status.is_success()) return result;
  result.decision.evaluated = search.verdicts != nullptr
                                  ? snapshot.nodes().size()
                                  : search.feasible.size() + result.diagnosis.node_statuses.size();
  if (search.found().empty()) {
    reject(search);
    return result;
  }
  result.status = choose(search);
  return result;
}

ScheduleResult schedule_pod(const Framework& framework, CycleState& state, const Pod& pod, const Snapshot& snapshot,
                            Random& random) {
  NodeSearch how;
  how.pick = pick_uniformly(random);
  return schedule_pod(framework, state, pod, snapshot, how);
}

Result<Reservation> Reservation::make(const Framework& framework, Cache& cache, std::unique_ptr<CycleState> state,
                                      std::shared_ptr<const Pod> pod, std::string node) {
  CHECK(state != nullptr && pod != nullptr);
  if (Status assumed = cache.assume(pod, node); !assumed.is_success()) return assumed;
  Reservation reservation;
  reservation.framework_ = &framework;
  reservation.cache_ = &cache;
  reservation.state_ = std::move(state);
  reservation.pod_ = std::move(pod);
  reservation.node_ = std::move(node);
  Status reserved = framework.run_reserve(*reservation.state_, *reservation.pod_, reservation.node_);
  if (!reserved.is_success()) return reserved;  // the drop of `reservation` undoes everything
  return reservation;
}

Reservation Reservation::restore(const Framework& framework, Cache& cache, std::unique_ptr<CycleState> state,
                                 std::shared_ptr<const Pod> pod, std::string node,
                                 const std::vector<VolumeGrant>& grants) {
  CHECK(state != nullptr && pod != nullptr);
  static_cast<void>(cache.assume(pod, node).is_success());  // known already: its place stays
  Reservation reservation;
  reservation.framework_ = &framework;
  reservation.cache_ = &cache;
  reservation.state_ = std::move(state);
  reservation.pod_ = std::move(pod);
  reservation.node_ = std::move(node);
  framework.run_restore(*reservation.state_, *reservation.pod_, reservation.node_, grants);
  return reservation;
}

Reservation::Reservation(Reservation&& other) noexcept { *this = std::move(other); }

Reservation& Reservation::operator=(Reservation&& other) noexcept {
  if (this == &other) return *this;
  undo();
  framework_ = std::exchange(other.framework_, nullptr);
  cache_ = std::exchange(other.cache_, nullptr);
  state_ = std::move(other.state_);
  pod_ = std::move(other.pod_);
  node_ = std::move(other.node_);
  return *this;
}

Reservation::~Reservation() { undo(); }

void Reservation::commit() { framework_ = nullptr; }

void Reservation::undo() {
  if (framework_ == nullptr) return;
  const Framework* framework = std::exchange(framework_, nullptr);
  framework->run_unreserve(*state_, *pod_, node_);
  cache_->forget(pod_->uid());
}

}  // namespace berth
