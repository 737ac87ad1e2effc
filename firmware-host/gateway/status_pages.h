// What berthd tells over HTTP: /healthz, /livez and /readyz as kube-scheduler words them, /configz, /metrics.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/clock.h"
#include "core/gateway/gateway.h"
#include "core/json/json.h"
#include "core/timers.h"
#include "firmware-host/http_server.h"

namespace berth {

struct HealthCheck {
  std::string_view name;
  std::string problem;  // empty: ok
  std::string note{};   // told beside ok
};

// `endpoint` ("readyz") with all its checks, or with the one that `check` names. 200 "ok", or the list of checks with
// ?verbose and whenever one fails (500). ?exclude=NAME leaves checks out.
HttpResponse answer_checks(std::string_view endpoint, std::string_view check, const std::vector<HealthCheck>& checks,
                           std::string_view query);

class StatusPages {
 public:
  // `config`: the document of /configz. All outlive it.
  StatusPages(const Clock& clock, Timers& timers, Gateway& gateway, Json config);
  ~StatusPages();
  StatusPages(const StatusPages&) = delete;
  StatusPages& operator=(const StatusPages&) = delete;

  HttpResponse answer(const HttpRequest& request);

 private:
  void tick();
  std::vector<HealthCheck> live() const;
  std::vector<HealthCheck> ready() const;

  const Clock& clock_;
  Timers& timers_;
  Gateway& gateway_;
  Json config_;
  Timers::Id tick_ = 0;
  Millis ticked_;
};

}  // namespace berth
