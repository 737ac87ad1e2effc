#include "plugins/defaultpreemption.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "core/api/pod.h"
#include "core/api/policy.h"
#include "core/json/field_reader.h"
#include "core/scheduler/scheduling_cycle.h"

namespace berth {

namespace {

using preemption::Candidate;

using preemption::Budgets;
using preemption::Pods;
using preemption::Weighed;
using preemption::Weighings;

// The reason, worded as upstream; empty: the pod may preempt.
std::string why_not_eligible(const Pod& pod, const Snapshot& snapshot, const NodeStatuses& node_statuses) {
  if (pod.spec->never_preempts) return "not eligible due to preemptionPolicy=Never.";
  const NodeInfo* node = pod.nominated_node_name.empty() ? nullptr : snapshot.find(pod.nominated_node_name);
  if (node == nullptr) return {};
  const Status* status = node_statuses.find(snapshot.index_of(pod.nominated_node_name));
  if (status == nullptr || status->code() == Code::unresolvable) return {};
  const bool terminating = std::any_of(node->pods.begin(), node->pods.end(), [&pod](const auto& each) {
    return each->priority < pod.priority && each->metadata.deleting && each->preempted;
  });
  // A charge is held by a pod that left before it ran; it ends as soon as a terminating pod would.
  if (!terminating && node->charges.empty()) return {};
  return "not eligible due to a terminating pod on the nominated node.";
}

// Keeps the order of `candidates`.
void find_least_harmful(const Weighings& candidates, std::vector<const Weighed*>& best) {
  best.clear();
  for (const auto& each : candidates) {
    if (!best.empty() && best.front()->harm < each->harm) continue;
    if (!best.empty() && each->harm < best.front()->harm) best.clear();
    best.push_back(each.get());
  }
}

bool are_same(const Budgets& a, const Budgets& b) {
  const auto content = [](const PodDisruptionBudget& budget) {
    return std::tie(budget.metadata.namespace_, budget.selector, budget.disruptions_allowed, budget.disrupted_pods);
  };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&content](const auto& x, const auto& y) { return content(*x) == content(*y); });
}

bool may_help(const NodeStatuses::Kind& kind) { return kind.status.code() == Code::unschedulable; }

// How many nodes preemption might help on.
std::size_t count_potential(const NodeStatuses& statuses) {
  std::size_t nodes = 0;
  for (const NodeStatuses::Kind& kind : statuses.kinds()) nodes += may_help(kind) ? kind.nodes : 0;
  return nodes;
}

// Each error once, as upstream joins them (apimachinery util/errors NewAggregate).
std::string join(const std::vector<std::string>& errors) {
  std::vector<std::string> distinct;
  for (const std::string& error : errors) {
    if (std::find(distinct.begin(), distinct.end(), error) == distinct.end()) distinct.push_back(error);
  }
  if (distinct.size() == 1) return distinct.front();
  std::string text;
  for (const std::string& error : distinct) text += (text.empty() ? "[" : ", ") + error;
  return text + "]";
}

Status preemption_status(Code code, const std::string& text) { return {code, "preemption: " + text}; }

}  // namespace

std::vector<std::string> PreemptionRecord::ties() const {
  std::vector<const Weighed*> best;
  find_least_harmful(candidates, best);
  std::vector<std::string> names;
  for (const Weighed* each : best) names.push_back(each->candidate.node);
  std::sort(names.begin(), names.end());
  return names;
}

// Indexes of the nodes where preemption might help: rejected, but resolvable. If these are all nodes, stores no list.
class DefaultPreemption::PotentialNodes {
 public:
  PotentialNodes(const NodeStatuses& statuses, std::size_t nodes) : size_(nodes) {
    const auto& kinds = statuses.kinds();
    if (count_potential(statuses) == nodes) return;
    for (std::size_t index = 0; index < nodes; ++index) {
      const std::uint32_t kind = statuses.kind_of(index);
      if (kind != NodeStatuses::kNone && may_help(kinds[kind])) some_.push_back(index);
    }
    size_ = some_.size();
  }
  std::size_t size() const { return size_; }
  std::size_t operator[](std::size_t at) const { return some_.empty() ? at : some_[at]; }

 private:
  std::size_t size_;
  std::vector<std::size_t> some_;  // empty: all, or none
};

// The outcome of one dry run, and what it depends on in addition to the class of the pod.
struct DefaultPreemption::Tried {
  std::int64_t generation = 0;  // of the node
  Pods nominated;               // to the node
  Status status;
  std::shared_ptr<Weighed> weighed;  // on success

