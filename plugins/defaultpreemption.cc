#include "plugins/defaultpreemption.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "core/json/field_reader.h"
#include "core/scheduler/scheduling_cycle.h"

namespace berth {

namespace {

using preemption::Candidate;

using preemption::Budgets;
using preemption::Pods;
using preemption::Weighed;
using preemption::Weighings;

// Upstream's words; empty: the pod may preempt.
std::string why_not_eligible(const Pod& pod, const Snapshot& snapshot, const NodeStatuses& node_statuses) {
  if (pod.preemption_policy == "Never") return "not eligible due to preemptionPolicy=Never.";
  const NodeInfo* node = pod.nominated_node_name.empty() ? nullptr : snapshot.find(pod.nominated_node_name);
  if (node == nullptr) return {};
  const Status* status = node_statuses.find(snapshot.place_of(pod.nominated_node_name));
  if (status == nullptr || status->code() == Code::unresolvable) return {};
  const bool making_room = std::any_of(node->pods.begin(), node->pods.end(), [&pod](const auto& each) {
    return each->priority < pod.priority && each->metadata.deleting && each->preempted;
  });
  // A charge is what a pod that left before it ran still holds: its end is as near as that of a terminating pod.
  if (!making_room && node->charges.empty()) return {};
  return "not eligible due to a terminating pod on the nominated node.";
}

// In the order in which they were weighed.
void find_least_harmful(const Weighings& candidates, std::vector<const Weighed*>& best) {
  best.clear();
  for (const auto& each : candidates) {
    if (!best.empty() && best.front()->harm < each->harm) continue;
    if (!best.empty() && each->harm < best.front()->harm) best.clear();
    best.push_back(each.get());
  }
}

bool are_same(const Budgets& a, const Budgets& b) {
  const auto says = [](const PodDisruptionBudget& budget) {
    return std::tie(budget.metadata.namespace_, budget.selector, budget.disruptions_allowed, budget.disrupted_pods);
  };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&says](const auto& x, const auto& y) { return says(*x) == says(*y); });
}

// Each error once, as upstream joins them (apimachinery util/errors NewAggregate).
std::string join(const std::vector<std::string>& errors) {
  std::vector<std::string> told;
  for (const std::string& error : errors) {
    if (std::find(told.begin(), told.end(), error) == told.end()) told.push_back(error);
  }
  if (told.size() == 1) return told.front();
  std::string text;
  for (const std::string& error : told) text += (text.empty() ? "[" : ", ") + error;
  return text + "]";
}

Status said(Code code, const std::string& text) { return {code, "preemption: " + text}; }

}  // namespace

std::vector<std::string> PreemptionRecord::ties() const {
  std::vector<const Weighed*> best;
  find_least_harmful(candidates, best);
  std::vector<std::string> names;
  for (const Weighed* each : best) names.push_back(each->candidate.node);
  std::sort(names.begin(), names.end());
  return names;
}

// The places where a preemption might help: rejected, but not for good. All of a fleet without listing them.
class DefaultPreemption::Potential {
 public:
  Potential(const NodeStatuses& statuses, std::size_t nodes) : size_(nodes) {
    const auto may_help = [](const NodeStatuses::Kind& kind) { return kind.status.code() == Code::unschedulable; };
    const auto& kinds = statuses.kinds();
    if (statuses.size() == nodes && std::all_of(kinds.begin(), kinds.end(), [&](const NodeStatuses::Kind& kind) {
          return kind.nodes == 0 || may_help(kind);
        })) {
      return;
    }
    for (std::size_t place = 0; place < nodes; ++place) {
      const std::uint32_t kind = statuses.kind_of(place);
      if (kind != NodeStatuses::kNone && may_help(kinds[kind])) some_.push_back(place);
    }
    size_ = some_.size();
  }
  std::size_t size() const { return size_; }
  std::size_t operator[](std::size_t at) const { return some_.empty() ? at : some_[at]; }

 private:
  std::size_t size_;
  std::vector<std::size_t> some_;  // empty: all, or none
};

// The outcome of one dry run, and what it depends on besides the class of the pod.
struct DefaultPreemption::Tried {
  std::int64_t generation = 0;  // of the node
  Pods nominated;               // to the node
  Status status;
  std::shared_ptr<Weighed> weighed;  // on success

  // To be overwritten: what nobody else has is used again.
  static void renew(std::shared_ptr<Tried>& tried) {
    if (tried == nullptr || tried.use_count() > 1) tried = std::make_shared<Tried>();
    if (tried->weighed == nullptr || tried->weighed.use_count() > 1) tried->weighed = std::make_shared<Weighed>();
    tried->weighed->candidate.victims.clear();
    tried->weighed->candidate.pdb_violations = 0;
  }
};

// Kept for a class of pods; copies share it.
struct DefaultPreemption::Trials final : StateEntry {
  struct Table {
    Budgets budgets;
    std::vector<std::shared_ptr<Tried>> by_place;  // null: not yet
  };
  std::shared_ptr<Table> table = std::make_shared<Table>();
  std::unique_ptr<StateEntry> clone() const override { return std::make_unique<Trials>(*this); }

