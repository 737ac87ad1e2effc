#include "firmware-host/agent/pod_state.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <functional>
#include <utility>

#include "core/json/members.h"
#include "firmware-host/agent/pod_conditions.h"

namespace berth {

namespace {

using ContainerKind = ContainerState::Kind;

void set_unless_empty(Json& object, std::string_view key, const std::string& value) {
  if (!value.empty()) object.set(key, value);
}

// `id`: the container's, which a kubelet tells of ended runs too (pkg/kubelet/kubelet_pods.go,
// convertToAPIContainerStatuses).
Json state_json(const ContainerState& state, const std::string& id) {
  Json detail = Json::object();
  if (state.kind == ContainerKind::terminated) {
    detail.set("exitCode", state.exit_code);
    if (state.signal != 0) detail.set("signal", state.signal);
  }
  if (state.kind != ContainerKind::running) {
    set_unless_empty(detail, "reason", state.reason);
    set_unless_empty(detail, "message", state.message);
  }
  if (state.kind != ContainerKind::waiting) set_unless_empty(detail, "startedAt", state.started_at);
  if (state.kind == ContainerKind::terminated) {
    set_unless_empty(detail, "finishedAt", state.finished_at);
    set_unless_empty(detail, "containerID", id);
  }
  Json json = Json::object();
  json.set(state.kind == ContainerKind::waiting   ? "waiting"
           : state.kind == ContainerKind::running ? "running"
                                                  : "terminated",
           std::move(detail));
  return json;
}

Json reports_json(const std::vector<ContainerReport>& reports) {
  Json list = Json::array();
  for (const ContainerReport& report : reports) {
    Json json = Json::object();
    json.set("name", report.name).set("image", report.image).set("imageID", report.image_id);
    set_unless_empty(json, "containerID", report.container_id);
    json.set("restartCount", report.restarts);
    const bool runs = report.state.kind == ContainerKind::running;
    const bool initialized =
        report.is_init && report.state.kind == ContainerKind::terminated && report.state.exit_code == 0;
    json.set("ready", (runs && report.ready) || initialized).set("started", runs && report.started);
    json.set("state", state_json(report.state, report.container_id));
    const bool had_run = report.last.kind == ContainerKind::terminated;
    json.set("lastState", had_run ? state_json(report.last, report.container_id) : Json::object());
    list.push_back(std::move(json));
  }
  return list;
}

Json conditions_json(const std::vector<ConditionReport>& conditions) {
  Json list = Json::array();
  for (const ConditionReport& condition : conditions) {
    Json json = Json::object();
    json.set("type", condition.type).set("status", condition.holds ? "True" : "False");
    set_unless_empty(json, "lastTransitionTime", condition.since);
    set_unless_empty(json, "reason", condition.reason);
    set_unless_empty(json, "message", condition.message);
    list.push_back(std::move(json));
  }
  return list;
}

std::vector<ConditionReport> read_conditions(const Json* list) {
  std::vector<ConditionReport> conditions;
  if (list == nullptr || !list->is_array()) return conditions;
  for (const Json& json : list->as_array()) {
    conditions.push_back({json.string_at("type"), json.string_at("status") == "True", json.string_at("reason"),
                          json.string_at("message"), json.string_at("lastTransitionTime")});
  }
  return conditions;
}

// The first one, and all of them: core/v1 HostIP, PodIP.
void set_addresses(Json& status, std::string_view first, std::string_view all, const std::vector<std::string>& ips) {
  if (ips.empty()) return;
  Json list = Json::array();
  for (const std::string& ip : ips) list.push_back(Json::object().set("ip", ip));
  status.set(first, ips.front()).set(all, std::move(list));
}

Json status_json(const PodState& state) {
  Json status = Json::object();
  status.set("phase", state.phase);
  set_unless_empty(status, "reason", state.reason);
  set_unless_empty(status, "message", state.message);
  set_unless_empty(status, "startTime", state.started_at);
  set_addresses(status, "hostIP", "hostIPs", state.host_ips);
  set_addresses(status, "podIP", "podIPs", state.addresses);
  if (!state.init_containers.empty()) status.set("initContainerStatuses", reports_json(state.init_containers));
  status.set("containerStatuses", reports_json(state.containers));
  if (!state.conditions.empty()) status.set("conditions", conditions_json(state.conditions));
  if (!state.events.empty()) status.set("events", events_json(state.events));
  return status;
}

int int_of(const Json& object, std::string_view key) {
  const Json* value = object.find(key);
  return value != nullptr && value->is_integer() ? static_cast<int>(value->as_int()) : 0;
}

bool is_true(const Json& object, std::string_view key) {
  const Json* value = object.find(key);
  return value != nullptr && *value == Json(true);
}

ContainerState read_state(const Json* json) {
  ContainerState state;
  if (json == nullptr) return state;
  for (const auto& [key, kind] :
       {std::pair{"waiting", ContainerKind::waiting}, std::pair{"running", ContainerKind::running},
        std::pair{"terminated", ContainerKind::terminated}}) {
    const Json* detail = json->find(key);
    if (detail == nullptr) continue;
    state.kind = kind;
    state.reason = detail->string_at("reason");
    state.message = detail->string_at("message");
    state.exit_code = int_of(*detail, "exitCode");
    state.signal = int_of(*detail, "signal");
    state.started_at = detail->string_at("startedAt");
    state.finished_at = detail->string_at("finishedAt");
  }
  return state;
}

std::vector<ContainerReport> read_reports(const Json* list, bool is_init) {
  std::vector<ContainerReport> reports;
  if (list == nullptr || !list->is_array()) return reports;
  for (const Json& json : list->as_array()) {
    ContainerReport report;
    report.name = json.string_at("name");
    report.is_init = is_init;
    report.image = json.string_at("image");
    report.image_id = json.string_at("imageID");
    report.container_id = json.string_at("containerID");
    report.restarts = int_of(json, "restartCount");
    report.started = is_true(json, "started");
    report.ready = is_true(json, "ready");
    report.state = read_state(json.find("state"));
    report.last = read_state(json.find("lastState"));
    reports.push_back(std::move(report));
  }
  return reports;
}

std::error_code last_error() { return {errno, std::generic_category()}; }

std::error_code write_and_close(int fd, std::string_view text, bool durable) {
  std::error_code error;
  while (!text.empty() && !error) {
    const ssize_t written = write(fd, text.data(), text.size());
    if (written < 0) error = last_error();
    text.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(written, 0)));
  }
  if (!error && durable && fsync(fd) != 0) error = last_error();
  if (close(fd) != 0 && !error) error = last_error();
  return error;
}

}  // namespace

