#include "core/controllers/nodes/node_health_monitor.h"

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "core/api/topology.h"
#include "core/controllers/nodes/node_taints.h"
#include "core/controllers/nodes/pods_not_ready.h"

namespace berth {
namespace {

bool is_excluded(const ControlledNode& node) {
  return node.metadata.labels.get().contains("node.kubernetes.io/exclude-disruption");
}

std::string zone_of_node(const ControlledNode& node) { return zone_key(node.metadata.labels.get()); }

// The node of the event may be gone.
void record_node(const std::string& name, const std::string& uid, const char* reason, const std::string& message,
                 ClusterAccess& cluster) {
  ControlledNode about;
  about.metadata.name = name;
  about.metadata.uid = uid;
  cluster.record(about, {WorkloadEvent::Type::normal, reason, "Node " + name + message});
}

// The node as it is once the status of one that is silent is written. Null: it is gone, or that failed.
std::shared_ptr<ControlledNode> write_silence(const ControlledNode& listed, ClusterAccess& cluster) {
  const auto found = find_as<ControlledNode>(cluster, ControlledNode::kKind, key_of(listed));
  if (found == nullptr) return nullptr;
  auto node = std::make_shared<ControlledNode>(*found);
  node->conditions = conditions_of_silent(*found, cluster.now());
  const Json status = Json::object().set("conditions", to_json(node->conditions));
  const WriteResult written = cluster.patch_status(*found, Json::object().set("status", status));
  return written.is_done() ? node : nullptr;
}

// False: not all could be.
bool mark_pods_not_ready(const ControlledNode& node, ClusterAccess& cluster) {
  bool has_all = true;
  for (const auto& pod : list_as<ControlledPod>(cluster, ControlledPod::kKind, "")) {
    if (pod->node_name == node.metadata.name) has_all = mark_not_ready(*pod, cluster).is_success() && has_all;
  }
  return has_all;
}

}  // namespace

void NodeHealthMonitor::run(ClusterAccess& cluster) {
  const Nodes nodes = list_as<ControlledNode>(cluster, ControlledNode::kKind, "");
  register_nodes(nodes, cluster);
  std::map<std::string, ZoneCount> counts;
  for (const ControlledNodePtr& node : nodes) look_at(node, counts, cluster);
  const NodeZones::Turn turn = nodes_.zones.update(counts, cluster.now());
  for (const ControlledNodePtr& node : nodes) {
    if (turn == NodeZones::Turn::lost) mark_reachable(*node, cluster);
    if (turn == NodeZones::Turn::recovered) nodes_.health[node->metadata.name].heard_at = cluster.now();
  }
}

// classifyNodes
void NodeHealthMonitor::register_nodes(const Nodes& nodes, ClusterAccess& cluster) {
  std::set<std::string> present;
  for (const ControlledNodePtr& node : nodes) {
    const std::string& name = node->metadata.name;
    present.insert(name);
    nodes_.zones.add(zone_of_node(*node));
    if (!nodes_.known.emplace(name, std::string(node->metadata.uid)).second) continue;
    record_node(name, std::string(node->metadata.uid), "RegisteredNode",
                " event: Registered Node " + name + " in Controller", cluster);
    mark_reachable(*node, cluster);
  }
  std::erase_if(nodes_.known, [&](const auto& each) {
    const auto& [name, uid] = each;
    if (present.contains(name)) return false;
    pods_unmarked_.erase(name);
    record_node(name, uid, "RemovingNode", " event: Removing Node " + name + " from Controller", cluster);
    return true;
  });
}

void NodeHealthMonitor::look_at(const ControlledNodePtr& listed, std::map<std::string, ZoneCount>& counts,
                                ClusterAccess& cluster) {
  const ControlledNodePtr node = note_health(listed, cluster);
  if (node == nullptr) return;
  const Condition* ready = find_condition(node->conditions, "Ready");
  const bool is_ready = ready != nullptr && ready->status == "True";
  if (!is_excluded(*node)) {
    ZoneCount& count = counts[zone_of_node(*node)];
    ++(is_ready ? count.ready : count.not_ready);
  }
  if (ready == nullptr) return;
  queue_or_untaint(*node, ready->status, cluster);
  const std::string& name = node->metadata.name;
  const bool is_lost = !is_ready && listed->ready;
  if (is_lost) {
    record_node(name, std::string(node->metadata.uid), "NodeNotReady", " status is now: NodeNotReady", cluster);
  }
  const bool must_mark = is_lost || (!listed->ready && pods_unmarked_.contains(name));
  if (must_mark && !mark_pods_not_ready(*node, cluster)) {
    pods_unmarked_.insert(name);
  } else {
    pods_unmarked_.erase(name);
  }
}

// The node as it is afterwards; null: it is gone.
ControlledNodePtr NodeHealthMonitor::note_health(const ControlledNodePtr& listed, ClusterAccess& cluster) {
  const std::string& name = listed->metadata.name;
  const Millis now = cluster.now();
  const ObjectKey lease_key{std::string(ControlledLease::kNodeNamespace), name};
  const auto lease = find_as<ControlledLease>(cluster, ControlledLease::kKind, lease_key);
  const auto before = nodes_.health.find(name);
  NodeHealth noted = note_signals(before == nodes_.health.end() ? nullptr : &before->second, *listed, lease.get(), now);
  NodeHealth& health = nodes_.health[name] = std::move(noted);
  const Condition* ready = find_condition(listed->conditions, "Ready");
  // What is Unknown already is not written again, not even for the other conditions.
  if (!is_silent(health, *listed, now) || (ready != nullptr && ready->status == "Unknown")) return listed;
  ControlledNodePtr node = write_silence(*listed, cluster);
  if (node == nullptr) return nullptr;
  health.ready = *find_condition(node->conditions, "Ready");
  health.lease_renewed = lease == nullptr ? std::nullopt : std::optional(lease->renewed);
  return node;
}

// processTaintBaseEviction, by the condition as it is now: the run that finds a node silent queues it already.
void NodeHealthMonitor::queue_or_untaint(const ControlledNode& node, const std::string& ready, ClusterAccess& cluster) {
  if (ready == "True") mark_reachable(node, cluster);
  if (ready != "False" && ready != "Unknown") return;
  const Taint& taint = ready == "False" ? not_ready_taint() : unreachable_taint();
  const Taint& opposite = ready == "False" ? unreachable_taint() : not_ready_taint();
  if (has_taint(node, opposite)) {
    // A swap that fails is tried again by the next run.
    static_cast<void>(change_taints(cluster, node, {.add = {taint}, .remove = {opposite}}));
    return;
  }
  TaintQueue& queue = nodes_.zones.queue(zone_of_node(node));
  if (!has_taint(node, taint)) queue.remove(node.metadata.name);
  queue.add(node.metadata.name, cluster.now());
}

// Each is removed by itself: only if the node as it was seen had that one.
void NodeHealthMonitor::mark_reachable(const ControlledNode& node, ClusterAccess& cluster) {
  for (const Taint& taint : {unreachable_taint(), not_ready_taint()}) {
    if (!change_taints(cluster, node, {.add = {}, .remove = {taint}}).is_success()) return;
  }
  nodes_.zones.queue(zone_of_node(node)).remove(node.metadata.name);
}

}  // namespace berth
