#include "firmware-host/agent/probe_plan.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "core/api/features.h"
#include "core/json/members.h"
#include "firmware-host/agent/volumes/expansion.h"
#include "firmware-host/agent/workload.h"

namespace berth {

namespace {

constexpr const char* kLoopback = "127.0.0.1";
constexpr Millis kLongestMs = Millis{86'400} * 1000 * 365;  // far beyond any use; keeps sums of times in range

struct ProbeName {
  ProbeKind kind;
  const char* member;
};
constexpr std::array<ProbeName, 3> kProbes{{{ProbeKind::startup, "startupProbe"},
                                            {ProbeKind::readiness, "readinessProbe"},
                                            {ProbeKind::liveness, "livenessProbe"}}};

// Zero is as good as absent (pkg/apis/core/v1/defaults.go, SetDefaults_Probe).
std::int64_t number_of(const Json& object, const char* key, std::int64_t otherwise) {
  const Json& value = member(object, key);
  return value.is_integer() && value.as_int() > 0 ? value.as_int() : otherwise;
}

Millis millis_of(const Json& object, const char* key, std::int64_t otherwise) {
  return std::min<Millis>(number_of(object, key, otherwise), kLongestMs / 1000) * 1000;
}

bool is_line(std::string_view text) { return text.find_first_of(std::string_view("\r\n\0", 3)) == text.npos; }

// What may not stand in a request line is percent-encoded, as Go's url.URL does it.
std::string request_path(const std::string& path) {
  std::string text = path.starts_with('/') ? "" : "/";
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte > 0x20 && byte < 0x7f) {
      text += c;
      continue;
    }
    constexpr std::string_view kDigits = "0123456789ABCDEF";
    text += {'%', kDigits[byte >> 4U], kDigits[byte & 15U]};
  }
  return text;
}

// As pkg/probe/util.go ResolveContainerPort, of which the target is the port in the container.
Result<int> port_of(const Json& port, const Json& container, const std::string& path) {
  std::int64_t number = port.is_integer() ? port.as_int() : 0;
  if (port.is_string()) {
    const std::string& text = port.as_string();
    const Json& ports = member(container, "ports");
    const auto is_named = [&](const Json& each) { return each.string_at("name") == text; };
    bool is_found = false;
    if (ports.is_array()) {
      const auto named = std::find_if(ports.as_array().begin(), ports.as_array().end(), is_named);
      is_found = named != ports.as_array().end();
      if (is_found) number = number_of(*named, "containerPort", 0);
    }
    if (!is_found) std::from_chars(text.data(), text.data() + text.size(), number);
    if (!is_found && number == 0) {
      return Status::error(path + ".port: must be a number or the name of one of the container's ports, got '" + text +
                           "'");
    }
  }
  if (number < 1 || number > 65535) return Status::error(path + ".port: must be between 1 and 65535");
  return static_cast<int>(number);
}

Result<std::optional<HandlerPlan>> read_target(const Json& target, const Json& container, const std::string& path) {
  HandlerPlan plan;
  const std::string host = target.string_at("host");
  if (!is_plain_host(host)) return std::optional<HandlerPlan>();
  plan.host = host == "localhost" ? kLoopback : host;
  const Result<int> port = port_of(member(target, "port"), container, path);
  if (!port) return port.error();
  plan.port = *port;
  return std::optional<HandlerPlan>(std::move(plan));
}

Result<std::optional<HandlerPlan>> read_http(const Json& get, const HandlerSource& source, const std::string& path) {
  const bool is_encrypted = get.string_at("scheme") == "HTTPS";
  if (is_encrypted && source.https.curl.empty()) return std::optional<HandlerPlan>();
  Result<std::optional<HandlerPlan>> plan = read_target(get, source.container, path);
  if (!plan || !*plan) return plan;
  (*plan)->kind = HandlerPlan::Kind::http_get;
  (*plan)->is_encrypted = is_encrypted;
  (*plan)->https = source.https;
  (*plan)->path = request_path(get.string_at("path"));
  const Json& headers = member(get, "httpHeaders");
  if (!headers.is_array()) return plan;
  for (std::size_t i = 0; i < headers.as_array().size(); ++i) {
    const std::string name = headers.as_array()[i].string_at("name");
    const std::string value = headers.as_array()[i].string_at("value");
    if (name.empty() || name.find_first_of(" :;@\t") != std::string::npos || !is_line(name) || !is_line(value)) {
      return Status::error(path + ".httpHeaders[" + std::to_string(i) +
                           "]: must be the name of a header, and a value without line breaks");
    }
    (*plan)->headers.emplace_back(name, value);
  }
  return plan;
}

Result<std::optional<HandlerPlan>> read_exec(const Json& exec, const HandlerSource& source, const std::string& path) {
  HandlerPlan plan;
  const Json& command = member(exec, "command");
  if (!command.is_array() || command.as_array().empty()) {
    return Status::error(path + ".command: must be a list of strings, and not empty");
  }
  for (const Json& argument : command.as_array()) {
    if (!argument.is_string()) return Status::error(path + ".command: must be a list of strings");
    plan.command.push_back(expand_variables(argument.as_string(), source.variables));
  }
  return std::optional<HandlerPlan>(std::move(plan));
}

Result<std::optional<HandlerPlan>> read_handler(const Json& handler, const HandlerSource& source,
                                                const std::string& path) {
  if (const Json& exec = member(handler, "exec"); exec.is_object()) return read_exec(exec, source, path + ".exec");
  if (const Json& get = member(handler, "httpGet"); get.is_object()) {
    return read_http(get, source, path + ".httpGet");
  }
  return std::optional<HandlerPlan>();
}

Result<std::optional<HandlerPlan>> read_probe_handler(const Json& probe, const HandlerSource& source,
                                                      const std::string& path) {
  Result<std::optional<HandlerPlan>> plan = read_handler(probe, source, path);
  const Json& socket = member(probe, "tcpSocket");
  if (!plan || *plan || !socket.is_object()) return plan;
  plan = read_target(socket, source.container, path + ".tcpSocket");
  if (plan && *plan) (*plan)->kind = HandlerPlan::Kind::tcp_socket;
  return plan;
}

bool has_handler(const Json& handler, std::initializer_list<std::string_view> kinds) {
  return std::any_of(kinds.begin(), kinds.end(),
                     [&](std::string_view kind) { return member(handler, kind).is_object(); });
}

}  // namespace

