#include "firmware-host/agent/container_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "firmware-host/real_clock.h"

namespace berth {

namespace {

constexpr std::size_t kWrittenAtOnce = 32 * 1024;

std::string_view name_of(OutputStream stream) { return stream == OutputStream::standard ? "stdout" : "stderr"; }

// What an earlier version wrote into one file is that of the run before, too.
void set_previous_aside(const std::string& directory, const std::string& container) {
  const std::string log = directory + "/" + log_name(container);
  const std::string previous = directory + "/" + previous_log(container);
  for (int i = 0; unlink(log_part(previous, i).c_str()) == 0; ++i) continue;
  for (int i = 0; std::rename(log_part(log, i).c_str(), log_part(previous, i).c_str()) == 0; ++i) continue;
}

}  // namespace

std::string to_log_time(Millis wall) {
  std::string text = to_rfc3339(wall);
  text.pop_back();
  std::string millis = std::to_string(wall % 1000);
  millis.insert(0, 3 - millis.size(), '0');
  return text + "." + millis + "000000Z";
}

bool is_log_name(std::string_view name) {
  const std::size_t end = name.find_last_not_of("0123456789");
  if (end == std::string_view::npos) return false;
  if (name.ends_with(".log")) return true;
  return end + 1 < name.size() && name.substr(0, end + 1).ends_with(".log.");
}

ContainerLog::ContainerLog(const std::string& directory, const std::string& container, const LogLimits& limits,
                           const Clock& clock)
    : path_(directory + "/" + log_name(container)),
      limits_(limits),
      clock_(clock),
      budget_(limits.bytes_per_second * LogLimits::kBurstSeconds),
      budget_at_(clock.now()) {
  set_previous_aside(directory, container);
}

ContainerLog::~ContainerLog() {
  time_ = to_log_time(clock_.wall());
  for (const OutputStream stream : {OutputStream::standard, OutputStream::errors}) {
    const std::string& rest = unfinished_[static_cast<std::size_t>(stream)];
    if (!rest.empty()) add_line(stream, rest, true);
  }
  if (dropped_lines_ > 0) tell_dropped();
  write_out();
  if (fd_ >= 0) close(fd_);
}

void ContainerLog::append(OutputStream stream, std::string_view output) {
  time_ = to_log_time(clock_.wall());
  std::string& unfinished = unfinished_[static_cast<std::size_t>(stream)];
  while (!output.empty()) {
    const std::size_t room = kLineBytesMax - unfinished.size();
    const std::size_t end = output.substr(0, room + 1).find('\n');
    if (end == std::string_view::npos && output.size() <= room) {
      unfinished.append(output);
      break;
    }
    const bool is_whole = end != std::string_view::npos;
    const std::string_view part = output.substr(0, is_whole ? end : room);
    if (unfinished.empty()) {
      add_line(stream, part, is_whole);
    } else {
      unfinished.append(part);
      add_line(stream, unfinished, is_whole);
      std::string().swap(unfinished);
    }
    output.remove_prefix(part.size() + (is_whole ? 1 : 0));
  }
  write_out();
}

void ContainerLog::add_line(OutputStream stream, std::string_view content, bool is_whole) {
  constexpr std::size_t kAround = 12;  // blanks, stream, tag and the line's end
  if (!take_budget(time_.size() + kAround + content.size())) {
    dropped_lines_ += is_whole ? 1 : 0;
    dropped_bytes_ += content.size();
    return;
  }
  if (dropped_bytes_ > 0 || dropped_lines_ > 0) tell_dropped();
  if (out_.size() >= kWrittenAtOnce) write_out();
  out_.append(time_).append(" ").append(name_of(stream)).append(is_whole ? " F " : " P ").append(content).append("\n");
}

// Once it drops lines, it goes on with that until there is a budget for a second: not every other line is one that
// tells of it.
bool ContainerLog::take_budget(std::size_t bytes) {
  if (limits_.bytes_per_second == 0) return true;
  const Millis now = clock_.now();
  const auto passed = static_cast<std::uint64_t>(std::clamp<Millis>(now - budget_at_, 0, 1000 * 1000));
  const std::uint64_t gained = passed * limits_.bytes_per_second / 1000;
  if (gained > 0) {
    budget_ = std::min(budget_ + gained, limits_.bytes_per_second * LogLimits::kBurstSeconds);
    budget_at_ = now;
  }
  if (drops_ && budget_ < std::max<std::uint64_t>(limits_.bytes_per_second, bytes)) return false;
  drops_ = budget_ < bytes;
  if (!drops_) budget_ -= bytes;
  return !drops_;
}

void ContainerLog::tell_dropped() {
  out_.append(time_)
      .append(" stderr F berth: ")
      .append(std::to_string(dropped_lines_))
      .append(" lines (")
      .append(std::to_string(dropped_bytes_))
      .append(" bytes) were dropped: more than ")
      .append(std::to_string(limits_.bytes_per_second))
      .append(" bytes a second (logs.bytes_per_second)\n");
  dropped_lines_ = dropped_bytes_ = 0;
}

// Whole lines only: a reader never finds half of one at the end of a file.
void ContainerLog::write_out() {
  for (std::string_view left = out_; !left.empty();) {
    if (!make_room(left.find('\n') + 1)) break;
    std::size_t end = left.size();
    const std::uint64_t room = std::max<std::uint64_t>(limits_.file_bytes - std::min(bytes_, limits_.file_bytes), 1);
    if (end > room) end = std::max(left.rfind('\n', room - 1) + 1, left.find('\n') + 1);
    const ssize_t written = write(fd_, left.data(), end);
    if (written <= 0) break;
    const std::size_t whole = left.substr(0, static_cast<std::size_t>(written)).rfind('\n') + 1;
    bytes_ += whole;
    // The disk is full. Should the rest of it stay, the next line is behind it.
    if (whole < end && ftruncate(fd_, static_cast<off_t>(bytes_)) != 0)
      bytes_ += static_cast<std::size_t>(written) - whole;
    if (whole < end) break;
    left.remove_prefix(whole);
  }
  out_.clear();
  if (out_.capacity() > kWrittenAtOnce) std::string().swap(out_);
}

// False: there is no file to write to.
bool ContainerLog::make_room(std::size_t bytes) {
  if (fd_ < 0) open_file();
  if (fd_ < 0 || bytes_ == 0 || bytes_ + bytes <= limits_.file_bytes) return fd_ >= 0;
  for (int i = limits_.files - 1; i > 0; --i) {
    if (std::rename(log_part(path_, i - 1).c_str(), log_part(path_, i).c_str()) != 0 && i == 1) return false;
  }
  if (limits_.files == 1 && unlink(path_.c_str()) != 0) return false;
  close(fd_);
  open_file();
  return fd_ >= 0;
}

// Not through a link that a workload has put there.
void ContainerLog::open_file() {
  fd_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0640);
  struct stat found{};
  bytes_ = fd_ >= 0 && fstat(fd_, &found) == 0 ? static_cast<std::uint64_t>(found.st_size) : 0;
}

}  // namespace berth
