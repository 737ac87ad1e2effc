// HttpCheck: a GET (pkg/probe/http/http.go, pkg/probe/http/request.go). 200 to 399 is a success; the body is not read.
//
// What is encrypted goes by curl (curl_get.h), of which the head of the response is read in the same way. For a hook
// any response is a success (pkg/kubelet/lifecycle/handlers.go, runHTTPHandler).
#pragma once

#include <memory>
#include <string>

#include "firmware-host/agent/curl_get.h"
#include "firmware-host/agent/probe_check.h"
#include "firmware-host/agent/probe_response.h"

namespace berth {

class HttpCheck final : public Check {
 public:
  HttpCheck(const HandlerPlan& handler, const std::string& host, bool is_hook);

  void on_ready() override;
  bool on_exit(pid_t pid, int wait_status) override;
  std::string timed_out(Millis after) const override;

 private:
  void begin();
  void begin_encrypted();
  void send_request();
  bool read_response();  // false: there is nothing more at the moment
  void judge();
  void fail(const std::string& why);
  CurlGet::Headers headers() const;
  std::string request() const;
  std::string url() const;

  const HandlerPlan& handler_;
  const bool is_hook_;
  HttpTarget target_;
  std::string unsent_;
  bool connected_ = false;
  HttpResponseHead head_;
  int redirects_ = 0;
  std::unique_ptr<CurlGet> curl_;  // null: the request is not encrypted
};

}  // namespace berth
