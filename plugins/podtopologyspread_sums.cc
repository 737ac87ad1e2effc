// PodTopologySpread for a class of pods: the counts of PreFilter and PreScore, updated as nodes and pods come and go.
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

bool lacks_a_key(const AlikeNodes& alike, const std::vector<const Domains::Key*>& keys) {
  return std::any_of(keys.begin(), keys.end(),
                     [&](const Domains::Key* key) { return key->number_of(alike.index) == Domains::kNone; });
}

// The number of domains of the nodes that are not ignored.
std::size_t count_domains(const Domains::Key& key, bool all_keys, const std::vector<AlikeNodes>& nodes,
                          SpreadScore& score) {
  // Nodes without the key have the empty value too.
  const auto empty = key.label->values.find(std::string());
  const std::int64_t no_value =
      empty == key.label->values.end() ? Domains::kNone : static_cast<std::int64_t>(empty->second);
  score.domains.clear();
  std::size_t own = 0;
  for (const AlikeNodes& alike : nodes) {
    if (all_keys && lacks_a_key(alike, score.keys)) continue;
    const std::int64_t number = key.number_of(alike.index);
    const bool has_value = number != Domains::kNone && number != no_value;
    if (has_value && key.per_node) {
      own += alike.count;
    } else {
      score.domains.push_back(has_value ? number : Domains::kNone);
    }
  }
  std::sort(score.domains.begin(), score.domains.end());
  const auto end = std::unique(score.domains.begin(), score.domains.end());
  return own + static_cast<std::size_t>(end - score.domains.begin());
}

// Nodes in each domain of the constraint, of those that have all keys and count.
void count_nodes(const Pod& pod, const Snapshot& snapshot, const std::vector<SpreadConstraint>& all,
                 const SpreadConstraint& constraint, DomainCounts& counts) {
  std::vector<const NodeColumns::Label*> keys;
  NodeColumns& columns = snapshot.columns();
  for (const SpreadConstraint& each : all) keys.push_back(&columns.label(each.topology_key, snapshot.nodes()));
  const NodeColumns::Label& own = columns.label(constraint.topology_key, snapshot.nodes());
  const bool all_count =
      !constraint.honor_node_taints &&
      (!constraint.honor_node_affinity || (pod.node_selector.empty() && !pod.affinity->required_node_affinity));
  const bool all_have_keys = std::all_of(keys.begin(), keys.end(), [&own](const NodeColumns::Label* key) {
    return key == &own || key->having == key->numbers.size();
  });
  if (all_count && all_have_keys) {
    for (const auto& [value, number] : own.values) {
      if (own.nodes[number] > 0) counts.add_nodes(value, own.nodes[number]);
    }
    return;
  }
  std::vector<std::int64_t> nodes(own.values.size());
  for (std::size_t index = 0; index < own.numbers.size(); ++index) {
    const bool has_keys = std::none_of(keys.begin(), keys.end(), [index](const NodeColumns::Label* key) {
      return key->numbers[index] == NodeColumns::Label::kNone;
    });
    if (!has_keys || !(all_count || is_counted(constraint, pod, *snapshot.nodes()[index]->node))) continue;
    ++nodes[own.numbers[index]];
  }
  for (const auto& [value, number] : own.values) {
    if (nodes[number] > 0) counts.add_nodes(value, nodes[number]);
  }
}

}  // namespace

bool PodTopologySpread::reads_labels(const Pod& pod, const Snapshot&) const {
  if (!pod.spec->topology_spread_constraints.empty()) return true;
  return !arguments_.default_constraints.empty() && !handle_.lister().services(pod.metadata.namespace_).empty();
}

void PodTopologySpread::begin_sums(CycleState& state, const Pod& pod, const Snapshot& snapshot, Domains& domains) {
  auto spread = std::make_unique<Spread>();
  spread->constraints = constraints_of(pod, false);
  spread->counts.resize(spread->constraints.size());
  auto score = std::make_unique<SpreadScore>();
  score->constraints = constraints_of(pod, true);
  score->counts.resize(score->constraints.size());
  for (std::size_t i = 0; i < spread->constraints.size(); ++i) {
    domains.watch(spread->constraints[i].topology_key);
    count_nodes(pod, snapshot, spread->constraints, spread->constraints[i], spread->counts[i]);
  }
  for (const SpreadConstraint& constraint : score->constraints) domains.watch(constraint.topology_key);
  state.write(std::move(spread));
  state.write(std::move(score));
}

bool PodTopologySpread::is_idle(const CycleState& state, const Pod&, const Snapshot&) const {
  return state.read<Spread>()->constraints.empty() && state.read<SpreadScore>()->constraints.empty();
}

bool PodTopologySpread::sums_hold(const CycleState& state, const Pod& pod) const {
  const auto& hard = state.read<Spread>()->constraints;
  const auto& soft = state.read<SpreadScore>()->constraints;
  if (!pod.spec->topology_spread_constraints.empty()) return true;  // the pod's own constraints never change
  if (hard.empty() && soft.empty() && handle_.lister().services(pod.metadata.namespace_).empty()) return true;
  return hard == constraints_of(pod, false) && soft == constraints_of(pod, true);
}

