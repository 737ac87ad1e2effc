// A pod's state as its status: what is left out of one that would be too long.
#include "firmware-host/agent/pod_state.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

PodState crashing(std::size_t containers, const std::string& message) {
  PodState state;
  state.phase = "Running";
  for (std::size_t i = 0; i < containers; ++i) {
    ContainerReport report;
    report.name = "container-" + std::to_string(i);
    report.image = "registry.example/app:1";
    report.restarts = 7;
    report.state = {ContainerState::Kind::waiting, "CrashLoopBackOff", message, 0, 0, {}, {}};
    report.last = {
        ContainerState::Kind::terminated, "Error", message, 1, 0, "2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z"};
    (i % 2 == 0 ? state.containers : state.init_containers).push_back(std::move(report));
  }
  return state;
}

TEST(PodState, IsReportedWholeWhileItIsShort) {
  const Json status = *Json::parse(status_text(crashing(2, "why")));
  for (const char* member : {"initContainerStatuses", "containerStatuses"}) {
    const Json& container = status.find(member)->as_array().at(0);
    EXPECT_EQ(*container.find("restartCount"), Json(7));
    EXPECT_EQ(container.find("state")->find("waiting")->string_at("message"), "why");
    EXPECT_EQ(container.find("lastState")->find("terminated")->string_at("finishedAt"), "2026-01-01T00:00:01Z");
  }
}

TEST(PodState, OfManyContainersLeavesOutMessagesAndThenEarlierRuns) {
  const Json first = *Json::parse(status_text(crashing(40, std::string(1000, 'x'))));
  const Json& container = first.find("containerStatuses")->as_array().at(0);
  EXPECT_EQ(container.find("state")->find("waiting")->string_at("reason"), "CrashLoopBackOff");
  EXPECT_EQ(container.find("state")->find("waiting")->find("message"), nullptr);
  EXPECT_EQ(*container.find("lastState")->find("terminated")->find("exitCode"), Json(1));
  const std::string text = status_text(crashing(70, "why"));
  EXPECT_LE(text.size(), PodState::kStatusBytes);
  const Json second = *Json::parse(text);
  EXPECT_EQ(*second.find("containerStatuses")->as_array().at(0).find("lastState"), Json::object());
  EXPECT_EQ(*second.find("containerStatuses")->as_array().at(0).find("restartCount"), Json(7));
}

TEST(PodState, OfAnInitContainerThatSucceededIsReady) {
  PodState state = crashing(2, "");
  for (ContainerReport* report : {&state.init_containers[0], &state.containers[0]}) {
    report->state = {ContainerState::Kind::terminated, "Completed", {}, 0, 0, {}, {}};
  }
  state.init_containers[0].is_init = true;
  const Json status = *Json::parse(status_text(state));
  EXPECT_EQ(*status.find("initContainerStatuses")->as_array()[0].find("ready"), Json(true));
  EXPECT_EQ(*status.find("containerStatuses")->as_array()[0].find("ready"), Json(false));
  EXPECT_EQ(*(*Json::parse(to_json(*parse_pod_state(to_json(state).dump())).dump())).find("status"), status)
      << "as read from its file";
}

TEST(PodState, HasTheAddressesOfItsNode) {
  PodState state = crashing(1, "why");
  EXPECT_EQ(status_text(state).find("hostIP"), std::string::npos) << "unknown";
  state.host_ips = {"192.168.0.7", "fd00::7"};
  const Json written = *Json::parse(to_json(state).dump());
  EXPECT_EQ(written.find("status")->string_at("hostIP"), "192.168.0.7");
  EXPECT_EQ(written.find("status")->find("hostIPs")->dump(), R"([{"ip":"192.168.0.7"},{"ip":"fd00::7"}])");
  EXPECT_EQ(parse_pod_state(written.dump())->host_ips, state.host_ips) << "as read from its file";
}

TEST(PodState, NamesContainersAndTheirEndedRunsAsAKubeletDoes) {
  PodState state = crashing(2, "why");
  state.containers[0].container_id = "runc://u1_1.5.container-0";
  const Json status = *Json::parse(status_text(state));
  const Json& contained = status.find("containerStatuses")->as_array()[0];
  EXPECT_EQ(contained.string_at("containerID"), "runc://u1_1.5.container-0");
  EXPECT_EQ(contained.find("lastState")->find("terminated")->string_at("containerID"), "runc://u1_1.5.container-0");
  EXPECT_EQ(status.find("initContainerStatuses")->as_array()[0].find("containerID"), nullptr) << "of a process";
  ContainerReport later;
  go_on_from(parse_pod_state(to_json(state).dump())->containers[0], later);
  EXPECT_EQ(later.container_id, "runc://u1_1.5.container-0") << "until the next keeper has begun a run";
}

}  // namespace
}  // namespace berth
