#include "firmware-host/agent/process_runtime_pod.h"

#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <set>
#include <utility>

#include "core/api/pod.h"

namespace berth {

namespace {

// "<uid><separator><epoch>"
std::optional<Tag> parse_tag(std::string_view text, char separator) {
  const std::size_t middle = text.rfind(separator);
  if (middle == std::string_view::npos || middle == 0) return std::nullopt;
  const Result<Epoch> epoch = parse_epoch(text.substr(middle + 1));
  if (!epoch) return std::nullopt;
  return Tag{std::string(text.substr(0, middle)), *epoch};
}

}  // namespace

bool is_plain(const std::string& uid) {
  const auto is_good = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
           c == '_';
  };
  return !uid.empty() && uid.size() <= 200 && uid.front() != '.' && std::all_of(uid.begin(), uid.end(), is_good);
}

ProcessRuntime::ProcessRuntime(ProcessRuntimeConfig config, asio::io_context& context, const Clock& clock,
                               Timers& timers, Log& log)
    : config_(std::move(config)), context_(context), clock_(clock), timers_(timers), log_(log) {}

ProcessRuntime::~ProcessRuntime() {
  for (auto& [tag, pod] : pods_) timers_.cancel(pod->timer);
}

Status ProcessRuntime::open() {
  if (!config_.root.starts_with('/'))
    return Status::error("runtime directory '" + config_.root + "': must be absolute");
  std::error_code error;
  std::filesystem::create_directories(config_.root + kTrashDirectory, error);
  if (error) return Status::error("runtime directory " + config_.root + ": " + error.message());
  const int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (fd < 0) return Status::error(std::string("inotify: ") + std::strerror(errno));
  inotify_ = std::make_unique<FdWatch>(context_, fd, [this] { read_changes(); });
  std::vector<std::string> leftovers;
  for (std::filesystem::directory_iterator at(config_.root + kTrashDirectory, error), end; !error && at != end;
       at.increment(error)) {
    leftovers.push_back(at->path().string());
  }
  if (!leftovers.empty()) remove_unattended({}, leftovers);
  return Status::ok();
}

std::string ProcessRuntime::directory_of(const Tag& tag) const {
  return config_.root + "/" + tag.uid + "@" + to_text(tag.epoch);
}

ProcessRuntime::Pod& ProcessRuntime::pod_of(const Tag& tag) {
  std::unique_ptr<Pod>& pod = pods_[tag];
  if (!pod) {
    pod = std::make_unique<Pod>();
    pod->tag = tag;
    pod->directory = directory_of(tag);
  }
  return *pod;
}

void ProcessRuntime::later(Pod& pod, Millis delay, Next next) {
  timers_.cancel(pod.timer);
  pod.timer = timers_.at(clock_.now() + delay, [this, tag = pod.tag, next] {
    const auto found = pods_.find(tag);
    if (found == pods_.end()) return;
    found->second->timer = 0;
    (this->*next)(tag);
  });
}

std::vector<Tag> ProcessRuntime::list() {
  std::set<Tag> tags;
  std::error_code error;
  for (std::filesystem::directory_iterator at(config_.root, error), end; !error && at != end; at.increment(error)) {
    if (const auto tag = parse_tag(at->path().filename().string(), '@')) tags.insert(*tag);
  }
  const std::string prefix = config_.fleet + "/" + config_.node + "/";
  for (const auto& found : {find_keepers(prefix), find_tagged(prefix)}) {
    for (const Tagged& tagged : found) {
      if (const auto tag = parse_tag(std::string_view(tagged.tag).substr(prefix.size()), '/')) tags.insert(*tag);
    }
  }
  return {tags.begin(), tags.end()};
}

Result<Workload> ProcessRuntime::plan(const Tag& tag, const std::string& pod,
                                      const std::vector<BoundVolume>& volumes) const {
  if (!is_plain(tag.uid)) {
    return Status::error("metadata.uid: must consist of letters, digits, '-', '.' and '_', got '" + tag.uid + "'");
  }
  const Result<Json> json = Json::parse(pod);
  if (!json) return Status::error("pod: " + json.error().message());
  const char* path = std::getenv("PATH");
  const char* home = std::getenv("HOME");
  Site site;
  site.fleet = config_.fleet;
  site.node = config_.node;
  site.pod_directory = directory_of(tag);
  site.offered = config_.offered;
  site.search_path = path != nullptr ? path : "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
  site.home = home != nullptr ? home : "/";
  return plan_workload(*json, tag, volumes, site);
}

Status ProcessRuntime::make_ready(const Workload& workload, const std::string& directory) const {
  for (const std::string& path : workload.existing) {
    struct stat found{};
    if (stat(path.c_str(), &found) != 0 || !S_ISDIR(found.st_mode)) {
      return Status::error("directory " + path + " does not exist on node " + config_.node +
                           " and is not inside a volume that the node offers: create it");
    }
  }
  std::vector<std::string> to_create = {directory};
  to_create.insert(to_create.end(), workload.directories.begin(), workload.directories.end());
  for (const std::string& path : to_create) {
    std::error_code error;
    std::filesystem::create_directories(path, error);
    if (error) return Status::error("directory " + path + ": " + error.message());
  }
  return Status::ok();
}

