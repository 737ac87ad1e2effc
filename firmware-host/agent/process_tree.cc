#include "firmware-host/agent/process_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <cstring>
#include <functional>
#include <map>
#include <memory>

namespace berth {

namespace {

constexpr std::string_view kTagEntry = "BERTH_TAG=";

std::string read_file(const std::string& path) {
  std::string text;
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return text;
  std::array<char, 4096> part;
  for (ssize_t n = 0; (n = read(fd, part.data(), part.size())) > 0;) text.append(part.data(), static_cast<size_t>(n));
  close(fd);
  return text;
}

// Access to files in /proc depends on more than their mode, so try to open one.
bool may_read(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd >= 0) close(fd);
  return fd >= 0;
}

std::string proc_path(pid_t pid, const char* name) { return "/proc/" + std::to_string(pid) + "/" + name; }

std::vector<pid_t> all_pids() {
  std::vector<pid_t> pids;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir("/proc"), closedir);
  if (!directory) return pids;
  while (const dirent* entry = readdir(directory.get())) {
    pid_t pid = 0;
    const char* end = entry->d_name + std::strlen(entry->d_name);
    const auto [stop, error] = std::from_chars(entry->d_name, end, pid);
    if (error == std::errc() && stop == end) pids.push_back(pid);
  }
  std::sort(pids.begin(), pids.end());
  return pids;
}

