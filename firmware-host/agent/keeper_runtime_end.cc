// How a pod ends: keepers that exit or die, stops, and the removal of what is left.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "firmware-host/agent/containers/pod_cgroup.h"
#include "firmware-host/agent/keeper_runtime_evict.h"
#include "firmware-host/agent/keeper_runtime_pod.h"
#include "firmware-host/agent/pod_conditions.h"
#include "firmware-host/agent/pod_settings.h"
#include "firmware-host/real_clock.h"

namespace berth {

namespace {

constexpr Millis kKeeperSlack = 5000;    // after the grace period, before a keeper that has not exited is killed
constexpr Millis kReviveAgain = 10'000;  // after a keeper that could not be made: a disk may be back soon

// All of a pod; its directory is moved away by whoever removes it.
Remains remains_of(const KeeperRuntimeConfig& config, const Tag& tag, std::vector<std::string> tags) {
  return {std::move(tags), cgroup_of_node(config.fleet, config.node) + "/" + directory_name(tag), {}, {}};
}

}  // namespace

void KeeperRuntime::undo(const Tag& tag) {
  if (!is_plain(tag.uid)) {
    pods_.erase(tag);  // refused by prepare(), which created no directory
    return;
  }
  if (planner_.objects() != nullptr) planner_.objects()->forget(tag);
  const auto held = pods_.find(tag);
  // It may not have its tag yet, by which keepers are found.
  if (held != pods_.end() && held->second->exit) send_signal(held->second->exit->fd(), SIGKILL);
  const Status killed = kill_keepers(texts_of(tag));
  const Result<std::string> trash = killed.is_success() ? trash_.move(planner_.directory_of(tag)) : killed;
  if (!trash) {
    Pod& pod = pod_of(tag);
    pod.stopping = true;  // nothing of it is reported any more
    return try_again(pod, "cannot undo a pod now, trying again", trash.error(), &KeeperRuntime::undo);
  }
  if (const auto found = pods_.find(tag); found != pods_.end()) {
    Pod& pod = *found->second;
    timers_.cancel(pod.timer);
    watched_.erase(pod.watch);
    if (pod.exit) ending_.add({pod.keeper, fcntl(pod.exit->fd(), F_DUPFD_CLOEXEC, 0)});
    pods_.erase(found);
  }
  if (trash->empty()) return;
  Remains remains = remains_of(config_, tag, texts_of(tag));
  remains.directories.push_back(*trash);
  remove_unattended(remains, ending_);
}

void KeeperRuntime::remove_unattended(const Remains& remains, ExitCollector& collector) {
  const Result<OpenProcess> sweeper = fork_sweeper(remains);
  if (!sweeper) {
    log_.write(Level::warn, "cannot delete pod directories before the next start",
               {{"path", remains.directories.front()}, {"error", sweeper.error().message()}});
    return;
  }
  collector.add(*sweeper);
}

void KeeperRuntime::on_keeper_exit(const Tag& tag) {
  const auto found = pods_.find(tag);
  if (found == pods_.end() || !found->second->exit) return;
  Pod& pod = *found->second;
  pod.exit_code = collect_exit(pod.exit->fd());
  pod.exit.reset();
  if (pod.stopping) {
    stop_again(tag);  // there may be another keeper, under another tag
  } else {
    judge_exit(tag);
  }
}

void KeeperRuntime::judge_exit(const Tag& tag) {
  Pod& pod = *pods_.at(tag);
  const Result<std::optional<PodState>> state = read_pod_state(pod.directory);
  if (!state) {
    try_again(pod, "cannot read the state of a pod that ended, trying again", state.error(),
              &KeeperRuntime::judge_exit);
  } else if (*state && (*state)->finished) {
    report(tag);
  } else if (pod.exit_code == kKeeperSucceeded || pod.exit_code == kKeeperFailed) {
    // The directory was removed meanwhile; only the exit code tells the outcome.
    pod.reported_finished = true;
    PodState end;
    end.phase = pod.exit_code == kKeeperSucceeded ? "Succeeded" : "Failed";
    end.reason = "StateLost";
    end.message = "the pod's directory was removed while the pod was running";
    if (handler_ != nullptr) handler_->on_status(tag, status_text(end), true);
  } else {
    log_.write(Level::warn, "keeper of a pod died",
               {{"uid", pod.tag.uid}, {"epoch", to_text(pod.tag.epoch)}, {"keeper", to_text(pod.keeper)}});
    const bool is_over = pod.evicted || (pod.may_go && restart_policy_of(pod.manifest) == RestartPolicy::never);
    if (is_over) return sweep(pod.tag);  // then write_lost()
    later(pod, pod.revival.next(config_.backoff, pod.keeper_since, clock_.now()), &KeeperRuntime::revive);
  }
}

void KeeperRuntime::revive(const Tag& tag) {
  Pod& pod = *pods_.at(tag);
  if (Status forked = fork_held(pod); !forked.is_success()) {
    log_.write(Level::warn, "cannot restart pod", {{"uid", tag.uid}, {"error", forked.message()}});
    later(pod, std::min(config_.backoff.longest_ms, kReviveAgain), &KeeperRuntime::revive);
    pod.reported.clear();
    // Its last state is that of the dead keeper: "Running", for as long as a disk is missing.
    if (handler_ != nullptr) handler_->on_status(tag, not_started_text(pod.directory, forked.message(), false), false);
    return;
  }
  if (pod.may_go) go(tag);
}

void KeeperRuntime::write_lost(const Tag& tag) {
  Pod& pod = *pods_.at(tag);
  const Result<std::optional<PodState>> known = read_pod_state(pod.directory);
  if (!known) {
    return try_again(pod, "cannot read the state of a pod that ended, trying again", known.error(),
                     &KeeperRuntime::write_lost);
  }
  PodState state = known->value_or(PodState{});
  state.finished = true;
  state.phase = "Failed";
  state.reason = "KeeperLost";
  state.message = "the pod's keeper process died; restartPolicy Never does not allow a restart";
  note_lost_runs(state);
  const std::string now = to_rfc3339(clock_.wall());
  // Before anything is written: they may be what leaves no room for it.
  if (pod.evicted) evictions_->remove_files(pod.directory);
  if (pod.evicted) end_as_evicted(read_eviction(pod.directory).value_or(Eviction{}).value_or(Eviction{}), state, now);
  update_conditions(state, {}, now);
  const std::error_code error = replace_file(pod.directory, PodState::kFile, to_json(state).dump(), true);
  if (error && error != std::errc::no_such_file_or_directory) {
    return try_again(pod, "cannot write the state of a pod that ended, trying again", Status::error(error.message()),
                     &KeeperRuntime::write_lost);
  }
  pod.reported = status_text(state);
  pod.reported_finished = true;
  if (handler_ != nullptr) handler_->on_status(tag, pod.reported, true);
}

void KeeperRuntime::stop(const Tag& tag, Millis grace) {
  Pod& pod = pod_of(tag);
  pod.stopping = true;
  pod.stop_grace_ms = grace;
  if (pod.sweeper) return;
  const Result<bool> watched = pod.exit ? true : watch_running_keeper(pod);
  if (!watched) {
    return try_again(pod, "cannot stop a pod now, trying again", watched.error(), &KeeperRuntime::stop_again);
  }
  if (!*watched) {
    sweep(tag);
    return;
  }
  const Millis limit = std::numeric_limits<int>::max();
  send_signal(pod.exit->fd(), kStopSignal, static_cast<int>(std::clamp<Millis>(grace, 0, limit)));
  later(pod, std::clamp<Millis>(grace, 0, limit) + kKeeperSlack, &KeeperRuntime::give_up);
}

void KeeperRuntime::stop_again(const Tag& tag) { stop(tag, pods_.at(tag)->stop_grace_ms); }

void KeeperRuntime::give_up(const Tag& tag) {
  log_.write(Level::warn, "keeper did not exit within the grace period, killing it", {{"uid", tag.uid}});
  if (const Status killed = kill_keepers(texts_of(tag)); !killed.is_success()) {
    try_again(*pods_.at(tag), "cannot kill a keeper now, trying again", killed, &KeeperRuntime::give_up);
  }
}

void KeeperRuntime::try_again(Pod& pod, std::string_view what, const Status& why, Next next) {
  log_.write(Level::warn, what, {{"uid", pod.tag.uid}, {"epoch", to_text(pod.tag.epoch)}, {"error", why.message()}});
  later(pod, kRetry, next);
}

void KeeperRuntime::sweep(const Tag& tag) {
  Pod& pod = pod_of(tag);
  timers_.cancel(pod.timer);
  Remains remains = remains_of(config_, tag, texts_of(tag));
  if (pod.stopping && is_plain(tag.uid)) {
    Result<std::string> trash = trash_.move(pod.directory);
    if (!trash) return try_again(pod, "cannot sweep a pod now, trying again", trash.error(), &KeeperRuntime::sweep);
    pod.removing = true;
    watched_.erase(pod.watch);
    if (!trash->empty()) remains.directories.push_back(std::move(*trash));
  }
  if (!pod.stopping) remains.networks.push_back(pod.directory);
  const Result<OpenProcess> sweeper = fork_sweeper(remains);
  if (!sweeper) {
    return try_again(pod, "cannot sweep a pod now, trying again", sweeper.error(), &KeeperRuntime::sweep);
  }
  pod.sweeper = std::make_unique<FdWatch>(context_, sweeper->pidfd, [this, tag] { on_swept(tag); });
}

void KeeperRuntime::on_swept(const Tag& tag) {
  const auto found = pods_.find(tag);
  if (found == pods_.end() || !found->second->sweeper) return;
  Pod& pod = *found->second;
  const bool is_clean = collect_exit(pod.sweeper->fd()) == 0;
  pod.sweeper.reset();
  if (!is_clean) {
    later(pod, kRetry, &KeeperRuntime::sweep);
  } else if (!pod.stopping) {
    write_lost(tag);
  } else if (!pod.removing) {
    sweep(tag);  // stop() was called during another sweep
  } else {
    pods_.erase(found);
    other_texts_.erase(tag);
    if (planner_.objects() != nullptr) planner_.objects()->forget(tag);
    if (handler_ != nullptr) handler_->on_stopped(tag);
  }
}

}  // namespace berth
