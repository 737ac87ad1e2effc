#include "plugins/tainttoleration.h"

#include <algorithm>

#include "core/api/node.h"
#include "core/api/pod.h"
#include "plugins/no_arguments.h"

namespace berth {

namespace {

const Status kUntolerated = Status::unresolvable("node(s) had untolerated taint(s)");

bool tolerates_taints(const Pod& pod, const Node& node) {
  return std::all_of(node.taints.begin(), node.taints.end(), [&pod](const Taint& taint) {
    return taint.effect == TaintEffect::prefer_no_schedule || tolerates(pod.spec->tolerations, taint);
  });
}

// The gateway's own: the node cannot be asked now, or must not.
bool is_of_gateway(const Taint& taint) {
  return taint.key == "node.kubernetes.io/unreachable" || taint.key.starts_with("node.berth/");
}

// Of a pod that names its node: NoSchedule is the scheduler's affair, NoExecute also the kubelet's.
bool tolerates_taints_once_named(const Pod& pod, const Node& node) {
  return std::all_of(node.taints.begin(), node.taints.end(), [&pod](const Taint& taint) {
    return (taint.effect != TaintEffect::no_execute && !is_of_gateway(taint)) ||
           tolerates(pod.spec->tolerations, taint);
  });
}

bool fits_taints(const Pod& pod, const Node& node) {
  return pod.node_name.empty() ? tolerates_taints(pod, node) : tolerates_taints_once_named(pod, node);
}

// Tolerations for PreferNoSchedule or for every effect.
struct Preference final : StateEntry {
  std::vector<Toleration> tolerations;
  std::unique_ptr<StateEntry> clone() const override { return std::make_unique<Preference>(*this); }
};

Hint after_taint_change(const Pod& pod, const EventObjects& objects) {
  if (objects.new_node == nullptr) return Hint::queue;
  const bool fitted = objects.old_node != nullptr && fits_taints(pod, *objects.old_node);
  return !fitted && fits_taints(pod, *objects.new_node) ? Hint::queue : Hint::skip;
}

Hint after_toleration_change(const Pod& pod, const EventObjects& objects) {
  return objects.new_pod == nullptr || objects.new_pod->uid() == pod.uid() ? Hint::queue : Hint::skip;
}

// The taints that the pod would rather not meet.
std::int64_t count_untolerated(const Preference& preference, const Node& node) {
  return std::count_if(node.taints.begin(), node.taints.end(), [&preference](const Taint& taint) {
    return taint.effect == TaintEffect::prefer_no_schedule && !tolerates(preference.tolerations, taint);
  });
}

}  // namespace

Result<std::unique_ptr<Plugin>> TaintToleration::make(const Json& args, Handle&) {
  return make_without_arguments<TaintToleration>(args);
}

std::vector<EventWithHint> TaintToleration::events_to_register() const {
  return {{{EventResource::node, kAdd | kUpdateNodeTaint, "NodeAddOrTaint"}, after_taint_change},
          {{EventResource::pod, kUpdatePodToleration, "PodTolerationUpdate"}, after_toleration_change}};
}

Status TaintToleration::filter(CycleState&, const Pod& pod, const NodeInfo& node) {
  if (tolerates_taints(pod, *node.node)) return {};
  return kUntolerated;
}

bool TaintToleration::filter_rows(CycleState&, const Pod& pod, const Snapshot& snapshot, const Rows& rows,
                                  std::uint8_t* rejects) {
  const NodeColumns::Marks& tainted = snapshot.columns().tainted();
  for (std::size_t row = 0; tainted.count > 0 && row < rows.size(); ++row) {
    if (tainted.nodes[rows[row]] == 0) continue;
    if (!tolerates_taints(pod, *snapshot.nodes()[rows[row]]->node)) rejects[row] = 1;
  }
  return true;
}

Status TaintToleration::admit(CycleState&, const Pod& pod, const NodeInfo& node) {
  if (tolerates_taints_once_named(pod, *node.node)) return {};
  return kUntolerated;
}

Status TaintToleration::pre_score(CycleState& state, const Pod& pod,
                                  const std::vector<std::shared_ptr<const NodeInfo>>&) {
  auto preference = std::make_unique<Preference>();
  for (const Toleration& toleration : pod.spec->tolerations) {
    if (toleration.effect && *toleration.effect != TaintEffect::prefer_no_schedule) continue;
    preference->tolerations.push_back(toleration);
  }
  state.write(std::move(preference));
  return {};
}

Status TaintToleration::score(CycleState& state, const Pod&, const NodeInfo& node, std::int64_t& score) {
  const auto* preference = state.read<Preference>();
  if (preference == nullptr) return Status::error("PreScore did not run");
  score = count_untolerated(*preference, *node.node);
  return {};
}

bool TaintToleration::score_rows(CycleState& state, const Pod&, const Snapshot& snapshot, const Rows& rows,
                                 std::int32_t* scores) {
  const auto* preference = state.read<Preference>();
  if (preference == nullptr) return false;
  const NodeColumns::Marks& tainted = snapshot.columns().tainted();
  std::fill_n(scores, rows.size(), 0);
  for (std::size_t row = 0; tainted.count > 0 && row < rows.size(); ++row) {
    if (tainted.nodes[rows[row]] == 0) continue;
    scores[row] = static_cast<std::int32_t>(count_untolerated(*preference, *snapshot.nodes()[rows[row]]->node));
  }
  return true;
}

Status TaintToleration::normalize(CycleState&, const Pod&, std::vector<NodeScore>& scores) {
  std::int64_t most = 0;
  for (const NodeScore& score : scores) most = std::max(most, score.score);
  for (NodeScore& score : scores) {
    score.score = most == 0 ? kMaxScore : kMaxScore - score.score * kMaxScore / most;
  }
  return {};
}

}  // namespace berth
