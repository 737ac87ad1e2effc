#include "firmware-host/agent/keeper.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <functional>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "firmware-host/agent/container_entries.h"
#include "firmware-host/agent/containers/sandbox_plan.h"
#include "firmware-host/agent/eviction_record.h"
#include "firmware-host/agent/log_end.h"
#include "firmware-host/agent/pod_conditions.h"
#include "firmware-host/agent/pod_state.h"
#include "firmware-host/agent/process_tree.h"
#include "firmware-host/real_clock.h"
#include "firmware-host/state_directory.h"

namespace berth {

namespace {

static_assert(kGoSignal == SIGUSR1 && kStopSignal == SIGTERM && kObjectsSignal == SIGHUP && kEvictSignal == SIGUSR2);

constexpr Millis kFirstRewriteMs = 100;  // after a state that could not be written; then twice as long each time
constexpr Millis kLongestRewriteMs = 5000;
constexpr Millis kDurableMs = 60'000;   // at least between two writes of a state that are made durable
constexpr Millis kLeastGraceMs = 2000;  // minimumGracePeriodInSeconds of pkg/kubelet/kuberuntime
constexpr Millis kDelayedMs = 1000;     // before a start that was delayed is tried again
constexpr Millis kRemovalMs = 20'000;   // of what the pod's containers have shared

// Waits until the kernel tells: a keeper without a handle would be reported under a wrong one.
std::string handle_of_this_process() {
  for (;; pause_for(kSearchPause)) {
    const Result<std::uint64_t> start_time = start_time_of(getpid());
    if (start_time) return to_text(ProcessId{getpid(), *start_time});
  }
}

class Keeper {
 public:
  Keeper(const KeeperPlan& plan, ContainerStarter& starter, int signals)
      : plan_(plan), starter_(starter), signals_(signals) {
    state_.handle = handle_of_this_process();
    if (!plan_.workload.undone.empty()) {
      const auto& sandbox = plan_.workload.sandbox;
      remark_ =
          sandbox && !sandbox->of_processes ? "ignored by the container runtime:" : "ignored by the process runtime:";
      for (const Need& need : plan_.workload.undone) remark_ += " " + need.field;
    }
    state_.message = remark_;
    state_.conditions = plan_.conditions;
    state_.host_ips = plan_.workload.host_ips;
    entries_.add(plan_.workload, plan_.earlier, state_);
  }

  int run() {
    if (!wait_for_go()) return kKeeperStopped;
    if (!plan_.is_first) sweep();
    // The pod's, over all of its keepers, as status.startTime is.
    state_.started_at = plan_.started_at.empty() ? to_rfc3339(clock_.wall()) : plan_.started_at;
    if (plan_.workload.active_deadline_ms) {
      state_.active = active_since(plan_.active, plan_.started_at, boot_id().value_or(std::string()), clock_);
    }
    note_begun();
    while (!is_over()) {
      check_deadline();
      start_due();
      write_state();
      if (is_over()) break;
      wait();
    }
    sweep();
    if (!stopping_) return finish();
    remove_shared();
    write_state();
    return kKeeperStopped;
  }

 private:
  bool wait_for_go() {
    for (;;) {
      signalfd_siginfo signal{};
      if (read(signals_, &signal, sizeof signal) != static_cast<ssize_t>(sizeof signal)) {
        pollfd ready{signals_, POLLIN, 0};
        poll(&ready, 1, -1);
        continue;
      }
      if (signal.ssi_signo == kObjectsSignal) starter_.take_objects();
      if (signal.ssi_signo == kEvictSignal) be_evicted();
      if (signal.ssi_signo == kGoSignal) return true;
      if (signal.ssi_signo == kStopSignal) return false;
    }
  }

  // Nothing more will run: all containers ended for good, an init container failed for good, or the stop is complete.
  bool is_over() {
    if (stopping_ || ending_) return !entries_.any_running();
    const auto is_done = [](const ContainerEntry& entry) { return entry.done; };
    if (!entries_.has_failed_init() && !std::all_of(entries_.main.begin(), entries_.main.end(), is_done)) return false;
    if (!entries_.any_running()) return true;
    ending_ = true;  // only sidecars still run
    begin_stop(plan_.workload.grace_ms);
    return false;
  }