Result<std::map<ProbeKind, ProbePlan>> plan_probes(const HandlerSource& source, const std::string& path) {
  std::map<ProbeKind, ProbePlan> plans;
  for (const ProbeName& each : kProbes) {
    const Json& probe = member(source.container, each.member);
    if (!probe.is_object() || probe.as_object().empty()) continue;
    const std::string at = path + "." + each.member;
    if (!has_handler(probe, {"exec", "httpGet", "tcpSocket", "grpc"})) {
      return Status::error(at + ": must have one of exec, httpGet and tcpSocket");
    }
    Result<std::optional<HandlerPlan>> handler = read_probe_handler(probe, source, at);
    if (!handler) return handler.error();
    if (!*handler) continue;
    ProbeNumbers numbers;
    numbers.initial_delay_ms = millis_of(probe, "initialDelaySeconds", 0);
    numbers.period_ms = millis_of(probe, "periodSeconds", 10);
    numbers.timeout_ms = millis_of(probe, "timeoutSeconds", 1);
    numbers.success_threshold = static_cast<int>(number_of(probe, "successThreshold", 1));
    numbers.failure_threshold = static_cast<int>(number_of(probe, "failureThreshold", 3));
    const Json& grace = member(probe, "terminationGracePeriodSeconds");
    if (grace.is_integer()) numbers.grace_ms = millis_of(probe, "terminationGracePeriodSeconds", 0);
    plans[each.kind] = {std::move(**handler), numbers};
  }
  return plans;
}

Result<std::optional<HandlerPlan>> plan_hook(const HandlerSource& source, const char* hook, const std::string& path) {
  const Json& handler = member(member(source.container, "lifecycle"), hook);
  if (!handler.is_object() || handler.as_object().empty()) return std::optional<HandlerPlan>();
  const std::string at = path + ".lifecycle." + hook;
  // The API accepts a tcpSocket there, and no kubelet can run it (pkg/kubelet/lifecycle/handlers.go).
  if (!has_handler(handler, {"exec", "httpGet", "sleep"})) {
    return Status::error(at + ": must have one of exec, httpGet and sleep");
  }
  if (const Json& sleep = member(handler, "sleep"); sleep.is_object()) {
    HandlerPlan plan;
    plan.kind = HandlerPlan::Kind::sleep;
    plan.sleep_ms = millis_of(sleep, "seconds", 0);
    return std::optional<HandlerPlan>(std::move(plan));
  }
  return read_handler(handler, source, at);
}

}  // namespace berth
