// Topology spread constraints as used by PodTopologySpread, the nodes and pods that count for them, and the counts.
// Source of the rule: kube-scheduler pkg/scheduler/framework/plugins/podtopologyspread/common.go, filtering.go;
// plugins/helper/spread.go (DefaultSelector).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/api/metadata.h"
#include "core/api/selector.h"
#include "core/cache/node_info.h"
#include "core/recycled.h"

namespace berth {

struct Node;
struct Pod;
struct Service;
struct TopologySpreadConstraint;

inline constexpr std::string_view kHostnameLabel = "kubernetes.io/hostname";
inline constexpr std::string_view kZoneLabel = "topology.kubernetes.io/zone";

struct SpreadConstraint {
  std::int64_t max_skew = 1;
  std::string topology_key;
  std::optional<LabelSelector> selector;  // nullopt matches no pod
  std::int64_t min_domains = 1;
  bool honor_node_affinity = true;
  bool honor_node_taints = false;
  bool matches_itself = false;  // the selector matches the labels of the pod that has the constraint
  bool operator==(const SpreadConstraint&) const = default;

  // The empty selector matches every pod.
  bool matches_labels(const Labels& labels) const { return selector && matches(*selector, labels); }
};

// The constraints with DoNotSchedule or with ScheduleAnyway, for a pod with these labels: matchLabelKeys become part of
// the selector.
std::vector<SpreadConstraint> select_constraints(const std::vector<TopologySpreadConstraint>& constraints,
                                                 const Labels& pod_labels, bool schedule_anyway);

// The selector of default constraints for this pod: the combined selectors of all services that select it; empty if
// none does.
LabelSelector default_selector(const Pod& pod, const std::vector<std::shared_ptr<const Service>>& services);

bool has_all_topology_keys(const Labels& labels, const std::vector<SpreadConstraint>& constraints);

// True if the node counts for the constraint of this pod, by nodeAffinityPolicy and nodeTaintsPolicy.
bool is_counted(const SpreadConstraint& constraint, const Pod& pod, const Node& node);

// True if the pod counts for the constraint of a pod of this namespace: unless it is being deleted. As in upstream, the
// empty selector counts none, although it matches every pod.
bool counts(const SpreadConstraint& constraint, std::string_view name_space, const Pod& pod);

// The number of such pods on the node.
std::int64_t count_matching(const NodeInfo& node, const SpreadConstraint& constraint, std::string_view name_space);

// Matching pods per domain, that is, per value of one topology key.
class DomainCounts {
 public:
  // Creates the domain if it is new, even with delta 0.
  void add(const std::string& value, std::int64_t delta);
  // Adds so many nodes without pods, or removes them. A domain is removed with its last node, if all its nodes were
  // added this way.
  void add_nodes(const std::string& value, std::int64_t nodes);
  std::int64_t of(const std::string& value) const;  // 0 for an unknown domain
  // The minimum over all domains; 2^31 - 1 if there are none.
  std::int64_t least() const;
  std::int64_t size() const { return static_cast<std::int64_t>(by_value_.size()); }
  bool operator==(const DomainCounts&) const = default;

 private:
  struct Domain {
    std::int64_t pods = 0;
    std::int64_t nodes = 0;  // by add_nodes()
    bool operator==(const Domain&) const = default;
  };
  void recount(Domain& domain, bool is_new, std::int64_t delta);
  void forget(std::int64_t pods);
  RecyclingMap<std::string, Domain> by_value_;
  RecyclingMap<std::int64_t, std::int64_t> domains_by_count_;  // gives the minimum after every change
};

}  // namespace berth