  // pkg/kubelet/active_deadline.go
  std::optional<Millis> deadline() const {
    if (!plan_.workload.active_deadline_ms || stopping_ || ending_) return std::nullopt;
    return state_.active.at + *plan_.workload.active_deadline_ms;
  }

  void check_deadline() {
    if (const std::optional<Millis> at = deadline(); !at || clock_.now() < *at) return;
    is_too_late_ = ending_ = true;
    begin_stop(plan_.workload.grace_ms);
  }

  // One whose containers have all ended, or are late already, ends as that.
  void be_evicted() {
    if (stopping_ || ending_) return;
    Result<std::optional<Eviction>> eviction = read_eviction(plan_.directory);
    if (!eviction) eviction = std::optional(Eviction{});  // it was decided, whatever the record has
    if (!*eviction) return;
    eviction_ = std::move(*eviction);
    ending_ = true;
    begin_stop(eviction_->grace_ms);
  }

  void start_due() {
    if (stopping_ || ending_) return;
    const bool is_initialized = start_init_containers();
    if (is_initialized) {
      for (ContainerEntry& entry : entries_.main) {
        start_if_due(entry);
        if (entry.is_in_post_start()) break;
      }
    }
    tell_phase(is_initialized);
  }

  // False: the others cannot be started yet.
  bool start_init_containers() {
    for (ContainerEntry& entry : entries_.init) {
      if (entry.has_succeeded()) continue;
      start_if_due(entry);
      // The next container starts once a sidecar has started, as its startup probe says; it may be restarting
      // meanwhile.
      if (!entry.plan->sidecar || !entry.was_started) return false;
    }
    return true;
  }

  // A pod of which nothing runs because a start is delayed is told as one that waits for its keeper.
  void tell_phase(bool is_initialized) {
    const std::vector<ContainerEntry*> entries = entries_.all();
    const auto delayed = std::find_if(entries.begin(), entries.end(), [](const ContainerEntry* entry) {
      return entry->report->state.reason == PodState::kStartDelayed;
    });
    const bool is_delayed = delayed != entries.end();
    // getPhase() of pkg/kubelet/kubelet_pods.go: one that has never run is enough.
    const bool is_creating = std::any_of(entries_.main.begin(), entries_.main.end(), [&](const ContainerEntry& entry) {
      return entry.report->state.kind == ContainerState::Kind::waiting &&
             entry.report->state.reason == waiting_reason(plan_.workload) &&
             entry.report->last.kind != ContainerState::Kind::terminated;
    });
    const bool runs = is_initialized && !is_creating && (!is_delayed || entries_.any_running());
    const std::string phase = runs ? "Running" : "Pending";
    if (state_.phase != phase) dirty_ = true;
    state_.phase = phase;
    state_.reason = is_delayed ? PodState::kStartDelayed : "";
    state_.message = is_delayed ? (*delayed)->report->state.message : remark_;
  }

  // Whether the container can be started now. A container without its disk would write into the directory that the disk
  // was mounted at.
  bool has_all(ContainerEntry& entry) {
    if (Status found = find_volumes(plan_.workload.volumes, plan_.demands); !found.is_success()) {
      return delay(entry, PodState::kStartDelayed, found.message());
    }
    const Result<bool> ready = starter_.make_ready();
    if (!ready) return delay(entry, PodState::kStartDelayed, ready.error().message());
    if (*ready && state_.addresses.empty()) state_.addresses = starter_.addresses();
    return *ready;
  }

  bool delay(ContainerEntry& entry, const char* reason, const std::string& why) {
    entry.start_at = clock_.now() + kDelayedMs;
    ContainerState& state = entry.report->state;
    // Not written again with each attempt.
    if (state.reason == reason && state.message == why) return false;
    state = {};
    state.reason = reason;
    state.message = why;
    dirty_ = true;
    return false;
  }

