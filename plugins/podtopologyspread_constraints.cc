#include "plugins/podtopologyspread_constraints.h"

#include <algorithm>
#include <limits>

#include "core/api/node.h"
#include "core/api/pod.h"
#include "core/api/service.h"

namespace berth {

namespace {

// component-helpers nodeaffinity.GetRequiredNodeAffinity: nodeSelector and required terms, both.
bool matches_required_node_affinity(const Pod& pod, const Node& node) {
  const Labels& labels = node.metadata.labels;
  const bool selected =
      std::all_of(pod.node_selector.begin(), pod.node_selector.end(), [&labels](const auto& required) {
        auto found = labels.find(required.first);
        return found != labels.end() && found->second == required.second;
      });
  return selected && (!pod.affinity->required_node_affinity ||
                      matches(*pod.affinity->required_node_affinity, labels, node.metadata.name));
}

bool tolerates_hard_taints(const Pod& pod, const Node& node) {
  return std::all_of(node.taints.begin(), node.taints.end(), [&pod](const Taint& taint) {
    return taint.effect == TaintEffect::prefer_no_schedule || tolerates(pod.spec->tolerations, taint);
  });
}

}  // namespace

std::vector<SpreadConstraint> select_constraints(const std::vector<TopologySpreadConstraint>& constraints,
                                                 const Labels& pod_labels, bool schedule_anyway) {
  std::vector<SpreadConstraint> selected;
  for (const TopologySpreadConstraint& constraint : constraints) {
    if (constraint.schedule_anyway != schedule_anyway) continue;
    SpreadConstraint ours;
    ours.max_skew = constraint.max_skew;
    ours.topology_key = constraint.topology_key;
    ours.selector = constraint.label_selector;
    ours.min_domains = constraint.min_domains.value_or(1);
    ours.honor_node_affinity = constraint.honor_node_affinity;
    ours.honor_node_taints = constraint.honor_node_taints;
    for (const std::string& key : constraint.match_label_keys) {
      auto label = pod_labels.find(key);
      if (label == pod_labels.end() || !ours.selector) continue;
      ours.selector->requirements.push_back({key, Requirement::Operator::in, {label->second}});
    }
    ours.matches_itself = ours.matches_labels(pod_labels);
    selected.push_back(std::move(ours));
  }
  return selected;
}

LabelSelector default_selector(const Pod& pod, const std::vector<std::shared_ptr<const Service>>& services) {
  Labels joined;
  for (const std::shared_ptr<const Service>& service : services) {
    const Labels& labels = pod.metadata.labels;
    const bool selects =
        std::all_of(service->selector.begin(), service->selector.end(), [&labels](const auto& required) {
          auto found = labels.find(required.first);
          return found != labels.end() && found->second == required.second;
        });
    if (selects) joined.insert(service->selector.begin(), service->selector.end());
  }
  LabelSelector selector;
  for (const auto& [key, value] : joined) {
    selector.requirements.push_back({key, Requirement::Operator::in, {value}});
  }
  return selector;
}

bool has_all_topology_keys(const Labels& labels, const std::vector<SpreadConstraint>& constraints) {
  return std::all_of(constraints.begin(), constraints.end(), [&labels](const SpreadConstraint& constraint) {
    return labels.contains(constraint.topology_key);
  });
}

bool is_counted(const SpreadConstraint& constraint, const Pod& pod, const Node& node) {
  if (constraint.honor_node_affinity && !matches_required_node_affinity(pod, node)) return false;
  return !constraint.honor_node_taints || tolerates_hard_taints(pod, node);
}

bool counts(const SpreadConstraint& constraint, std::string_view name_space, const Pod& pod) {
  if (!constraint.selector || constraint.selector->requirements.empty()) return false;
  return !pod.metadata.deleting && pod.metadata.namespace_ == name_space &&
         matches(*constraint.selector, pod.metadata.labels);
}

std::int64_t count_matching(const NodeInfo& node, const SpreadConstraint& constraint, std::string_view name_space) {
  return std::count_if(node.pods.begin(), node.pods.end(),
                       [&](const auto& pod) { return counts(constraint, name_space, *pod); });
}

void DomainCounts::forget(std::int64_t pods) {
  auto before = domains_by_count_.find(pods);
  if (--before->second == 0) domains_by_count_.erase(before);
}

void DomainCounts::recount(Domain& domain, bool is_new, std::int64_t delta) {
  if (!is_new && delta == 0) return;
  if (!is_new) forget(domain.pods);
  domain.pods += delta;
  ++domains_by_count_[domain.pods];
}

void DomainCounts::add(const std::string& value, std::int64_t delta) {
  const auto [domain, is_new] = by_value_.try_emplace(value);
  recount(domain->second, is_new, delta);
}

void DomainCounts::add_nodes(const std::string& value, std::int64_t nodes) {
  const auto [domain, is_new] = by_value_.try_emplace(value);
  recount(domain->second, is_new, 0);
  domain->second.nodes += nodes;
  if (domain->second.nodes != 0) return;
  forget(domain->second.pods);
  by_value_.erase(domain);
}

std::int64_t DomainCounts::of(const std::string& value) const {
  auto found = by_value_.find(value);
  return found == by_value_.end() ? 0 : found->second.pods;
}

std::int64_t DomainCounts::least() const {
  return domains_by_count_.empty() ? std::numeric_limits<std::int32_t>::max() : domains_by_count_.begin()->first;
}

}  // namespace berth
