// The conditions of a pod's status.
#include "firmware-host/agent/pod_conditions.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace berth {
namespace {

ContainerReport container(const std::string& name, ContainerState::Kind kind, bool ready = false) {
  ContainerReport report;
  report.name = name;
  report.state.kind = kind;
  report.started = report.ready = ready;
  return report;
}

PodState pod(std::vector<ContainerReport> containers, std::vector<ContainerReport> init = {}) {
  PodState state;
  state.phase = "Running";
  state.started_at = "t0";
  state.containers = std::move(containers);
  state.init_containers = std::move(init);
  return state;
}

// "True", or "False Reason: message".
std::string told(const PodState& state, const std::string& type) {
  const auto found = std::find_if(state.conditions.begin(), state.conditions.end(),
                                  [&](const ConditionReport& each) { return each.type == type; });
  if (found == state.conditions.end()) return "none";
  return (found->holds ? "True" : "False") + (found->reason.empty() ? "" : " " + found->reason) +
         (found->message.empty() ? "" : ": " + found->message);
}

std::string after_update(PodState state, const std::string& type) {
  update_conditions(state, {}, "t1");
  return told(state, type);
}

constexpr auto kRuns = ContainerState::Kind::running;
constexpr auto kWaits = ContainerState::Kind::waiting;
constexpr auto kEnded = ContainerState::Kind::terminated;

TEST(PodConditions, APodIsReadyIfAllItsContainersAre) {
  const PodState ready = pod({container("a", kRuns, true), container("b", kRuns, true)});
  for (const char* type : {"PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady"}) {
    EXPECT_EQ(after_update(ready, type), "True") << type;
  }
  const PodState unready = pod({container("a", kRuns), container("b", kWaits, true), container("c", kRuns, true)});
  for (const char* type : {"Ready", "ContainersReady"}) {
    EXPECT_EQ(after_update(unready, type), "False ContainersNotReady: containers with unready status: [a b]");
  }
}

TEST(PodConditions, ASidecarMustBeReadyTooAndAnInitContainerMustHaveSucceeded) {
  ContainerReport sidecar = container("s", kRuns);
  sidecar.sidecar = true;
  const ContainerReport done = container("i", kEnded);
  const PodState starting = pod({container("a", kWaits)}, {done, sidecar});
  EXPECT_EQ(after_update(starting, "Ready"), "False ContainersNotReady: containers with unready status: [s a]");
  EXPECT_EQ(after_update(starting, "Initialized"),
            "False ContainersNotInitialized: containers with incomplete status: [s]");
  EXPECT_EQ(after_update(pod({container("a", kWaits)}, {container("i", kRuns, true)}), "Initialized"),
            "False ContainersNotInitialized: containers with incomplete status: [i]");
  EXPECT_EQ(after_update(pod({container("a", kRuns)}, {done, sidecar}), "Initialized"), "True")
      << "it has been before a container started, whatever a sidecar does since";
}

TEST(PodConditions, APodThatHasEndedSaysHow) {
  PodState state = pod({container("a", kEnded)});
  state.finished = true;
  state.phase = "Succeeded";
  EXPECT_EQ(after_update(state, "Ready"), "False PodCompleted");
  EXPECT_EQ(after_update(state, "Initialized"), "True PodCompleted");
  EXPECT_EQ(after_update(state, "PodReadyToStartContainers"), "False");
  state.phase = "Failed";
  EXPECT_EQ(after_update(state, "ContainersReady"), "False PodFailed");
}

TEST(PodConditions, ReadinessGatesAreNeverReady) {
  PodState state = pod({container("a", kRuns, true)});
  update_conditions(state, {"example.org/lb"}, "t1");
  EXPECT_EQ(told(state, "ContainersReady"), "True");
  EXPECT_EQ(told(state, "Ready"),
            "False ReadinessGatesNotReady: corresponding condition of pod readiness gate \"example.org/lb\" does not "
            "exist.");
}

TEST(PodConditions, HaveTheTimeOfTheirLastChange) {
  PodState state = pod({container("a", kRuns), container("b", kRuns)});
  const auto since = [&state] { return state.conditions.at(2).type + " " + state.conditions.at(2).since; };
  update_conditions(state, {}, "t1");
  state.containers[0].ready = true;
  update_conditions(state, {}, "t2");
  EXPECT_EQ(since(), "Ready t1") << "another message is no change";
  state.containers[1].ready = true;
  update_conditions(state, {}, "t3");
  EXPECT_EQ(since(), "Ready t3");
  PodState read = *parse_pod_state(to_json(state).dump());
  update_conditions(read, {}, "t4");
  EXPECT_EQ(read.conditions.at(2).since, "t3") << "as read from its file";
}

TEST(PodConditions, AreNotMadeUpForAPodOfWhichNothingIsKnown) { EXPECT_EQ(after_update(PodState(), "Ready"), "none"); }

}  // namespace
}  // namespace berth
