#include "firmware-host/agent/streams/log_streams.h"

#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/api/names.h"
#include "firmware-host/agent/container_log.h"
#include "firmware-host/agent/pod_directory.h"
#include "firmware-host/agent/pod_state.h"
#include "firmware-host/agent/streams/log_reader.h"
#include "firmware-host/fd_watch.h"

namespace berth {

namespace {

namespace fs = std::filesystem;

constexpr Millis kGatherMs = 20;  // what a container writes meanwhile is sent in one frame

// What is known of a container: from the state that its keeper writes, or, of a pod without one, from its files.
struct ContainerLogs {
  std::vector<std::string> names;  // those of the pod, main containers first
  std::string first_main;          // empty: unknown
};

ContainerLogs containers_in(const std::string& directory, const std::optional<PodState>& state) {
  ContainerLogs found;
  if (state) {
    for (const auto* each : {&state->containers, &state->init_containers}) {
      for (const ContainerReport& report : *each) found.names.push_back(report.name);
    }
    if (!state->containers.empty()) found.first_main = found.names.front();
    return found;
  }
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (!is_log_name(name)) continue;
    const std::string container = name.substr(0, name.find('.'));
    if (std::find(found.names.begin(), found.names.end(), container) == found.names.end()) {
      found.names.push_back(container);
    }
  }
  std::sort(found.names.begin(), found.names.end());
  if (found.names.size() == 1) found.first_main = found.names.front();
  return found;
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

const ContainerReport* report_of(const std::optional<PodState>& state, const std::string& container) {
  if (!state) return nullptr;
  for (const auto* each : {&state->containers, &state->init_containers}) {
    for (const ContainerReport& report : *each) {
      if (report.name == container) return &report;
    }
  }
  return nullptr;
}

std::optional<PodState> state_in(const std::string& directory) {
  Result<std::optional<PodState>> state = read_pod_state(directory);
  return state ? std::move(*state) : std::nullopt;
}

// Of a container that waits to be started again, the last run is both the present and the previous one, as
// validateContainerLogStatus() of pkg/kubelet/kubelet_pods.go has it.
bool is_between_runs(const ContainerReport* report) {
  return report != nullptr && report->state.kind == ContainerState::Kind::waiting &&
         report->last.kind == ContainerState::Kind::terminated;
}

// Whether the container runs or is being started. The file is read again only when it is another one: it is replaced
// at each change.
class RunningState {
 public:
  RunningState(std::string directory, std::string container)
      : directory_(std::move(directory)), container_(std::move(container)) {}

  bool operator()() {
    struct stat found{};
    if (stat((directory_ + "/" + PodState::kFile).c_str(), &found) != 0) return false;
    const Version now{found.st_ino, found.st_mtim.tv_sec, found.st_mtim.tv_nsec};
    if (known_ == now) return runs_;
    known_ = now;
    const std::optional<PodState> state = state_in(directory_);
    const ContainerReport* report = report_of(state, container_);
    runs_ = report != nullptr && !state->finished && report->state.kind != ContainerState::Kind::terminated &&
            !is_between_runs(report);
    return runs_;
  }

 private:
  const std::string directory_;
  const std::string container_;
  struct Version {
    ino_t inode;
    time_t seconds;
    long nanoseconds;
    bool operator==(const Version&) const = default;
  };
  std::optional<Version> known_;
  bool runs_ = false;
};

// Tells when something in a directory has changed, at most once in kGatherMs.
class DirectoryWatch {
 public:
  DirectoryWatch(const std::string& directory, asio::io_context& context, const Clock& clock, Timers& timers,
                 std::function<void()> changed)
      : clock_(clock), timers_(timers), changed_(std::move(changed)) {
    const int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (fd < 0) return;
    constexpr std::uint32_t kEvents =
        IN_MODIFY | IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF;
    if (inotify_add_watch(fd, directory.c_str(), kEvents) < 0) {
      close(fd);
      return;
    }
    watch_ = std::make_unique<FdWatch>(context, fd, [this] { on_change(); });
  }
  ~DirectoryWatch() { timers_.cancel(timer_); }
  DirectoryWatch(const DirectoryWatch&) = delete;
  DirectoryWatch& operator=(const DirectoryWatch&) = delete;
  bool is_watching() const { return watch_ != nullptr; }

