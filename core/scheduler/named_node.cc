#include "core/scheduler/named_node.h"

#include "core/api/pod.h"

namespace berth {

namespace {

constexpr std::string_view kNodeName = "NodeName";  // the plugin that a new node wakes

}  // namespace

ScheduleResult admit_to_named_node(const Framework& framework, CycleState& state, const Pod& pod,
                                   const Snapshot& snapshot) {
  ScheduleResult result;
  Diagnosis& diagnosis = result.diagnosis;
  diagnosis.nodes_total = snapshot.nodes().size();
  diagnosis.node_statuses.reset(snapshot.nodes().size());
  const std::string& name = pod.node_name;
  const std::size_t index = snapshot.index_of(name);
  if (index == snapshot.nodes().size()) {
    diagnosis.unschedulable_plugins.insert(std::string(kNodeName));
    result.status = Status::unschedulable("node " + name + ", which spec.nodeName names, is not known");
    return result;
  }
  std::string reasons;
  for (Status& rejection : framework.exhaustive_run().admit(state, pod, snapshot, *snapshot.nodes()[index])) {
    if (!rejection.is_rejected()) {
      result.status = std::move(rejection);
      return result;
    }
    reasons += (reasons.empty() ? "" : ", ") + rejection.message();
    diagnosis.unschedulable_plugins.insert(rejection.plugin());
    if (diagnosis.node_statuses.find(index) == nullptr) diagnosis.node_statuses.set(index, std::move(rejection));
  }
  result.decision.evaluated = 1;
  if (!reasons.empty()) {
    result.status =
        Status::unschedulable("node " + name + ", which spec.nodeName names, does not admit the pod: " + reasons);
    return result;
  }
  result.decision.node = name;
  result.decision.feasible = 1;
  return result;
}

ScheduleResult find_node(const Framework& framework, CycleState& state, const Pod& pod, const Snapshot& snapshot,
                         NodeSearch& search, NodeEvaluator* evaluator) {
  if (!pod.node_name.empty()) return admit_to_named_node(framework, state, pod, snapshot);
  return schedule_pod(framework, state, pod, snapshot, search, evaluator);
}

}  // namespace berth