// The fields of /proc/<pid>/stat after the name, which may contain spaces and parentheses; [0] is field 3, the state.
std::vector<std::string> stat_fields(pid_t pid) {
  const std::string text = read_file(proc_path(pid, "stat"));
  std::vector<std::string> fields;
  std::size_t at = text.rfind(')');
  if (at == std::string::npos) return fields;
  for (at += 2; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    fields.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return fields;
}

constexpr std::size_t kStatParent = 4 - 3;
constexpr std::size_t kStatStartTime = 22 - 3;
constexpr std::size_t kStatCodeStart = 26 - 3;
constexpr std::size_t kStatEnvironmentStart = 50 - 3;
constexpr std::size_t kStatEnvironmentEnd = 51 - 3;

// Bounds the retries for a process that is stuck in execve(2), for example if its program is on a dead network mount.
constexpr int kExecAttempts = 100;
constexpr int kExecPauseMs = 1;

std::uint64_t to_number(const std::string& text) {
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// The environment of a process; empty if it has none, has exited, or is not readable. During execve a process's
// environment reads as empty or truncated (fs/proc/base.c, environ_read); we retry until it is complete, so that a
// sweep misses no process.
std::string environment_of(pid_t pid) {
  const std::string path = proc_path(pid, "environ");
  std::string text;
  for (int attempt = 0; attempt < kExecAttempts; ++attempt) {
    if (attempt > 0) poll(nullptr, 0, kExecPauseMs);
    if (!may_read(path)) return {};
    text = read_file(path);
    const std::vector<std::string> fields = stat_fields(pid);
    if (fields.size() <= kStatEnvironmentEnd || fields[0] == "Z" || fields[0] == "X") return text;
    // execve sets the start of the code last (fs/binfmt_elf.c, load_elf_binary). A kernel thread has no memory, so
    // neither code nor environment.
    const bool in_exec = to_number(fields[kStatCodeStart]) == 0;
    if (in_exec && read_file(proc_path(pid, "statm")).starts_with("0 ")) return text;
    const std::uint64_t start = to_number(fields[kStatEnvironmentStart]);
    if (!in_exec && text.size() == to_number(fields[kStatEnvironmentEnd]) - start) return text;
  }
  return text;
}

// Calls `each` with every entry of an environment as /proc shows it.
void each_entry(const std::string& environment, const std::function<void(std::string_view)>& each) {
  for (std::size_t at = 0; at < environment.size();) {
    const std::size_t end = std::min(environment.find('\0', at), environment.size());
    each(std::string_view(environment).substr(at, end - at));
    at = end + 1;
  }
}

bool has_entries(pid_t pid, const std::vector<std::string>& entries) {
  const std::string environment = environment_of(pid);
  std::size_t found = 0;
  each_entry(environment, [&](std::string_view entry) {
    found += static_cast<std::size_t>(std::count(entries.begin(), entries.end(), entry));
  });
  return found >= entries.size();
}

std::string keeper_tag(pid_t pid) {
  if (read_file(proc_path(pid, "comm")) != std::string(kKeeperName) + "\n") return {};
  const std::string path = proc_path(pid, "fd/") + std::to_string(kKeeperTagFd);
  std::array<char, 64> target{};
  const ssize_t length = readlink(path.c_str(), target.data(), target.size());
  const std::string expected = std::string("/memfd:") + kKeeperName;
  if (length <= 0 || !std::string_view(target.data(), static_cast<size_t>(length)).starts_with(expected)) return {};
  return read_file(path);
}

}  // namespace

std::string to_text(const ProcessId& process) {
  return std::to_string(process.pid) + ":" + std::to_string(process.start_time);
}

std::uint64_t start_time_of(pid_t pid) {
  const std::vector<std::string> fields = stat_fields(pid);
  return fields.size() <= kStatStartTime ? 0 : to_number(fields[kStatStartTime]);
}

int open_pidfd(const ProcessId& process) {
  const int fd = static_cast<int>(syscall(SYS_pidfd_open, process.pid, 0));
  if (fd < 0) return -1;
  // Checked after the descriptor is open: from here on it cannot refer to another process.
  if (start_time_of(process.pid) == process.start_time) return fd;
  close(fd);
  return -1;
}

bool send_signal(int pidfd, int signal, int value) {
  siginfo_t details{};
  details.si_signo = signal;
  details.si_code = SI_QUEUE;
  details.si_pid = getpid();
  details.si_uid = getuid();
  details.si_value.sival_int = value;
  return syscall(SYS_pidfd_send_signal, pidfd, signal, &details, 0) == 0;
}

std::vector<Tagged> find_keepers(std::string_view prefix) {
  std::vector<Tagged> found;
  for (const pid_t pid : all_pids()) {
    const std::uint64_t start_time = start_time_of(pid);
    std::string tag = keeper_tag(pid);
    if (!tag.empty() && tag.starts_with(prefix)) found.push_back({{pid, start_time}, std::move(tag)});
  }
  return found;
}

std::vector<Tagged> find_tagged(std::string_view prefix) {
  std::vector<Tagged> found;
  for (const pid_t pid : all_pids()) {
    const std::string environment = environment_of(pid);
    std::string tag;
    each_entry(environment, [&](std::string_view entry) {
      if (entry.starts_with(kTagEntry) && entry.substr(kTagEntry.size()).starts_with(prefix)) {
        tag = entry.substr(kTagEntry.size());
      }
    });
    if (!tag.empty()) found.push_back({{pid, start_time_of(pid)}, std::move(tag)});
  }
  return found;
}

int kill_by_environment(const std::vector<std::string>& entries) {
  int found = 0;
  for (const pid_t pid : all_pids()) {
    if (pid == getpid() || !has_entries(pid, entries)) continue;
    const int fd = open_pidfd({pid, start_time_of(pid)});
    if (fd < 0) continue;
    if (has_entries(pid, entries)) {
      ++found;
      send_signal(fd, SIGKILL);
    }
    close(fd);
  }
  return found;
}

int kill_descendants() {
  std::multimap<pid_t, ProcessId> children;
  for (const pid_t pid : all_pids()) {
    const std::vector<std::string> fields = stat_fields(pid);
    if (fields.size() <= kStatStartTime || fields[0] == "Z" || fields[0] == "X") continue;
    children.emplace(static_cast<pid_t>(to_number(fields[kStatParent])),
                     ProcessId{pid, to_number(fields[kStatStartTime])});
  }
  std::vector<pid_t> reached = {getpid()};
  for (std::size_t i = 0; i < reached.size(); ++i) {
    const auto [from, to] = children.equal_range(reached[i]);
    for (auto child = from; child != to; ++child) {
      const int fd = open_pidfd(child->second);
      if (fd < 0) continue;
      reached.push_back(child->second.pid);
      send_signal(fd, SIGKILL);
      close(fd);
    }
  }
  return static_cast<int>(reached.size()) - 1;
}

}  // namespace berth