void PodTopologySpread::sum_node(CycleState& state, const Pod& pod, const Node& node, std::int64_t times) {
  auto* spread = state.edit<Spread>();
  const Labels& labels = node.metadata.labels;
  if (spread->constraints.empty() || !has_all_topology_keys(labels, spread->constraints)) return;
  for (std::size_t i = 0; i < spread->constraints.size(); ++i) {
    const SpreadConstraint& constraint = spread->constraints[i];
    if (!is_counted(constraint, pod, node)) continue;
    spread->counts[i].add_nodes(labels.find(constraint.topology_key)->second, times);
  }
}

void PodTopologySpread::filter_kinds(const CycleState& state, const Pod&, KindFilter& filter) const {
  for (const auto* all : {&state.read<Spread>()->constraints, &state.read<SpreadScore>()->constraints}) {
    for (const SpreadConstraint& each : *all) {
      if (each.selector) filter.let_selected_pass(*each.selector);
    }
  }
}

bool PodTopologySpread::counts_pod(CycleState& state, const Pod& pod, const Pod& other) const {
  const auto counts_it = [&](const SpreadConstraint& each) { return counts(each, pod.metadata.namespace_, other); };
  const auto& hard = state.read<Spread>()->constraints;
  const auto& soft = state.read<SpreadScore>()->constraints;
  return std::any_of(hard.begin(), hard.end(), counts_it) || std::any_of(soft.begin(), soft.end(), counts_it);
}

void PodTopologySpread::sum_pods(CycleState& state, const Pod& pod, const Node& node, const Pod& other,
                                 std::int64_t pods, Domains&) {
  auto* spread = state.edit<Spread>();
  auto* score = state.edit<SpreadScore>();
  const Labels& labels = node.metadata.labels;
  const auto is_summed = [&](const SpreadConstraint& constraint) {
    return is_counted(constraint, pod, node) && counts(constraint, pod.metadata.namespace_, other);
  };
  if (!spread->constraints.empty() && has_all_topology_keys(labels, spread->constraints)) {
    for (std::size_t i = 0; i < spread->constraints.size(); ++i) {
      const SpreadConstraint& constraint = spread->constraints[i];
      if (is_summed(constraint)) spread->counts[i].add(labels.find(constraint.topology_key)->second, pods);
    }
  }
  if (asks_all_keys(pod) && !has_all_topology_keys(labels, score->constraints)) return;
  for (std::size_t i = 0; i < score->constraints.size(); ++i) {
    const SpreadConstraint& constraint = score->constraints[i];
    if (constraint.topology_key == kHostnameLabel || !is_summed(constraint)) continue;
    // A node without the key has the empty value, where that is allowed.
    const auto label = labels.find(constraint.topology_key);
    score->counts[i][label == labels.end() ? std::string() : label->second] += pods;
  }
}

bool PodTopologySpread::has_traits(const CycleState& state, const Domains& domains) const {
  const auto is_by_node = [&domains](const SpreadConstraint& each) { return domains.is_per_node(each.topology_key); };
  const auto& hard = state.read<Spread>()->constraints;
  const auto& soft = state.read<SpreadScore>()->constraints;
  return std::any_of(hard.begin(), hard.end(), is_by_node) ||
         std::any_of(soft.begin(), soft.end(), [&is_by_node](const SpreadConstraint& each) {
           return each.topology_key == kHostnameLabel || is_by_node(each);
         });
}

// The host name is counted by node, even where nodes share it.
void PodTopologySpread::add_traits(const CycleState& state, const Pod& pod, const NodeInfo& node,
                                   const Domains& domains, Traits& traits) const {
  const auto* spread = state.read<Spread>();
  const auto* score = state.read<SpreadScore>();
  for (std::size_t i = 0; i < spread->constraints.size(); ++i) {
    const std::string& key = spread->constraints[i].topology_key;
    const std::string* value = domains.is_per_node(key) ? label_of(node, key) : nullptr;
    traits.push_back(value == nullptr ? 0 : spread->counts[i].of(*value));
  }
  for (std::size_t i = 0; i < score->constraints.size(); ++i) {
    const std::string& key = score->constraints[i].topology_key;
    const bool by_node = key == kHostnameLabel;
    const std::string* value = by_node || domains.is_per_node(key) ? label_of(node, key) : nullptr;
    if (value == nullptr) {
      traits.push_back(0);
    } else if (by_node) {
      traits.push_back(count_matching(node, score->constraints[i], pod.metadata.namespace_));
    } else {
      const auto counted = score->counts[i].find(*value);
      traits.push_back(counted == score->counts[i].end() ? 0 : counted->second);
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
  score->keys.clear();
  for (const SpreadConstraint& constraint : score->constraints) {
    score->keys.push_back(domains.find(constraint.topology_key));
  }
  score->ignored_nodes.clear();
  const bool all_keys = asks_all_keys(pod);
  std::size_t nodes = 0;
  for (const AlikeNodes& alike : feasible) {
    if (all_keys && lacks_a_key(alike, score->keys)) {
      score->ignored_nodes.insert(alike.any->name());
    } else {
      nodes += alike.count;
    }
  }
  score->weights.clear();
  for (const Domains::Key* key : score->keys) {
    const std::size_t found = key->name == kHostnameLabel ? nodes : count_domains(*key, all_keys, feasible, *score);
    score->weights.push_back(natural_log(static_cast<double>(found + 2)));
  }
  return {};
}

}  // namespace berth
