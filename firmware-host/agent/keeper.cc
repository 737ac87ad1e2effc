#include "firmware-host/agent/keeper.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>

#include "firmware-host/agent/container_process.h"
#include "firmware-host/agent/pod_state.h"
#include "firmware-host/real_clock.h"

namespace berth {

namespace {

static_assert(kGoSignal == SIGUSR1 && kStopSignal == SIGTERM);

constexpr Millis kSweepPause = 10;

// A container's place in its pod, over all of its runs.
struct Seat {
  const ContainerPlan* plan = nullptr;
  bool is_init = false;
  ContainerReport* report = nullptr;
  std::unique_ptr<ContainerProcess> process;  // while it runs
  std::optional<Millis> start_at;             // waiting for its turn in backoff
  Millis delay_ms = 0;                        // the last backoff
  Millis started = 0;
  bool done = false;  // ended for good

  bool is_running() const { return process != nullptr; }
  bool has_succeeded() const { return done && report->state.exit_code == 0; }
};

class Keeper {
 public:
  Keeper(const KeeperPlan& plan, int signals) : plan_(plan), signals_(signals) {
    state_.handle = to_text(ProcessId{getpid(), start_time_of(getpid())});
    if (!plan_.workload.ignored.empty()) {
      state_.message = "without effect in the process runtime:";
      for (const std::string& field : plan_.workload.ignored) state_.message += " " + field;
    }
    add_seats(plan_.workload.init_containers, state_.init_containers, init_);
    add_seats(plan_.workload.containers, state_.containers, main_);
  }

  int run() {
    if (!wait_for_go()) return kKeeperStopped;
    // What an earlier keeper of this pod may have left behind.
    sweep();
    state_.started_at = to_rfc3339(clock_.wall());
    write_state();
    while (!is_over()) {
      start_due();
      write_state();
      if (is_over()) break;
      wait();
    }
    sweep();
    if (!stopping_) return finish();
    write_state();
    return kKeeperStopped;
  }

 private:
  void add_seats(const std::vector<ContainerPlan>& plans, std::vector<ContainerReport>& reports,
                 std::vector<Seat>& seats) {
    reports.resize(plans.size());
    for (std::size_t i = 0; i < plans.size(); ++i) {
      reports[i].name = plans[i].name;
      reports[i].image = plans[i].image;
      reports[i].state.reason = plan_.workload.init_containers.empty() ? "ContainerCreating" : "PodInitializing";
      if (auto known = plan_.restarts.find(plans[i].name); known != plan_.restarts.end()) {
        reports[i].restarts = known->second;
      }
      Seat seat;
      seat.plan = &plans[i];
      seat.is_init = &seats == &init_;
      seat.report = &reports[i];
      seats.push_back(std::move(seat));
    }
  }

  std::vector<Seat*> all_seats() {
    std::vector<Seat*> seats;
    for (Seat& seat : init_) seats.push_back(&seat);
    for (Seat& seat : main_) seats.push_back(&seat);
    return seats;
  }

  bool wait_for_go() {
    for (;;) {
      signalfd_siginfo signal{};
      if (read(signals_, &signal, sizeof signal) != static_cast<ssize_t>(sizeof signal)) {
        pollfd ready{signals_, POLLIN, 0};
        poll(&ready, 1, -1);
        continue;
      }
      if (signal.ssi_signo == kGoSignal) return true;
      if (signal.ssi_signo == kStopSignal) return false;
    }
  }

  bool any_running() {
    const std::vector<Seat*> seats = all_seats();
    return std::any_of(seats.begin(), seats.end(), [](const Seat* seat) { return seat->is_running(); });
  }

  // Nothing more will run: containers ended for good, an init container failed for good, or the stop is through.
  bool is_over() {
    if (stopping_ || ending_) return !any_running();
    const auto is_done = [](const Seat& seat) { return seat.done; };
    const bool failed_init = std::any_of(init_.begin(), init_.end(), [](const Seat& seat) {
      return seat.done && !seat.plan->sidecar && !seat.has_succeeded();
    });
    if (!failed_init && !std::all_of(main_.begin(), main_.end(), is_done)) return false;
    if (!any_running()) return true;
    ending_ = true;  // only sidecars still run
    begin_stop(plan_.workload.grace_ms);
    return false;
  }

  void start_due() {
    if (stopping_ || ending_) return;
    for (Seat& seat : init_) {
      if (seat.has_succeeded()) continue;
      start_if_due(seat);
      // A sidecar lets the next one start once it runs, and is started again on the way.
      if (!seat.plan->sidecar || seat.report->restarts + seat.is_running() == 0) return;
    }
    for (Seat& seat : main_) start_if_due(seat);
    if (state_.phase != "Running") dirty_ = true;
    state_.phase = "Running";
  }

