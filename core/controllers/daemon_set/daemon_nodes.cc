#include "core/controllers/daemon_set/daemon_nodes.h"

#include <algorithm>

#include "core/api/selector.h"

namespace berth {
namespace {

bool is_selected(const DaemonPlacement& placement, const ControlledNode& node) {
  const std::string& name = node.metadata.name;
  if (!placement.node_name.empty() && placement.node_name != name) return false;
  const Labels& labels = node.metadata.labels.get();
  const bool has_labels =
      std::all_of(placement.node_selector.begin(), placement.node_selector.end(), [&](const auto& wanted) {
        const auto found = labels.find(wanted.first);
        return found != labels.end() && found->second == wanted.second;
      });
  return has_labels && (!placement.required_node_affinity || matches(*placement.required_node_affinity, labels, name));
}

bool tolerates_all(const std::vector<Toleration>& tolerations, const std::vector<NodeTaint>& taints,
                   TaintEffect effect) {
  return std::all_of(taints.begin(), taints.end(),
                     [&](const Taint& taint) { return taint.effect != effect || tolerates(tolerations, taint); });
}

}  // namespace

std::vector<Toleration> daemon_tolerations(const DaemonSet& set) {
  std::vector<Toleration> tolerations;
  const auto add = [&](std::string_view what, TaintEffect effect) {
    Toleration toleration;
    toleration.key = "node.kubernetes.io/" + std::string(what);
    toleration.op = Toleration::Operator::exists;
    toleration.effect = effect;
    tolerations.push_back(std::move(toleration));
  };
  for (const std::string_view what : {"not-ready", "unreachable"}) add(what, TaintEffect::no_execute);
  for (const std::string_view what : {"disk-pressure", "memory-pressure", "pid-pressure", "unschedulable"}) {
    add(what, TaintEffect::no_schedule);
  }
  if (set.spec.placement.host_network) add("network-unavailable", TaintEffect::no_schedule);
  return tolerations;
}

DaemonNodeFilter::DaemonNodeFilter(const DaemonSet& set)
    : placement_(set.spec.placement), tolerations_(daemon_tolerations(set)) {
  tolerations_.insert(tolerations_.end(), placement_.tolerations.begin(), placement_.tolerations.end());
}

DaemonFit DaemonNodeFilter::fit(const ControlledNode& node) const {
  if (!is_selected(placement_, node)) return {};
  DaemonFit fit;
  fit.may_continue = tolerates_all(tolerations_, node.taints, TaintEffect::no_execute);
  fit.should_run = fit.may_continue && tolerates_all(tolerations_, node.taints, TaintEffect::no_schedule);
  return fit;
}

}  // namespace berth
