#include "firmware-host/agent/keeper_runtime_pod.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "core/api/pod.h"
#include "firmware-host/agent/bound_volumes.h"
#include "firmware-host/agent/containers/pod_cgroup.h"
#include "firmware-host/agent/containers/sandbox_plan.h"
#include "firmware-host/agent/keeper_runtime_evict.h"
#include "firmware-host/agent/pod_order.h"
#include "firmware-host/agent/pod_settings.h"
#include "firmware-host/agent/volumes/node_path.h"

namespace berth {

namespace {

constexpr std::string_view kStartDelayed = "cannot start a pod now, trying again";

// "<uid>/<epoch>" of "<fleet>/<node>/<uid>/<epoch>"
std::string_view without_node(std::string_view text) {
  for (int level = 0; level < 2; ++level) text.remove_prefix(std::min(text.find('/'), text.size() - 1) + 1);
  return text;
}

Status find_existing(const Workload& workload, const std::string& node) {
  for (const NodePath& path : workload.existing) {
    if (Status found = find_node_path(path, node); !found.is_success()) return found;
  }
  return Status::ok();
}

Status make_directory(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  return error ? Status::pending("directory " + path + ": " + error.message()) : Status::ok();
}

// What the gateway must know before it chooses this node for good: that the pod's directory and those outside of it can
// be made. Those within it can be too then, and are made while nobody waits.
Status make_room(const Workload& workload, const std::string& directory, const std::string& node) {
  if (Status found = find_existing(workload, node); !found.is_success()) return found;
  if (Status made = make_directory(directory); !made.is_success()) return made;
  for (const std::string& path : workload.directories) {
    if (path.starts_with(directory + "/")) continue;
    if (Status made = make_directory(path); !made.is_success()) return made;
  }
  return Status::ok();
}

// The directory that tells it has a sandbox, too: see runtime_of() of PodPlanner.
Status make_room_of_its_own(const Workload& workload, const std::string& directory, const std::string& node) {
  if (Status made = make_room(workload, directory, node); !made.is_success()) return made;
  return workload.sandbox ? make_directory(directory + directory_in_pod(*workload.sandbox)) : Status::ok();
}

Status make_ready(const Workload& workload, const std::string& directory, const std::string& node) {
  if (Status made = make_room_of_its_own(workload, directory, node); !made.is_success()) return made;
  for (const std::string& path : workload.directories) {
    if (Status made = make_directory(path); !made.is_success()) return made;
  }
  return Status::ok();
}

// By container, what keepers that are gone have left.
std::map<std::string, ContainerReport> reports_of_runs_that_ended(PodState& before) {
  note_lost_runs(before);
  std::map<std::string, ContainerReport> reports;
  for (auto* each : {&before.init_containers, &before.containers}) {
    for (ContainerReport& report : *each) reports[report.name] = std::move(report);
  }
  return reports;
}

}  // namespace

KeeperRuntime::KeeperRuntime(KeeperRuntimeConfig config, asio::io_context& context, const Clock& clock, Timers& timers,
                             Log& log)
    : config_(std::move(config)),
      demands_{config_.node, config_.mount_points},
      planner_({config_.fleet, config_.node, config_.root}, config_.backoff, config_.logs, demands_),
      evictions_(std::make_unique<Evictions>(*this, context)),
      trash_(config_.root),
      context_(context),
      clock_(clock),
      timers_(timers),
      log_(log),
      ending_(context) {}

KeeperRuntime::~KeeperRuntime() {
  for (auto& [tag, pod] : pods_) timers_.cancel(pod->timer);
  timers_.cancel(spare_timer_);
  timers_.cancel(stragglers_timer_);
}

Status KeeperRuntime::open() {
  if (!config_.root.starts_with('/'))
    return Status::error("runtime directory '" + config_.root + "': must be absolute");
  const Result<std::vector<std::string>> leftovers = trash_.open();
  if (!leftovers) return leftovers.error();
  const int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (fd < 0) return Status::error(std::string("inotify: ") + std::strerror(errno));
  inotify_ = std::make_unique<FdWatch>(context_, fd, [this] { read_changes(); });
  if (!leftovers->empty()) remove_unattended({{}, {}, {}, *leftovers}, ending_);
  fork_spare_later();
  return Status::ok();
}

std::vector<std::string> KeeperRuntime::texts_of(const Tag& tag) const {
  std::vector<std::string> texts = {tag_text(config_.fleet, config_.node, tag)};
  if (const auto others = other_texts_.find(tag); others != other_texts_.end()) {
    texts.insert(texts.end(), others->second.begin(), others->second.end());
  }
  return texts;
}

KeeperRuntime::Pod& KeeperRuntime::pod_of(const Tag& tag) {
  std::unique_ptr<Pod>& pod = pods_[tag];
  if (!pod) {
    pod = std::make_unique<Pod>();
    pod->tag = tag;
    pod->directory = planner_.directory_of(tag);
  }
  return *pod;
}

void KeeperRuntime::later(Pod& pod, Millis delay, Next next) {
  timers_.cancel(pod.timer);
  pod.timer = timers_.at(clock_.now() + delay, [this, tag = pod.tag, next] {
    const auto found = pods_.find(tag);
    if (found == pods_.end()) return;
    found->second->timer = 0;
    (this->*next)(tag);
  });
}

Result<std::vector<Tag>> KeeperRuntime::list() {
  std::set<Tag> tags;
  std::error_code error;
  for (std::filesystem::directory_iterator at(config_.root, error), end; !error && at != end; at.increment(error)) {
    if (const auto tag = tag_of_directory(at->path().filename().string())) tags.insert(*tag);
  }
  if (error) return Status::error("cannot read " + config_.root + ": " + error.message());
  const std::string prefix = config_.fleet + "/" + config_.node + "/";
  const Owners owners = owners_of(config_.root);
  for (const auto& found : {find_keepers(prefix, owners), find_tagged(prefix, owners)}) {
    if (!found) return found.error();
    for (const Tagged& tagged : *found) {
      const auto tag = parse_tag(without_node(tagged.tag), '/');
      if (!tag) continue;
      tags.insert(*tag);
      if (!tagged.tag.starts_with(prefix)) other_texts_[*tag].insert(tagged.tag);
    }
  }
  for (const std::string& name : PodCgroup::names_below(cgroup_of_node(config_.fleet, config_.node))) {
    if (const auto tag = tag_of_directory(name)) tags.insert(*tag);
  }
  inherited_ = tags;
  timers_.cancel(stragglers_timer_);
  stragglers_timer_ = timers_.at(clock_.now() + config_.stragglers_after_ms, [this] { kill_stragglers(); });
  return std::vector<Tag>(tags.begin(), tags.end());
}

// Nobody can have released them: an agent waits for the tag first (go()).
void KeeperRuntime::kill_stragglers() {
  stragglers_timer_ = 0;
  std::vector<std::string> texts;
  const Result<std::vector<Tagged>> found =
      find_keepers(config_.fleet + "/" + config_.node + "/", owners_of(config_.root));
  for (const Tagged& tagged : found.value_or(std::vector<Tagged>{})) {
    const auto tag = parse_tag(without_node(tagged.tag), '/');
    if (tag && !pods_.contains(*tag) && !inherited_->contains(*tag)) texts.push_back(tagged.tag);
  }
  const Status killed = !found ? found.error() : texts.empty() ? Status::ok() : kill_keepers(texts);
  if (killed.is_success()) return;
  stragglers_timer_ = timers_.at(clock_.now() + kRetry, [this] { kill_stragglers(); });
}

Result<std::vector<std::string>> KeeperRuntime::list_others(const std::string& fleet, const std::string& node) {
  const std::string prefix = fleet + "/" + node + "/";
  const Owners owners = owners_of(config_.root);
  std::vector<std::string> others;
  for (const auto& found : {find_keepers(prefix), find_tagged(prefix)}) {
    if (!found) return found.error();
    for (const Tagged& tagged : *found) {
      if (is_of(tagged.owner, owners)) continue;
      others.push_back("process " + std::to_string(tagged.process.pid) + " of " + tagged.tag);
    }
  }
  return others;
}

void KeeperRuntime::prepare(const Tag& tag, const std::string& pod, const std::vector<BoundVolume>& volumes) {
  Pod& entry = pod_of(tag);
  Result<Workload> workload = planner_.plan(tag, pod, volumes, true);
  if (const Status gate = evictions_->admit(pod); workload && !gate.is_success()) workload = gate;
  Status prepared = workload ? find_volumes(workload->volumes, demands_) : workload.error();
  if (prepared.is_success()) prepared = make_room_of_its_own(*workload, entry.directory, config_.node);
  if (prepared.is_success()) {
    entry.manifest = pod;
    entry.volumes = volumes;
    // Its images come when it is to be started.
    if (!workload->sandbox) {
      entry.planned = std::move(*workload);
      later(entry, 0, &KeeperRuntime::fork_ahead);
    }
  } else {
    undo(tag);
  }
  if (handler_ != nullptr) handler_->on_prepared(tag, std::move(prepared));
}

// While the gateway commits phase bind the device has nothing to do, and making a keeper costs more than all else that
// a start needs. What goes wrong is told by start(), which tries it again.
void KeeperRuntime::fork_ahead(const Tag& tag) {
  Pod& pod = *pods_.at(tag);
  if (pod.stopping || !pod.never_had_keeper(inherited_)) return;
  pod.had_no_keeper = true;
  if (const Status forked = fork_held(pod); !forked.is_success()) pod.had_no_keeper = false;
}

// Not while pods are being started: it would be in their way. Without a spare process the next one is just forked
// later.
void KeeperRuntime::fork_spare_later() {
  timers_.cancel(spare_timer_);
  spare_timer_ = timers_.at(clock_.now() + config_.spare_after_ms, [this] {
    spare_timer_ = 0;
    const Status forked = spare_.fork([this](const std::string& order) { return planner_.first_keeper(order); });
    if (!forked.is_success()) log_.write(Level::debug, "no process is forked ahead", {{"error", forked.message()}});
  });
}

Status KeeperRuntime::check(const std::string& pod, const std::vector<BoundVolume>& volumes) {
  // Whatever the tag is: only the environment depends on it.
  const Result<Workload> workload = planner_.plan({"unplaced", {}}, pod, volumes, true);
  if (!workload) return workload.error();
  if (Status gate = evictions_->admit(pod); !gate.is_success()) return gate;
  if (Status found = find_volumes(workload->volumes, demands_, false); !found.is_success()) return found;
  return find_existing(*workload, config_.node);
}

Result<std::string> KeeperRuntime::start(const Tag& tag, const std::string& pod,
                                         const std::vector<BoundVolume>& volumes) {
  Pod& entry = pod_of(tag);
  if (entry.stopping) return Status::error("the workload is being stopped");
  timers_.cancel(entry.timer);
  if (planner_.objects() != nullptr && is_plain(tag.uid)) planner_.objects()->began(tag, pod);
  entry.planned.reset();
  entry.manifest = pod;
  entry.volumes = volumes;
  // One that died while it was held, as by the kernel's out-of-memory killer, has run nothing.
  if (entry.exit && has_exited(entry.exit->fd())) {
    collect_exit(entry.exit->fd());
    entry.exit.reset();
  }
  if (entry.exit) return to_text(entry.keeper);
  Result<std::string> started = take_over_or_fork(entry);
  if (started || started.error().code() != Code::pending) return started;
  try_again(entry, kStartDelayed, started.error(), &KeeperRuntime::start_again);
  return std::string();
}

void KeeperRuntime::set_objects(const PodObjects* objects) {
  if (planner_.objects() != nullptr) planner_.objects()->set_source(objects);
}

void KeeperRuntime::objects_changed(const Tag& tag) {
  if (planner_.objects() != nullptr) planner_.objects()->changed(tag, planner_.text_of(tag));
}

// An error that is pending: whether the workload is alive cannot be told now, or it cannot be started now.
Result<std::string> KeeperRuntime::take_over_or_fork(Pod& pod) {
  pod.had_no_keeper = pod.never_had_keeper(inherited_);
  const Result<bool> watched = pod.had_no_keeper ? false : watch_running_keeper(pod);
  if (!watched) return Status::pending(watched.error().message());
  if (*watched) {
    if (Status resumed = evictions_->resume(pod); !resumed.is_success()) return Status::pending(resumed.message());
    watch_directory(pod);
    later(pod, 0, &KeeperRuntime::report);
    return to_text(pod.keeper);
  }
  const Result<std::optional<PodState>> state = read_pod_state(pod.directory);
  if (!state) return Status::pending(state.error().message());
  std::string handle = *state ? (*state)->handle : std::string();
  if (*state && (*state)->finished) {
    later(pod, 0, &KeeperRuntime::report);
    return handle;
  }
  if (!pod.had_no_keeper) {
    if (Status resumed = evictions_->resume(pod); !resumed.is_success()) return Status::pending(resumed.message());
    if (pod.evicted) return handle;
  }
  if (*state && restart_policy_of(pod.manifest) == RestartPolicy::never) {
    sweep(pod.tag);  // then write_lost()
    return handle;
  }
  if (Status forked = fork_held(pod); !forked.is_success()) return forked;
  return to_text(pod.keeper);
}

void KeeperRuntime::start_again(const Tag& tag) {
  Pod& pod = *pods_.at(tag);
  const Result<std::string> started = take_over_or_fork(pod);
  if (started) {
    if (pod.may_go) go(tag);
    return;
  }
  const bool is_over = started.error().code() != Code::pending;
  if (!is_over) try_again(pod, kStartDelayed, started.error(), &KeeperRuntime::start_again);
  pod.reported.clear();
  if (handler_ == nullptr) return;
  handler_->on_status(tag, not_started_text(pod.directory, started.error().message(), is_over), is_over);
}

Status KeeperRuntime::fork_held(Pod& pod) {
  std::optional<Workload> workload = std::exchange(pod.planned, std::nullopt);
  if (!workload) {
    Result<Workload> planned = planner_.plan_run(pod.tag, pod.manifest, pod.volumes);
    if (!planned) return planned.error();
    // A disk may be mounted later: a pod that is to start waits for it.
    if (Status found = find_volumes(planned->volumes, demands_); !found.is_success())
      return Status::pending(found.message());
    workload = std::move(*planned);
  }
  if (Status made = make_ready(*workload, pod.directory, config_.node); !made.is_success()) return made;
  Result<std::optional<PodState>> before = read_pod_state(pod.directory);
  if (!before) return Status::pending(before.error().message());
  watch_directory(pod);
  const bool is_first = std::exchange(pod.had_no_keeper, false);
  std::optional<HeldKeeper> keeper;
  if (is_first && !*before && !workload->sandbox)
    keeper = spare_.take(PodOrder{pod.tag, pod.manifest, pod.volumes}.text());
  if (!keeper) {
    KeeperPlan ordered = planner_.first_keeper(pod.tag, std::move(*workload));
    ordered.is_first = is_first;
    if (*before) {
      ordered.earlier = reports_of_runs_that_ended(**before);
      ordered.started_at = (*before)->started_at;
      ordered.active = (*before)->active;
      ordered.conditions = (*before)->conditions;
    }
    Result<HeldKeeper> forked = fork_keeper(ordered);
    if (!forked) return forked.error();
    keeper = std::move(*forked);
  }
  fork_spare_later();
  watch_keeper(pod, keeper->process);
  pod.tagged = std::move(keeper->tagged);
  return Status::ok();
}

void KeeperRuntime::watch_keeper(Pod& pod, const OpenProcess& keeper) {
  pod.keeper = keeper.process;
  pod.keeper_since = clock_.now();
  pod.exit = std::make_unique<FdWatch>(context_, keeper.pidfd, [this, tag = pod.tag] { on_keeper_exit(tag); });
}

Result<bool> KeeperRuntime::watch_running_keeper(Pod& pod) {
  for (const std::string& text : texts_of(pod.tag)) {
    const Result<std::optional<OpenProcess>> keeper = open_keeper(text);
    if (!keeper) return keeper.error();
    if (!*keeper) continue;
    watch_keeper(pod, **keeper);
    return true;
  }
  return false;
}

void KeeperRuntime::watch_directory(Pod& pod) {
  if (pod.watch >= 0) watched_.erase(pod.watch);
  pod.watch = inotify_add_watch(inotify_->fd(), pod.directory.c_str(), IN_MOVED_TO | IN_ONLYDIR);
  if (pod.watch >= 0) watched_[pod.watch] = pod.tag;
}

void KeeperRuntime::read_changes() {
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

void KeeperRuntime::report(const Tag& tag) {
  const auto found = pods_.find(tag);
  if (found == pods_.end() || found->second->stopping) return;
  Pod& pod = *found->second;
  const Result<std::optional<PodState>> state = read_pod_state(pod.directory);
  // A pod that waits for another deadline is reported after it.
  if (!state && pod.timer == 0) later(pod, kRetry, &KeeperRuntime::report);
  if (!state || !*state) return;
  std::string text = status_text(**state);
  if (text == pod.reported && (*state)->finished == pod.reported_finished) return;
  pod.reported = text;
  pod.reported_finished = (*state)->finished;
  if (pod.evicted && pod.reported_finished) evictions_->remove_files(pod.directory);
  if (handler_ != nullptr) handler_->on_status(tag, text, (*state)->finished);
}

void KeeperRuntime::go(const Tag& tag) {
  const auto found = pods_.find(tag);
  if (found == pods_.end() || found->second->stopping) return;
  Pod& pod = *found->second;
  pod.may_go = true;
  if (!pod.exit) return;
  // If this process dies as soon as the pod runs, the next one must find it.
  pod.tagged.wait();
  send_signal(pod.exit->fd(), kGoSignal);
  fork_spare_later();
}

}  // namespace berth
