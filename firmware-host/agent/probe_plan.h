// What a container's probes and hooks do, as its manifest says it: core/v1 Probe, ProbeHandler and LifecycleHandler.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "core/json/json.h"
#include "core/status.h"

namespace berth {

// What makes checks over TLS (curl_get.h).
struct HttpsClient {
  std::string curl;  // path; empty: the device has none, and no such checks
  std::string tag;   // of the pod
};

// One action: of a probe, or of a hook.
struct HandlerPlan {
  enum class Kind { exec, http_get, tcp_socket, sleep };
  Kind kind = Kind::exec;
  std::vector<std::string> command;  // exec
  std::string host;                  // httpGet, tcpSocket: an address; empty: ContainerStarter::probe_host()
  int port = 0;
  std::string path;                                          // httpGet: what follows host and port, ready to be sent
  std::vector<std::pair<std::string, std::string>> headers;  // httpGet.httpHeaders
  bool is_encrypted = false;                                 // httpGet
  HttpsClient https;                                         // httpGet: also for what it is redirected to
  Millis sleep_ms = 0;
};

enum class ProbeKind { startup, readiness, liveness };

struct ProbeNumbers {
  Millis initial_delay_ms = 0;
  Millis period_ms = 10'000;
  Millis timeout_ms = 1000;
  int success_threshold = 1;
  int failure_threshold = 3;
  std::optional<Millis> grace_ms;  // in place of the pod's
};

struct ProbePlan {
  HandlerPlan handler;
  ProbeNumbers numbers;
};

// What is read of a container besides the handler.
struct HandlerSource {
  const Json& container;  // for the names of its ports
  const std::vector<std::pair<std::string, std::string>>& variables;
  HttpsClient https = {};
};

// By probe. One that asks for a feature which the device does not have (core/api/features.h) is left out: only
// pods that were admitted before that was looked at have one.
Result<std::map<ProbeKind, ProbePlan>> plan_probes(const HandlerSource& source, const std::string& path);
// lifecycle.<hook>, likewise.
Result<std::optional<HandlerPlan>> plan_hook(const HandlerSource& source, const char* hook, const std::string& path);

}  // namespace berth
