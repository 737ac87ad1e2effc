#include "firmware-host/agent/children.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>

#include "firmware-host/agent/containers/network_record.h"
#include "firmware-host/agent/containers/oci_starter.h"
#include "firmware-host/agent/containers/pod_cgroup.h"
#include "firmware-host/agent/exit_collector.h"
#include "firmware-host/agent/processes/sandboxed_starter.h"

namespace berth {

namespace {

// Descriptors of a child, behind that of its tag.
constexpr int kMarkedFd = kKeeperTagFd + 1;  // its end tells that the child can be found
constexpr int kChannelFd = kMarkedFd + 1;    // of a spare process, as the next one
constexpr int kOrderFd = kChannelFd + 1;

// In a forked child: `fds` get the numbers from kMarkedFd on, whatever numbers they have.
template <std::size_t N>
void number(std::array<int, N> fds) {
  for (int& fd : fds) fd = fcntl(fd, F_DUPFD_CLOEXEC, kMarkedFd + static_cast<int>(N));
  for (std::size_t i = 0; i < N; ++i) dup2(fds[i], kMarkedFd + static_cast<int>(i));
}

// Detaches a forked child from the agent's session, signal handling and descriptors. The caller is responsible for
// descriptors from 3 to `first_fd`.
void become_independent(unsigned first_fd) {
  setsid();
  for (int signal = 1; signal < NSIG; ++signal) std::signal(signal, SIG_DFL);
  const int null = open("/dev/null", O_RDWR);
  for (int fd = 0; fd < 3; ++fd) dup2(null, fd);
  if (close_range(first_fd, ~0U, 0) != 0) {
    for (int fd = static_cast<int>(first_fd); fd < static_cast<int>(sysconf(_SC_OPEN_MAX)); ++fd) close(fd);
  }
}

std::unique_ptr<ContainerStarter> starter_for(const Workload& workload) {
  if (workload.sandbox && workload.sandbox->of_processes) return std::make_unique<SandboxedStarter>(*workload.sandbox);
  if (workload.sandbox) return std::make_unique<OciStarter>(*workload.sandbox);
  return std::make_unique<ProcessStarter>(workload.tag);
}

// Closes kMarkedFd as soon as find_keepers() can find this process.
[[noreturn]] void become_keeper(const KeeperPlan& plan) {
  close(kKeeperTagFd);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  // Of what it executes: the programs of an OCI runtime, and network plugins.
  if (plan.workload.sandbox) setenv("BERTH_TAG", plan.workload.tag.c_str(), 1);
  const int tag = memfd_create((kKeeperName + (" " + plan.workload.owner)).c_str(), MFD_CLOEXEC);
  if (tag != kKeeperTagFd) _exit(kKeeperStopped);
  const std::string& text = plan.workload.tag;
  if (write(tag, text.data(), text.size()) != static_cast<ssize_t>(text.size())) _exit(kKeeperStopped);
  // Last, so that every process with this name has its tag.
  prctl(PR_SET_NAME, kKeeperName);
  close(kMarkedFd);
  sigset_t watched;
  sigemptyset(&watched);
  for (const int signal : {SIGCHLD, kGoSignal, kStopSignal, kObjectsSignal, kEvictSignal}) sigaddset(&watched, signal);
  const int signals = signalfd(-1, &watched, SFD_NONBLOCK | SFD_CLOEXEC);
  if (signals < 0) _exit(kKeeperStopped);
  sigprocmask(SIG_SETMASK, &watched, nullptr);
  _exit(keep(plan, *starter_for(plan.workload), signals));
}

std::optional<std::string> read_order() {
  std::uint64_t length = 0;
  if (read(kChannelFd, &length, sizeof length) != static_cast<ssize_t>(sizeof length)) return std::nullopt;
  std::string order(length, '\0');
  for (std::size_t at = 0; at < length;) {
    const ssize_t n = pread(kOrderFd, order.data() + at, length - at, static_cast<off_t>(at));
    if (n <= 0) return std::nullopt;
    at += static_cast<std::size_t>(n);
  }
  return order;
}

[[noreturn]] void wait_for_order(const SpareKeeper::ToPlan& to_plan) {
  close(kKeeperTagFd);  // it may be the agent's end of the channel
  prctl(PR_SET_NAME, SpareKeeper::kName);
  const std::optional<std::string> order = read_order();
  if (!order) _exit(kKeeperStopped);
  close(kChannelFd);
  close(kOrderFd);
  const std::optional<KeeperPlan> plan = to_plan(*order);
  if (!plan) _exit(kKeeperStopped);
  become_keeper(*plan);
}

// If removal fails, first restores permissions that a workload took away.
void delete_tree(const std::string& directory) {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::remove_all(directory, error);
  if (!error) return;
  fs::permissions(directory, fs::perms::owner_all, fs::perm_options::add, error);
  const auto options = fs::directory_options::skip_permission_denied;
  for (fs::recursive_directory_iterator at(directory, options, error), end; !error && at != end; at.increment(error)) {
    if (!at->is_directory(error) || at->is_symlink(error)) continue;
    fs::permissions(at->path(), fs::perms::owner_all, fs::perm_options::add, error);
  }
  fs::remove_all(directory, error);
}

// fork(2) with all signals blocked until the child has set up its own handling. In the child: pid 0. A child that the
// parent cannot identify is killed at once: nobody would find it again.
Result<OpenProcess> fork_quietly() {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  const pid_t pid = fork();
  if (pid == 0) return OpenProcess{};
  const int error = errno;
  sigprocmask(SIG_SETMASK, &before, nullptr);
  if (pid < 0) return Status::pending(std::string("cannot start a process: ") + std::strerror(error));
  const Result<std::uint64_t> start_time = start_time_of(pid);
  const ProcessId process{pid, start_time.value_or(0)};
  // Its pid is not used again before this process has waited for it.
  const Result<int> pidfd = start_time ? open_pidfd_of_child(process) : start_time.error();
  if (pidfd && *pidfd >= 0) return OpenProcess{process, *pidfd};
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
  return Status::pending(pidfd ? "the new process vanished" : pidfd.error().message());
}

}  // namespace

KeeperTagged::~KeeperTagged() {
  if (fd_ >= 0) close(fd_);
}

void KeeperTagged::wait() {
  if (fd_ < 0) return;
  char nothing = 0;
  while (read(fd_, &nothing, 1) < 0 && errno == EINTR) continue;
  close(std::exchange(fd_, -1));
}

Result<HeldKeeper> fork_keeper(const KeeperPlan& plan) {
  std::array<int, 2> marked{-1, -1};
  if (pipe2(marked.data(), O_CLOEXEC) != 0) return Status::pending(std::string("pipe: ") + std::strerror(errno));
  Result<OpenProcess> keeper = fork_quietly();
  if (keeper && keeper->process.pid == 0) {
    number<1>({marked[1]});
    become_independent(kMarkedFd + 1);
    become_keeper(plan);
  }
  close(marked[1]);
  KeeperTagged tagged(marked[0]);  // the child closes its end, or exits
  if (!keeper) return keeper.error();
  return HeldKeeper{*keeper, std::move(tagged)};
}

Status SpareKeeper::fork(const ToPlan& to_plan) {
  if (is_waiting()) return Status::ok();
  end();
  std::array<int, 2> marked{-1, -1};
  std::array<int, 2> channel{-1, -1};
  order_ = memfd_create(kName, MFD_CLOEXEC);
  if (order_ < 0 || pipe2(marked.data(), O_CLOEXEC) != 0 ||
      socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, channel.data()) != 0) {
    const int error = errno;
    for (const int fd : marked) close(fd);
    end();
    return Status::pending(std::string("descriptors of a process: ") + std::strerror(error));
  }
  const Result<OpenProcess> spare = fork_quietly();
  if (spare && spare->process.pid == 0) {
    number<3>({marked[1], channel[1], order_});
    become_independent(kOrderFd + 1);
    wait_for_order(to_plan);
  }
  close(marked[1]);
  close(channel[1]);
  tagged_ = KeeperTagged(marked[0]);
  channel_ = channel[0];
  if (spare) process_ = *spare;
  if (!spare) end();
  return spare ? Status::ok() : spare.error();
}