  void start_if_due(Seat& seat) {
    if (seat.is_running() || seat.done || (seat.start_at && *seat.start_at > clock_.now())) return;
    seat.start_at.reset();
    seat.started = clock_.now();
    seat.report->state = {};
    seat.report->state.started_at = to_rfc3339(clock_.wall());
    dirty_ = true;
    Result<std::unique_ptr<ContainerProcess>> process = ContainerProcess::start(*seat.plan, plan_.directory);
    if (process) {
      seat.process = std::move(*process);
      seat.report->state.kind = ContainerState::Kind::running;
      return;
    }
    seat.report->state.message = process.error().message();
    seat.report->state.reason = "StartError";
    ended(seat, 128, 0);
  }

  // A run is over. `seat.report->state` holds when it began.
  void ended(Seat& seat, int exit_code, int signal) {
    ContainerState& state = seat.report->state;
    state.kind = ContainerState::Kind::terminated;
    state.exit_code = exit_code;
    state.signal = signal;
    if (state.reason.empty()) state.reason = exit_code == 0 ? "Completed" : "Error";
    state.finished_at = to_rfc3339(clock_.wall());
    dirty_ = true;
    const RestartPolicy policy = plan_.workload.restart_policy;
    const bool again =
        seat.plan->sidecar ||
        (seat.is_init ? exit_code != 0 && policy != RestartPolicy::never
                      : policy == RestartPolicy::always || (policy == RestartPolicy::on_failure && exit_code != 0));
    if (!again || stopping_ || ending_) {
      seat.done = true;
      return;
    }
    const bool was_healthy = clock_.now() - seat.started >= plan_.backoff.healthy_ms;
    seat.delay_ms = was_healthy || seat.delay_ms == 0 ? plan_.backoff.first_ms
                                                      : std::min(seat.delay_ms * 2, plan_.backoff.longest_ms);
    seat.start_at = clock_.now() + seat.delay_ms;
    seat.report->last = state;
    state = {};
    state.reason = "CrashLoopBackOff";
    state.message = "starts again after " + std::to_string(seat.delay_ms) + " ms";
    ++seat.report->restarts;
  }

  void wait() {
    std::vector<pollfd> ready = {{signals_, POLLIN, 0}};
    std::vector<ContainerProcess*> writers;
    Millis wake = clock_.now() + 60000;
    for (Seat* seat : all_seats()) {
      if (seat->start_at && !stopping_ && !ending_) wake = std::min(wake, *seat->start_at);
      if (!seat->is_running() || seat->process->output() < 0) continue;
      ready.push_back({seat->process->output(), POLLIN, 0});
      writers.push_back(seat->process.get());
    }
    if (kill_at_) wake = std::min(wake, *kill_at_);
    poll(ready.data(), ready.size(), static_cast<int>(std::max<Millis>(wake - clock_.now(), 0)));
    for (std::size_t i = 0; i < writers.size(); ++i) {
      if (ready[i + 1].revents != 0) writers[i]->read_output();
    }
    if (ready[0].revents != 0) read_signals();
    if (kill_at_ && clock_.now() >= *kill_at_) {
      kill_at_ = clock_.now() + kSweepPause;
      kill_descendants();
    }
  }

  void read_signals() {
    signalfd_siginfo signal{};
    while (read(signals_, &signal, sizeof signal) == static_cast<ssize_t>(sizeof signal)) {
      if (signal.ssi_signo != kStopSignal) continue;
      stopping_ = true;
      begin_stop(signal.ssi_code == SI_QUEUE ? Millis{signal.ssi_int} : plan_.workload.grace_ms);
    }
    reap();
  }

  void reap() {
    for (siginfo_t dead{}; waitid(P_ALL, 0, &dead, WEXITED | WNOHANG | WNOWAIT) == 0 && dead.si_pid != 0; dead = {}) {
      const std::vector<Seat*> seats = all_seats();
      const auto seat = std::find_if(seats.begin(), seats.end(), [&](const Seat* candidate) {
        return candidate->is_running() && candidate->process->pid() == dead.si_pid;
      });
      // Before the pid is given back: until then no other group can have its number.
      if (seat != seats.end()) (*seat)->process->kill_group(SIGKILL);
      int status = 0;
      waitpid(dead.si_pid, &status, WNOHANG);
      if (seat != seats.end()) collect(**seat, status);
    }
  }

  // As when the first process of a pid namespace ends: nothing else of the container goes on.
  void collect(Seat& seat, int wait_status) {
    const std::string container = "BERTH_CONTAINER=" + seat.plan->name;
    while (kill_by_environment({"BERTH_TAG=" + plan_.workload.tag, container}) > 0) pause_for(kSweepPause);
    seat.process->read_output();
    seat.process.reset();
    const int signal = WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0;
    ended(seat, signal != 0 ? 128 + signal : WEXITSTATUS(wait_status), signal);
  }

  void begin_stop(Millis grace) {
    const Millis kill_at = clock_.now() + grace;
    kill_at_ = kill_at_ ? std::min(*kill_at_, kill_at) : kill_at;
    for (Seat* seat : all_seats()) {
      if (seat->is_running()) seat->process->kill_group(SIGTERM);
    }
  }

