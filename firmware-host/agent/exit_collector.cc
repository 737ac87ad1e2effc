#include "firmware-host/agent/exit_collector.h"

#include <poll.h>
#include <sys/wait.h>

namespace berth {

std::optional<int> collect_exit(int pidfd) {
  siginfo_t ended{};
  if (waitid(P_PIDFD, static_cast<id_t>(pidfd), &ended, WEXITED | WNOHANG) != 0 || ended.si_pid == 0) {
    return std::nullopt;
  }
  return ended.si_code == CLD_EXITED ? std::optional<int>(ended.si_status) : std::nullopt;
}

bool has_exited(int pidfd) {
  pollfd process{.fd = pidfd, .events = POLLIN, .revents = 0};
  return poll(&process, 1, 0) > 0;
}

void ExitCollector::add(const OpenProcess& child) {
  if (child.pidfd < 0) return;
  const pid_t pid = child.process.pid;
  children_[pid] = std::make_unique<FdWatch>(context_, child.pidfd, [this, pid, fd = child.pidfd] {
    collect_exit(fd);
    children_.erase(pid);
  });
}

}  // namespace berth
