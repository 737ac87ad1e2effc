#include "firmware-host/agent/streams/usage.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string_view>

namespace berth {

namespace {

// "<name> <number>" or "<name>: <number> kB" on a line of its own.
std::optional<std::uint64_t> number_in(const std::string& path, std::string_view name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::string_view text = line;
    if (!text.starts_with(name)) continue;
    const std::size_t digits = text.find_first_of("0123456789", name.size());
    if (digits == std::string_view::npos || text.find_first_not_of(": \t", name.size()) != digits) continue;
    return std::stoull(line.substr(digits, 19));
  }
  return std::nullopt;
}

std::optional<std::uint64_t> number_of(const std::string& path) {
  std::ifstream file(path);
  std::uint64_t number = 0;
  if (file >> number) return number;
  return std::nullopt;
}

std::uint64_t without(std::uint64_t all, std::uint64_t part) { return all - std::min(all, part); }

// The group of the whole machine has no usage of memory in version 2: what libcontainer takes instead is all that is
// not free (opencontainers/runc, libcontainer/cgroups/fs2/memory.go, rootStatsFromMeminfo).
std::optional<std::uint64_t> unified_memory(const std::string& group, bool is_machine) {
  if (!is_machine) return number_of(group + "/memory.current");
  const auto total = number_in("/proc/meminfo", "MemTotal");
  const auto free = number_in("/proc/meminfo", "MemFree");
  if (!total || !free) return std::nullopt;
  return without(*total, *free) * 1024;
}

// Resident pages that no file has behind them.
std::uint64_t own_memory(const std::string& process) {
  std::ifstream file(process + "/statm");
  std::uint64_t size = 0, resident = 0, shared = 0;
  if (!(file >> size >> resident >> shared)) return 0;
  return without(resident, shared) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

// utime, stime, cutime and cstime are the fields 14 to 17 of proc(5), stat; the state behind the name is the third.
std::uint64_t cpu_ticks(const std::string& process) {
  std::ifstream file(process + "/stat");
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  std::size_t at = text.rfind(')');
  std::uint64_t ticks = 0;
  for (int field = 3; at != std::string::npos && field <= 17; ++field) {
    at = text.find(' ', at + 1);
    if (field >= 14 && at != std::string::npos) ticks += std::strtoull(text.c_str() + at, nullptr, 10);
  }
  return ticks;
}

}  // namespace

std::optional<Usage> usage_of_cgroup(const std::string& path, const std::string& root) {
  const bool unified = is_unified(root);
  const std::string cpu = unified ? root + path : root + "/cpuacct" + path;
  const std::string memory = unified ? root + path : root + "/memory" + path;
  const auto time = unified ? number_in(cpu + "/cpu.stat", "usage_usec") : number_of(cpu + "/cpuacct.usage");
  const auto used = unified ? unified_memory(memory, path.empty()) : number_of(memory + "/memory.usage_in_bytes");
  if (!time || !used) return std::nullopt;
  const auto inactive = number_in(memory + "/memory.stat", unified ? "inactive_file" : "total_inactive_file");
  return Usage{*time * (unified ? 1000 : 1), without(*used, inactive.value_or(0))};
}

Usage usage_of_processes(const std::vector<pid_t>& processes, const std::string& proc) {
  static const auto ticks_per_second = static_cast<std::uint64_t>(sysconf(_SC_CLK_TCK));
  Usage usage;
  for (const pid_t each : processes) {
    const std::string process = proc + "/" + std::to_string(each);
    usage.cpu_ns += cpu_ticks(process) * (1'000'000'000 / ticks_per_second);
    usage.memory_bytes += own_memory(process);
  }
  return usage;
}

}  // namespace berth
