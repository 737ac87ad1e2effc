#include "core/controllers/nodes/no_execute_tainter.h"

#include <optional>
#include <string>
#include <utility>

#include "core/controllers/nodes/node_taints.h"

namespace berth {
namespace {

constexpr Millis kRetry = 50;  // of a node without the condition Ready

// When the node is to be tried again; none: it is done.
std::optional<Millis> taint_by_condition(const std::string& name, ClusterAccess& cluster) {
  const auto node = find_as<ControlledNode>(cluster, ControlledNode::kKind, {"", name});
  if (node == nullptr) return std::nullopt;
  const Condition* ready = find_condition(node->conditions, "Ready");
  // Later than that time, not at it.
  if (ready == nullptr) return cluster.now() + kRetry + 1;
  if (ready->status != "False" && ready->status != "Unknown") return std::nullopt;
  TaintChange change{.add = {not_ready_taint()}, .remove = {unreachable_taint()}};
  if (ready->status == "Unknown") std::swap(change.add, change.remove);
  const bool is_done = change_taints(cluster, *node, change).is_success();
  return is_done ? std::nullopt : std::optional(cluster.now() + 1);
}

}  // namespace

void NoExecuteTainter::run(ClusterAccess& cluster) {
  for (auto& [zone, queue] : nodes_.zones.queues()) {
    while (const std::optional<std::string> name = queue.take(cluster.now())) {
      const std::optional<Millis> again = taint_by_condition(*name, cluster);
      if (again) queue.try_again_at(*name, *again);
    }
  }
}

}  // namespace berth