 private:
  void on_change() {
    alignas(inotify_event) std::array<char, 4096> events;
    while (::read(watch_->fd(), events.data(), events.size()) > 0) continue;
    if (timer_ != 0) return;
    timer_ = timers_.at(clock_.now() + kGatherMs, [this] {
      timer_ = 0;
      changed_();
    });
  }

  const Clock& clock_;
  Timers& timers_;
  const std::function<void()> changed_;
  std::unique_ptr<FdWatch> watch_;
  Timers::Id timer_ = 0;
};

class LogSource final : public StreamSource {
 public:
  LogSource(std::unique_ptr<DirectoryWatch> watch, std::unique_ptr<LogReader> reader)
      : watch_(std::move(watch)), reader_(std::move(reader)) {}
  Part read(std::size_t bytes_max) override { return reader_->read(bytes_max); }

 private:
  std::unique_ptr<DirectoryWatch> watch_;  // begun before the reader looks
  std::unique_ptr<LogReader> reader_;
};

}  // namespace

LogStreams::LogStreams(std::string pods, std::string output, asio::io_context& context, const Clock& clock,
                       Timers& timers)
    : pods_(std::move(pods)), output_(std::move(output)), context_(context), clock_(clock), timers_(timers) {}

// The latest placement of it that is known here.
std::string LogStreams::directory_of(const std::string& uid) const {
  for (const std::string& root : {pods_, output_}) {
    std::optional<Tag> latest;
    std::error_code error;
    for (fs::directory_iterator at(root, error), end; !error && at != end; at.increment(error)) {
      const std::optional<Tag> tag = tag_of_directory(at->path().filename().string());
      if (tag && tag->uid == uid && (!latest || latest->epoch < tag->epoch)) latest = tag;
    }
    if (latest) return root + "/" + directory_name(*latest);
  }
  return {};
}

Result<OpenedStream> LogStreams::open(const LogQuery& query, std::function<void()> ready) {
  const std::string directory = directory_of(query.uid);
  if (directory.empty()) return Status::error("pod " + query.pod + " has no output on this node");
  const std::optional<PodState> state = state_in(directory);
  ContainerLogs known = containers_in(directory, state);
  const std::string container = query.container.empty() ? known.first_main : query.container;
  if (known.names.empty()) return Status::error("pod " + query.pod + " has not begun to run");
  if (container.empty()) {
    return Status::error("pod " + query.pod + " has several containers: name one of " + listed(known.names));
  }
  if (std::find(known.names.begin(), known.names.end(), container) == known.names.end()) {
    return Status::error("container " + container + " is not in pod " + query.pod + ", which has " +
                         listed(known.names));
  }
  const std::string current = directory + "/" + log_name(container);
  const std::string previous = directory + "/" + previous_log(container);
  const bool is_before = query.previous && !is_between_runs(report_of(state, container));
  // A position may be of a run that another one has followed since.
  const bool is_of_before = is_before || (!query.from.empty() && !LogReader::has_position(current, query.from) &&
                                          LogReader::has_position(previous, query.from));
  const bool follows = query.follow && !query.previous && !is_of_before;
  std::unique_ptr<DirectoryWatch> watch;
  if (follows) {
    watch = std::make_unique<DirectoryWatch>(directory, context_, clock_, timers_, std::move(ready));
    if (!watch->is_watching()) return Status::error("the log cannot be followed now: out of inotify watches");
  }
  std::string since;
  if (query.since_ms) since = to_log_time(std::max<Millis>(clock_.wall() - *query.since_ms, 0));
  auto reader = std::make_unique<LogReader>(is_of_before ? previous : current, previous,
                                            LogReader::Start{query.tail, std::move(since), query.from},
                                            follows ? RunningState(directory, container) : std::function<bool()>());
  if (is_before && reader->is_empty()) {
    return Status::error("previous terminated container " + container + " in pod " + query.pod + " not found");
  }
  return OpenedStream{std::make_unique<LogSource>(std::move(watch), std::move(reader)), container,
                      std::move(known.names)};
}

}  // namespace berth
