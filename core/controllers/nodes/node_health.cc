#include "core/controllers/nodes/node_health.h"

#include <string_view>
#include <utility>

namespace berth {
namespace {

constexpr Millis kGrace = 50'000;
constexpr Millis kStartupGrace = 60'000;

bool is_renewed(const std::optional<OptionalTime>& before, const OptionalTime& now) {
  if (!before) return true;
  return before->has_value() && now.has_value() && **before < *now;
}

}  // namespace

NodeHealth note_signals(const NodeHealth* before, const ControlledNode& node, const ControlledLease* lease,
                        Millis now) {
  const Condition* ready = find_condition(node.conditions, "Ready");
  NodeHealth health;
  if (ready == nullptr) {
    if (before != nullptr) health = *before;
    if (before == nullptr) health.heard_at = node.metadata.created.value_or(0);
    health.ready.reset();
  } else if (before != nullptr && before->ready && before->ready->last_heartbeat == ready->last_heartbeat) {
    health = *before;
  } else {
    health.ready = *ready;
    health.heard_at = now;
  }
  if (lease != nullptr && is_renewed(before == nullptr ? std::nullopt : before->lease_renewed, lease->renewed)) {
    health.lease_renewed = lease->renewed;
    health.heard_at = now;
  }
  return health;
}

bool is_silent(const NodeHealth& health, const ControlledNode& node, Millis now) {
  const bool has_reported = find_condition(node.conditions, "Ready") != nullptr;
  return now > health.heard_at + (has_reported ? kGrace : kStartupGrace);
}

Conditions conditions_of_silent(const ControlledNode& node, Millis now) {
  Conditions conditions = node.conditions;
  for (const std::string_view type : {"Ready", "MemoryPressure", "DiskPressure", "PIDPressure"}) {
    const Condition* before = find_condition(conditions, type);
    if (before != nullptr && before->status == "Unknown") continue;
    Condition condition;
    condition.type = type;
    condition.status = "Unknown";
    condition.reason = before == nullptr ? "NodeStatusNeverUpdated" : "NodeStatusUnknown";
    condition.message =
        before == nullptr ? "Kubelet never posted node status." : "Kubelet stopped posting node status.";
    condition.last_heartbeat = before == nullptr ? node.metadata.created : before->last_heartbeat;
    condition.last_transition = now;
    set_condition(conditions, std::move(condition));
  }
  return conditions;
}

}  // namespace berth
