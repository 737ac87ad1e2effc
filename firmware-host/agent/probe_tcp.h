// TcpCheck: whether a port takes connections (pkg/probe/tcp/tcp.go).
#pragma once

#include <string>

#include "firmware-host/agent/probe_check.h"

namespace berth {

// A connection that is being made, of which POLLOUT tells the end. An error: it is refused already.
Result<int> begin_connect(const std::string& address, int port);
// How it ended; `fd` is left open.
Status end_connect(int fd);

// As Go's net.JoinHostPort.
std::string host_and_port(const std::string& host, int port);

class TcpCheck final : public Check {
 public:
  TcpCheck(const HandlerPlan& handler, const std::string& host);

  void on_ready() override;
  std::string timed_out(Millis after) const override;

 private:
  const std::string target_;
};

}  // namespace berth
