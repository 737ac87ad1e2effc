#include "firmware-host/agent/processes/private_mounts.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "core/clock.h"
#include "core/json/json.h"
#include "core/json/members.h"
#include "firmware-host/agent/spawn.h"
#include "firmware-host/real_clock.h"

namespace berth {

namespace {

namespace fs = std::filesystem;

constexpr Millis kPatienceMs = 10'000;
constexpr std::size_t kMostWords = 16 * 1024;
// What bwrap(1) is to execute when all mounts are made, which cannot be: of what is there, the pod may have written
// all.
constexpr const char* kNothing = "/dev/null/berth-ready";

// The kernel's own, which are never made read-only: a process could not even write its output to /dev/null.
bool is_of_kernel(const std::string& path) { return path == "/dev" || path == "/proc" || path == "/sys"; }

// bwrap(1) and its child, whose mount namespace exists from its first moment on. The child makes the mounts, waits for
// a byte (--block-fd), and fails to execute kNothing: nothing is ever executed in the namespace with bwrap's
// privileges.
class Bubblewrap {
 public:
  ~Bubblewrap() {
    if (process_ <= 0) return;
    if (!is_done_) {
      // A mount may hang, that of a file server which does not answer say: the child would stay.
      if (child_) syscall(SYS_pidfd_send_signal, child_.get(), SIGKILL, nullptr, 0);
      kill(process_, SIGKILL);
    }
    while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) continue;
  }

  Status begin(const std::string& bwrap, std::vector<std::string> arguments) {
    Descriptor input, facts, words;
    if (!make_sockets(input, input_) || !make_pipe(facts_, facts) || !make_pipe(words_, words)) {
      return Status::error(std::string("pipe: ") + std::strerror(errno));
    }
    arguments.insert(arguments.begin(), {bwrap, "--block-fd", "0", "--info-fd", "1"});
    arguments.insert(arguments.end(), {"--", kNothing});
    const Result<pid_t> started = spawn(bwrap, arguments, nullptr, {input.get(), facts.get(), words.get()});
    if (!started) return started.error();
    process_ = *started;
    return Status::ok();
  }

  Result<Descriptor> take_namespace() {
    const Result<std::string> facts = read_to_end(facts_.get());
    if (!facts) return facts.error();
    const Result<Json> info = Json::parse(*facts);
    const Json& child = info ? member(*info, "child-pid") : Json();
    if (!child.is_integer()) {
      const Result<std::string> said = read_to_end(words_.get());
      return said ? Status::error(without_end(*said)) : said.error();
    }
    child_ = Descriptor(static_cast<int>(syscall(SYS_pidfd_open, static_cast<pid_t>(child.as_int()), 0)));
    const std::string path = "/proc/" + std::to_string(child.as_int()) + "/ns/mnt";
    Descriptor mounts(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!mounts) return Status::error("cannot open " + path + ": " + std::strerror(errno));
    return mounts;
  }

  Status make_mounts() {
    const bool has_ended = send(input_.get(), "", 1, MSG_NOSIGNAL) != 1;
    const Result<std::string> said = read_to_end(words_.get());
    if (!said) return said.error();
    is_done_ = true;
    const bool is_made = !has_ended && said->find(std::string("execvp ") + kNothing) != std::string::npos;
    return is_made ? Status::ok() : Status::error(without_end(*said));
  }

