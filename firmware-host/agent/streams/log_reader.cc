#include "firmware-host/agent/streams/log_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <tuple>
#include <utility>

#include "firmware-host/agent/container_log.h"

namespace berth {

namespace {

constexpr std::size_t kTimeBytes = 30;  // of a line's time, with which every file begins
constexpr std::size_t kBlock = 16 * 1024;
constexpr int kBlocksAtOnce = 16;
constexpr const char* kGap = "berth: the output between here and the line before was rotated away\n";

bool has_time(std::string_view line) {
  return line.size() > kTimeBytes && line[4] == '-' && line[10] == 'T' && line[19] == '.' && line[29] == 'Z';
}

// FNV-1a, 64 bit (Fowler, Noll, Vo).
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t value = 0xcbf29ce484222325u;
  for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return value;
}

std::uint64_t size_of(int fd) {
  struct stat found{};
  return fstat(fd, &found) == 0 ? static_cast<std::uint64_t>(found.st_size) : 0;
}

std::string read_at(int fd, std::uint64_t offset, std::size_t bytes) {
  std::string text(bytes, '\0');
  const ssize_t got = pread(fd, text.data(), bytes, static_cast<off_t>(offset));
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

}  // namespace

LogReader::LogReader(std::string path, std::string previous, Start start, std::function<bool()> is_running)
    : path_(std::move(path)),
      previous_(std::move(previous)),
      start_(std::move(start)),
      is_running_(std::move(is_running)),
      files_(open_all(path_)) {
  begin();
}

LogReader::~LogReader() { close_all(files_); }

void LogReader::close_all(const std::vector<File>& files) {
  for (const File& file : files) close(file.fd);
}

// From the newest one on: what is rotated meanwhile is met again, and never missed. A workload may have put something
// else there.
std::vector<LogReader::File> LogReader::open_all(const std::string& path) {
  std::vector<File> files;
  for (int i = 0; i < LogLimits::kFilesMax; ++i) {
    const int fd = open(log_part(path, i).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat found{};
    const bool is_file = fd >= 0 && fstat(fd, &found) == 0 && S_ISREG(found.st_mode);
    const bool is_known = is_file && !files.empty() && files.back().inode == found.st_ino;
    if (is_file && !is_known) {
      files.push_back({fd, found.st_dev, found.st_ino});
    } else if (fd >= 0) {
      close(fd);
    }
    if (!is_file && i > 0) break;
  }
  std::reverse(files.begin(), files.end());
  return files;
}

std::string LogReader::id_of(const File& file) {
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%016llx",
                static_cast<unsigned long long>(hash_of(read_at(file.fd, 0, kTimeBytes))));
  return text.data();
}

std::optional<std::pair<std::size_t, std::uint64_t>> LogReader::find(const std::vector<File>& files,
                                                                     const std::string& position) {
  const std::size_t dash = position.find('-');
  if (dash == std::string::npos) return std::nullopt;
  const std::string digits = position.substr(dash + 1);
  if (digits.empty() || digits.size() > 18 || digits.find_first_not_of("0123456789") != std::string::npos) {
    return std::nullopt;
  }
  const std::uint64_t offset = std::stoull(digits);
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (offset <= size_of(files[i].fd) && id_of(files[i]) == position.substr(0, dash)) return std::pair{i, offset};
  }
  return std::nullopt;
}

bool LogReader::has_position(const std::string& path, const std::string& position) {
  const std::vector<File> files = open_all(path);
  const bool found = find(files, position).has_value();
  close_all(files);
  return found;
}

void LogReader::begin() {
  if (files_.empty()) return;
  if (!start_.from.empty()) {
    const auto place = find(files_, start_.from);
    if (place) std::tie(at_, offset_) = *place;
    has_gap_ = !place;
    return;
  }
  if (!start_.tail) return;
  at_ = files_.size() - 1;
  offset_ = size_of(files_[at_].fd);
  seeks_ = *start_.tail > 0;
  lines_left_ = *start_.tail;
  // The end of the last line is none of those before it.
  if (seeks_ && offset_ > 0 && read_at(files_[at_].fd, offset_ - 1, 1) == "\n" && lines_left_ < UINT64_MAX)
    ++lines_left_;
}