Json to_json(const PodState& state) {
  Json json = Json::object();
  json.set("handle", state.handle).set("finished", state.finished);
  if (!state.active.boot.empty()) json.set("boot", state.active.boot).set("activeSince", state.active.at);
  json.set("status", status_json(state));
  return json;
}

std::string status_text(PodState state) {
  std::string text = status_json(state).dump();
  const auto leave_out = [&](const std::function<void(ContainerReport&)>& part) {
    if (text.size() <= PodState::kStatusBytes) return;
    for (auto* reports : {&state.init_containers, &state.containers}) {
      for (ContainerReport& report : *reports) part(report);
    }
    for (ConditionReport& condition : state.conditions) condition.message.clear();  // names of many containers
    state.events.clear();
    text = status_json(state).dump();
  };
  leave_out([](ContainerReport& report) { report.state.message = report.last.message = {}; });
  leave_out([](ContainerReport& report) { report.last = {}; });
  leave_out([](ContainerReport& report) { report.image = report.container_id = {}; });
  return text;
}

void note_lost_runs(PodState& state) {
  for (auto* reports : {&state.init_containers, &state.containers}) {
    for (ContainerReport& report : *reports) {
      if (report.state.kind != ContainerKind::running) continue;
      report.state.kind = ContainerKind::terminated;
      report.state.exit_code = 137;  // as the kubelet sets it if the real one is unknown
      report.state.reason = "ContainerStatusUnknown";
      report.state.message = "the container could not be located when the pod was started again";
    }
  }
}

