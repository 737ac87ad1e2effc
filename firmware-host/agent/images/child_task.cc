#include "firmware-host/agent/images/child_task.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "firmware-host/agent/process_tree.h"
#include "firmware-host/agent/spawn.h"

namespace berth {

namespace {

constexpr int kTextFd = 3;
constexpr int kNotStarted = 127;  // as a shell's

// In the child. A session of its own, so that what it starts can be killed with it.
void become_task(int text_fd, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kNotStarted);  // it has died before
  setsid();
  for (int signal = 1; signal < NSIG; ++signal) std::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const int text = fcntl(text_fd, F_DUPFD, kTextFd + 1);
  const int null = open("/dev/null", O_RDWR);
  for (int fd = 0; fd < kTextFd; ++fd) dup2(null, fd);
  dup2(text, kTextFd);
  if (close_range(kTextFd + 1, ~0U, 0) != 0) {
    for (int fd = kTextFd + 1; fd < static_cast<int>(sysconf(_SC_OPEN_MAX)); ++fd) close(fd);
  }
}

// With all signals blocked until the child has its own handling.
pid_t fork_task(const ChildTask::Work& work, int text_fd) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) {
    become_task(text_fd, parent);
    _exit(work(kTextFd));
  }
  const int error = errno;
  sigprocmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return pid;
}

}  // namespace

void write_text(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

Result<std::unique_ptr<ChildTask>> ChildTask::start(asio::io_context& context, const Work& work, OnEnd on_end) {
  std::array<int, 2> text{-1, -1};
  if (pipe2(text.data(), O_CLOEXEC) != 0) return Status::error(std::string("pipe: ") + std::strerror(errno));
  const pid_t pid = fork_task(work, text[1]);
  const int error = errno;
  close(text[1]);
  if (pid < 0) {
    close(text[0]);
    return Status::error(std::string("cannot start a process: ") + std::strerror(error));
  }
  // Its pid is not used again before this process has waited for it.
  const Result<std::uint64_t> start_time = start_time_of(pid);
  const Result<int> pidfd =
      start_time ? open_pidfd_of_child(ProcessId{pid, *start_time}) : Result<int>(start_time.error());
  if (!pidfd || *pidfd < 0 || fcntl(text[0], F_SETFL, O_NONBLOCK) != 0) {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    close(text[0]);
    if (pidfd && *pidfd >= 0) close(*pidfd);
    return Status::error("cannot watch a new process" + (pidfd ? std::string() : ": " + pidfd.error().message()));
  }
  return std::unique_ptr<ChildTask>(new ChildTask(context, pid, *pidfd, text[0], std::move(on_end)));
}

ChildTask::ChildTask(asio::io_context& context, pid_t pid, int pidfd, int text_fd, OnEnd on_end)
    : pid_(pid),
      on_end_(std::move(on_end)),
      text_watch_(std::make_unique<FdWatch>(context, text_fd, [this] { read_text(); })),
      exit_watch_(std::make_unique<FdWatch>(context, pidfd, [this] { end(); })) {}

ChildTask::~ChildTask() {
  if (!exit_watch_) return;
  kill(-pid_, SIGKILL);  // none before it has its session
  kill(pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) continue;
}

void ChildTask::read_text() {
  std::array<char, 4096> buffer;
  for (;;) {
    const ssize_t n = read(text_watch_->fd(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return;  // nothing more at the moment
    if (n == 0) break;
    text_.append(buffer.data(), static_cast<std::size_t>(n));
    if (text_.size() > kKept) text_.erase(0, text_.size() - kKept);
  }
  text_watch_.reset();
}

void ChildTask::end() {
  if (text_watch_) read_text();
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) continue;
  text_watch_.reset();
  exit_watch_.reset();
  const OnEnd on_end = std::move(on_end_);
  on_end({.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1, .text = std::move(text_)});
}

ChildTask::Work executing(std::vector<std::string> arguments, std::string secret) {
  return [arguments = std::move(arguments), secret = std::move(secret)](int text_fd) {
    dup2(text_fd, STDERR_FILENO);
    close(text_fd);
    if (!secret.empty()) {
      const int fd = memfd_create("secret", 0);  // the lowest number that is free, that of kSecretFile
      if (fd != kTextFd) {
        write_text(STDERR_FILENO, std::string("cannot pass a secret on: ") + std::strerror(errno));
        return kNotStarted;
      }
      write_text(fd, secret);
    }
    const std::vector<char*> pointers = to_pointers(arguments);
    execvp(pointers[0], pointers.data());
    write_text(STDERR_FILENO, arguments[0] + ": " + std::strerror(errno));
    return kNotStarted;
  };
}

ChildTask::Work deleting(std::vector<std::string> directories) {
  return [directories = std::move(directories)](int text_fd) {
    int code = 0;
    for (const std::string& directory : directories) {
      std::error_code error;
      std::filesystem::remove_all(directory, error);
      if (!error) continue;
      write_text(text_fd, "cannot delete " + directory + ": " + error.message() + "\n");
      code = 1;
    }
    return code;
  };
}

}  // namespace berth
