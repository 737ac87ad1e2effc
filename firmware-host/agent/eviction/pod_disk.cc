#include "firmware-host/agent/eviction/pod_disk.h"

#include <sys/stat.h>

#include <filesystem>
#include <system_error>

#include "core/json/members.h"
#include "firmware-host/agent/container_log.h"

namespace berth {

namespace {

namespace fs = std::filesystem;

bool is_directory(const std::string& path) {
  struct stat found{};
  return lstat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode);
}

}  // namespace

std::int64_t PodDisk::total() const {
  std::int64_t sum = other;
  for (const auto* parts : {&containers, &empty_dirs}) {
    for (const auto& [name, bytes] : *parts) sum += bytes;
  }
  return sum;
}

PodDiskMeter::PodDiskMeter(std::string directory, const Json& spec)
    : directory_(std::move(directory)), disk_(std::make_unique<PodDisk>()) {
  for (const char* key : {"initContainers", "containers"}) {
    for (const Json& container : list_of(spec, key)) {
      const std::string name = container.string_at("name");
      add(directory_ + "/containers/" + name, disk_->containers[name]);
    }
  }
  for (const Json& volume : list_of(spec, "volumes")) {
    const Json& empty_dir = member(volume, "emptyDir");
    if (!empty_dir.is_object() || empty_dir.string_at("medium") == "Memory") continue;
    const std::string name = volume.string_at("name");
    add(directory_ + "/volumes/" + name, disk_->empty_dirs[name]);
  }
  add(directory_ + "/scratch", disk_->other);
}

void PodDiskMeter::add(const std::string& directory, std::int64_t& to) { parts_.emplace_back(directory, &to); }

// Their number is bounded (container_log.h).
void PodDiskMeter::add_logs() {
  constexpr std::int64_t kBlock = 512;  // of st_blocks
  std::error_code error;
  for (fs::directory_iterator at(directory_, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    struct stat found{};
    if (!is_log_name(name) || lstat(at->path().c_str(), &found) != 0) continue;
    const auto of = disk_->containers.find(name.substr(0, name.find('.')));
    if (of == disk_->containers.end()) continue;
    of->second += found.st_blocks * kBlock;
    ++disk_->inodes;
  }
}

PodDisk PodDiskMeter::give_up() {
  if (meter_) {
    *parts_.back().second += meter_->so_far().bytes;
    disk_->inodes += meter_->so_far().inodes;
  }
  add_logs();
  disk_->is_partial = true;
  return std::move(*disk_);
}

std::optional<PodDisk> PodDiskMeter::step(int entries) {
  if (parts_.empty()) {
    add_logs();
    return std::move(*disk_);
  }
  const Part part = parts_.back();
  if (!meter_) {
    if (!is_directory(part.first)) {
      parts_.pop_back();
      return std::nullopt;
    }
    meter_ = std::make_unique<UsageMeter>(part.first);
  }
  const Result<std::optional<TreeUsage>> usage = meter_->step(entries);
  if (usage && !*usage) return std::nullopt;
  if (usage) {
    *part.second += (*usage)->bytes;
    disk_->inodes += (*usage)->inodes;
  } else if (usage.error().code() == Code::unresolvable) {
    disk_->problem = usage.error().message();
  } else if (is_directory(part.first)) {
    disk_->is_partial = true;
  }
  meter_.reset();
  parts_.pop_back();
  return std::nullopt;
}

}  // namespace berth