// True: the place is found. As the kubelet counts them, pkg/kubelet/kuberuntime/logs, tail.FindTailLineStartIndex.
bool LogReader::seek_tail() {
  for (int block = 0; block < kBlocksAtOnce; ++block) {
    if (offset_ == 0) {
      if (at_ == 0) return true;
      offset_ = size_of(files_[--at_].fd);
      continue;
    }
    const std::size_t bytes = static_cast<std::size_t>(std::min<std::uint64_t>(offset_, kBlock));
    const std::string text = read_at(files_[at_].fd, offset_ - bytes, bytes);
    for (std::size_t end = text.size(); end > 0;) {
      const std::size_t line = text.rfind('\n', end - 1);
      if (line == std::string::npos) break;
      if (--lines_left_ == 0) {
        offset_ = offset_ - bytes + line + 1;
        return true;
      }
      end = line;
    }
    offset_ -= bytes;
  }
  return false;
}

std::string LogReader::only_since(std::string_view lines) const {
  if (start_.since.empty() || !start_.from.empty()) return std::string(lines);
  std::string kept;
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\n') + 1);
    const std::string_view whole = line.empty() ? lines : line;
    if (!has_time(whole) || whole.substr(0, kTimeBytes) >= start_.since) kept.append(whole);
    lines.remove_prefix(whole.size());
  }
  return kept;
}

// `is_complete`: nothing is written to the file any more, so that what has no end there never gets one.
StreamSource::Part LogReader::read_lines(std::size_t bytes_max, bool is_complete) {
  StreamSource::Part part;
  for (int block = 0; block < kBlocksAtOnce && part.bytes.empty(); ++block) {
    std::string text = read_at(files_[at_].fd, offset_, bytes_max);
    const std::size_t line = text.rfind('\n');
    const bool is_whole = line != std::string::npos;
    if (is_whole) text.resize(line + 1);
    if (text.empty() || (!is_whole && text.size() < bytes_max && !is_complete)) return part;
    offset_ += text.size();
    part.more = true;
    part.bytes = only_since(text);
  }
  if (!part.bytes.empty()) part.position = id_of(files_[at_]) + "-" + std::to_string(offset_);
  return part;
}

StreamSource::Part LogReader::read(std::size_t bytes_max) {
  if (std::exchange(has_gap_, false)) return {.bytes = kGap, .more = true};
  if (seeks_) {
    seeks_ = !seek_tail();
    if (seeks_) return {.more = true};
  }
  if (files_.empty()) return at_end(bytes_max);
  const bool is_last = at_ + 1 == files_.size();
  StreamSource::Part part = read_lines(bytes_max, !is_last || !is_running_);
  if (part.more) return part;
  if (is_last) return at_end(bytes_max);
  ++at_;
  offset_ = 0;
  return {.more = true};
}

// All that was there is read. What is found out about the file first tells whether it was written to since.
StreamSource::Part LogReader::at_end(std::size_t bytes_max) {
  StreamSource::Part over{.end = StreamEnd::done};
  if (!is_running_) return over;
  const bool was_running = is_running_();
  if (files_.empty()) {
    files_ = open_all(path_);
    if (!files_.empty()) return {.more = true};
    return was_running ? StreamSource::Part() : over;
  }
  const File& file = files_[at_];
  const auto is_at = [&file](const std::string& path) {
    struct stat found{};
    return lstat(path.c_str(), &found) == 0 && found.st_ino == file.inode && found.st_dev == file.device;
  };
  if (is_at(path_)) {
    StreamSource::Part part = read_lines(bytes_max, !was_running);
    return part.more || was_running ? part : over;
  }
  StreamSource::Part part = read_lines(bytes_max, true);
  if (part.more) return part;
  for (int i = 1; i < LogLimits::kFilesMax; ++i) {
    if (is_at(log_part(path_, i))) return open_next() ? StreamSource::Part{.more = true} : StreamSource::Part{};
  }
  for (int i = 0; i < LogLimits::kFilesMax; ++i) {
    if (is_at(log_part(previous_, i))) return over;  // another run has begun
  }
  return was_running ? begin_after_gap() : over;
}

// The files that have come behind the last one.
bool LogReader::open_next() {
  std::vector<File> files = open_all(path_);
  const File& last = files_[at_];
  const auto known = std::find_if(files.begin(), files.end(), [&](const File& each) {
    return each.inode == last.inode && each.device == last.device;
  });
  if (known == files.end() || known + 1 == files.end()) {  // it is being rotated
    close_all(files);
    return false;
  }
  close_all({files.begin(), known + 1});
  files.erase(files.begin(), known + 1);
  close_all(files_);
  files_ = std::move(files);
  at_ = 0;
  offset_ = 0;
  return true;
}

StreamSource::Part LogReader::begin_after_gap() {
  std::vector<File> files = open_all(path_);
  if (files.empty()) return {};
  close_all(files_);
  files_ = std::move(files);
  at_ = 0;
  offset_ = 0;
  return {.bytes = kGap, .more = true};
}

}  // namespace berth
