#include "firmware-host/agent/probe_check.h"

#include <unistd.h>

#include "firmware-host/agent/probe_exec.h"
#include "firmware-host/agent/probe_http.h"
#include "firmware-host/agent/probe_tcp.h"

namespace berth {

Check::~Check() {
  if (fd_ >= 0) close(fd_);
}

bool Check::on_exit(pid_t /*pid*/, int /*wait_status*/) { return false; }

void Check::watch(int fd, short events) {
  if (fd_ >= 0) close(fd_);
  fd_ = fd;
  events_ = events;
}

void Check::end(ProbeResult result, std::string why) {
  watch(-1, 0);
  outcome_ = CheckOutcome{result, std::move(why)};
}

std::unique_ptr<Check> begin_check(const HandlerPlan& handler, const CheckSite& site) {
  if (handler.kind == HandlerPlan::Kind::exec) return std::make_unique<ExecCheck>(handler, site);
  const std::string host = handler.host.empty() ? site.starter.probe_host() : handler.host;
  if (handler.kind == HandlerPlan::Kind::tcp_socket) return std::make_unique<TcpCheck>(handler, host);
  return std::make_unique<HttpCheck>(handler, host, site.is_hook);
}

}  // namespace berth
