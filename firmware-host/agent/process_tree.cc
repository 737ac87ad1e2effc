#include "firmware-host/agent/process_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <expected>
#include <filesystem>
#include <map>
#include <memory>

#include "firmware-host/real_clock.h"

namespace berth {

namespace {

constexpr std::string_view kTagEntry = "BERTH_TAG=";
constexpr std::string_view kOwnerEntry = "BERTH_OWNER=";

// Only these mean that a process, and with it its files in /proc, is gone.
bool is_gone(int error) { return error == ENOENT || error == ESRCH; }
bool is_denied(int error) { return error == EACCES || error == EPERM; }

Status cannot_read(const std::string& path, int error) {
  return Status::error("cannot read " + path + ": " + std::strerror(error));
}

// The content of a file, its beginning if it is longer than anything that is looked for, or errno. Not of what is no
// plain file: a process may have anything under a number.
std::expected<std::string, int> read_whole(const std::string& path) {
  constexpr std::size_t kMostBytes = 8 << 20;  // more than the environment of any process
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return std::unexpected(errno);
  std::string text;
  std::array<char, 4096> part;
  ssize_t got = 0;
  while (text.size() < kMostBytes && (got = read(fd, part.data(), part.size())) > 0) {
    text.append(part.data(), static_cast<std::size_t>(got));
  }
  const int error = errno;
  close(fd);
  if (got < 0) return std::unexpected(error);
  return text;
}

std::string proc_path(pid_t pid, const char* name) { return "/proc/" + std::to_string(pid) + "/" + name; }

// A process of another user, which an agent that is not root cannot have started. Its directory tells its user even
// where /proc is mounted with hidepid.
bool is_of_another_user(pid_t pid) {
  struct stat process{};
  return geteuid() != 0 && ::stat(proc_path(pid, "").c_str(), &process) == 0 && process.st_uid != geteuid();
}

// The content of a file of a process; empty if the process has exited, or is another user's that we may not look at.
Result<std::string> read_file(pid_t pid, const char* name) {
  const std::string path = proc_path(pid, name);
  std::expected<std::string, int> text = read_whole(path);
  if (text) return std::move(*text);
  const int error = text.error();
  if (is_gone(error) || (is_denied(error) && is_of_another_user(pid))) return std::string();
  return cannot_read(path, error);
}

Result<std::vector<pid_t>> all_pids() {
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir("/proc"), closedir);
  if (!directory) return cannot_read("/proc", errno);
  std::vector<pid_t> pids;
  for (;;) {
    errno = 0;
    const dirent* entry = readdir(directory.get());
    if (entry == nullptr && errno != 0) return cannot_read("/proc", errno);
    if (entry == nullptr) break;
    pid_t pid = 0;
    const char* end = entry->d_name + std::strlen(entry->d_name);
    const auto [stop, error] = std::from_chars(entry->d_name, end, pid);
    if (error == std::errc() && stop == end) pids.push_back(pid);
  }
  std::sort(pids.begin(), pids.end());
  return pids;
}

// The fields of /proc/<pid>/stat after the name, which may contain spaces and parentheses; [0] is field 3, the state.
// None if the process has exited.
Result<std::vector<std::string>> stat_fields(pid_t pid) {
  const Result<std::string> text = read_file(pid, "stat");
  if (!text) return text.error();
  std::vector<std::string> fields;
  std::size_t at = text->rfind(')');
  if (at == std::string::npos) return fields;
  for (at += 2; at < text->size();) {
    const std::size_t end = std::min(text->find(' ', at), text->size());
    fields.push_back(text->substr(at, end - at));
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

// The environment of a process; empty if it has none, has exited, or may not be read by us. During execve a process's
// environment reads as empty or truncated (fs/proc/base.c, environ_read); we retry until it is complete, so that a
// sweep misses no process.
Result<std::string> environment_of(pid_t pid) {
  const std::string path = proc_path(pid, "environ");
  std::string text;
  for (int attempt = 0; attempt < kExecAttempts; ++attempt) {
    if (attempt > 0) poll(nullptr, 0, kExecPauseMs);
    std::expected<std::string, int> whole = read_whole(path);
    if (!whole && (is_gone(whole.error()) || is_denied(whole.error()))) return std::string();
    if (!whole) return cannot_read(path, whole.error());
    text = std::move(*whole);
    const Result<std::vector<std::string>> fields = stat_fields(pid);
    if (!fields) return fields.error();
    if (fields->size() <= kStatEnvironmentEnd || fields->front() == "Z" || fields->front() == "X") return text;
    // execve sets the start of the code last (fs/binfmt_elf.c, load_elf_binary). A kernel thread has no memory, so
    // neither code nor environment.
    const bool in_exec = to_number(fields->at(kStatCodeStart)) == 0;
    if (in_exec) {
      const Result<std::string> memory = read_file(pid, "statm");
      if (!memory) return memory.error();
      if (memory->starts_with("0 ")) return text;
    }
    const std::uint64_t start = to_number(fields->at(kStatEnvironmentStart));
    if (!in_exec && text.size() == to_number(fields->at(kStatEnvironmentEnd)) - start) return text;
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

Result<bool> has_entries(pid_t pid, const std::vector<std::string>& entries) {
  const Result<std::string> environment = environment_of(pid);
  if (!environment) return environment.error();
  std::size_t found = 0;
  each_entry(*environment, [&](std::string_view entry) {
    found += static_cast<std::size_t>(std::count(entries.begin(), entries.end(), entry));
  });
  return found >= entries.size();
}

// Whether a process runs as our user.
Result<bool> is_of_our_user(pid_t pid) {
  const Result<std::string> status = read_file(pid, "status");
  if (!status) return status.error();
  constexpr std::string_view kUid = "\nUid:\t";
  const std::size_t at = status->find(kUid);
  return at != std::string::npos && to_number(status->substr(at + kUid.size())) == getuid();
}

std::string hashed(const std::string& directory) {
  std::uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a: the same in every version
  for (const char c : directory) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%016" PRIx64, hash);
  return text.data();
}

// What stays of an owner's name when the state directory is moved; empty: an earlier program's.
std::string_view inode_in(std::string_view owner) {
  const std::size_t at = owner.find('.');
  return at == std::string_view::npos ? std::string_view() : owner.substr(at);
}

struct Marks {
  std::string tag;
  std::string owner;

  bool match(std::string_view prefix, const Owners& owners) const {
    return !tag.empty() && (tag.starts_with(prefix) || is_of(owner, owners));
  }
};

// A process in a pod's control group may be of a container, and claim to be anything: it is found by that group alone
// (containers/pod_cgroup.h).
Result<bool> is_in_group_of_pod(pid_t pid) {
  const Result<std::string> groups = read_file(pid, "cgroup");
  if (!groups) return groups.error();
  return groups->find(":/berth/") != std::string::npos;
}

// The marks of a keeper; none if the process is no keeper, or has exited.
Result<Marks> keeper_marks(pid_t pid) {
  const Result<std::string> name = read_file(pid, "comm");
  if (!name) return name.error();
  if (*name != std::string(kKeeperName) + "\n") return Marks();
  const std::string file = "fd/" + std::to_string(kKeeperTagFd);
  const std::string path = proc_path(pid, file.c_str());
  std::array<char, 128> target{};
  const ssize_t length = readlink(path.c_str(), target.data(), target.size());
  if (length < 0 && is_gone(errno)) return Marks();
  if (length < 0) {
    const int error = errno;
    const Result<bool> ours = is_denied(error) ? is_of_our_user(pid) : true;
    if (!ours) return ours.error();
    return *ours ? cannot_read(path, error) : Result<Marks>(Marks());
  }
  std::string_view mark(target.data(), static_cast<std::size_t>(length));
  const std::string expected = std::string("/memfd:") + kKeeperName;
  if (!mark.starts_with(expected)) return Marks();
  Result<std::string> tag = read_file(pid, file.c_str());
  if (!tag) return tag.error();
  // "/memfd:<name> <owner> (deleted)"; keepers of earlier versions have no owner.
  mark.remove_prefix(std::min(mark.size(), expected.size() + 1));
  return Marks{std::move(*tag), std::string(mark.substr(0, mark.find(' ')))};
}

// The marks of a workload process; none if it has none, or has exited.
Result<Marks> workload_marks(pid_t pid) {
  const Result<std::string> environment = environment_of(pid);
  if (!environment) return environment.error();
  Marks marks;
  each_entry(*environment, [&](std::string_view entry) {
    if (entry.starts_with(kTagEntry)) marks.tag = entry.substr(kTagEntry.size());
    if (entry.starts_with(kOwnerEntry)) marks.owner = entry.substr(kOwnerEntry.size());
  });
  return marks;
}

Result<std::vector<Tagged>> find_marked(std::string_view prefix, const Owners& owners,
                                        const std::function<Result<Marks>(pid_t)>& marks_of) {
  const Result<std::vector<pid_t>> pids = all_pids();
  if (!pids) return pids.error();
  std::vector<Tagged> found;
  for (const pid_t pid : *pids) {
    // Before its marks: they may be those of a later process with this pid, but then it is not found under this time.
    const Result<std::uint64_t> start_time = start_time_of(pid);
    if (!start_time) return start_time.error();
    const Result<bool> is_contained = is_in_group_of_pod(pid);
    if (!is_contained) return is_contained.error();
    if (*is_contained) continue;
    Result<Marks> marks = marks_of(pid);
    if (!marks) return marks.error();
    if (marks->match(prefix, owners)) {
      found.push_back({{pid, *start_time}, std::move(marks->tag), std::move(marks->owner)});
    }
  }
  return found;
}

// Sends SIGKILL to exactly this process; false if it has exited, or `still` says no once its pid cannot be reused.
Result<bool> kill_process(const ProcessId& process, const std::function<Result<bool>()>& still) {
  const Result<int> fd = open_pidfd(process);
  if (!fd) return fd.error();
  if (*fd < 0) return false;
  Result<bool> killed = still();
  if (killed && *killed) send_signal(*fd, SIGKILL);
  close(*fd);
  return killed;
}

}  // namespace

std::string to_text(const ProcessId& process) {
  return std::to_string(process.pid) + ":" + std::to_string(process.start_time);
}

Result<std::uint64_t> start_time_of(pid_t pid) {
  const Result<std::vector<std::string>> fields = stat_fields(pid);
  if (!fields) return fields.error();
  return fields->size() <= kStatStartTime ? 0 : to_number(fields->at(kStatStartTime));
}

Result<int> open_pidfd_of_child(const ProcessId& process) {
  const int fd = static_cast<int>(syscall(SYS_pidfd_open, process.pid, 0));
  if (fd < 0 && errno == ESRCH) return -1;
  if (fd < 0) return Status::error("cannot watch process " + to_text(process) + ": " + std::strerror(errno));
  return fd;
}

Result<int> open_pidfd(const ProcessId& process) {
  Result<int> opened = open_pidfd_of_child(process);
  if (!opened || *opened < 0) return opened;
  const int fd = *opened;
  // Checked after the descriptor is open: from here on it cannot refer to another process.
  const Result<std::uint64_t> start_time = start_time_of(process.pid);
  if (start_time && *start_time == process.start_time) return fd;
  close(fd);
  return start_time ? Result<int>(-1) : start_time.error();
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

std::string owner_of(const std::string& directory) {
  struct stat is{};
  const std::string state = std::filesystem::path(directory).parent_path();
  if (::stat(state.c_str(), &is) != 0) return hashed(directory);
  return hashed(directory) + "." + std::to_string(is.st_dev) + "." + std::to_string(is.st_ino);
}

Owners owners_of(const std::string& directory) { return {owner_of(directory), hashed(directory)}; }

bool is_of(const std::string& owner, const Owners& owners) {
  const std::string_view inode = inode_in(owner);
  return !owner.empty() && std::any_of(owners.begin(), owners.end(), [&](const std::string& each) {
    return each == owner || (!inode.empty() && inode_in(each) == inode);
  });
}

Result<std::vector<Tagged>> find_keepers(std::string_view prefix, const Owners& owners) {
  return find_marked(prefix, owners, keeper_marks);
}

Result<std::vector<Tagged>> find_tagged(std::string_view prefix, const Owners& owners) {
  return find_marked(prefix, owners, workload_marks);
}

Result<std::optional<OpenProcess>> open_keeper(const std::string& tag) {
  const Result<std::vector<Tagged>> keepers = find_keepers(tag);
  if (!keepers) return keepers.error();
  for (const Tagged& keeper : *keepers) {
    if (keeper.tag != tag) continue;
    const Result<int> fd = open_pidfd(keeper.process);
    if (!fd) return fd.error();
    if (*fd >= 0) return OpenProcess{keeper.process, *fd};
  }
  return std::nullopt;
}

Status kill_keepers(const std::vector<std::string>& tags) {
  const Result<std::vector<Tagged>> keepers = find_keepers({});
  if (!keepers) return keepers.error();
  for (const Tagged& keeper : *keepers) {
    if (std::find(tags.begin(), tags.end(), keeper.tag) == tags.end()) continue;
    const Result<bool> killed = kill_process(keeper.process, [] { return true; });
    if (!killed) return killed.error();
  }
  return Status::ok();
}

Result<int> kill_by_environment(const std::vector<std::string>& entries) {
  const Result<std::vector<pid_t>> pids = all_pids();
  if (!pids) return pids.error();
  int found = 0;
  for (const pid_t pid : *pids) {
    const auto is_meant = [&] { return has_entries(pid, entries); };
    const Result<bool> is_contained = is_in_group_of_pod(pid);
    if (!is_contained) return is_contained.error();
    const Result<bool> meant = pid == getpid() || *is_contained ? false : is_meant();
    if (!meant) return meant.error();
    if (!*meant) continue;
    const Result<std::uint64_t> start_time = start_time_of(pid);
    if (!start_time) return start_time.error();
    const Result<bool> killed = kill_process({pid, *start_time}, is_meant);
    if (!killed) return killed.error();
    found += *killed ? 1 : 0;
  }
  return found;
}

Result<int> kill_descendants() {
  const Result<std::vector<pid_t>> pids = all_pids();
  if (!pids) return pids.error();
  std::multimap<pid_t, ProcessId> children;
  for (const pid_t pid : *pids) {
    const Result<std::vector<std::string>> fields = stat_fields(pid);
    if (!fields) return fields.error();
    if (fields->size() <= kStatStartTime || fields->front() == "Z" || fields->front() == "X") continue;
    children.emplace(static_cast<pid_t>(to_number(fields->at(kStatParent))),
                     ProcessId{pid, to_number(fields->at(kStatStartTime))});
  }
  std::vector<pid_t> reached = {getpid()};
  for (std::size_t i = 0; i < reached.size(); ++i) {
    const auto [from, to] = children.equal_range(reached[i]);
    for (auto child = from; child != to; ++child) {
      const Result<bool> killed = kill_process(child->second, [] { return true; });
      if (!killed) return killed.error();
      if (*killed) reached.push_back(child->second.pid);
    }
  }
  return static_cast<int>(reached.size()) - 1;
}

void kill_until_none(const std::function<Result<int>()>& kill_all, const std::function<void()>& meanwhile) {
  for (;;) {
    const Result<int> killed = kill_all();
    if (killed && *killed == 0) return;
    pause_for(killed ? kSweepPause : kSearchPause);
    meanwhile();
  }
}

}  // namespace berth
