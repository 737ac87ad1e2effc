#include "firmware-host/agent/oci/process_namespace.h"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

namespace berth {

namespace {

// As the pause program of Kubernetes (build/pause/linux/pause.c), but without a program of its own.
[[noreturn]] void be_first() {
  prctl(PR_SET_NAME, "berth-pause");
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  close_range(3, ~0U, 0);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  std::signal(SIGCHLD, SIG_IGN);  // orphans leave no zombies
  for (;;) pause();
}

}  // namespace

ProcessNamespace::~ProcessNamespace() {
  if (first_ == 0) return;
  kill(first_, SIGKILL);
  waitpid(first_, nullptr, 0);
}

Status ProcessNamespace::make() {
  if (first_ != 0) return Status::ok();
  // As fork(), but the child is the first of a new namespace; unshare() would move later children of this process, too.
  const long child = syscall(SYS_clone, CLONE_NEWPID | SIGCHLD, nullptr, nullptr, nullptr, nullptr);
  if (child < 0) return Status::error(std::string("cannot make a process namespace: ") + std::strerror(errno));
  if (child == 0) be_first();
  first_ = static_cast<pid_t>(child);
  return Status::ok();
}

bool ProcessNamespace::take_exit(pid_t child) {
  if (child != first_ || child == 0) return false;
  first_ = 0;
  return true;
}

}  // namespace berth
