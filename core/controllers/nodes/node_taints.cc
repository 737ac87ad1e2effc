#include "core/controllers/nodes/node_taints.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "core/api/timestamp.h"

namespace berth {
namespace {

constexpr std::string_view kUnschedulable = "node.kubernetes.io/unschedulable";

struct ConditionTaint {
  std::string_view type;
  std::string_view status;
  std::string_view key;
};
constexpr std::array kConditionTaints{
    ConditionTaint{"Ready", "False", "node.kubernetes.io/not-ready"},
    ConditionTaint{"Ready", "Unknown", "node.kubernetes.io/unreachable"},
    ConditionTaint{"MemoryPressure", "True", "node.kubernetes.io/memory-pressure"},
    ConditionTaint{"DiskPressure", "True", "node.kubernetes.io/disk-pressure"},
    ConditionTaint{"NetworkUnavailable", "True", "node.kubernetes.io/network-unavailable"},
    ConditionTaint{"PIDPressure", "True", "node.kubernetes.io/pid-pressure"},
};

Taint make_taint(std::string_view key, TaintEffect effect) {
  Taint taint;
  taint.key = key;
  taint.effect = effect;
  return taint;
}

bool is_same_taint(const Taint& a, const Taint& b) { return a.key == b.key && a.effect == b.effect; }

template <class T>
bool contains(const std::vector<T>& taints, const Taint& taint) {
  return std::any_of(taints.begin(), taints.end(), [&](const Taint& each) { return is_same_taint(each, taint); });
}

bool is_kept_here(const Taint& taint) {
  if (taint.effect != TaintEffect::no_schedule) return false;
  return taint.key == kUnschedulable || std::any_of(kConditionTaints.begin(), kConditionTaints.end(),
                                                    [&](const ConditionTaint& each) { return each.key == taint.key; });
}

Json to_json(const std::vector<NodeTaint>& taints) {
  Json list = Json::array();
  for (const NodeTaint& each : taints) {
    Json taint = Json::object().set("key", each.key).set("effect", std::string(to_string(each.effect)));
    if (!each.value.empty()) taint.set("value", each.value);
    if (each.time_added) taint.set("timeAdded", to_timestamp(*each.time_added));
    list.push_back(std::move(taint));
  }
  return list;
}

// What `edit` makes of the taints that the node has now. A node that is gone is left alone.
template <class Edit>
Status edit_taints(ClusterAccess& cluster, const ObjectKey& key, const Edit& edit) {
  const auto node = find_as<ControlledNode>(cluster, ControlledNode::kKind, key);
  if (node == nullptr) return Status::ok();
  std::vector<NodeTaint> taints = node->taints;
  edit(taints);
  if (taints == node->taints) return Status::ok();
  const Json spec = Json::object().set("taints", to_json(taints));
  const WriteResult written = cluster.patch(*node, Json::object().set("spec", spec));
  return written.is_done() ? Status::ok() : Status::error(written.message);
}

void add_taint(std::vector<NodeTaint>& taints, const Taint& taint, Millis now) {
  NodeTaint added;
  static_cast<Taint&>(added) = taint;
  added.time_added = now;
  const auto found =
      std::find_if(taints.begin(), taints.end(), [&](const Taint& each) { return is_same_taint(each, taint); });
  if (found == taints.end()) {
    taints.push_back(std::move(added));
  } else {
    *found = std::move(added);
  }
}

}  // namespace

const Taint& not_ready_taint() {
  static const Taint kTaint = make_taint("node.kubernetes.io/not-ready", TaintEffect::no_execute);
  return kTaint;
}

const Taint& unreachable_taint() {
  static const Taint kTaint = make_taint("node.kubernetes.io/unreachable", TaintEffect::no_execute);
  return kTaint;
}

bool has_taint(const ControlledNode& node, const Taint& taint) { return contains(node.taints, taint); }

TaintChange taints_by_conditions(const ControlledNode& node) {
  std::vector<Taint> wanted;
  for (const Condition& condition : node.conditions) {
    for (const ConditionTaint& each : kConditionTaints) {
      if (each.type != condition.type || each.status != condition.status) continue;
      wanted.push_back(make_taint(each.key, TaintEffect::no_schedule));
    }
  }
  if (node.unschedulable) wanted.push_back(make_taint(kUnschedulable, TaintEffect::no_schedule));
  TaintChange change;
  std::copy_if(wanted.begin(), wanted.end(), std::back_inserter(change.add),
               [&](const Taint& taint) { return !has_taint(node, taint); });
  std::copy_if(node.taints.begin(), node.taints.end(), std::back_inserter(change.remove),
               [&](const Taint& taint) { return is_kept_here(taint) && !contains(wanted, taint); });
  return change;
}

Status change_taints(ClusterAccess& cluster, const ControlledNode& seen, const TaintChange& change) {
  const Millis now = cluster.now();
  Status added = edit_taints(cluster, key_of(seen), [&](std::vector<NodeTaint>& taints) {
    for (const Taint& taint : change.add) add_taint(taints, taint, now);
  });
  const bool has_any = std::any_of(change.remove.begin(), change.remove.end(),
                                   [&](const Taint& taint) { return has_taint(seen, taint); });
  if (!added.is_success() || !has_any) return added;
  return edit_taints(cluster, key_of(seen), [&](std::vector<NodeTaint>& taints) {
    std::erase_if(taints, [&](const Taint& taint) { return contains(change.remove, taint); });
  });
}

}  // namespace berth
