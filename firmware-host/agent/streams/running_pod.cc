#include "firmware-host/agent/streams/running_pod.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "firmware-host/agent/pod_directory.h"
#include "firmware-host/agent/process_tree.h"

namespace berth {

namespace {

// "<pid>:<start time>"; 0: it is no such text.
pid_t pid_in(const std::string& handle) {
  pid_t pid = 0;
  for (const char c : handle.substr(0, handle.find(':'))) {
    if (c < '0' || c > '9' || pid > 100'000'000) return 0;
    pid = pid * 10 + (c - '0');
  }
  return pid;
}

std::string why_not_running(const ContainerReport& report) {
  const ContainerState& state = report.state;
  if (state.kind == ContainerState::Kind::terminated) {
    return "it has ended with exit code " + std::to_string(state.exit_code);
  }
  return state.reason.empty() ? "it has not begun" : state.reason;
}

}  // namespace

std::vector<std::string> RunningPod::container_names() const {
  std::vector<std::string> names;
  for (const auto* each : {&state.containers, &state.init_containers}) {
    for (const ContainerReport& report : *each) names.push_back(report.name);
  }
  return names;
}

Result<std::string> RunningPod::running_container(const std::string& name, const std::string& pod) const {
  for (const auto* each : {&state.containers, &state.init_containers}) {
    for (const ContainerReport& report : *each) {
      if (!name.empty() && report.name != name) continue;
      if (report.state.kind == ContainerState::Kind::running) return report.name;
      return Status::error("container " + report.name + " of pod " + pod + " does not run: " + why_not_running(report));
    }
  }
  std::string known;
  for (const std::string& each : container_names()) known += (known.empty() ? "" : ", ") + each;
  return Status::error("container " + name + " is not in pod " + pod + ", which has " + known);
}

Result<RunningPod> find_running_pod(const std::string& pods, const std::string& uid, const std::string& pod) {
  std::optional<Tag> latest;
  std::error_code error;
  for (std::filesystem::directory_iterator at(pods, error), end; !error && at != end; at.increment(error)) {
    const std::optional<Tag> tag = tag_of_directory(at->path().filename().string());
    if (tag && tag->uid == uid && (!latest || latest->epoch < tag->epoch)) latest = tag;
  }
  if (!latest) return Status::error("pod " + pod + " does not run on this node");
  RunningPod found;
  found.tag = *latest;
  found.directory = pods + "/" + directory_name(*latest);
  Result<std::optional<PodState>> state = read_pod_state(found.directory);
  if (!state) return state.error();
  if (!*state) return Status::error("pod " + pod + " has not begun to run");
  found.state = std::move(**state);
  found.keeper = pid_in(found.state.handle);
  // Of a keeper that has died the pid may be another process's.
  const Result<std::uint64_t> start_time = start_time_of(found.keeper);
  const bool is_alive = found.keeper > 0 && start_time && *start_time != 0 &&
                        to_text(ProcessId{found.keeper, *start_time}) == found.state.handle;
  if (found.state.finished || !is_alive) return Status::error("pod " + pod + " does not run");
  return found;
}

}  // namespace berth
