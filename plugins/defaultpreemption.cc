#include "plugins/defaultpreemption.h"

#include <algorithm>
#include <compare>
#include <iterator>
#include <tuple>

#include "core/api/pod.h"
#include "core/api/policy.h"
#include "core/json/field_reader.h"
#include "core/prefetch.h"
#include "core/scheduler/scheduling_cycle.h"

namespace berth {

namespace {

using preemption::Budgets;
using preemption::Candidate;
using preemption::Found;
using preemption::Harm;
using preemption::Pods;
using preemption::Table;
using preemption::Tried;
using preemption::Weighed;

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

namespace preemption {

// The outcome of one dry run, and what it depends on in addition to the class of the pod.
struct Tried {
  std::int64_t generation = 0;  // of the node
  Pods nominated;               // to the node
  Status status;
  Weighed weighed;  // on success

  // Prepares `tried` for a new result; reuses memory that is not shared.
  static void renew(std::shared_ptr<Tried>& tried) {
    if (tried == nullptr || tried.use_count() > 1) tried = std::make_shared<Tried>();
    tried->weighed.candidate.victims.clear();
    tried->weighed.candidate.pdb_violations = 0;
  }
};

// An attempt looks at a share of all nodes, and most have not changed: what it asks of those lies side by side here,
// and the snapshot tells which may have changed. Only the parts that an attempt has come to take memory: the first one
// of a class would spend a tenth of its time on clearing the rest.
struct Table {
  enum class Known : std::uint8_t { nothing, without_victims, candidate };
  struct OfNode {
    Known known = Known::nothing;  // of the node as it is, to which no pod is nominated
    Harm harm;                     // of a candidate
    std::shared_ptr<Tried> tried;  // null: not tried yet
  };
  Budgets budgets;
  static constexpr std::size_t kPart = 256;  // nodes
  std::vector<std::vector<OfNode>> parts;    // by index; empty: nothing is known
  std::int64_t changes_made = -1;

  // Null: nothing is known.
  const OfNode* find(std::size_t index) const {
    const std::vector<OfNode>& part = parts[index / kPart];
    return part.empty() ? nullptr : &part[index % kPart];
  }
  OfNode& at(std::size_t index) {
    std::vector<OfNode>& part = parts[index / kPart];
    if (part.empty()) part.resize(kPart);
    return part[index % kPart];
  }

