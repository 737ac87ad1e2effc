// DefaultPreemption: when no node is feasible, finds the node where the least harm makes room: pods of lower priority
// that would have to go. It only decides; core evicts.
// Point: PostFilter. Cost: Filter once per lower-priority pod on each node that was rejected as Unschedulable, a share
// of them at most; pods of a class that is viewed ask only about nodes that changed since. Woken by: nothing. The
// plugins that rejected the pod are woken when the victims are gone. Source: kube-scheduler
// pkg/scheduler/framework/plugins/defaultpreemption, pkg/scheduler/framework/preemption, with SchedulerAsyncPreemption
// off.
#pragma once

#include "core/framework/framework.h"
#include "plugins/defaultpreemption_victims.h"

namespace berth {

namespace preemption {

// A dry run that found victims.
struct Weighed {
  Candidate candidate;
  Harm harm;
};
using Weighings = std::vector<std::shared_ptr<const Weighed>>;

}  // namespace preemption

// What one attempt weighed; in the CycleState under the plugin's name, when there was a candidate.
struct PreemptionRecord final : StateEntry {
  preemption::Weighings candidates;
  // Names of the nodes that are equal by every criterion, sorted; one of them was drawn.
  std::vector<std::string> ties() const;
  std::unique_ptr<StateEntry> clone() const override { return std::make_unique<PreemptionRecord>(*this); }
};

class DefaultPreemption final : public PostFilterPlugin, public EnqueueExtensions {
 public:
  static constexpr std::string_view kName = "DefaultPreemption";
  struct Args {
    std::int32_t min_candidate_nodes_percentage = 10;
    std::int32_t min_candidate_nodes_absolute = 100;
  };
  static Result<std::unique_ptr<Plugin>> make(const Json& args, Handle& handle);

  DefaultPreemption(const Args& args, Handle& handle) : args_(args), handle_(handle) {}
  std::string_view name() const override { return kName; }
  Json args() const override;
  std::vector<EventWithHint> events_to_register() const override { return {}; }
  // Success: a node to nominate and its victims. Unschedulable: none; the nomination is cleared, or kept when the pod
  // may not preempt now.
  Status post_filter(const Framework& framework, CycleState& state, const Pod& pod, const NodeStatuses& node_statuses,
                     PostFilterResult& result) override;

 private:
  struct Tried;
  struct DryRun {
    preemption::Weighings candidates;
    std::vector<std::pair<std::size_t, std::shared_ptr<Tried>>> in_vain;  // places that are none
    std::vector<std::string> errors;
  };
  struct Trials;
  class Potential;
  DryRun dry_run(const Framework& framework, CycleState& state, const Pod& pod, const Potential& places);
  void try_node(const Framework& framework, const CycleState& state, const Pod& pod, const preemption::Budgets& budgets,
                const NodeInfo& node, std::shared_ptr<Tried>& tried);
  std::string nowhere(const DryRun& run) const;
  std::size_t candidates_wanted(std::size_t nodes) const;

  Args args_;
  Handle& handle_;
  preemption::Ground ground_;
  std::vector<const preemption::Weighed*> ties_;  // the least harmful of an attempt
};

}  // namespace berth
