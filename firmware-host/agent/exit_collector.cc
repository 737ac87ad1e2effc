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
  const pid_t pid = child.process.pid;
  if (child.pidfd < 0) unwatched_.push_back(pid);
  reap_unwatched();
  if (child.pidfd < 0) return;
  children_[pid] = std::make_unique<FdWatch>(context_, child.pidfd, [this, pid, fd = child.pidfd] {
    collect_exit(fd);
    reap_unwatched();
    children_.erase(pid);
  });
}

// Nobody else waits for them, so that their pids are not given again before.
void ExitCollector::reap_unwatched() {
  std::erase_if(unwatched_, [](pid_t pid) { return waitpid(pid, nullptr, WNOHANG) != 0; });
}

}  // namespace berth