  void follow(const Snapshot& snapshot, const Nominator& nominator) {
    const auto& changed = snapshot.changed();
    parts.resize((snapshot.nodes().size() + kPart - 1) / kPart);
    if (changes_made < 0 || !changed.reaches(changes_made)) {
      for (std::vector<OfNode>& part : parts) {
        for (OfNode& each : part) each.known = Known::nothing;
      }
    } else {
      for (const std::uint32_t index : changed.since(changes_made)) forget(index);
    }
    changes_made = changed.made();
    for (const auto& [node, pods] : nominator.by_node()) forget(snapshot.index_of(node));
  }
  void forget(std::size_t index) {
    if (index / kPart >= parts.size()) return;
    if (std::vector<OfNode>& part = parts[index / kPart]; !part.empty()) part[index % kPart].known = Known::nothing;
  }
};

void Candidates::add(const Harm& harm, Found found) {
  const auto order = ties_.empty() ? std::strong_ordering::less : harm <=> least_;
  if (order < 0) {
    ties_.clear();
    least_ = harm;
  }
  if (order <= 0) ties_.push_back(static_cast<std::uint32_t>(all_.size()));
  all_.push_back(std::move(found));
}

}  // namespace preemption

namespace {

const Weighed& weighed_of(const Found& found, const Table* kept) {
  return found.own != nullptr ? *found.own : kept->find(found.index)->tried->weighed;
}

}  // namespace

std::vector<const Weighed*> PreemptionRecord::candidates() const {
  std::vector<const Weighed*> all;
  for (const Found& each : found) all.push_back(&weighed_of(each, kept.get()));
  return all;
}

std::vector<std::string> PreemptionRecord::ties() const {
  preemption::Candidates sorted;
  const std::vector<const Weighed*> all = candidates();
  for (const Weighed* each : all) sorted.add(each->harm, {});
  std::vector<std::string> names;
  for (const std::uint32_t at : sorted.ties()) names.push_back(all[at]->candidate.node);
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

// What dry runs read of the nodes after the one at `at`, in three steps, as one has to be there to find the next.
void DefaultPreemption::prefetch_after(const PotentialNodes& potential, std::size_t at, const Snapshot& snapshot) {
  constexpr std::size_t kStep = 4;
  const auto node_after = [&](std::size_t steps) -> const NodeInfo* {
    const std::size_t then = at + steps * kStep;
    return then < potential.size() ? snapshot.nodes()[potential[then]].get() : nullptr;
  };
  if (const NodeInfo* node = node_after(3)) prefetch(*node);
  if (const NodeInfo* node = node_after(2)) {
    prefetch_line(node->pods.data());
    prefetch_line(node->node.get());
  }
  if (const NodeInfo* node = node_after(1)) {
    for (const auto& pod : node->pods) prefetch(*pod);
  }
}

// Results kept for a class of pods; copies share them.
struct DefaultPreemption::Trials final : StateEntry {
  std::shared_ptr<Table> table = std::make_shared<Table>();
  std::unique_ptr<StateEntry> clone() const override { return std::make_unique<Trials>(*this); }

  // The table of the class of `state`; null: nothing can be kept.
  static std::shared_ptr<Table> of(CycleState& state, const Budgets& budgets) {
    if (state.of_class == nullptr) return nullptr;
    auto* trials = state.of_class->edit<Trials>();
    if (trials == nullptr) {
      state.of_class->write(std::make_unique<Trials>());
      trials = state.of_class->edit<Trials>();
    }
    if (!are_same(trials->table->budgets, budgets)) {
      trials->table = std::make_shared<Table>();
      trials->table->budgets = budgets;
    } else if (trials->table.use_count() > 1) {
      trials->table = std::make_shared<Table>(*trials->table);  // somebody still reads an earlier attempt's record
    }
    return trials->table;
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
  for (const Tried* tried : run.failed) {
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
  Candidate& found = tried->weighed.candidate;
  const bool by_amounts = by_amounts_.is_possible() && tried->nominated.empty();
  if (by_amounts) tried->status = by_amounts_.select_victims(node, budgets, pod, found);
  if (!by_amounts || (!tried->status.is_success() && !tried->status.is_rejected())) {
    found.victims.clear();
    workspace_.node = node;
    workspace_.state.become(state);
    tried->status = preemption::select_victims(framework, handle_.nominator(), budgets, pod, workspace_, found);
  }
  if (tried->status.is_success() && found.victims.empty()) {
    tried->status = Status::error("expected at least one victim pod on node \"" + node.name() + "\"");
  }
  if (tried->status.is_success()) tried->weighed.harm = preemption::harm_of(found);
}

// One node that is not known.
void DefaultPreemption::look_at(std::size_t index, const Framework& framework, const CycleState& state, const Pod& pod,
                                const Budgets& budgets, std::size_t enough, DryRun& run) {
  using Known = Table::Known;
  const NodeInfo& node = *handle_.snapshot().nodes()[index];
  const Pods& nominated = handle_.nominator().pods_on(node.name());
  // If the pod is nominated to this node, it does not count itself, while other pods of its class count it.
  const bool may_keep = run.kept != nullptr && std::none_of(nominated.begin(), nominated.end(),
                                                            [&](const auto& each) { return each->uid() == pod.uid(); });
  Table::OfNode none;
  Table::OfNode& of_node = may_keep ? run.kept->at(index) : none;
  Known& known = may_keep && nominated.empty() ? of_node.known : none.known;
  if (!preemption::has_victims(node, pod)) {
    ++run.without_victims;
    known = Known::without_victims;
    return;
  }
  std::shared_ptr<Tried>& tried = of_node.tried;
  if (tried == nullptr || tried->generation != node.generation || tried->nominated != nominated) {
    try_node(framework, state, pod, budgets, node, tried);
  }
  if (tried->status.is_success()) {
    known = Known::candidate;
    const Weighed& weighed = tried->weighed;
    of_node.harm = weighed.harm;
    preemption::Candidates& mine = weighed.candidate.pdb_violations == 0 ? run.candidates : run.violating;
    if (mine.all().size() >= enough) return;
    mine.add(of_node.harm, {may_keep ? nullptr : std::shared_ptr<const Weighed>(tried, &weighed), index});
    return;
  }
  if (tried->status.code() == Code::error) run.errors.push_back(tried->status.message());
  run.failed.push_back(tried.get());
  if (!may_keep) run.owned.push_back(tried);
}

DefaultPreemption::DryRun DefaultPreemption::dry_run(const Framework& framework, CycleState& state, const Pod& pod,
                                                     const PotentialNodes& potential) {
  const Budgets budgets = handle_.lister().disruption_budgets();
  const std::size_t enough = enough_candidates(potential.size());
  workspace_.by_object.reset();
  for (const auto& entry : framework.filters()) {
    if (entry.plugin->reads(pod, Point::filter) == Reads::node_object) workspace_.by_object.set(entry.number);
  }
  by_amounts_.begin(framework, state, pod);
  DryRun run;
  run.kept = Trials::of(state, budgets);
  if (run.kept != nullptr) run.kept->follow(handle_.snapshot(), handle_.nominator());
  run.candidates.expect(std::min(enough, potential.size()));
  std::size_t at = handle_.draw(potential.size());
  for (std::size_t left = potential.size(); left > 0; --left) {
    // Stop at enough candidates, if at least one violates no budget.
    const std::size_t found = run.candidates.all().size();
    if (found > 0 && found + run.violating.all().size() >= enough) break;
    const std::size_t index = potential[at];
    at = at + 1 == potential.size() ? 0 : at + 1;
    const Table::OfNode* const kept = run.kept == nullptr ? nullptr : run.kept->find(index);
    if (kept == nullptr || kept->known == Table::Known::nothing) {
      prefetch_after(potential, at, handle_.snapshot());
      look_at(index, framework, state, pod, budgets, enough, run);
    } else if (kept->known == Table::Known::without_victims) {
      ++run.without_victims;
    } else {
      preemption::Candidates& mine = std::get<0>(kept->harm) == 0 ? run.candidates : run.violating;
      if (mine.all().size() < enough) mine.add(kept->harm, {nullptr, index});
    }
  }
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
  const bool violates = tried.candidates.all().empty();
  const preemption::Candidates& best = violates ? tried.violating : tried.candidates;
  if (best.all().empty()) {
    if (!tried.errors.empty()) return preemption_status(Code::error, join(tried.errors));
    result.nominated_node = "";
    return preemption_status(Code::unschedulable, no_candidate_message(tried));
  }
  const std::vector<std::uint32_t>& ties = best.ties();
  const std::uint32_t drawn = ties[ties.size() == 1 ? 0 : handle_.draw(ties.size())];
  const Candidate& chosen = weighed_of(best.all()[drawn], tried.kept.get()).candidate;
  result.nominated_node = chosen.node;
  result.victims = chosen.victims;
  if (handle_.metrics() != nullptr) {
    handle_.metrics()->preemption_victims.at().observe(static_cast<double>(result.victims.size()));
  }
  auto record = std::make_unique<PreemptionRecord>();
  record->kept = std::move(tried.kept);
  record->found = tried.candidates.take();
  std::ranges::move(tried.violating.take(), std::back_inserter(record->found));
  state.write(std::move(record));
  return {};
}

}  // namespace berth
