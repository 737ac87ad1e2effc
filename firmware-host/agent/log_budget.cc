#include "firmware-host/agent/log_budget.h"

#include <algorithm>
#include <charconv>
#include <compare>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "core/handshake/epoch.h"
#include "firmware-host/agent/container_log.h"
#include "firmware-host/agent/pod_directory.h"

namespace berth {

namespace fs = std::filesystem;

namespace {

enum class Stage : std::uint8_t { older_of_ended, newest_of_ended, older_of_running, in_use };

// In the order in which they go.
struct LogFile {
  Stage stage{};
  Epoch epoch;
  std::string directory;
  std::string container;
  bool is_of_last_run = false;
  int newness = 0;  // of the files of a run: -1 of "<log>.1", 0 of the newest
  std::string path;
  std::uint64_t bytes = 0;
  auto operator<=>(const LogFile&) const = default;
};

struct LogName {
  std::string container;
  bool is_of_last_run = false;
  int index = 0;
};

// Names of containers have no dots.
std::optional<LogName> read_name(const std::string& name) {
  if (!is_log_name(name)) return std::nullopt;
  LogName read;
  read.container = name.substr(0, name.find('.'));
  for (const bool is_of_last_run : {true, false}) {
    const std::string log = is_of_last_run ? log_name(read.container) : previous_log(read.container);
    if (!name.starts_with(log)) continue;
    read.is_of_last_run = is_of_last_run;
    if (name.size() == log.size()) return read;
    const char* const end = name.data() + name.size();
    const auto [at, error] = std::from_chars(name.data() + log.size() + 1, end, read.index);
    if (name[log.size()] == '.' && at == end && error == std::errc()) return read;
  }
  return std::nullopt;
}

Stage stage_of(const LogName& name, bool has_ended) {
  const bool is_newest = name.is_of_last_run && name.index == 0;
  if (has_ended) return is_newest ? Stage::newest_of_ended : Stage::older_of_ended;
  return is_newest ? Stage::in_use : Stage::older_of_running;
}

// A workload may have put anything there: nothing is followed.
void add_files(const std::string& root, const std::function<bool(const Tag& tag)>& has_ended,
               std::vector<LogFile>& files) {
  std::error_code ended;
  for (fs::directory_iterator pod(root, ended), end; !ended && pod != end; pod.increment(ended)) {
    const std::optional<Tag> tag = tag_of_directory(pod->path().filename().string());
    std::error_code error;
    if (!tag || pod->symlink_status(error).type() != fs::file_type::directory) continue;
    for (fs::directory_iterator at(pod->path(), error); !error && at != end; at.increment(error)) {
      const std::optional<LogName> name = read_name(at->path().filename().string());
      std::error_code unread;
      if (!name || at->symlink_status(unread).type() != fs::file_type::regular) continue;
      const std::uintmax_t bytes = at->file_size(unread);
      if (unread) continue;
      files.push_back({stage_of(*name, has_ended(*tag)), tag->epoch, pod->path().string(), name->container,
                       name->is_of_last_run, -name->index, at->path().string(), bytes});
    }
  }
}

}  // namespace

LogBudget::LogBudget(Places places, std::uint64_t bytes, std::function<bool(const Tag& tag)> has_ended,
                     const Clock& clock, Timers& timers, Log& log)
    : places_(std::move(places)),
      bytes_(bytes),
      has_ended_(std::move(has_ended)),
      clock_(clock),
      timers_(timers),
      log_(log) {}

LogBudget::~LogBudget() { timers_.cancel(timer_); }

void LogBudget::begin() {
  timer_ = timers_.at(clock_.now() + kPeriodMs, [this] {
    look();
    begin();
  });
}

void LogBudget::look() {
  std::vector<LogFile> files;
  add_files(places_.output, [](const Tag&) { return true; }, files);
  add_files(places_.pods, has_ended_, files);
  std::uint64_t bytes = 0;
  for (const LogFile& file : files) bytes += file.bytes;
  if (bytes <= bytes_) return;
  std::sort(files.begin(), files.end());
  std::size_t removed = 0;
  for (const LogFile& file : files) {
    if (bytes <= bytes_ || file.stage == Stage::in_use) break;
    std::error_code error;
    if (!fs::remove(file.path, error)) continue;
    bytes -= file.bytes;
    ++removed;
    if (file.directory.starts_with(places_.output + "/")) fs::remove(file.directory, error);  // the last file of it
  }
  if (removed == 0) return;
  log_.write(Level::info, "log files removed for logs.total_bytes",
             {{"files", std::to_string(removed)}, {"left_bytes", std::to_string(bytes)}});
}

}  // namespace berth