void ProcessRuntime::prepare(const Tag& tag, const std::string& pod, const std::vector<BoundVolume>& volumes) {
  Pod& entry = pod_of(tag);
  const Result<Workload> workload = plan(tag, pod, volumes);
  entry.prepared = workload ? make_ready(*workload, entry.directory) : workload.error();
  later(entry, 0, &ProcessRuntime::answer_prepared);
}

void ProcessRuntime::answer_prepared(const Tag& tag) {
  const Status status = std::exchange(pods_.at(tag)->prepared, Status::ok());
  if (!status.is_success()) undo(tag);
  if (handler_ != nullptr) handler_->on_prepared(tag, status);
}

Result<std::string> ProcessRuntime::start(const Tag& tag, const std::string& pod,
                                          const std::vector<BoundVolume>& volumes) {
  Pod& entry = pod_of(tag);
  if (entry.stopping) return Status::error("the workload is being stopped");
  timers_.cancel(entry.timer);
  entry.manifest = pod;
  entry.volumes = volumes;
  if (entry.exit) return to_text(entry.keeper);
  for (const Tagged& keeper : find_keepers(text_of(tag))) {
    if (keeper.tag != text_of(tag) || !watch_keeper(entry, keeper.process)) continue;
    watch_directory(entry);
    later(entry, 0, &ProcessRuntime::report);
    return to_text(entry.keeper);
  }
  if (const Result<PodState> state = read_pod_state(entry.directory)) {
    const Result<Workload> workload = plan(tag, pod, volumes);
    if (!state->finished && workload && workload->restart_policy == RestartPolicy::never) {
      sweep(tag);  // then write_lost()
      return state->handle;
    }
    if (state->finished) {
      later(entry, 0, &ProcessRuntime::report);
      return state->handle;
    }
  }
  if (Status forked = fork_held(entry); !forked.is_success()) return forked;
  return to_text(entry.keeper);
}

Status ProcessRuntime::fork_held(Pod& pod) {
  Result<Workload> workload = plan(pod.tag, pod.manifest, pod.volumes);
  if (!workload) return workload.error();
  if (Status made = make_ready(*workload, pod.directory); !made.is_success()) return made;
  watch_directory(pod);
  KeeperPlan keeper_plan;
  keeper_plan.workload = std::move(*workload);
  keeper_plan.directory = pod.directory;
  keeper_plan.backoff = config_.backoff;
  if (const Result<PodState> before = read_pod_state(pod.directory)) {
    for (const auto& reports : {before->init_containers, before->containers}) {
      for (const ContainerReport& report : reports) keeper_plan.restarts[report.name] = report.restarts + 1;
    }
  }
  const Result<ProcessId> keeper = fork_keeper(keeper_plan);
  if (!keeper) return keeper.error();
  if (!watch_keeper(pod, *keeper)) return Status::error("the pod's keeper exited immediately");
  return Status::ok();
}

bool ProcessRuntime::watch_keeper(Pod& pod, const ProcessId& keeper) {
  const int fd = open_pidfd(keeper);
  if (fd < 0) return false;
  pod.keeper = keeper;
  pod.keeper_since = clock_.now();
  pod.exit = std::make_unique<FdWatch>(context_, fd, [this, tag = pod.tag] { on_keeper_exit(tag); });
  return true;
}

void ProcessRuntime::watch_directory(Pod& pod) {
  if (pod.watch >= 0) watched_.erase(pod.watch);
  pod.watch = inotify_add_watch(inotify_->fd(), pod.directory.c_str(), IN_MOVED_TO | IN_ONLYDIR);
  if (pod.watch >= 0) watched_[pod.watch] = pod.tag;
}

void ProcessRuntime::read_changes() {
  std::set<Tag> changed;
  alignas(inotify_event) std::array<char, 16384> events;
  const ssize_t length = read(inotify_->fd(), events.data(), events.size());
  for (ssize_t at = 0; at < length;) {
    inotify_event event{};
    std::memcpy(&event, events.data() + at, sizeof event);
    const char* name = events.data() + at + sizeof event;
    if ((event.mask & IN_Q_OVERFLOW) != 0) {
      for (const auto& [watch, tag] : watched_) changed.insert(tag);
    } else if (const auto found = watched_.find(event.wd); found != watched_.end()) {
      if ((event.mask & IN_IGNORED) != 0) {
        watched_.erase(found);
      } else if (event.len > 0 && std::strcmp(name, PodState::kFile) == 0) {
        changed.insert(found->second);
      }
    }
    at += static_cast<ssize_t>(sizeof event + event.len);
  }
  for (const Tag& tag : changed) report(tag);
}

void ProcessRuntime::report(const Tag& tag) {
  const auto found = pods_.find(tag);
  if (found == pods_.end() || found->second->stopping) return;
  Pod& pod = *found->second;
  const Result<PodState> state = read_pod_state(pod.directory);
  if (!state) return;
  std::string text = status_text(*state);
  if (text == pod.reported && state->finished == pod.reported_finished) return;
  pod.reported = text;
  pod.reported_finished = state->finished;
  if (handler_ != nullptr) handler_->on_status(tag, text, state->finished);
}

void ProcessRuntime::go(const Tag& tag) {
  const auto found = pods_.find(tag);
  if (found == pods_.end() || found->second->stopping) return;
  found->second->may_go = true;
  if (found->second->exit) send_signal(found->second->exit->fd(), kGoSignal);
}

}  // namespace berth