 private:
  static bool make_pipe(Descriptor& reading, Descriptor& writing) {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) return false;
    reading = Descriptor(ends[0]);
    writing = Descriptor(ends[1]);
    return true;
  }
  // A pipe's writer would be killed by SIGPIPE.
  static bool make_sockets(Descriptor& one, Descriptor& other) {
    std::array<int, 2> ends{};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) return false;
    one = Descriptor(ends[0]);
    other = Descriptor(ends[1]);
    return true;
  }
  static std::string without_end(std::string text) {
    while (text.ends_with('\n')) text.pop_back();
    return text.empty() ? "bwrap ends without a word" : text;
  }

  Result<std::string> read_to_end(int file) const {
    const RealClock clock;
    std::string text;
    while (text.size() <= kMostWords) {
      pollfd readable{file, POLLIN, 0};
      const Millis left = until_ - clock.now();
      if (left <= 0) break;
      if (poll(&readable, 1, static_cast<int>(left)) <= 0) continue;
      std::array<char, 1024> part;
      const ssize_t got = read(file, part.data(), part.size());
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return text;
      text.append(part.data(), static_cast<std::size_t>(got));
    }
    return Status::error("bwrap does not come to an end");
  }

  const Millis until_ = RealClock().now() + kPatienceMs;
  Descriptor input_, facts_, words_;
  Descriptor child_;  // a pidfd, where the kernel has them
  pid_t process_ = 0;
  bool is_done_ = false;
};

}  // namespace

bool is_mountable(const std::string& path) {
  std::error_code error;
  if (path.starts_with(std::string(kPrivateTmp) + "/") || fs::exists(path, error)) return true;
  const std::string top = path.substr(0, path.find('/', 1));
  return !fs::exists(fs::symlink_status(top, error));
}

std::vector<std::string> bwrap_arguments(const PrivateMounts& mounts, const std::vector<std::string>& root) {
  std::vector<std::string> arguments;
  for (const std::string& name : root) {
    const std::string path = "/" + name;
    std::error_code error;
    if (fs::is_symlink(path, error)) {
      arguments.insert(arguments.end(), {"--symlink", fs::read_symlink(path, error).string(), path});
    } else if (path != kPrivateTmp) {
      const bool is_read_only = mounts.read_only_root && !is_of_kernel(path);
      arguments.insert(arguments.end(), {is_read_only ? "--ro-bind-try" : "--dev-bind-try", path, path});
    }
  }
  const auto is_tmp = [](const OciMount& mount) { return mount.destination == kPrivateTmp; };
  const bool has_own_tmp = std::any_of(mounts.mounts.begin(), mounts.mounts.end(), is_tmp);
  if (!has_own_tmp) {
    arguments.insert(arguments.end(),
                     {"--perms", "1777", "--size", std::to_string(mounts.tmp_bytes), "--tmpfs", kPrivateTmp});
  }
  for (const bool first : {true, false}) {
    for (const OciMount& mount : mounts.mounts) {
      if (is_tmp(mount) != first) continue;
      arguments.insert(arguments.end(),
                       {mount.read_only ? "--ro-bind" : "--dev-bind", mount.source, mount.destination});
    }
  }
  for (const std::string& path : mounts.kept) {
    arguments.insert(arguments.end(), {mounts.read_only_root ? "--ro-bind" : "--bind", path, path});
  }
  // The directory / itself is in memory, which nothing written there may fill.
  arguments.insert(arguments.end(), {"--remount-ro", "/"});
  if (mounts.read_only_root && !has_own_tmp) arguments.insert(arguments.end(), {"--remount-ro", kPrivateTmp});
  return arguments;
}

Result<Descriptor> make_private_mounts(const std::string& bwrap, const PrivateMounts& mounts) {
  std::vector<std::string> root;
  std::error_code error;
  for (fs::directory_iterator at("/", error), end; !error && at != end; at.increment(error)) {
    root.push_back(at->path().filename().string());
  }
  if (error) return Status::error("cannot read /: " + error.message());
  std::sort(root.begin(), root.end());
  Bubblewrap bubblewrap;
  if (Status begun = bubblewrap.begin(bwrap, bwrap_arguments(mounts, root)); !begun.is_success()) return begun;
  Result<Descriptor> mounts_of_child = bubblewrap.take_namespace();
  if (!mounts_of_child) return mounts_of_child;
  if (Status made = bubblewrap.make_mounts(); !made.is_success()) return made;
  return mounts_of_child;
}

}  // namespace berth