bool SpareKeeper::is_waiting() const { return process_.pidfd >= 0 && !has_exited(process_.pidfd); }

bool SpareKeeper::give(const std::string& order) const {
  for (std::size_t at = 0; at < order.size();) {
    const ssize_t n = pwrite(order_, order.data() + at, order.size() - at, static_cast<off_t>(at));
    if (n <= 0) return false;
    at += static_cast<std::size_t>(n);
  }
  const std::uint64_t length = order.size();
  return send(channel_, &length, sizeof length, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof length);
}

std::optional<HeldKeeper> SpareKeeper::take(const std::string& order) {
  std::optional<HeldKeeper> keeper;
  if (is_waiting() && give(order)) keeper = HeldKeeper{std::exchange(process_, {}), std::move(tagged_)};
  end();
  return keeper;
}

void SpareKeeper::end() {
  if (process_.pidfd >= 0) {
    send_signal(process_.pidfd, SIGKILL);
    waitpid(process_.process.pid, nullptr, 0);
    close(process_.pidfd);
  }
  process_ = {};
  tagged_ = {};
  for (int* fd : {&channel_, &order_}) {
    if (*fd >= 0) close(std::exchange(*fd, -1));
  }
}

Result<OpenProcess> fork_sweeper(const Remains& remains) {
  Result<OpenProcess> sweeper = fork_quietly();
  if (!sweeper || sweeper->process.pid != 0) return sweeper;
  become_independent(3);
  for (const std::string& tag : remains.tags) {
    kill_until_none([&] { return kill_by_environment({"BERTH_TAG=" + tag}); });
  }
  if (!remains.cgroup.empty()) {
    const PodCgroup cgroup(remains.cgroup);
    kill_until_none([&] { return cgroup.kill(); });
    cgroup.remove();
  }
  for (const std::string& directory : remains.networks) remove_network_of(directory);
  for (const std::string& directory : remains.directories) {
    remove_network_of(directory);
    delete_tree(directory);
  }
  _exit(0);
}

}  // namespace berth