  // Until nothing of the pod lives, whatever it did to its session, its parent or its environment.
  void sweep() {
    while (kill_descendants() + kill_by_environment({"BERTH_TAG=" + plan_.workload.tag}) > 0) {
      pause_for(kSweepPause);
      reap();
    }
  }

  int finish() {
    state_.finished = true;
    state_.phase = "Succeeded";
    for (Seat* seat : all_seats()) {
      if (!seat->plan->sidecar && !seat->has_succeeded()) state_.phase = "Failed";
    }
    dirty_ = true;
    write_state();
    return state_.phase == "Succeeded" ? kKeeperSucceeded : kKeeperFailed;
  }

  void write_state() {
    if (!dirty_) return;
    dirty_ = false;
    // The end of a pod is the one thing that cannot be found out again.
    replace_file(plan_.directory, PodState::kFile, to_json(state_).dump(), state_.finished);
  }

  const KeeperPlan& plan_;
  const int signals_;
  RealClock clock_;
  PodState state_;
  std::vector<Seat> init_;
  std::vector<Seat> main_;
  bool stopping_ = false;  // told to
  bool ending_ = false;    // by itself: main containers ended, sidecars go
  bool dirty_ = true;
  std::optional<Millis> kill_at_;
};

// What a forked child must not share with the agent: its session, its signals, its descriptors. Those below `first_fd`
// that are not standard ones are the caller's.
void become_independent(unsigned first_fd) {
  setsid();
  for (int signal = 1; signal < NSIG; ++signal) std::signal(signal, SIG_DFL);
  const int null = open("/dev/null", O_RDWR);
  for (int fd = 0; fd < 3; ++fd) dup2(null, fd);
  if (close_range(first_fd, ~0U, 0) != 0) {
    for (int fd = static_cast<int>(first_fd); fd < static_cast<int>(sysconf(_SC_OPEN_MAX)); ++fd) close(fd);
  }
}

// `marked` is closed as soon as find_keepers() finds this process.
[[noreturn]] void run_keeper(const KeeperPlan& plan, int marked) {
  constexpr int kMarkedFd = kKeeperTagFd + 1;
  dup2(marked, kMarkedFd);
  become_independent(kMarkedFd + 1);
  close(kKeeperTagFd);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const int tag = memfd_create(kKeeperName, MFD_CLOEXEC);
  if (tag != kKeeperTagFd) _exit(kKeeperStopped);
  const std::string& text = plan.workload.tag;
  if (write(tag, text.data(), text.size()) != static_cast<ssize_t>(text.size())) _exit(kKeeperStopped);
  // Last: a process of this name has its tag in place.
  prctl(PR_SET_NAME, kKeeperName);
  close(kMarkedFd);
  sigset_t watched;
  sigemptyset(&watched);
  for (const int signal : {SIGCHLD, kGoSignal, kStopSignal}) sigaddset(&watched, signal);
  Keeper keeper(plan, signalfd(-1, &watched, SFD_NONBLOCK | SFD_CLOEXEC));
  sigprocmask(SIG_SETMASK, &watched, nullptr);
  _exit(keeper.run());
}

// Directories that a workload closed to itself are opened first.
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

// fork(2) with every signal held back until the child has set up its own handling. In the child: pid 0.
Result<ProcessId> fork_quietly() {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  const pid_t pid = fork();
  if (pid == 0) return ProcessId{};
  const int error = errno;
  sigprocmask(SIG_SETMASK, &before, nullptr);
  if (pid < 0) return Status::error(std::string("cannot start a process: ") + std::strerror(error));
  return ProcessId{pid, start_time_of(pid)};
}

}  // namespace

Result<ProcessId> fork_keeper(const KeeperPlan& plan) {
  std::array<int, 2> marked{-1, -1};
  if (pipe2(marked.data(), O_CLOEXEC) != 0) return Status::error(std::string("pipe: ") + std::strerror(errno));
  Result<ProcessId> keeper = fork_quietly();
  if (keeper && keeper->pid == 0) run_keeper(plan, marked[1]);
  close(marked[1]);
  // Ends with the child's close, or with the child. From then on it is found by its tag, should we end here.
  char nothing = 0;
  while (read(marked[0], &nothing, 1) < 0 && errno == EINTR) continue;
  close(marked[0]);
  return keeper;
}

Result<ProcessId> fork_sweeper(const std::string& tag, const std::vector<std::string>& directories) {
  Result<ProcessId> sweeper = fork_quietly();
  if (!sweeper || sweeper->pid != 0) return sweeper;
  become_independent(3);
  while (kill_by_environment({"BERTH_TAG=" + tag}) > 0) pause_for(kSweepPause);
  for (const std::string& directory : directories) delete_tree(directory);
  _exit(0);
}

}  // namespace berth
