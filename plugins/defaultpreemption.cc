#include "plugins/defaultpreemption.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "core/api/field_reader.h"
#include "core/scheduler/scheduling_cycle.h"

namespace berth {

namespace {

using preemption::Candidate;

// Upstream's words; empty: the pod may preempt.
std::string why_not_eligible(const Pod& pod, const Snapshot& snapshot,
                             const std::map<std::string, Status>& node_statuses) {
  if (pod.preemption_policy == "Never") return "not eligible due to preemptionPolicy=Never.";
  const auto status = node_statuses.find(pod.nominated_node_name);
  const NodeInfo* node = pod.nominated_node_name.empty() ? nullptr : snapshot.find(pod.nominated_node_name);
  if (node == nullptr || status == node_statuses.end() || status->second.code() == Code::unresolvable) return {};
  const bool making_room = std::any_of(node->pods.begin(), node->pods.end(), [&pod](const auto& each) {
    return each->priority < pod.priority && each->metadata.deleting && each->preempted;
  });
  // A charge is what a pod that left before it ran still holds: its end is as near as that of a terminating pod.
  if (!making_room && node->charges.empty()) return {};
  return "not eligible due to a terminating pod on the nominated node.";
}

// Less is better: budgets violated, highest priority, sum of priorities (none counted below zero, so that few pods of
// a negative priority are not worse than many), number, and the latest start.
auto harm(const Candidate& candidate) {
  constexpr std::int64_t kToPositive = std::int64_t{std::numeric_limits<std::int32_t>::max()} + 1;
  std::int64_t sum = 0;
  for (const auto& victim : candidate.victims) sum += victim->priority + kToPositive;
  return std::tuple(candidate.pdb_violations, candidate.victims.front()->priority, sum, candidate.victims.size(),
                    -preemption::earliest_start(candidate.victims));
}

std::vector<std::string> least_harmful(const std::vector<Candidate>& candidates) {
  const auto best = std::min_element(candidates.begin(), candidates.end(),
                                     [](const Candidate& a, const Candidate& b) { return harm(a) < harm(b); });
  std::vector<std::string> equal;
  for (const Candidate& candidate : candidates) {
    if (harm(candidate) == harm(*best)) equal.push_back(candidate.node);
  }
  std::sort(equal.begin(), equal.end());
  return equal;
}

// The text of a FitError over all nodes; those without a status of their own were none to try.
std::string nowhere(const Snapshot& snapshot, std::map<std::string, Status> statuses) {
  Diagnosis diagnosis;
  diagnosis.nodes_total = snapshot.nodes().size();
  for (const auto& node : snapshot.nodes()) {
    statuses.emplace(node->name(), Status::unresolvable("Preemption is not helpful for scheduling"));
  }
  diagnosis.node_statuses = std::move(statuses);
  return diagnosis.message();
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

std::size_t DefaultPreemption::candidates_wanted(std::size_t nodes) const {
  const auto total = static_cast<std::int64_t>(nodes);
  const std::int64_t share = total * args_.min_candidate_nodes_percentage / 100;
  const std::int64_t wanted = std::max<std::int64_t>(share, args_.min_candidate_nodes_absolute);
  return static_cast<std::size_t>(std::min(wanted, total));
}

DefaultPreemption::DryRun DefaultPreemption::dry_run(const Framework& framework, const CycleState& state,
                                                     const Pod& pod,
                                                     const std::vector<std::shared_ptr<const NodeInfo>>& nodes) {
  const preemption::Budgets budgets = handle_.lister().disruption_budgets();
  const std::size_t offset = handle_.draw(nodes.size());
  const std::size_t wanted = candidates_wanted(nodes.size());
  DryRun tried;
  std::vector<Candidate> violating;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    // Enough of them, and at least one that violates no budget.
    if (!tried.candidates.empty() && tried.candidates.size() + violating.size() >= wanted) break;
    NodeInfo node = *nodes[(offset + i) % nodes.size()];
    CycleState trial = state.clone();
    Candidate found;
    Status status = preemption::select_victims(framework, handle_.nominator(), budgets, trial, pod, node, found);
    if (status.is_success() && found.victims.empty()) {
      status = Status::error("expected at least one victim pod on node \"" + node.name() + "\"");
    }
    if (status.is_success()) {
      std::vector<Candidate>& kept = found.pdb_violations == 0 ? tried.candidates : violating;
      if (kept.size() < wanted) kept.push_back(std::move(found));
      continue;
    }
    if (status.code() == Code::error) tried.errors.push_back(status.message());
    tried.statuses.insert_or_assign(node.name(), std::move(status));
  }
  std::move(violating.begin(), violating.end(), std::back_inserter(tried.candidates));
  return tried;
}

Status DefaultPreemption::post_filter(const Framework& framework, CycleState& state, const Pod& pod,
                                      const std::map<std::string, Status>& node_statuses, PostFilterResult& result) {
  const Snapshot& snapshot = handle_.snapshot();
  if (handle_.metrics() != nullptr) handle_.metrics()->preemption_attempts.at().add();
  if (const std::string why = why_not_eligible(pod, snapshot, node_statuses); !why.empty()) {
    return said(Code::unschedulable, why);
  }
  std::vector<std::shared_ptr<const NodeInfo>> potential;
  for (const auto& node : snapshot.nodes()) {
    const auto status = node_statuses.find(node->name());
    if (status != node_statuses.end() && status->second.code() == Code::unschedulable) potential.push_back(node);
  }
  DryRun tried;
  if (!potential.empty()) tried = dry_run(framework, state, pod, potential);
  if (tried.candidates.empty()) {
    if (!tried.errors.empty()) return said(Code::error, join(tried.errors));
    result.nominated_node = "";
    return said(Code::unschedulable, nowhere(snapshot, std::move(tried.statuses)));
  }
  auto record = std::make_unique<PreemptionRecord>();
  record->ties = least_harmful(tried.candidates);
  const std::string chosen =
      record->ties.size() == 1 ? record->ties.front() : record->ties[handle_.draw(record->ties.size())];
  for (Candidate& candidate : tried.candidates) {
    const std::string node = candidate.node;
    record->candidates.emplace(node, std::move(candidate));
  }
  result.nominated_node = chosen;
  result.victims = record->candidates.at(chosen).victims;
  if (handle_.metrics() != nullptr) {
    handle_.metrics()->preemption_victims.at().observe(static_cast<double>(result.victims.size()));
  }
  state.write(kName, std::move(record));
  return {};
}

}  // namespace berth
