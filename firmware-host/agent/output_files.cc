#include "firmware-host/agent/output_files.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "firmware-host/agent/container_log.h"
#include "firmware-host/agent/pod_directory.h"

namespace berth {

namespace fs = std::filesystem;

namespace {

bool is_log(const fs::path& path) { return is_log_name(path.filename().string()); }

std::uint64_t bytes_in(const std::string& directory) {
  std::uint64_t bytes = 0;
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    std::error_code unread;
    const std::uintmax_t size = at->file_size(unread);
    if (!unread) bytes += size;
  }
  return bytes;
}

}  // namespace

OutputFiles::OutputFiles(std::string root, std::string pods, Limits limits, Log& log)
    : root_(std::move(root)), pods_(std::move(pods)), limits_(limits), log_(log) {}

Status OutputFiles::open() {
  std::error_code error;
  fs::create_directories(root_, error);
  if (error) return Status::error("output directory " + root_ + ": " + error.message());
  enforce();
  return Status::ok();
}

std::string OutputFiles::directory_of(const Tag& tag) const { return root_ + "/" + directory_name(tag); }

void OutputFiles::keep(const Tag& tag) {
  if (!is_plain(tag.uid)) return;  // it was never prepared
  const std::string from = pods_ + "/" + directory_name(tag);
  const std::string to = directory_of(tag);
  std::error_code error;
  for (fs::directory_iterator at(from, error), end; !error && at != end; at.increment(error)) {
    if (!is_log(at->path()) || at->symlink_status(error).type() != fs::file_type::regular) continue;
    fs::create_directory(to, error);
    fs::rename(at->path(), to + "/" + at->path().filename().string(), error);
    if (error) break;
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    log_.write(Level::warn, "cannot keep the output of a pod", {{"uid", tag.uid}, {"error", error.message()}});
  }
  enforce();
}

void OutputFiles::drop(const Tag& tag) {
  for (const Tag& each : kept()) {
    if (each.uid == tag.uid && each.epoch <= tag.epoch) remove(each);
  }
}

// A workload may have written files there under names of its own: nothing of the directory is read but names.
void OutputFiles::remove(const Tag& tag) {
  std::error_code error;
  fs::remove_all(directory_of(tag), error);
  if (!error) return;
  log_.write(Level::warn, "cannot remove kept output", {{"uid", tag.uid}, {"error", error.message()}});
}

std::vector<Tag> OutputFiles::kept() const {
  std::vector<Tag> tags;
  std::error_code error;
  for (fs::directory_iterator at(root_, error), end; !error && at != end; at.increment(error)) {
    if (const std::optional<Tag> tag = tag_of_directory(at->path().filename().string())) tags.push_back(*tag);
  }
  std::sort(tags.begin(), tags.end(),
            [](const Tag& a, const Tag& b) { return a.epoch != b.epoch ? a.epoch < b.epoch : a.uid < b.uid; });
  return tags;
}

void OutputFiles::enforce() {
  const std::vector<Tag> tags = kept();
  std::size_t pods = 0;
  std::uint64_t bytes = 0;
  for (auto tag = tags.rbegin(); tag != tags.rend(); ++tag) {
    bytes += bytes_in(directory_of(*tag));
    if (++pods > limits_.pods || bytes > limits_.bytes) remove(*tag);
  }
}

}  // namespace berth
