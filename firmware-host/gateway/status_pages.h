// The HTTP pages of berthd: /healthz, /livez and /readyz in kube-scheduler's format, /configz, /metrics.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.h"
#include "core/gateway/gateway.h"
#include "core/gateway/leadership.h"
#include "core/json/json.h"
#include "core/timers.h"
#include "firmware-host/http_server.h"

namespace berth {

struct HealthCheck {
  std::string_view name;
  std::string problem;  // empty: ok
  std::string note{};   // shown after "ok"
};

// Runs all checks of `endpoint` ("readyz"), or the one named `check`. 200 "ok", or the list of checks with ?verbose and
// whenever one fails (500). ?exclude=NAME skips checks.
HttpResponse answer_checks(std::string_view endpoint, std::string_view check, const std::vector<HealthCheck>& checks,
                           std::string_view query);

class StatusPages {
 public:
  // `config`: the document of /configz. All must outlive this object.
  StatusPages(const Clock& clock, Timers& timers, Gateway& gateway, const Leadership& leadership, Json config);
  ~StatusPages();
  // Adds a check to /readyz: why devices cannot connect though all else is well; empty: they can.
  void add_certificates(std::function<std::string()> problem) { certificates_ = std::move(problem); }
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
  const Leadership& leadership_;
  Json config_;
  std::function<std::string()> certificates_;
  Timers::Id tick_ = 0;
  Millis ticked_;
};

}  // namespace berth
