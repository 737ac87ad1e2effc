// HttpCheck: a GET (pkg/probe/http/http.go, pkg/probe/http/request.go). 200 to 399 is a success; the body is not read.
//
// Plain HTTP only: what asks for HTTPS is refused as the feature httpsHandlers, since TLS would double what a keeper
// takes of the memory. For a hook any response is a success (pkg/kubelet/lifecycle/handlers.go, runHTTPHandler).
#pragma once

#include <string>

#include "firmware-host/agent/probe_check.h"
#include "firmware-host/agent/probe_response.h"

namespace berth {

class HttpCheck final : public Check {
 public:
  HttpCheck(const HandlerPlan& handler, const std::string& host, bool is_hook);

  void on_ready() override;
  std::string timed_out(Millis after) const override;

 private:
  void begin();
  void send_request();
  void read_response();
  void judge();
  void fail(const std::string& why);
  std::string request() const;
  std::string url() const;

  const HandlerPlan& handler_;
  const bool is_hook_;
  HttpTarget target_;
  std::string unsent_;
  bool connected_ = false;
  HttpResponseHead head_;
  int redirects_ = 0;
};

}  // namespace berth