  void start_if_due(ContainerEntry& entry) {
    if (entry.is_running() || entry.done || (entry.start_at && *entry.start_at > clock_.now())) return;
    if (!has_all(entry)) return;
    entry.start_at.reset();
    entry.started = clock_.now();
    const ContainerState before = std::exchange(entry.report->state, {});
    entry.report->state.started_at = to_rfc3339(clock_.wall());
    Result<StartedRun> started = starter_.start(*entry.plan);
    if (started) {
      dirty_ = true;
      entry.report->container_id = started->container_id;
      entry.process = std::make_unique<ContainerProcess>(std::move(*started), plan_.directory, entry.plan->name,
                                                         plan_.logs, clock_);
      if (entry.process->run().has_begun()) return begin_run(entry);
      entry.report->state.reason = waiting_reason(plan_.workload);
      return;
    }
    // As under a kubelet, it may be started later: once an object that it names is there.
    if (started.error().code() == Code::pending) {
      entry.report->state = before;
      delay(entry, "CreateContainerConfigError", started.error().message());
    } else {
      not_run(entry, started.error().message());
    }
  }

  void not_run(ContainerEntry& entry, const std::string& why) {
    entry.report->state.message = why;
    entry.report->state.reason = "StartError";
    ended(entry, 128, 0);
  }

  // It is not told as running, nor probed, before its postStart has succeeded.
  void begin_run(ContainerEntry& entry) {
    entry.has_begun = true;
    if (!entry.plan->post_start) return begin_probes(entry);
    entry.report->state.reason = waiting_reason(plan_.workload);
    entry.hook =
        std::make_unique<HookRun>(*entry.plan->post_start, CheckSite{starter_, *entry.plan, true}, clock_.now());
  }

  void begin_probes(ContainerEntry& entry) {
    entry.report->state.kind = ContainerState::Kind::running;
    entry.report->state.reason.clear();
    entry.report->started = entry.report->ready = false;
    entry.prober = std::make_unique<Prober>(CheckSite{starter_, *entry.plan, false}, entry.started);
    dirty_ = true;
    note_probes(entry);
  }

  void note_probes(ContainerEntry& entry) {
    const ProbeSchedule& probes = entry.prober->schedule();
    ContainerReport& report = *entry.report;
    for (const std::string& failure : entry.prober->take_failures())
      events_.add(clock_.now(), true, "Unhealthy", failure);
    dirty_ = dirty_ || report.started != probes.is_started() || report.ready != probes.is_ready();
    report.started = probes.is_started();
    report.ready = probes.is_ready();
    entry.was_started = entry.was_started || report.started;
  }

  // What is due for a container by its probes, and at the end of its grace period.
  void advance(ContainerEntry& entry) {
    if (entry.prober) {
      entry.prober->advance(clock_.now());
      note_probes(entry);
      if (const std::optional<ProbeKind> failed = entry.prober->schedule().failed()) end_for_probe(entry, *failed);
    }
    if (entry.hook) advance_hook(entry);
    if (!entry.is_running() || !entry.end || entry.end->kill_at > clock_.now()) return;
    entry.process->run().kill();
    entry.end->kill_at = clock_.now() + kSweepPause;
  }

  void advance_hook(ContainerEntry& entry) {
    const std::optional<CheckOutcome> outcome = entry.hook->outcome(clock_.now());
    if (entry.end) {
      if (outcome || entry.end->kill_at <= clock_.now()) tell(entry);
    } else if (outcome) {
      entry.hook.reset();
      if (outcome->result == ProbeResult::success) return begin_probes(entry);
      entry.reason_killed = "FailedPostStartHook";
      entry.why_killed = "PostStartHook failed: " + outcome->why.substr(0, kReasonBytesMax);
      events_.add(clock_.now(), true, "FailedPostStartHook", entry.why_killed);
      stop(entry, plan_.workload.grace_ms);
    }
  }

  // As computePodActions() in pkg/kubelet/kuberuntime/kuberuntime_manager.go: what is killed for a probe is started
  // again unless the restartPolicy is Never, whatever its exit code.
  void end_for_probe(ContainerEntry& entry, ProbeKind failed) {
    entry.again = entry.plan->sidecar || plan_.workload.restart_policy != RestartPolicy::never;
    const std::string killing = killing_text(entry.plan->name, failed, entry.again);
    entry.why_killed = killing + ": " + entry.prober->why_failed();
    events_.add(clock_.now(), false, "Killing", killing);
    stop(entry, entry.plan->probes.at(failed).numbers.grace_ms.value_or(plan_.workload.grace_ms));
  }

