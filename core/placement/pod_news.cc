#include "core/placement/pod_news.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>

#include "core/api/names.h"
#include "core/api/pod.h"
#include "core/json/members.h"

namespace berth {

namespace {

// Of a container that did not come to run (kubelet images/types.go, kuberuntime_container.go; containerd's StartError).
constexpr std::array<std::string_view, 9> kFailures{
    "ContainerCannotRun", "CreateContainerConfigError", "CreateContainerError", "ErrImageNeverPull", "ErrImagePull",
    "ImagePullBackOff",   "InvalidImageName",           "RunContainerError",    "StartError"};

struct ContainerState {
  std::int64_t restarts = 0;
  bool is_running = false;
  bool has_ended = false;  // and is not about to be started again
  bool ran_before = false;
  std::string failure;  // one of kFailures
  std::string why;
};

ContainerState state_of(const Json& status) {
  ContainerState state;
  const Json& count = member(status, "restartCount");
  if (count.is_integer()) state.restarts = count.as_int();
  const Json& now = member(status, "state");
  state.is_running = member(now, "running").is_object();
  state.has_ended = member(now, "terminated").is_object();
  const Json& last = member(member(status, "lastState"), "terminated");
  state.ran_before = last.is_object();
  // Between two attempts: what the last one came to.
  for (const Json* detail : {&member(now, "waiting"), &member(now, "terminated"), &last}) {
    const std::string reason = detail->string_at("reason");
    if (state.is_running || std::find(kFailures.begin(), kFailures.end(), reason) == kFailures.end()) continue;
    state.failure = reason;
    state.why = detail->string_at("message");
    break;
  }
  return state;
}

std::map<std::string, ContainerState> states_of(const Json& report) {
  std::map<std::string, ContainerState> states;
  for (const std::string_view list : {"initContainerStatuses", "containerStatuses"}) {
    const Json& statuses = member(report, list);
    if (!statuses.is_array()) continue;
    for (const Json& status : statuses.as_array()) {
      const std::string name = status.string_at("name");
      if (is_valid_name(name)) states[name] = state_of(status);
    }
  }
  return states;
}

ObjectEvent event_of_pod(const Pod& pod, const std::string& node, const char* type, const char* reason,
                         std::string message) {
  ObjectEvent event{Kind::pod,          Text(pod.metadata.key()), Text::common(type), Text::common(reason),
                    std::move(message), Text::common(node)};
  event.is_saved = event.type != "Normal";  // each pod that comes and goes has some
  return event;
}

}  // namespace

std::vector<ObjectEvent> news_of(const Pod& pod, const std::string& node, const Json& before, const Json& now) {
  std::vector<ObjectEvent> news;
  const auto tell = [&](const char* type, const char* reason, std::string message) {
    news.push_back(event_of_pod(pod, node, type, reason, std::move(message)));
  };
  const std::map<std::string, ContainerState> known = states_of(before);
  for (const auto& [name, state] : states_of(now)) {
    const auto found = known.find(name);
    const ContainerState earlier = found == known.end() ? ContainerState() : found->second;
    const bool is_again = state.restarts > earlier.restarts;
    const bool had_run = earlier.is_running || earlier.has_ended;
    const bool runs = (state.is_running || state.has_ended) && (is_again || !had_run);
    const bool ran = is_again && state.ran_before && !had_run;  // between this report and the one before
    if ((runs || ran) && state.failure.empty()) tell("Normal", "Started", "Started container " + name);
    if (is_again) {
      tell("Warning", "BackOff",
           "Back-off restarting failed container " + name + " in pod " + std::string(pod.metadata.name) + "_" +
               std::string(pod.metadata.namespace_) + "(" + std::string(pod.uid()) + ")");
    }
    if (!state.failure.empty() && (is_again || earlier.failure != state.failure)) {
      tell("Warning", "Failed", "Error: container " + name + ": " + (state.why.empty() ? state.failure : state.why));
    }
  }
  return news;
}

std::vector<ObjectEvent> device_news_of(const Pod& pod, const std::string& node, const Json& known,
                                        const Json& report) {
  std::vector<ObjectEvent> news;
  const Json::Array& told = list_of(report, "events");
  const std::size_t count = std::min(told.size(), kEventsOfReport);
  for (std::size_t i = 0; i < count; ++i) {
    const Json id = member(told[i], "id");
    if (known.is_array() && std::find(known.as_array().begin(), known.as_array().end(), id) != known.as_array().end()) {
      continue;
    }
    const bool is_warning = told[i].string_at("type") == "Warning";
    const std::string reason = told[i].string_at("reason");
    news.push_back(
        event_of_pod(pod, node, is_warning ? "Warning" : "Normal", reason.c_str(), told[i].string_at("message")));
  }
  return news;
}

Json event_ids_of(const Json& report) {
  const Json::Array& told = list_of(report, "events");
  if (told.empty()) return {};
  Json ids = Json::array();
  const std::size_t count = std::min(told.size(), kEventsOfReport);
  for (std::size_t i = 0; i < count; ++i) ids.push_back(member(told[i], "id"));
  return ids;
}

std::vector<ObjectEvent> news_of_stop(const Pod& pod, const std::string& node, const Json& observed) {
  std::vector<ObjectEvent> news;
  for (const auto& [name, state] : states_of(observed)) {
    if (state.is_running) news.push_back(event_of_pod(pod, node, "Normal", "Killing", "Stopping container " + name));
  }
  return news;
}

}  // namespace berth
