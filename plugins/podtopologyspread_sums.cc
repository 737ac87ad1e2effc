// PodTopologySpread for a class of pods: the counts of PreFilter and PreScore, updated node by node.
#include <algorithm>
#include <string_view>

#include "core/api/node.h"
#include "core/api/pod.h"
#include "plugins/natural_log.h"
#include "plugins/podtopologyspread.h"
#include "plugins/podtopologyspread_state.h"

namespace berth {

using namespace spreading;

namespace {

bool is_ignored(const AlikeNodes& alike, bool all_keys, const SpreadScore& score) {
  return all_keys && !has_all_topology_keys(alike.any->node->metadata.labels, score.constraints);
}

// The number of domains of the nodes that are not ignored.
std::size_t count_domains(const std::string& key, bool all_keys, const std::vector<AlikeNodes>& nodes,
                          const Domains& domains, SpreadScore& score) {
  score.domains.clear();
  std::size_t own = 0;
  for (const AlikeNodes& alike : nodes) {
    if (is_ignored(alike, all_keys, score)) continue;
    // Nodes without the key have the empty value too.
    const bool has_value = !value_of(*alike.any, key).empty();
    if (has_value && domains.is_per_node(key)) {
      own += alike.count;
    } else {
      score.domains.push_back(has_value ? domains.number_of(key, *alike.any->node) : Domains::kNone);
    }
  }
  std::sort(score.domains.begin(), score.domains.end());
  const auto end = std::unique(score.domains.begin(), score.domains.end());
  return own + static_cast<std::size_t>(end - score.domains.begin());
}

}  // namespace

bool PodTopologySpread::reads_labels(const Pod& pod, const Snapshot&) const {
  if (!pod.topology_spread_constraints.empty()) return true;
  return !arguments_.default_constraints.empty() && !handle_.lister().services(pod.metadata.namespace_).empty();
}

void PodTopologySpread::begin_sums(CycleState& state, const Pod& pod, Domains& domains) {
  auto spread = std::make_unique<Spread>();
  spread->constraints = constraints_of(pod, false);
  spread->counts.resize(spread->constraints.size());
  auto score = std::make_unique<SpreadScore>();
  score->constraints = constraints_of(pod, true);
  score->counts.resize(score->constraints.size());
  for (const SpreadConstraint& constraint : spread->constraints) domains.watch(constraint.topology_key);
  for (const SpreadConstraint& constraint : score->constraints) {
    if (constraint.topology_key != kHostnameLabel) domains.watch(constraint.topology_key);
  }
  state.write(std::move(spread));
  state.write(std::move(score));
}

bool PodTopologySpread::is_idle(const CycleState& state, const Pod&, const Snapshot&) const {
  return state.read<Spread>()->constraints.empty() && state.read<SpreadScore>()->constraints.empty();
}

bool PodTopologySpread::sums_hold(const CycleState& state, const Pod& pod) const {
  const auto& hard = state.read<Spread>()->constraints;
  const auto& soft = state.read<SpreadScore>()->constraints;
  if (!pod.topology_spread_constraints.empty()) return true;  // the pod's own constraints never change
  if (hard.empty() && soft.empty() && handle_.lister().services(pod.metadata.namespace_).empty()) return true;
  return hard == constraints_of(pod, false) && soft == constraints_of(pod, true);
}

void PodTopologySpread::sum(CycleState& state, const Pod& pod, const NodeInfo& node, std::int64_t times, Domains&) {
  auto* spread = state.edit<Spread>();
  auto* score = state.edit<SpreadScore>();
  const Labels& labels = node.node->metadata.labels;
  std::string_view name_space = pod.metadata.namespace_;
  if (!spread->constraints.empty() && has_all_topology_keys(labels, spread->constraints)) {
    for (std::size_t i = 0; i < spread->constraints.size(); ++i) {
      const SpreadConstraint& constraint = spread->constraints[i];
      if (!is_counted(constraint, pod, *node.node)) continue;
      spread->counts[i].add_node(value_of(node, constraint.topology_key), count_matching(node, constraint, name_space),
                                 times);
    }
  }
  if (asks_all_keys(pod) && !has_all_topology_keys(labels, score->constraints)) return;
  for (std::size_t i = 0; i < score->constraints.size(); ++i) {
    const SpreadConstraint& constraint = score->constraints[i];
    if (constraint.topology_key == kHostnameLabel || !is_counted(constraint, pod, *node.node)) continue;
    score->counts[i][value_of(node, constraint.topology_key)] += count_matching(node, constraint, name_space) * times;
  }
}

void PodTopologySpread::add_traits(const CycleState& state, const Pod& pod, const NodeInfo& node,
                                   const Domains& domains, Traits& traits) const {
  const auto* spread = state.read<Spread>();
  const auto* score = state.read<SpreadScore>();
  for (std::size_t i = 0; i < spread->constraints.size(); ++i) {
    const std::string& key = spread->constraints[i].topology_key;
    const std::string* value = label_of(node, key);
    if (value == nullptr || !domains.is_per_node(key)) {
      traits.push_back(domains.number_of(key, *node.node));
    } else {
      traits.push_back(spread->counts[i].of(*value));
    }
  }
  if (score->constraints.empty()) return;
  const bool ignored = asks_all_keys(pod) && !has_all_topology_keys(node.node->metadata.labels, score->constraints);
  traits.push_back(ignored ? 1 : 0);
  for (std::size_t i = 0; i < score->constraints.size(); ++i) {
    const std::string& key = score->constraints[i].topology_key;
    const std::string* value = label_of(node, key);
    if (value == nullptr) {
      traits.push_back(Domains::kNone);
    } else if (key == kHostnameLabel) {
      traits.push_back(count_matching(node, score->constraints[i], pod.metadata.namespace_));
    } else if (domains.is_per_node(key)) {
      const auto counted = score->counts[i].find(*value);
      traits.push_back(counted == score->counts[i].end() ? 0 : counted->second);
    } else {
      traits.push_back(domains.number_of(key, *node.node));
    }
  }
}

bool PodTopologySpread::skips_filter(const CycleState& state, const Pod&) const {
  return state.read<Spread>()->constraints.empty();
}

Status PodTopologySpread::pre_score_sums(CycleState& state, const Pod& pod, const std::vector<AlikeNodes>& feasible,
                                         const Domains& domains) {
  auto* score = state.edit<SpreadScore>();
  if (score->constraints.empty()) return Status::skip();
  score->ignored_nodes.clear();
  const bool all_keys = asks_all_keys(pod);
  std::size_t nodes = 0;
  for (const AlikeNodes& alike : feasible) {
    if (is_ignored(alike, all_keys, *score)) {
      score->ignored_nodes.insert(alike.any->name());
    } else {
      nodes += alike.count;
    }
  }
  score->weights.clear();
  for (const SpreadConstraint& constraint : score->constraints) {
    const bool per_node = constraint.topology_key == kHostnameLabel;
    const std::size_t found =
        per_node ? nodes : count_domains(constraint.topology_key, all_keys, feasible, domains, *score);
    score->weights.push_back(natural_log(static_cast<double>(found + 2)));
  }
  return {};
}

}  // namespace berth