  // The shortest of several grace periods counts. A container that is being ended is not probed. As killContainer() of
  // pkg/kubelet/kuberuntime/kuberuntime_container.go: what preStop takes is part of the grace period, and preStop is
  // cut at its end; of a period of zero there is nothing to run it in.
  void stop(ContainerEntry& entry, Millis grace) {
    if (!entry.is_running()) return;
    const Millis kill_at = clock_.now() + grace;
    const bool has_begun = entry.end.has_value();
    if (!has_begun) entry.end = ContainerEnd{kill_at, false, 0};
    entry.end->kill_at = std::min(entry.end->kill_at, kill_at);
    entry.end->least_ms = grace > 0 && entry.plan->pre_stop ? kLeastGraceMs : 0;
    entry.prober.reset();
    if (has_begun && entry.hook) return;
    entry.hook.reset();
    if (has_begun || !entry.has_begun || !entry.plan->pre_stop || grace <= 0) return tell(entry);
    entry.hook = std::make_unique<HookRun>(*entry.plan->pre_stop, CheckSite{starter_, *entry.plan, true}, clock_.now());
  }

  void tell(ContainerEntry& entry) {
    entry.hook.reset();
    if (!entry.end->told) entry.end->kill_at = std::max(entry.end->kill_at, clock_.now() + entry.end->least_ms);
    entry.end->told = true;
    if (kill_at_) kill_at_ = std::max(*kill_at_, entry.end->kill_at);
    entry.process->run().signal(entry.plan->stop_signal);
  }

  // A run has ended. `entry.report->state` has its start time.
  void ended(ContainerEntry& entry, int exit_code, int signal) {
    ContainerState& state = entry.report->state;
    state.kind = ContainerState::Kind::terminated;
    state.exit_code = exit_code;
    state.signal = signal;
    if (!entry.reason_killed.empty()) state.reason = std::exchange(entry.reason_killed, {});
    if (state.reason.empty()) state.reason = exit_code == 0 ? "Completed" : "Error";
    if (!entry.why_killed.empty()) state.message = std::exchange(entry.why_killed, {});
    state.finished_at = to_rfc3339(clock_.wall());
    dirty_ = true;
    const RestartPolicy policy = plan_.workload.restart_policy;
    const bool again =
        std::exchange(entry.again, false) || entry.plan->sidecar ||
        (entry.is_init ? exit_code != 0 && policy != RestartPolicy::never
                       : policy == RestartPolicy::always || (policy == RestartPolicy::on_failure && exit_code != 0));
    if (!again || stopping_ || ending_) {
      entry.done = true;
      return;
    }
    const Millis delay = entry.delay.next(plan_.backoff, entry.started, clock_.now());
    entry.start_at = clock_.now() + delay;
    entry.report->last = state;
    state = {};
    state.reason = "CrashLoopBackOff";
    state.message = back_off_message(delay, entry.plan->name, plan_.workload.pod);
    ++entry.report->restarts;
    has_crashed_ = true;
  }

  // When something is to be done for a container though nothing happens to it.
  Millis wake_of(const ContainerEntry& entry) const {
    Millis wake = clock_.now() + 60'000;
    if (entry.start_at && !stopping_ && !ending_) wake = std::min(wake, *entry.start_at);
    if (entry.is_running() && entry.end) wake = std::min(wake, entry.end->kill_at);
    if (entry.hook) wake = std::min(wake, entry.hook->wake().value_or(wake));
    if (entry.prober) wake = std::min(wake, entry.prober->wake().value_or(wake));
    return wake;
  }

