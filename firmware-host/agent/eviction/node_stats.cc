#include "firmware-host/agent/eviction/node_stats.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>

namespace berth {

namespace {

// Of a line "MemFree:   1234 kB", in bytes.
std::map<std::string, std::int64_t> memory_of(const std::string& path) {
  std::ifstream file(path);
  std::map<std::string, std::int64_t> amounts;
  std::string name, unit;
  for (std::int64_t amount = 0; file >> name >> amount;) {
    std::getline(file, unit);
    amounts[name] = amount * 1024;
  }
  return amounts;
}

std::optional<std::int64_t> number_of(const std::string& path) {
  std::ifstream file(path);
  std::int64_t value = 0;
  return file >> value ? std::optional(value) : std::nullopt;
}

// The tasks of /proc/loadavg: "0.20 0.18 0.12 1/80 11206"
std::optional<std::int64_t> tasks_of(const std::string& path) {
  std::ifstream file(path);
  double load = 0;
  std::int64_t running = 0, all = 0;
  char slash = 0;
  file >> load >> load >> load >> running >> slash >> all;
  return file ? std::optional(all) : std::nullopt;
}

}  // namespace

Observations observe_node(const std::string& directory, bool with_pids, const std::string& proc) {
  using enum EvictionSignal;
  Observations observed;
  const auto memory = memory_of(proc + "/meminfo");
  if (memory.contains("MemTotal:") && memory.contains("MemFree:") && memory.contains("Inactive(file):")) {
    observed[memory_available] = {memory.at("MemFree:") + memory.at("Inactive(file):"), memory.at("MemTotal:")};
  }
  struct statvfs disk{};
  if (statvfs(directory.c_str(), &disk) == 0) {
    const auto unit = static_cast<std::int64_t>(disk.f_frsize);
    observed[nodefs_available] = {static_cast<std::int64_t>(disk.f_bavail) * unit,
                                  static_cast<std::int64_t>(disk.f_blocks) * unit};
    // Some file systems have no fixed number of inodes.
    if (disk.f_files > 0) {
      observed[nodefs_inodes_free] = {static_cast<std::int64_t>(disk.f_favail),
                                      static_cast<std::int64_t>(disk.f_files)};
    }
  }
  if (!with_pids) return observed;
  const auto pids = number_of(proc + "/sys/kernel/pid_max"), threads = number_of(proc + "/sys/kernel/threads-max");
  if (const auto tasks = tasks_of(proc + "/loadavg"); tasks && pids) {
    const std::int64_t most = std::min(*pids, threads.value_or(std::numeric_limits<std::int64_t>::max()));
    observed[pid_available] = {most - *tasks, most};
  }
  return observed;
}

}  // namespace berth
