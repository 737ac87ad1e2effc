// TcpCheck: whether a port takes connections (pkg/probe/tcp/tcp.go).
#pragma once

#include <string>

#include "firmware-host/agent/probe_check.h"

namespace berth {

// A connection that is being made, of which POLLOUT tells the end. An error: it is refused already.
Result<int> begin_connect(const std::string& address, int port);
// How it ended; `fd` is left open.
Status end_connect(int fd);

class TcpCheck final : public Check {
 public:
  explicit TcpCheck(const HandlerPlan& handler);

  void on_ready() override;
  std::string timed_out(Millis after) const override;

 private:
  std::string target() const;

  const HandlerPlan& handler_;
};

}  // namespace berth