  void wait() {
    std::vector<pollfd> ready = {{signals_, POLLIN, 0}};
    std::vector<ContainerProcess*> writers;
    Millis wake = clock_.now() + 60'000;
    for (ContainerEntry* entry : entries_.all()) {
      wake = std::min(wake, wake_of(*entry));
      if (!entry->is_running()) continue;
      for (const int output : entry->process->outputs()) {
        if (output < 0) continue;
        ready.push_back({output, POLLIN, 0});
        writers.push_back(entry->process.get());
      }
    }
    std::vector<Check*> checks = entries_.checks();
    std::erase_if(checks, [](const Check* check) { return check->fd() < 0; });
    for (const Check* check : checks) ready.push_back({check->fd(), check->events(), 0});
    if (kill_at_) wake = std::min(wake, *kill_at_);
    wake = std::min(wake, deadline().value_or(wake));
    if (dirty_) wake = std::min(wake, write_at_);
    poll(ready.data(), ready.size(), static_cast<int>(std::max<Millis>(wake - clock_.now(), 0)));
    for (std::size_t i = 0; i < writers.size(); ++i) {
      if (ready[i + 1].revents != 0) writers[i]->read_output();
    }
    for (std::size_t i = 0; i < checks.size(); ++i) {
      if (ready[i + 1 + writers.size()].revents != 0) checks[i]->on_ready();
    }
    if (ready[0].revents != 0) read_signals();
    for (ContainerEntry* entry : entries_.all()) advance(*entry);
    if (kill_at_ && clock_.now() >= *kill_at_) {
      const Result<int> killed = starter_.kill_pod();
      kill_at_ = clock_.now() + (killed ? kSweepPause : kSearchPause);
    }
  }

  void read_signals() {
    signalfd_siginfo signal{};
    while (read(signals_, &signal, sizeof signal) == static_cast<ssize_t>(sizeof signal)) {
      if (signal.ssi_signo == kObjectsSignal) starter_.take_objects();
      if (signal.ssi_signo == kEvictSignal) be_evicted();
      if (signal.ssi_signo != kStopSignal) continue;
      stopping_ = true;
      begin_stop(signal.ssi_code == SI_QUEUE ? Millis{signal.ssi_int} : plan_.workload.grace_ms);
    }
    reap();
  }

  void reap() {
    for (siginfo_t dead{}; waitid(P_ALL, 0, &dead, WEXITED | WNOHANG | WNOWAIT) == 0 && dead.si_pid != 0; dead = {}) {
      for (ContainerEntry* entry : entries_.all()) {
        if (entry->is_running()) entry->process->run().note_exit(dead.si_pid);
      }
      int status = 0;
      waitpid(dead.si_pid, &status, WNOHANG);
      take_exit(dead.si_pid, status);
    }
  }

  void take_exit(pid_t child, int status) {
    for (ContainerEntry* entry : entries_.all()) {
      if (!entry->is_running() || !entry->process->run().take_exit(child, status)) continue;
      if (entry->process->run().has_ended()) return collect(*entry);
      if (!entry->has_begun && entry->process->run().has_begun()) begin_run(*entry);
      return;
    }
    if (starter_.take_exit(child, status)) return;
    for (Check* check : entries_.checks()) check->on_exit(child, status);
  }

  void collect(ContainerEntry& entry) {
    entry.prober.reset();
    entry.hook.reset();
    entry.end.reset();
    // Of one that ends before its postStart does.
    if (entry.report->state.kind == ContainerState::Kind::waiting) entry.report->state.reason.clear();
    kill_until_none([&] { return starter_.kill_rest(*entry.plan); });
    entry.process->read_output();
    const std::string failure = entry.process->run().failure();
    const int status = entry.process->run().status();
    if (entry.process->run().is_out_of_memory()) entry.reason_killed = "OOMKilled";
    std::string message = entry.process->run().termination_message();
    entry.process.reset();  // which ends its log
    entry.has_begun = false;
    if (!failure.empty()) return not_run(entry, failure);
    const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    const int exit_code = signal != 0 ? 128 + signal : WEXITSTATUS(status);
    if (message.empty() && exit_code != 0 && entry.plan->shows_log_on_error) {
      message = log_end_of(plan_.directory + "/" + log_name(entry.plan->name));
    }
    if (!message.empty()) entry.report->state.message = std::move(message);
    ended(entry, exit_code, signal);
  }

  void begin_stop(Millis grace) {
    const Millis kill_at = clock_.now() + grace;
    kill_at_ = kill_at_ ? std::min(*kill_at_, kill_at) : kill_at;
    for (ContainerEntry* entry : entries_.all()) stop(*entry, grace);
  }

  void sweep() {
    kill_until_none([this] { return starter_.kill_all(); }, [this] { reap(); });
  }

