#include "firmware-host/agent/keeper_runtime_evict.h"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <system_error>

#include "firmware-host/agent/keeper_runtime_pod.h"

namespace berth {

void KeeperRuntime::Evictions::for_each_running(const Visit& visit) const {
  for (const auto& [tag, pod] : runtime_.pods_) {
    if (!pod->may_go || pod->stopping || pod->evicted || pod->reported_finished) continue;
    visit(tag, pod->directory, pod->manifest);
  }
}

bool KeeperRuntime::Evictions::has_ended(const Tag& tag) const {
  const auto found = runtime_.pods_.find(tag);
  return found == runtime_.pods_.end() || found->second->reported_finished;
}

Status KeeperRuntime::Evictions::evict(const Tag& tag, const Eviction& eviction) {
  const auto found = runtime_.pods_.find(tag);
  if (found == runtime_.pods_.end() || !found->second->may_go) return Status::error("the pod does not run");
  Pod& pod = *found->second;
  if (pod.stopping || pod.evicted || pod.reported_finished) return Status::ok();
  if (Status recorded = record_eviction(pod.directory, eviction); !recorded.is_success()) return recorded;
  runtime_.log_.write(Level::warn, "pod evicted",
                      {{"uid", tag.uid}, {"epoch", to_text(tag.epoch)}, {"why", eviction.message}});
  return resume(pod);
}

Status KeeperRuntime::Evictions::resume(Pod& pod) {
  if (!pod.evicted) {
    const Result<std::optional<Eviction>> eviction = read_eviction(pod.directory);
    if (!eviction) return eviction.error();
    pod.evicted = eviction->has_value();
  }
  if (!pod.evicted) return Status::ok();
  if (pod.exit) {
    send_signal(pod.exit->fd(), kEvictSignal);
  } else if (!pod.sweeper) {
    runtime_.sweep(pod.tag);  // then write_lost()
  }
  return Status::ok();
}

bool KeeperRuntime::Evictions::is_any() const {
  return std::any_of(runtime_.pods_.begin(), runtime_.pods_.end(), [](const auto& each) {
    const Pod& pod = *each.second;
    return pod.evicted && !pod.reported_finished && !pod.stopping;
  });
}

void KeeperRuntime::Evictions::remove_files_of_finished() {
  std::error_code error;
  for (std::filesystem::directory_iterator at(runtime_.config_.root, error), end; !error && at != end;
       at.increment(error)) {
    const auto tag = tag_of_directory(at->path().filename().string());
    if (!tag) continue;
    const auto known = runtime_.pods_.find(*tag);
    if (known != runtime_.pods_.end() && !known->second->reported_finished) continue;
    const Result<std::optional<PodState>> state = read_pod_state(at->path().string());
    if (state && *state && (*state)->finished) remove_files(at->path().string());
  }
}

void KeeperRuntime::Evictions::remove_files(const std::string& directory) {
  Remains remains;
  for (const char* name : {"/containers", "/volumes", "/scratch"}) {
    Result<std::string> trash = runtime_.trash_.move(directory + name);
    if (!trash) {
      runtime_.log_.write(Level::warn, "cannot remove files of a pod that has ended",
                          {{"error", trash.error().message()}});
    } else if (!trash->empty()) {
      remains.directories.push_back(std::move(*trash));
    }
  }
  if (!remains.directories.empty()) runtime_.remove_unattended(remains, sweepers_);
}

}  // namespace berth
