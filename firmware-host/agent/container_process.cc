#include "firmware-host/agent/container_process.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <vector>

namespace berth {

namespace {

std::vector<char*> to_pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// An error between fork and exec, sent through a pipe that exec closes.
struct Failure {
  int error = 0;
  bool in_directory = false;
};

// What protects the agent from the kernel's out-of-memory killer is not for what it starts: 0 is what a process has
// that nobody set anything for. Should the kernel refuse, the container runs with the agent's.
void reset_oom_score() {
  const int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  const ssize_t written = write(file, "0", 1);
  static_cast<void>(written);
  close(file);
}

// Who has it writes beyond any quota of ext4, so no container has it, as with Docker and containerd. An agent that may
// not take it away is no root, and neither are its containers.
void give_up_resources() { prctl(PR_CAPBSET_DROP, CAP_SYS_RESOURCE); }

[[noreturn]] void become_container(const ContainerPlan& plan, pid_t keeper, int output, int failures) {
  const std::vector<char*> argv = to_pointers(plan.argv);
  const std::vector<char*> env = to_pointers(plan.env);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != keeper) _exit(128);  // the keeper died before prctl
  setpgid(0, 0);
  reset_oom_score();
  give_up_resources();
  dup2(output, 1);
  dup2(output, 2);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  Failure failure;
  failure.in_directory = chdir(plan.directory.c_str()) != 0;
  if (!failure.in_directory) execve(argv[0], argv.data(), env.data());
  failure.error = errno;
  const ssize_t written = write(failures, &failure, sizeof failure);
  _exit(written < 0 ? 127 : 128);
}

}  // namespace

Result<std::unique_ptr<ContainerProcess>> ContainerProcess::start(const ContainerPlan& plan,
                                                                  const std::string& pod_directory) {
  std::array<int, 2> output{-1, -1};
  std::array<int, 2> failures{-1, -1};
  if (pipe2(output.data(), O_CLOEXEC) != 0) return Status::error(std::string("pipe: ") + std::strerror(errno));
  if (pipe2(failures.data(), O_CLOEXEC) != 0) {
    const int error = errno;
    for (const int fd : output) close(fd);
    return Status::error(std::string("pipe: ") + std::strerror(error));
  }
  const pid_t keeper = getpid();
  const pid_t pid = fork();
  if (pid == 0) become_container(plan, keeper, output[1], failures[1]);
  const int fork_error = errno;
  close(output[1]);
  close(failures[1]);
  Failure failure;
  const bool failed = pid > 0 && read(failures[0], &failure, sizeof failure) == static_cast<ssize_t>(sizeof failure);
  close(failures[0]);
  if (pid > 0 && !failed) {
    fcntl(output[0], F_SETFL, O_NONBLOCK);
    return std::unique_ptr<ContainerProcess>(
        new ContainerProcess(pid, output[0], pod_directory + "/" + plan.name + ".log"));
  }
  close(output[0]);
  if (pid < 0) return Status::error(std::string("cannot start a process: ") + std::strerror(fork_error));
  waitpid(pid, nullptr, 0);
  return Status::error((failure.in_directory ? "workingDir " + plan.directory : "command " + plan.argv.front()) + ": " +
                       std::strerror(failure.error));
}

ContainerProcess::~ContainerProcess() {
  if (output_ >= 0) close(output_);
}

void ContainerProcess::read_output() {
  std::array<char, 8192> part;
  for (int taken = 0; output_ >= 0 && taken < kReadBytesMax;) {
    const ssize_t n = read(output_, part.data(), part.size());
    if (n < 0) return;
    if (n == 0) {
      close(output_);
      output_ = -1;
      return;
    }
    log_.append(std::string_view(part.data(), static_cast<std::size_t>(n)));
    taken += static_cast<int>(n);
  }
}

void ContainerProcess::kill_group(int signal) const { kill(-pid_, signal); }

}  // namespace berth