  // What hangs is left to whoever removes the pod.
  void remove_shared() {
    const Millis give_up_at = clock_.now() + kRemovalMs;
    while (!starter_.remove() && clock_.now() < give_up_at) {
      pollfd ready{signals_, POLLIN, 0};
      poll(&ready, 1, static_cast<int>(std::max<Millis>(give_up_at - clock_.now(), 0)));
      read_signals();
    }
  }

  int finish() {
    state_.finished = true;
    state_.phase = "Succeeded";
    state_.reason.clear();  // a sidecar may wait for its disk
    state_.message = remark_;
    for (ContainerEntry* entry : entries_.all()) {
      if (!entry->plan->sidecar && !entry->has_succeeded()) state_.phase = "Failed";
    }
    if (is_too_late_) {
      state_.phase = "Failed";
      state_.reason = "DeadlineExceeded";
      state_.message = "Pod was active on the node longer than the specified deadline";
    }
    if (eviction_) end_as_evicted(*eviction_, state_, to_rfc3339(clock_.wall()));
    dirty_ = true;
    remove_shared();
    // The outcome cannot be determined again, so this process does not end before it is written, unless it is stopped.
    for (write_state(); dirty_ && !stopping_; write_state()) {
      // What has filled the disk may be the pod's own files. The agent removes them, and writes how the pod ended.
      if (eviction_ && is_full_disk(write_error_)) return kKeeperStopped;
      wait();
    }
    return state_.phase == "Succeeded" ? kKeeperSucceeded : kKeeperFailed;
  }

  std::string state_text() {
    state_.events = events_.list();
    update_conditions(state_, plan_.workload.readiness_gates, to_rfc3339(clock_.wall()));
    return to_json(state_).dump();
  }

  // Before anything is started there is a state, so that a pod with restartPolicy Never is not started again. The first
  // one tells the agent nothing that it does not know: it is not moved into place, which would wake it. A part of it is
  // as good as none, since nothing was started then.
  void note_begun() {
    if (plan_.is_first && !create_file(plan_.directory, PodState::kFile, state_text())) {
      dirty_ = false;
    } else {
      write_state();
    }
  }

  // What cannot be written now (the disk is full) is written later: the state stays dirty until then.
  void write_state() {
    dirty_ |= events_.take_changed();
    if (!dirty_ || clock_.now() < write_at_) return;
    // The final state is made durable, since it cannot be determined again; a crash, since a power cut must not set the
    // number of restarts back, but of a container that crashes all the time not each one.
    const bool durable = state_.finished || (has_crashed_ && clock_.now() >= durable_at_);
    if (durable) durable_at_ = clock_.now() + kDurableMs;
    has_crashed_ = has_crashed_ && !durable;
    write_error_ = replace_file(plan_.directory, PodState::kFile, state_text(), durable);
    dirty_ = write_error_ &&
             write_error_ != std::errc::no_such_file_or_directory;  // nobody misses it if the directory is gone
    write_delay_ms_ = dirty_ ? std::clamp(write_delay_ms_ * 2, kFirstRewriteMs, kLongestRewriteMs) : 0;
    write_at_ = clock_.now() + write_delay_ms_;
  }

  const KeeperPlan& plan_;
  ContainerStarter& starter_;
  const int signals_;
  RealClock clock_;
  PodState state_;
  RecentEvents events_{"k"};
  std::string remark_;  // its message, unless there is something to tell
  ContainerEntries entries_;
  bool stopping_ = false;     // on request
  bool is_too_late_ = false;  // its deadline has passed
  bool ending_ = false;       // all are being stopped: the main ones have ended, it is too late, or it is evicted
  std::optional<Eviction> eviction_;
  std::error_code write_error_;  // of the last attempt to write the state
  bool dirty_ = true;            // the file does not have the state
  Millis write_delay_ms_ = 0;    // after the last attempt to write it, which failed
  Millis write_at_ = 0;          // not before
  bool has_crashed_ = false;     // since the file was last made durable
  Millis durable_at_ = 0;        // not before, but for the final state
  std::optional<Millis> kill_at_;
};

}  // namespace

int keep(const KeeperPlan& plan, ContainerStarter& starter, int signals) {
  return Keeper(plan, starter, signals).run();
}

}  // namespace berth
