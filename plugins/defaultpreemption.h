// DefaultPreemption: if no node is feasible, finds the node where the pod would fit after evicting pods of lower
// priority with the least harm. It only decides; core evicts. Point: PostFilter. Cost: Filter once per lower-priority
// pod on each node that was rejected as Unschedulable, for at most a share of these nodes; for pods of a class with a
// view, only on nodes that have changed since. Requeued by: nothing; the plugins that rejected the pod requeue it when
// the victims are deleted. Source: kube-scheduler pkg/scheduler/framework/plugins/defaultpreemption,
// pkg/scheduler/framework/preemption, with SchedulerAsyncPreemption off.
#pragma once

#include "core/framework/framework.h"
#include "plugins/defaultpreemption_amounts.h"
#include "plugins/defaultpreemption_victims.h"

namespace berth {

namespace preemption {

// A dry run that found victims.
struct Weighed {
  Candidate candidate;
  Harm harm;
};
struct Tried;  // the outcome of any dry run
struct Table;  // outcomes that are kept for a class of pods

// A node whose dry run found victims.
struct Found {
  std::shared_ptr<const Weighed> own;  // null: it is kept in a table
  std::size_t index = 0;               // there
};

// Some of them, and which are the least harmful.
class Candidates {
 public:
  void add(const Harm& harm, Found found);
  const std::vector<Found>& all() const { return all_; }
  const std::vector<std::uint32_t>& ties() const { return ties_; }  // in all(), in its order
  void expect(std::size_t candidates) { all_.reserve(candidates); }
  std::vector<Found> take() { return std::move(all_); }

 private:
  std::vector<Found> all_;
  Harm least_;
  std::vector<std::uint32_t> ties_;
};

}  // namespace preemption

// The candidates of one attempt; in the CycleState under the plugin's name, if there was any.
struct PreemptionRecord final : StateEntry {
  std::shared_ptr<const preemption::Table> kept;
  std::vector<preemption::Found> found;
  std::vector<const preemption::Weighed*> candidates() const;  // valid as long as the record
  // Sorted names of the best nodes that are equal by every criterion; one of them was chosen at random.
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
  // Success: a node to nominate and its victims. Unschedulable: no node; the nomination is cleared, or kept if the pod
  // may not preempt now.
  Status post_filter(const Framework& framework, CycleState& state, const Pod& pod, const NodeStatuses& node_statuses,
                     PostFilterResult& result) override;
  // Without pods of lower priority there is nothing to try.
  bool reads_state(const Pod& pod) const override;

 private:
  struct DryRun {
    std::shared_ptr<preemption::Table> kept;                // null: nothing can be kept
    preemption::Candidates candidates, violating;           // the latter violate a budget
    std::vector<const preemption::Tried*> failed;           // as kept, or owned
    std::vector<std::shared_ptr<preemption::Tried>> owned;  // of those that are not kept
    std::size_t without_victims = 0;  // nodes that were not tried: no pod on them has a lower priority
    std::vector<std::string> errors;
  };
  struct Trials;
  class PotentialNodes;
  DryRun dry_run(const Framework& framework, CycleState& state, const Pod& pod, const PotentialNodes& potential);
  static void prefetch_after(const PotentialNodes& potential, std::size_t at, const Snapshot& snapshot);
  void look_at(std::size_t index, const Framework& framework, const CycleState& state, const Pod& pod,
               const preemption::Budgets& budgets, std::size_t enough, DryRun& run);
  void try_node(const Framework& framework, const CycleState& state, const Pod& pod, const preemption::Budgets& budgets,
                const NodeInfo& node, std::shared_ptr<preemption::Tried>& tried);
  std::string no_candidate_message(const DryRun& run) const;
  std::size_t enough_candidates(std::size_t nodes) const;

  Args args_;
  Handle& handle_;
  preemption::Workspace workspace_;
  preemption::AmountsTrial by_amounts_;
};

}  // namespace berth
