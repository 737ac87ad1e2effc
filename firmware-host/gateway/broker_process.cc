#include "firmware-host/gateway/broker_process.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

namespace berth {

namespace {

Status system_error(const std::string& what) { return Status::error(what + ": " + std::strerror(errno)); }

int open_pidfd(pid_t pid) { return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)); }

bool has_argument(pid_t pid, const std::string& mark) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/cmdline", std::ios::binary);
  bool found = false;
  for (std::string argument; std::getline(file, argument, '\0');) found = found || argument == mark;
  return found;
}

// Runs between fork and exec: only async-signal-safe calls.
[[noreturn]] void become(char* const* argv, char* const* environment, int output, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);  // the parent died before prctl
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int number : {SIGPIPE, SIGHUP, SIGINT, SIGTERM, SIGCHLD}) ::signal(number, SIG_DFL);
  // A broker needs a descriptor for each client.
  rlimit descriptors{};
  ::getrlimit(RLIMIT_NOFILE, &descriptors);
  descriptors.rlim_cur = descriptors.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &descriptors);
  const int null = ::open("/dev/null", O_RDWR);
  ::dup2(null, STDIN_FILENO);
  ::dup2(null, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
  ::syscall(SYS_close_range, STDERR_FILENO + 1, ~0u, 0);
  ::execve(argv[0], argv, environment);
  ::_exit(127);
}

}  // namespace

Result<std::string> find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) {
    if (::access(name.c_str(), X_OK) == 0) return name;
    return system_error("cannot run " + name);
  }
  const char* path = std::getenv("PATH");
  std::istringstream directories(std::string(path != nullptr ? path : "") + ":/usr/local/sbin:/usr/sbin:/sbin");
  for (std::string directory; std::getline(directories, directory, ':');) {
    std::string candidate = directory + "/" + name;
    if (!directory.empty() && ::access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return Status::error(name + " is not installed");
}

Result<ChildProcess> spawn_child(const std::vector<std::string>& argv) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return system_error("pipe");
  std::vector<char*> arguments;
  for (const std::string& argument : argv) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  // glibc gives large blocks back to the kernel only if each is a mapping of its own.
  std::string large_blocks = "MALLOC_MMAP_THRESHOLD_=32768";
  std::vector<char*> environment{large_blocks.data()};
  for (char** entry = environ; *entry != nullptr; ++entry) environment.push_back(*entry);
  environment.push_back(nullptr);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) become(arguments.data(), environment.data(), ends[1], parent);
  ::close(ends[1]);
  ChildProcess child{pid, pid > 0 ? open_pidfd(pid) : -1, ends[0]};
  if (child.pidfd < 0) {
    const Status failed = system_error("cannot start " + argv[0]);
    if (pid > 0) {
      ::kill(pid, SIGKILL);
      ::waitpid(pid, nullptr, 0);
    }
    ::close(ends[0]);
    return failed;
  }
  ::fcntl(child.pidfd, F_SETFD, FD_CLOEXEC);
  ::fcntl(child.output_fd, F_SETFL, O_NONBLOCK);
  return child;
}

Status run_program(const std::vector<std::string>& argv) {
  Result<ChildProcess> child = spawn_child(argv);
  if (!child) return child.error();
  ::fcntl(child->output_fd, F_SETFL, 0);
  std::string output;
  char bytes[512];
  for (ssize_t got = 0; (got = ::read(child->output_fd, bytes, sizeof bytes)) > 0;) {
    output.append(bytes, static_cast<std::size_t>(got));
  }
  int status = 0;
  ::waitpid(child->pid, &status, 0);
  ::close(child->output_fd);
  ::close(child->pidfd);
  if (status == 0) return Status::ok();
  while (!output.empty() && output.back() == '\n') output.pop_back();
  return Status::error(argv[0] + " failed (" + describe_exit(status) + "): " + output.substr(output.rfind('\n') + 1));
}

bool signal_marked(pid_t pid, const std::string& mark, int signal) {
  // Open the pidfd first: from here on the pid cannot be reused for another process.
  const int pidfd = open_pidfd(pid);
  if (pidfd < 0) return false;
  const bool sent = has_argument(pid, mark) && ::syscall(SYS_pidfd_send_signal, pidfd, signal, nullptr, 0) == 0;
  ::close(pidfd);
  return sent;
}

void kill_marked(pid_t pid, const std::string& mark, Millis patience) {
  const int pidfd = open_pidfd(pid);
  if (pidfd < 0) return;
  if (signal_marked(pid, mark, SIGKILL)) wait_for_exit(pidfd, patience);
  ::close(pidfd);
}

bool wait_for_exit(int pidfd, Millis patience) {
  pollfd watched{pidfd, POLLIN, 0};
  int ready = 0;
  do {
    ready = ::poll(&watched, 1, static_cast<int>(patience));
  } while (ready < 0 && errno == EINTR);
  return ready > 0;
}

std::string describe_exit(int wait_status) {
  if (WIFSIGNALED(wait_status)) return "signal " + std::to_string(WTERMSIG(wait_status));
  return "exit code " + std::to_string(WEXITSTATUS(wait_status));
}

Result<int> probe_port(int port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return system_error("socket");
  const int on = 1;  // as mosquitto does, so that connections of the last run in TIME_WAIT do not matter
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  socklen_t length = sizeof address;
  const bool free = ::bind(fd, reinterpret_cast<sockaddr*>(&address), length) == 0 && ::listen(fd, 1) == 0 &&
                    ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) == 0;
  const Status taken = free ? Status::ok() : system_error("port " + std::to_string(port) + " on 127.0.0.1");
  ::close(fd);
  if (!free) return taken;
  return static_cast<int>(ntohs(address.sin_port));
}

Status write_private_file(const std::string& path, const std::string& text) {
  const std::string fresh = path + ".new";
  const int fd = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return system_error("cannot write " + fresh);
  const bool whole = ::fchmod(fd, 0600) == 0 &&
                     ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) && ::fsync(fd) == 0;
  Status failed = whole ? Status::ok() : system_error("cannot write " + fresh);
  ::close(fd);
  if (!whole) return failed;
  return std::rename(fresh.c_str(), path.c_str()) == 0 ? Status::ok() : system_error("cannot write " + path);
}

Status make_private_directory(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return system_error("cannot create directory " + path);
  return ::chmod(path.c_str(), 0700) == 0 ? Status::ok() : system_error("cannot protect directory " + path);
}

std::string read_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::string random_password() {
  unsigned char bytes[24];
  if (::getrandom(bytes, sizeof bytes, 0) != static_cast<ssize_t>(sizeof bytes)) std::abort();
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : bytes) text.append({kDigits[byte >> 4], kDigits[byte & 15]});
  return text;
}

}  // namespace berth
