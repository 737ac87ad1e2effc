#include "firmware-host/agent/pod_conditions.h"

#include <algorithm>
#include <utility>

namespace berth {

namespace {

using StateKind = ContainerState::Kind;

bool is_running(const ContainerReport& report) { return report.state.kind == StateKind::running; }

// As Go prints a list of strings.
std::string names_text(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : " ") + name;
  return "[" + text + "]";
}

// HasAnyRegularContainerStarted() of pkg/kubelet/container/helpers.go.
bool has_begun(const PodState& state) {
  return std::any_of(state.containers.begin(), state.containers.end(), [](const ContainerReport& report) {
    return report.state.kind != StateKind::waiting || report.last.kind == StateKind::terminated;
  });
}

ConditionReport initialized(const PodState& state) {
  if (state.phase == "Succeeded") return {"Initialized", true, "PodCompleted", {}, {}};
  std::vector<std::string> incomplete;
  for (const ContainerReport& report : state.init_containers) {
    const bool has_succeeded = report.state.kind == StateKind::terminated && report.state.exit_code == 0;
    const bool is_done = report.sidecar ? is_running(report) && report.started : has_succeeded;
    if (!is_done) incomplete.push_back(report.name);
  }
  if (incomplete.empty() || has_begun(state)) return {"Initialized", true, {}, {}, {}};
  return {"Initialized",
          false,
          "ContainersNotInitialized",
          "containers with incomplete status: " + names_text(incomplete),
          {}};
}

ConditionReport containers_ready(const PodState& state) {
  if (state.phase == "Succeeded") return {"ContainersReady", false, "PodCompleted", {}, {}};
  if (state.phase == "Failed") return {"ContainersReady", false, "PodFailed", {}, {}};
  std::vector<std::string> unready;
  const auto look_at = [&unready](const ContainerReport& report) {
    if (!is_running(report) || !report.ready) unready.push_back(report.name);
  };
  for (const ContainerReport& report : state.init_containers) {
    if (report.sidecar) look_at(report);
  }
  for (const ContainerReport& report : state.containers) look_at(report);
  if (unready.empty()) return {"ContainersReady", true, {}, {}, {}};
  return {"ContainersReady", false, "ContainersNotReady", "containers with unready status: " + names_text(unready), {}};
}

ConditionReport ready(ConditionReport containers, const std::vector<std::string>& gates) {
  containers.type = "Ready";
  if (!containers.holds || gates.empty()) return containers;
  std::string message;
  for (const std::string& gate : gates) {
    message += message.empty() ? "" : ", ";
    message += "corresponding condition of pod readiness gate \"" + gate + "\" does not exist.";
  }
  return {"Ready", false, "ReadinessGatesNotReady", std::move(message), {}};
}

}  // namespace

void update_conditions(PodState& state, const std::vector<std::string>& readiness_gates, const std::string& now) {
  if (state.containers.empty()) return;  // nothing is known of the pod
  // As long as the pod has its sandbox: here, its keeper.
  const bool is_up = !state.started_at.empty() && !state.finished && state.phase != "Failed";
  const ConditionReport containers = containers_ready(state);
  std::vector<ConditionReport> fresh = {{"PodReadyToStartContainers", is_up, {}, {}, {}},
                                        initialized(state),
                                        ready(containers, readiness_gates),
                                        containers};
  for (ConditionReport& condition : fresh) {
    const auto before = std::find_if(
        state.conditions.begin(), state.conditions.end(),
        [&](const ConditionReport& each) { return each.type == condition.type && each.holds == condition.holds; });
    condition.since = before == state.conditions.end() ? now : before->since;
  }
  // Of a pod that is evicted; nothing takes that back.
  for (ConditionReport& condition : state.conditions) {
    if (condition.type == "DisruptionTarget") fresh.push_back(std::move(condition));
  }
  state.conditions = std::move(fresh);
}

}  // namespace berth