void go_on_from(const ContainerReport& earlier, ContainerReport& report) {
  const bool had_run = earlier.state.kind == ContainerKind::terminated;
  report.restarts = earlier.restarts + (had_run ? 1 : 0);
  report.last = had_run ? earlier.state : earlier.last;
  report.container_id = earlier.container_id;
}

std::string not_started_text(const std::string& directory, const std::string& why, bool is_over) {
  const Result<std::optional<PodState>> known = read_pod_state(directory);
  PodState state = known ? known->value_or(PodState{}) : PodState{};
  note_lost_runs(state);
  state.phase = is_over ? "Failed" : "Pending";
  state.reason = is_over ? "StartError" : PodState::kStartDelayed;
  state.message = why;
  update_conditions(state, {}, {});
  return status_text(std::move(state));
}

Result<PodState> parse_pod_state(std::string_view text) {
  constexpr std::size_t kStateBytesMax = 1024 * 1024;
  Json::Limits limits;
  limits.bytes = kStateBytesMax;
  const Result<Json> json = Json::parse(text, limits);
  if (!json) return json.error();
  const Json* status = json->find("status");
  const Json* finished = json->find("finished");
  if (status == nullptr || finished == nullptr || !finished->is_bool()) {
    return Status::error("status, finished: missing");
  }
  PodState state;
  state.handle = json->string_at("handle");
  state.finished = finished->as_bool();
  state.active.boot = json->string_at("boot");
  const Json* since = json->find("activeSince");
  if (since != nullptr && since->is_integer()) state.active.at = since->as_int();
  state.phase = status->string_at("phase");
  state.reason = status->string_at("reason");
  state.message = status->string_at("message");
  state.started_at = status->string_at("startTime");
  state.init_containers = read_reports(status->find("initContainerStatuses"), true);
  state.containers = read_reports(status->find("containerStatuses"), false);
  state.conditions = read_conditions(status->find("conditions"));
  state.events = read_events(member(*status, "events"));
  for (const Json& address : list_of(*status, "hostIPs")) state.host_ips.push_back(address.string_at("ip"));
  for (const Json& address : list_of(*status, "podIPs")) state.addresses.push_back(address.string_at("ip"));
  return state;
}

std::error_code create_file(const std::string& directory, const std::string& name, std::string_view text) {
  const std::string path = directory + "/" + name;
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
  if (fd < 0) return last_error();
  std::error_code error = write_and_close(fd, text, false);
  if (error) unlink(path.c_str());
  return error;
}

std::error_code replace_file(const std::string& directory, const std::string& name, std::string_view text,
                             bool durable) {
  const std::string path = directory + "/" + name;
  const std::string fresh = path + ".new";
  const int fd = open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
  if (fd < 0) return last_error();
  std::error_code error = write_and_close(fd, text, durable);
  if (!error && std::rename(fresh.c_str(), path.c_str()) != 0) error = last_error();
  if (error) unlink(fresh.c_str());  // what was written of it takes space
  if (error || !durable) return error;
  const int parent = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (parent < 0) return last_error();
  if (fsync(parent) != 0) error = last_error();
  close(parent);
  return error;
}

Result<std::optional<PodState>> read_pod_state(const std::string& directory) {
  const std::string path = directory + "/" + PodState::kFile;
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0 && errno == ENOENT) return std::nullopt;
  if (fd < 0) return Status::error("cannot read " + path + ": " + std::strerror(errno));
  std::string text;
  std::array<char, 4096> part;
  ssize_t got = 0;
  while ((got = read(fd, part.data(), part.size())) > 0) text.append(part.data(), static_cast<std::size_t>(got));
  const int error = errno;
  close(fd);
  if (got < 0) return Status::error("cannot read " + path + ": " + std::strerror(error));
  Result<PodState> state = parse_pod_state(text);
  return state ? std::optional<PodState>(std::move(*state)) : std::nullopt;
}

}  // namespace berth
