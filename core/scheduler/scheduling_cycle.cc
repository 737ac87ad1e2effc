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

// The node nominated by an earlier preemption is tried alone, even when PreFilter left it out (schedule_one.go
// evaluateNominatedNode).
bool nominated_fits(const Framework& framework, CycleState& state, const Pod& pod, const Snapshot& snapshot,
                    Nodes& feasible) {
  if (pod.nominated_node_name.empty()) return false;
  for (const auto& node : snapshot.nodes()) {
    if (node->name() != pod.nominated_node_name) continue;
    if (!framework.run_filter(state, pod, *node).is_success()) return false;
    feasible.push_back(node);
    return true;
  }
  return false;
}

// Success unless a Filter broke; rejected nodes are in the diagnosis.
Status filter_nodes(const Framework& framework, CycleState& state, const Pod& pod, const Snapshot& snapshot,
                    const PreFilterResult& narrowed, Diagnosis& diagnosis, Nodes& feasible) {
  std::string left_out = "node(s) didn't satisfy plugin(s) [";
  for (const std::string& plugin : narrowed.plugins) {
    left_out += (left_out.back() == '[' ? "" : " ") + plugin;
  }
  left_out += "]";
  diagnosis.unschedulable_plugins.insert(narrowed.plugins.begin(), narrowed.plugins.end());
  for (const auto& node : snapshot.nodes()) {
    if (narrowed.node_names && !narrowed.node_names->contains(node->name())) {
      diagnosis.node_statuses.insert_or_assign(node->name(), Status::unresolvable(left_out));
      continue;
    }
    Status status = framework.run_filter(state, pod, *node);
    if (status.code() == Code::error) return status;
    if (status.is_success()) {
      feasible.push_back(node);
    } else {
      reject_node(diagnosis, node->name(), std::move(status));
    }
  }
  return {};
}

// PreFilter and Filter. A rejection by PreFilter counts for every node.
Status find_feasible(const Framework& framework, CycleState& state, const Pod& pod, const Snapshot& snapshot,
                     ScheduleResult& result, Nodes& feasible) {
  Diagnosis& diagnosis = result.diagnosis;
  PreFilterResult narrowed;
  Status status = framework.run_pre_filter(state, pod, snapshot, narrowed);
  if (status.is_rejected()) {
    diagnosis.pre_filter_message = status.message();
    diagnosis.unschedulable_plugins.insert(narrowed.plugins.begin(), narrowed.plugins.end());
    for (const auto& node : snapshot.nodes()) reject_node(diagnosis, node->name(), status);
    return {};
  }
  if (!status.is_success()) return status;
  if (nominated_fits(framework, state, pod, snapshot, feasible)) {
    result.decision.evaluated = 1;
    return {};
  }
  result.decision.evaluated = snapshot.nodes().size();
  return filter_nodes(framework, state, pod, snapshot, narrowed, diagnosis, feasible);
}

// Uniform among the nodes of the highest total.
const std::string& pick(const std::vector<NodeScore>& totals, Random& random) {
  const NodeScore* chosen = &totals.front();
  std::uint64_t equal = 1;
  for (std::size_t i = 1; i < totals.size(); ++i) {
    if (totals[i].score > chosen->score) {
      chosen = &totals[i];
      equal = 1;
    } else if (totals[i].score == chosen->score && random.below(++equal) == 0) {
      chosen = &totals[i];
    }
  }
  return chosen->node;
}

Status choose(const Framework& framework, CycleState& state, const Pod& pod, const Nodes& feasible, Random& random,
              Decision& decision) {
  decision.feasible = feasible.size();
  if (feasible.size() == 1) {
    decision.node = feasible.front()->name();
    return {};
  }
  if (Status status = framework.run_pre_score(state, pod, feasible); !status.is_success()) return status;
  Status status = framework.run_score(state, pod, feasible, decision.plugin_scores, decision.totals);
  if (!status.is_success()) return status;
  decision.node = pick(decision.totals, random);
  return {};
}

// No node is feasible: preemption may find a way for a later attempt; this one has failed either way.
void reject(const Framework& framework, CycleState& state, const Pod& pod, ScheduleResult& result) {
  PostFilterResult after;
  const Status post = framework.run_post_filter(state, pod, result.diagnosis.node_statuses, after);
  result.nominated_node = std::move(after.nominated_node);
  result.diagnosis.post_filter_message = post.message();
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

ScheduleResult schedule_pod(const Framework& framework, CycleState& state, const Pod& pod, const Snapshot& snapshot,
                            Random& random) {
  ScheduleResult result;
  result.diagnosis.nodes_total = snapshot.nodes().size();
  if (snapshot.nodes().empty()) {
    // As upstream: names no plugin, so the pod retries by error backoff.
    result.status = Status::unschedulable("no nodes available to schedule pods");
    return result;
  }
  Nodes feasible;
  result.status = find_feasible(framework, state, pod, snapshot, result, feasible);
  if (!result.status.is_success()) return result;
  if (feasible.empty()) {
    reject(framework, state, pod, result);
    return result;
  }
  result.status = choose(framework, state, pod, feasible, random, result.decision);
  return result;
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