  // Of the class that `state` is of; null: nothing can be kept.
  static Table* of(CycleState& state, const Budgets& budgets, std::size_t places) {
    if (state.of_class == nullptr) return nullptr;
    auto* trials = state.of_class->edit<Trials>();
    if (trials == nullptr) {
      state.of_class->write(std::make_unique<Trials>());
      trials = state.of_class->edit<Trials>();
    }
    Table& table = *trials->table;
    if (!are_same(table.budgets, budgets)) table = {budgets, {}};
    table.by_place.resize(places);
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
                 "0 together with minCandidateNodesAbsolute 0 leaves no candidate; raise one of them");
  }
  reader.finish();
  if (findings.has_errors()) return findings.status();
  return std::unique_ptr<Plugin>(std::make_unique<DefaultPreemption>(read, handle));
}

Json DefaultPreemption::args() const {
  return Json(Json::Object{{"minCandidateNodesPercentage", Json(args_.min_candidate_nodes_percentage)},
                           {"minCandidateNodesAbsolute", Json(args_.min_candidate_nodes_absolute)}});
}

// The text of a FitError over all nodes; those without a status of their own were none to try.
std::string DefaultPreemption::nowhere(const DryRun& run) const {
  const Status unhelpful = Status::unresolvable("Preemption is not helpful for scheduling");
  Diagnosis diagnosis;
  diagnosis.nodes_total = handle_.snapshot().nodes().size();
  diagnosis.node_statuses.reset(diagnosis.nodes_total);
  for (std::size_t place = 0; place < diagnosis.nodes_total; ++place) diagnosis.node_statuses.set(place, unhelpful);
  for (const auto& [place, tried] : run.in_vain) diagnosis.node_statuses.set(place, tried->status);
  return diagnosis.message();
}

std::size_t DefaultPreemption::candidates_wanted(std::size_t nodes) const {
  const auto total = static_cast<std::int64_t>(nodes);
  const std::int64_t share = total * args_.min_candidate_nodes_percentage / 100;
  const std::int64_t wanted = std::max<std::int64_t>(share, args_.min_candidate_nodes_absolute);
  return static_cast<std::size_t>(std::min(wanted, total));
}

void DefaultPreemption::try_node(const Framework& framework, const CycleState& state, const Pod& pod,
                                 const Budgets& budgets, const NodeInfo& node, std::shared_ptr<Tried>& tried) {
  Tried::renew(tried);
  tried->generation = node.generation;
  tried->nominated = handle_.nominator().pods_on(node.name());
  ground_.node = node;
  ground_.state.become(state);
  Candidate& found = tried->weighed->candidate;
  tried->status = preemption::select_victims(framework, handle_.nominator(), budgets, pod, ground_, found);
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
                                                     const Potential& places) {
  const auto& nodes = handle_.snapshot().nodes();
  const Budgets budgets = handle_.lister().disruption_budgets();
  const std::size_t offset = handle_.draw(places.size());
  const std::size_t wanted = candidates_wanted(places.size());
  Trials::Table* kept = Trials::of(state, budgets, nodes.size());
  DryRun run;
  run.candidates.reserve(std::min(wanted, places.size()));
  Weighings violating;
  for (std::size_t i = 0; i < places.size(); ++i) {
    // Enough of them, and at least one that violates no budget.
    if (!run.candidates.empty() && run.candidates.size() + violating.size() >= wanted) break;
    const std::size_t place = places[(offset + i) % places.size()];
    const NodeInfo& node = *nodes[place];
    const Pods& nominated = handle_.nominator().pods_on(node.name());
    // Itself it does not count there, where others of its class count it.
    const bool may_keep = kept != nullptr && std::none_of(nominated.begin(), nominated.end(),
                                                          [&](const auto& each) { return each->uid() == pod.uid(); });
    std::shared_ptr<Tried> own;
    std::shared_ptr<Tried>& tried = may_keep ? kept->by_place[place] : own;
    if (tried == nullptr || tried->generation != node.generation || tried->nominated != nominated) {
      try_node(framework, state, pod, budgets, node, tried);
    }
    if (tried->weighed != nullptr) {
      Weighings& mine = tried->weighed->candidate.pdb_violations == 0 ? run.candidates : violating;
      if (mine.size() < wanted) mine.push_back(tried->weighed);
      continue;
    }
    if (tried->status.code() == Code::error) run.errors.push_back(tried->status.message());
    run.in_vain.emplace_back(place, tried);
  }
  std::move(violating.begin(), violating.end(), std::back_inserter(run.candidates));
  return run;
}

Status DefaultPreemption::post_filter(const Framework& framework, CycleState& state, const Pod& pod,
                                      const NodeStatuses& node_statuses, PostFilterResult& result) {
  const Snapshot& snapshot = handle_.snapshot();
  if (handle_.metrics() != nullptr) handle_.metrics()->preemption_attempts.at().add();
  if (const std::string why = why_not_eligible(pod, snapshot, node_statuses); !why.empty()) {
    return said(Code::unschedulable, why);
  }
  const Potential potential(node_statuses, snapshot.nodes().size());
  DryRun tried;
  if (potential.size() > 0) tried = dry_run(framework, state, pod, potential);
  if (tried.candidates.empty()) {
    if (!tried.errors.empty()) return said(Code::error, join(tried.errors));
    result.nominated_node = "";
    return said(Code::unschedulable, nowhere(tried));
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
