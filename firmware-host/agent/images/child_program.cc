#include "firmware-host/agent/images/child_program.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "firmware-host/agent/images/child_task.h"
#include "firmware-host/agent/spawn.h"

namespace berth {

namespace {

constexpr int kSecretFd = 3;  // of kSecretFile
constexpr int kFirstFreeFd = 16;

// Standard error goes to a file in memory: nobody has to read it while the program runs.
struct Streams {
  int input = -1;
  int secret = -1;
  int output = -1;
  int error = -1;
};

int memory_with(const std::string& text) {
  const int fd = memfd_create("input", MFD_CLOEXEC);
  write_text(fd, text);
  lseek(fd, 0, SEEK_SET);
  return fd;
}

[[noreturn]] void become(const ProgramRun& run, Streams streams, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);
  for (int* fd : {&streams.input, &streams.output, &streams.error, &streams.secret}) {
    *fd = fcntl(*fd, F_DUPFD_CLOEXEC, kFirstFreeFd);  // none is in the way of another one
  }
  dup2(streams.input, STDIN_FILENO);
  if (run.output_fd < 0) {
    dup2(streams.output, STDOUT_FILENO);
  } else {
    dup2(run.output_fd, STDOUT_FILENO);
    fcntl(streams.output, F_DUPFD, kFirstFreeFd);  // its end tells that the program has ended
  }
  dup2(streams.error, STDERR_FILENO);
  close(kSecretFd);  // the text of the task
  if (!run.secret.empty()) dup2(streams.secret, kSecretFd);
  if (run.most_file_bytes >= 0) {
    const rlimit limit{static_cast<rlim_t>(run.most_file_bytes), static_cast<rlim_t>(run.most_file_bytes)};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  const std::vector<char*> pointers = to_pointers(run.arguments);
  execvp(pointers[0], pointers.data());
  write_text(STDERR_FILENO, run.arguments[0] + ": " + std::strerror(errno));
  _exit(127);
}

// Until its end; what is too much is read and dropped.
std::string read_all(int fd, std::size_t most, const std::function<void()>& each_second) {
  std::string text;
  std::array<char, 16384> buffer;
  for (;;) {
    pollfd ready{fd, POLLIN, 0};
    if (poll(&ready, 1, 1000) == 0) {
      if (each_second) each_second();
      continue;
    }
    const ssize_t n = read(fd, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return text;
    text.append(buffer.data(), std::min(static_cast<std::size_t>(n), most - std::min(most, text.size())));
  }
}

std::string end_of(int fd) {
  std::array<char, ChildTask::kKept> buffer;
  const off_t size = lseek(fd, 0, SEEK_END);
  const off_t from = std::max<off_t>(0, size - static_cast<off_t>(buffer.size()));
  const ssize_t n = pread(fd, buffer.data(), buffer.size(), from);
  return {buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(n, 0))};
}

}  // namespace

ProgramEnd run_program(const ProgramRun& run, const std::function<void()>& each_second) {
  std::array<int, 2> output{-1, -1};
  if (pipe2(output.data(), O_CLOEXEC) != 0) return {-1, {}, std::string("pipe: ") + std::strerror(errno)};
  const Streams streams{memory_with(run.input), memory_with(run.secret), output[1], memory_with({})};
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) become(run, streams, parent);
  const int error = errno;
  close(output[1]);
  ProgramEnd end;
  if (pid > 0) {
    end.output = read_all(output[0], run.most_output_bytes, each_second);
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
    end.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    end.error = end_of(streams.error);
  } else {
    end = {-1, {}, std::string("cannot start a process: ") + std::strerror(error)};
  }
  for (const int fd : {output[0], streams.input, streams.secret, streams.error}) close(fd);
  return end;
}

}  // namespace berth
