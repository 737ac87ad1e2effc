#include "plugins/podtopologyspread.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>

#include "core/api/names.h"
#include "core/api/node.h"
#include "core/api/pod.h"
#include "core/json/field_reader.h"
#include "plugins/natural_log.h"
#include "plugins/podtopologyspread_state.h"

namespace berth {

using namespace spreading;

namespace {

const Status kTooSkewed = Status::unschedulable("node(s) didn't match pod topology spread constraints");
const Status kMissingLabel =
    Status::unresolvable("node(s) didn't match pod topology spread constraints (missing required label)");

bool is_too_skewed(const SpreadConstraint& constraint, const DomainCounts& counts, const std::string& domain) {
  const std::int64_t least = counts.size() < constraint.min_domains ? 0 : counts.least();
  const std::int64_t itself = constraint.matches_itself ? 1 : 0;
  return counts.of(domain) + itself - least > constraint.max_skew;
}

// Unlike count_matching(), but like upstream, this also counts pods that are being deleted and, for an empty selector,
// all pods.
Status recount(CycleState& state, const Pod& pod, const Pod& changed, const NodeInfo& node, std::int64_t delta) {
  auto* spread = state.edit<Spread>();
  if (spread == nullptr) return Status::error("PreFilter did not run");
  if (changed.metadata.namespace_ != pod.metadata.namespace_) return {};
  if (!has_all_topology_keys(node.node->metadata.labels, spread->constraints)) return {};
  for (std::size_t i = 0; i < spread->constraints.size(); ++i) {
    const SpreadConstraint& constraint = spread->constraints[i];
    if (!constraint.matches_labels(changed.metadata.labels) || !is_counted(constraint, pod, *node.node)) continue;
    spread->counts[i].add(value_of(node, constraint.topology_key), delta);
  }
  return {};
}

// Determines, from the feasible nodes, the ignored nodes, the domains, and the weight of a pod in each.
void find_domains(SpreadScore& score, const std::vector<std::shared_ptr<const NodeInfo>>& feasible, bool all_keys) {
  score.counts.resize(score.constraints.size());
  for (const std::shared_ptr<const NodeInfo>& node : feasible) {
    if (all_keys && !has_all_topology_keys(node->node->metadata.labels, score.constraints)) {
      score.ignored_nodes.insert(node->name());
      continue;
    }
    for (std::size_t i = 0; i < score.constraints.size(); ++i) {
      const std::string& key = score.constraints[i].topology_key;
      if (key != kHostnameLabel) score.counts[i].try_emplace(value_of(*node, key), 0);
    }
  }
  for (std::size_t i = 0; i < score.constraints.size(); ++i) {
    const bool per_node = score.constraints[i].topology_key == kHostnameLabel;
    const std::size_t domains = per_node ? feasible.size() - score.ignored_nodes.size() : score.counts[i].size();
    score.weights.push_back(natural_log(static_cast<double>(domains + 2)));
  }
}

void count_pods(SpreadScore& score, const Pod& pod, const Snapshot& snapshot, bool all_keys) {
  for (const std::shared_ptr<const NodeInfo>& node : snapshot.nodes()) {
    if (all_keys && !has_all_topology_keys(node->node->metadata.labels, score.constraints)) continue;
    for (std::size_t i = 0; i < score.constraints.size(); ++i) {
      const SpreadConstraint& constraint = score.constraints[i];
      auto domain = score.counts[i].find(value_of(*node, constraint.topology_key));
      if (domain == score.counts[i].end() || !is_counted(constraint, pod, *node->node)) continue;
      domain->second += count_matching(*node, constraint, pod.metadata.namespace_);
    }
  }
}

std::vector<TopologySpreadConstraint> system_constraints() {
  TopologySpreadConstraint host;
  host.max_skew = 3;
  host.topology_key = kHostnameLabel;
  host.schedule_anyway = true;
  TopologySpreadConstraint zone;
  zone.max_skew = 5;
  zone.topology_key = kZoneLabel;
  zone.schedule_anyway = true;
  return {host, zone};
}

constexpr std::array<EnumName<bool>, 2> kActions{{{"DoNotSchedule", false}, {"ScheduleAnyway", true}}};
constexpr std::array<EnumName<bool>, 2> kPolicies{{{"Honor", true}, {"Ignore", false}}};

// apis/config/validation ValidatePodTopologySpreadArgs.
TopologySpreadConstraint read_constraint(FieldReader& reader) {
  TopologySpreadConstraint constraint;
  if (reader.require("maxSkew", "a number of pods, at least 1")) {
    reader.read_int32("maxSkew", constraint.max_skew, 1);
  }
  if (reader.require("topologyKey", "a node label's key")) {
    reader.read_checked("topologyKey", constraint.topology_key, is_label_key,
                        "a label key such as topology.kubernetes.io/zone");
  }
  if (reader.require("whenUnsatisfiable", "DoNotSchedule or ScheduleAnyway")) {
    reader.read_enum("whenUnsatisfiable", kActions, constraint.schedule_anyway);
  }
  if (reader.has("labelSelector")) {
    reader.error("labelSelector", "not allowed in default constraints, where it is deduced for each pod; remove it");
  }
  std::int32_t min_domains = 1;
  if (reader.read_int32("minDomains", min_domains, 1)) constraint.min_domains = min_domains;
  reader.read_enum("nodeAffinityPolicy", kPolicies, constraint.honor_node_affinity);
  reader.read_enum("nodeTaintsPolicy", kPolicies, constraint.honor_node_taints);
  reader.read_list("matchLabelKeys", constraint.match_label_keys);  // has no effect: the selector is deduced
  return constraint;
}

// In the form that read_constraint() reads.
Json show(const TopologySpreadConstraint& constraint) {
  auto policy = [](bool honor) { return Json(honor ? "Honor" : "Ignore"); };
  Json shown(Json::Object{
      {"maxSkew", Json(constraint.max_skew)},
      {"topologyKey", Json(constraint.topology_key)},
      {"whenUnsatisfiable", Json(constraint.schedule_anyway ? "ScheduleAnyway" : "DoNotSchedule")},
      {"nodeAffinityPolicy", policy(constraint.honor_node_affinity)},
      {"nodeTaintsPolicy", policy(constraint.honor_node_taints)},
  });
  if (constraint.min_domains) shown.set("minDomains", *constraint.min_domains);
  if (!constraint.match_label_keys.empty()) {
    Json keys = Json::array();
    for (const std::string& key : constraint.match_label_keys) keys.push_back(key);
    shown.set("matchLabelKeys", std::move(keys));
  }
  return shown;
}

bool is_repeated(const std::vector<TopologySpreadConstraint>& constraints, const TopologySpreadConstraint& next) {
  return std::any_of(constraints.begin(), constraints.end(), [&next](const TopologySpreadConstraint& other) {
    return other.topology_key == next.topology_key && other.schedule_anyway == next.schedule_anyway;
  });
}

PodTopologySpread::Arguments read_spread_arguments(FieldReader& reader) {
  constexpr std::array<EnumName<bool>, 2> kDefaulting{{{"System", true}, {"List", false}}};
  PodTopologySpread::Arguments arguments;
  std::string type;
  reader.read_enum("apiVersion", {"kubescheduler.config.k8s.io/v1"}, type);
  reader.read_enum("kind", {"PodTopologySpreadArgs"}, type);
  reader.read_enum("defaultingType", kDefaulting, arguments.system_defaults);
  reader.read_each("defaultConstraints", [&arguments](FieldReader& item) {
    TopologySpreadConstraint constraint = read_constraint(item);
    if (is_repeated(arguments.default_constraints, constraint)) {
      item.error("topologyKey", "another constraint has the same topologyKey and whenUnsatisfiable; remove one");
    }
    arguments.default_constraints.push_back(std::move(constraint));
  });
  if (arguments.system_defaults && !arguments.default_constraints.empty()) {
    reader.error("defaultingType", "System does not allow defaultConstraints; use List, or remove them");
  }
  if (arguments.system_defaults) arguments.default_constraints = system_constraints();
  return arguments;
}

}  // namespace

Result<std::unique_ptr<Plugin>> PodTopologySpread::make(const Json& args, Handle& handle) {
  Findings findings(Findings::Unknown::refuse);
  const Json none = Json::object();
  FieldReader reader(args.is_null() ? none : args, "args", findings);
  Arguments arguments = read_spread_arguments(reader);
  reader.finish();
  if (findings.has_errors()) return findings.status();
  return std::unique_ptr<Plugin>(std::make_unique<PodTopologySpread>(std::move(arguments), handle));
}

Json PodTopologySpread::args() const {
  if (arguments_.system_defaults) return Json(Json::Object{{"defaultingType", Json("System")}});
  Json constraints = Json::array();
  for (const TopologySpreadConstraint& each : arguments_.default_constraints) constraints.push_back(show(each));
  return Json(Json::Object{{"defaultConstraints", std::move(constraints)}, {"defaultingType", Json("List")}});
}

std::vector<SpreadConstraint> PodTopologySpread::constraints_of(const Pod& pod, bool schedule_anyway) const {
  if (!pod.spec->topology_spread_constraints.empty()) {
    return select_constraints(pod.spec->topology_spread_constraints, pod.metadata.labels, schedule_anyway);
  }
  std::vector<SpreadConstraint> defaults = select_constraints(arguments_.default_constraints, {}, schedule_anyway);
  if (defaults.empty()) return {};
  const LabelSelector selector = default_selector(pod, handle_.lister().services(pod.metadata.namespace_));
  if (selector.requirements.empty()) return {};
  for (SpreadConstraint& constraint : defaults) {
    constraint.selector = selector;
    constraint.matches_itself = constraint.matches_labels(pod.metadata.labels);
  }
  return defaults;
}

Status PodTopologySpread::pre_filter(CycleState& state, const Pod& pod, const Snapshot& snapshot, PreFilterResult&) {
  auto spread = std::make_unique<Spread>();
  spread->constraints = constraints_of(pod, false);
  if (spread->constraints.empty()) return Status::skip();
  spread->counts.resize(spread->constraints.size());
  for (const std::shared_ptr<const NodeInfo>& node : snapshot.nodes()) {
    if (!has_all_topology_keys(node->node->metadata.labels, spread->constraints)) continue;
    for (std::size_t i = 0; i < spread->constraints.size(); ++i) {
      const SpreadConstraint& constraint = spread->constraints[i];
      if (!is_counted(constraint, pod, *node->node)) continue;
      spread->counts[i].add(value_of(*node, constraint.topology_key),
                            count_matching(*node, constraint, pod.metadata.namespace_));
    }
  }
  state.write(std::move(spread));
  return {};
}

Status PodTopologySpread::add_pod(CycleState& state, const Pod& pod, const Pod& added, const NodeInfo& node) {
  return recount(state, pod, added, node, 1);
}

Status PodTopologySpread::remove_pod(CycleState& state, const Pod& pod, const Pod& removed, const NodeInfo& node) {
  return recount(state, pod, removed, node, -1);
}

Status PodTopologySpread::filter(CycleState& state, const Pod&, const NodeInfo& node) {
  const auto* spread = state.read<Spread>();
  if (spread == nullptr) return Status::error("PreFilter did not run");
  for (std::size_t i = 0; i < spread->constraints.size(); ++i) {
    const SpreadConstraint& constraint = spread->constraints[i];
    const std::string* domain = label_of(node, constraint.topology_key);
    if (domain == nullptr) return kMissingLabel;
    if (is_too_skewed(constraint, spread->counts[i], *domain)) return kTooSkewed;
  }
  return {};
}

Status PodTopologySpread::pre_score(CycleState& state, const Pod& pod,
                                    const std::vector<std::shared_ptr<const NodeInfo>>& feasible) {
  const Snapshot& snapshot = handle_.snapshot();
  if (snapshot.nodes().empty()) return Status::skip();
  auto score = std::make_unique<SpreadScore>();
  score->constraints = constraints_of(pod, true);
  if (score->constraints.empty()) return Status::skip();
  const bool all_keys = asks_all_keys(pod);
  find_domains(*score, feasible, all_keys);
  count_pods(*score, pod, snapshot, all_keys);
  state.write(std::move(score));
  return {};
}

Status PodTopologySpread::score(CycleState& state, const Pod& pod, const NodeInfo& node, std::int64_t& score) {
  const auto* spread = state.read<SpreadScore>();
  if (spread == nullptr) return Status::error("PreScore did not run");
  score = 0;
  if (spread->ignored_nodes.contains(node.name())) return {};
  double sum = 0;
  for (std::size_t i = 0; i < spread->constraints.size(); ++i) {
    const SpreadConstraint& constraint = spread->constraints[i];
    const std::string* domain = label_of(node, constraint.topology_key);
    if (domain == nullptr) continue;
    std::int64_t pods = 0;
    if (constraint.topology_key == kHostnameLabel) {
      pods = count_matching(node, constraint, pod.metadata.namespace_);
    } else if (auto found = spread->counts[i].find(*domain); found != spread->counts[i].end()) {
      pods = found->second;
    }
    // A larger allowed skew reduces the relative differences between domains.
    sum += static_cast<double>(pods) * spread->weights[i] + static_cast<double>(constraint.max_skew - 1);
  }
  score = static_cast<std::int64_t>(std::round(sum));
  return {};
}

Status PodTopologySpread::normalize(CycleState& state, const Pod&, std::vector<NodeScore>& scores) {
  const auto* spread = state.read<SpreadScore>();
  if (spread == nullptr) return Status::error("PreScore did not run");
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  std::int64_t most = 0;
  for (const NodeScore& score : scores) {
    if (spread->ignored_nodes.contains(score.node)) continue;
    least = std::min(least, score.score);
    most = std::max(most, score.score);
  }
  for (NodeScore& score : scores) {
    if (spread->ignored_nodes.contains(score.node)) {
      score.score = 0;
    } else if (most == 0) {
      score.score = kMaxScore;
    } else {
      score.score = kMaxScore * (most + least - score.score) / most;
    }
  }
  return {};
}

}  // namespace berth