  // Prepares `tried` for a new result; reuses memory that is not shared.
  static void renew(std::shared_ptr<Tried>& tried) {
    if (tried == nullptr || tried.use_count() > 1) tried = std::make_shared<Tried>();
    if (tried->weighed == nullptr || tried->weighed.use_count() > 1) tried->weighed = std::make_shared<Weighed>();
    tried->weighed->candidate.victims.clear();
    tried->weighed->candidate.pdb_violations = 0;
  }
};

// Results kept for a class of pods; copies share them.
struct DefaultPreemption::Trials final : StateEntry {
  struct Table {
    Budgets budgets;
    std::vector<std::shared_ptr<Tried>> by_node;  // by index of the node; null: not tried yet
  };
  std::shared_ptr<Table> table = std::make_shared<Table>();
  std::unique_ptr<StateEntry> clone() const override { return std::make_unique<Trials>(*this); }

  // The table of the class of `state`; null: nothing can be kept.
  static Table* of(CycleState& state, const Budgets& budgets, std::size_t nodes) {
    if (state.of_class == nullptr) return nullptr;
    auto* trials = state.of_class->edit<Trials>();
    if (trials == nullptr) {
      state.of_class->write(std::make_unique<Trials>());
      trials = state.of_class->edit<Trials>();
    }
    Table& table = *trials->table;
    if (!are_same(table.budgets, budgets)) table = {budgets, {}};
    table.by_node.resize(nodes);
    return &table;
  }
};

Result<std::unique_ptr<Plugin>> DefaultPreemption::make(const Json& args, Handle& handle) {
  Args read;
  Findings findings(Findings::Unknown::refuse);
  const Json none = Json::object();
  FieldReader reader(args.is_null() ? none : args, "args", findings);
  reader.carry({"apiVersion", "kind"});
  reader.read_int32("minCandidateNodesPercentage", read.min_candidate_nodes_percentage, 0, 100);
  reader.read_int32("minCandidateNodesAbsolute", read.min_candidate_nodes_absolute, 0);
  if (read.min_candidate_nodes_percentage == 0 && read.min_candidate_nodes_absolute == 0) {
    reader.error("minCandidateNodesPercentage",
                 "0 together with minCandidateNodesAbsolute 0 allows no candidate; increase one of them");
  }
  reader.finish();
  if (findings.has_errors()) return findings.status();
  return std::unique_ptr<Plugin>(std::make_unique<DefaultPreemption>(read, handle));
}

Json DefaultPreemption::args() const {
  return Json(Json::Object{{"minCandidateNodesPercentage", Json(args_.min_candidate_nodes_percentage)},
                           {"minCandidateNodesAbsolute", Json(args_.min_candidate_nodes_absolute)}});
}

// The text of a FitError over all nodes; nodes that were not looked at get the status "not helpful".
std::string DefaultPreemption::no_candidate_message(const DryRun& run) const {
  const std::size_t nodes = handle_.snapshot().nodes().size();
  std::map<std::string, std::size_t> nodes_of_reason;
  for (const auto& tried : run.failed) {
    for (const std::string& reason : tried->status.reasons()) ++nodes_of_reason[reason];
  }
  if (run.without_victims > 0) {
    nodes_of_reason["No preemption victims found for incoming pod"] += run.without_victims;
  }
  const std::size_t unhelpful = nodes - run.failed.size() - run.without_victims;
  if (unhelpful > 0) nodes_of_reason["Preemption is not helpful for scheduling"] += unhelpful;
  return no_node_available(nodes, nodes_of_reason);
}

std::size_t DefaultPreemption::enough_candidates(std::size_t nodes) const {
  const auto total = static_cast<std::int64_t>(nodes);
  const std::int64_t share = total * args_.min_candidate_nodes_percentage / 100;
  const std::int64_t enough = std::max<std::int64_t>(share, args_.min_candidate_nodes_absolute);
  return static_cast<std::size_t>(std::min(enough, total));
}

