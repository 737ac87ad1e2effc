#include "plugins/defaultpreemption_victims.h"

#include <algorithm>
#include <limits>

#include "core/api/pod.h"
#include "core/api/policy.h"
#include "core/stable_sort.h"

namespace berth::preemption {

namespace {

// An empty selector selects nothing here, unlike in the disruption controller.
bool protects(const PodDisruptionBudget& budget, const Pod& pod) {
  if (budget.metadata.namespace_ != pod.metadata.namespace_ || pod.metadata.labels.empty()) return false;
  if (!budget.selector || budget.selector->requirements.empty()) return false;
  if (!matches(*budget.selector, pod.metadata.labels)) return false;
  // Pods named in the budget's status are already counted as disrupted.
  const std::vector<std::string>& counted = budget.disrupted_pods;
  return std::find(counted.begin(), counted.end(), pod.metadata.name) == counted.end();
}

// A dry run on one node: removes and restores pods on the node and in PreFilter's state.
class Trial {
 public:
  Trial(const Framework& framework, const Nominator& nominator, const Pod& pod, Workspace& workspace)
      : framework_(framework),
        nominator_(nominator),
        workspace_(workspace),
        state_(workspace.state),
        pod_(pod),
        node_(workspace.node) {}

  Status take_away(const PodPtr& victim) {
    node_.remove_pod(victim->uid(), workspace_.amounts.of(*victim));
    return framework_.run_remove_pod(state_, pod_, *victim, node_);
  }
  Status put_back(const PodPtr& victim) {
    node_.add_pod(victim, workspace_.amounts.of(*victim));
    return framework_.run_add_pod(state_, pod_, *victim, node_);
  }
  Status fits() const { return framework_.run_filter_with_nominated(state_, pod_, node_, nominator_); }
  // To be called once the preemptor fits: plugins that victims do not matter to need not be asked again.
  void pass_over_objects() { state_.skip_filter |= workspace_.by_object; }

  // Restores each pod if the preemptor still fits with it; the others are victims.
  Status reprieve(const Pods& pods, Pods& victims) {
    for (const auto& each : pods) {
      if (Status status = put_back(each); !status.is_success()) return status;
      if (fits().is_success()) continue;
      if (Status status = take_away(each); !status.is_success()) return status;
      victims.push_back(each);
    }
    return {};
  }

 private:
  const Framework& framework_;
  const Nominator& nominator_;
  Workspace& workspace_;
  CycleState& state_;
  const Pod& pod_;
  NodeInfo& node_;
};

}  // namespace

std::int64_t start_of(const Pod& pod) { return pod.start_time.value_or(std::numeric_limits<std::int64_t>::max()); }

bool more_important(const Pod& a, const Pod& b) {
  if (a.priority != b.priority) return a.priority > b.priority;
  return start_of(a) < start_of(b);
}

void sort_by_importance(Pods& pods) {
  const auto before = [](const auto& a, const auto& b) { return more_important(*a, *b); };
  if (std::is_sorted(pods.begin(), pods.end(), before)) return;  // the usual case
  stable_sort(pods, before);
}

std::int64_t earliest_start(const Pods& victims) {
  const auto first = std::min_element(victims.begin(), victims.end(),
                                      [](const auto& a, const auto& b) { return more_important(*a, *b); });
  return start_of(**first);
}

// Priorities are shifted to be non-negative, so that few pods with a negative priority are not worse than many.
Harm harm_of(const Candidate& candidate) {
  constexpr std::int64_t kToPositive = std::int64_t{std::numeric_limits<std::int32_t>::max()} + 1;
  std::int64_t sum = 0;
  for (const auto& victim : candidate.victims) sum += victim->priority + kToPositive;
  return {candidate.pdb_violations, candidate.victims.front()->priority, sum, candidate.victims.size(),
          -earliest_start(candidate.victims)};
}

void split_by_budgets(const Pods& pods, const Budgets& budgets, Split& split) {
  std::vector<std::int64_t> allowed;
  for (const auto& budget : budgets) allowed.push_back(budget->disruptions_allowed);
  split.violating.clear();
  split.others.clear();
  for (const auto& pod : pods) {
    bool violated = false;
    for (std::size_t i = 0; i < budgets.size(); ++i) {
      if (protects(*budgets[i], *pod) && --allowed[i] < 0) violated = true;
    }
    (violated ? split.violating : split.others).push_back(pod);
  }
}

bool has_victims(const NodeInfo& node, const Pod& pod) {
  return std::any_of(node.pods.begin(), node.pods.end(),
                     [&pod](const auto& each) { return each->priority < pod.priority; });
}

void list_lower(const NodeInfo& node, const Pod& pod, Pods& lower) {
  lower.clear();
  std::copy_if(node.pods.begin(), node.pods.end(), std::back_inserter(lower),
               [&pod](const auto& each) { return each->priority < pod.priority; });
}

Status select_victims(const Framework& framework, const Nominator& nominator, const Budgets& budgets, const Pod& pod,
                      Workspace& workspace, Candidate& found) {
  Pods& lower = workspace.lower;
  list_lower(workspace.node, pod, lower);
  Trial trial(framework, nominator, pod, workspace);
  for (const auto& each : lower) {
    if (Status status = trial.take_away(each); !status.is_success()) return status;
  }
  if (Status status = trial.fits(); !status.is_success()) return status;
  trial.pass_over_objects();
  sort_by_importance(lower);
  split_by_budgets(lower, budgets, workspace.split);
  found.node = workspace.node.name();
  if (Status status = trial.reprieve(workspace.split.violating, found.victims); !status.is_success()) return status;
  found.pdb_violations = static_cast<std::int64_t>(found.victims.size());
  if (Status status = trial.reprieve(workspace.split.others, found.victims); !status.is_success()) return status;
  sort_by_importance(found.victims);
  return {};
}

}  // namespace berth::preemption