void DefaultPreemption::try_node(const Framework& framework, const CycleState& state, const Pod& pod,
                                 const Budgets& budgets, const NodeInfo& node, std::shared_ptr<Tried>& tried) {
  Tried::renew(tried);
  tried->generation = node.generation;
  tried->nominated = handle_.nominator().pods_on(node.name());
  workspace_.node = node;
  workspace_.state.become(state);
  Candidate& found = tried->weighed->candidate;
  tried->status = preemption::select_victims(framework, handle_.nominator(), budgets, pod, workspace_, found);
  if (tried->status.is_success() && found.victims.empty()) {
    tried->status = Status::error("expected at least one victim pod on node \"" + node.name() + "\"");
  }
  if (tried->status.is_success()) {
    tried->weighed->harm = preemption::harm_of(found);
  } else {
    tried->weighed = nullptr;
  }
}

DefaultPreemption::DryRun DefaultPreemption::dry_run(const Framework& framework, CycleState& state, const Pod& pod,
                                                     const PotentialNodes& potential) {
  const auto& nodes = handle_.snapshot().nodes();
  const Budgets budgets = handle_.lister().disruption_budgets();
  const std::size_t offset = handle_.draw(potential.size());
  const std::size_t enough = enough_candidates(potential.size());
  Trials::Table* kept = Trials::of(state, budgets, nodes.size());
  DryRun run;
  run.candidates.reserve(std::min(enough, potential.size()));
  Weighings violating;
  for (std::size_t i = 0; i < potential.size(); ++i) {
    // Stop at enough candidates, if at least one violates no budget.
    if (!run.candidates.empty() && run.candidates.size() + violating.size() >= enough) break;
    const std::size_t index = potential[(offset + i) % potential.size()];
    const NodeInfo& node = *nodes[index];
    if (!preemption::has_victims(node, pod)) {
      ++run.without_victims;
      continue;
    }
    const Pods& nominated = handle_.nominator().pods_on(node.name());
    // If the pod is nominated to this node, it does not count itself, while other pods of its class count it.
    const bool may_keep = kept != nullptr && std::none_of(nominated.begin(), nominated.end(),
                                                          [&](const auto& each) { return each->uid() == pod.uid(); });
    std::shared_ptr<Tried> own;
    std::shared_ptr<Tried>& tried = may_keep ? kept->by_node[index] : own;
    if (tried == nullptr || tried->generation != node.generation || tried->nominated != nominated) {
      try_node(framework, state, pod, budgets, node, tried);
    }
    if (tried->weighed != nullptr) {
      Weighings& mine = tried->weighed->candidate.pdb_violations == 0 ? run.candidates : violating;
      if (mine.size() < enough) mine.push_back(tried->weighed);
      continue;
    }
    if (tried->status.code() == Code::error) run.errors.push_back(tried->status.message());
    run.failed.push_back(tried);
  }
  std::move(violating.begin(), violating.end(), std::back_inserter(run.candidates));
  return run;
}

bool DefaultPreemption::reads_state(const Pod& pod) const {
  return handle_.snapshot().lowest_priority() < pod.priority;
}

Status DefaultPreemption::post_filter(const Framework& framework, CycleState& state, const Pod& pod,
                                      const NodeStatuses& node_statuses, PostFilterResult& result) {
  const Snapshot& snapshot = handle_.snapshot();
  if (handle_.metrics() != nullptr) handle_.metrics()->preemption_attempts.at().add();
  if (const std::string why = why_not_eligible(pod, snapshot, node_statuses); !why.empty()) {
    return preemption_status(Code::unschedulable, why);
  }
  DryRun tried;
  if (reads_state(pod)) {
    const PotentialNodes potential(node_statuses, snapshot.nodes().size());
    if (potential.size() > 0) tried = dry_run(framework, state, pod, potential);
  } else {
    tried.without_victims = count_potential(node_statuses);
    if (tried.without_victims > 0) handle_.draw(tried.without_victims);  // as a dry run does, for equal draws after it
  }
  if (tried.candidates.empty()) {
    if (!tried.errors.empty()) return preemption_status(Code::error, join(tried.errors));
    result.nominated_node = "";
    return preemption_status(Code::unschedulable, no_candidate_message(tried));
  }
  find_least_harmful(tried.candidates, ties_);
  const Candidate& chosen = ties_[ties_.size() == 1 ? 0 : handle_.draw(ties_.size())]->candidate;
  result.nominated_node = chosen.node;
  result.victims = chosen.victims;
  if (handle_.metrics() != nullptr) {
    handle_.metrics()->preemption_victims.at().observe(static_cast<double>(result.victims.size()));
  }
  auto record = std::make_unique<PreemptionRecord>();
  record->candidates = std::move(tried.candidates);
  state.write(std::move(record));
  return {};
}

}  // namespace berth
