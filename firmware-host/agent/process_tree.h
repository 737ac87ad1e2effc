// Finds workloads in /proc, independently of our own records. Needs Linux 5.3 or newer.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.h"

namespace berth {

// Identifies a process uniquely: a reused pid has another start time.
struct ProcessId {
  pid_t pid = 0;
  std::uint64_t start_time = 0;  // clock ticks since boot (/proc/<pid>/stat)
  bool operator==(const ProcessId&) const = default;
};

// "<pid>:<start time>"
std::string to_text(const ProcessId& process);
// 0 if the process has exited.
std::uint64_t start_time_of(pid_t pid);

// An open pidfd (close-on-exec) of exactly this process, or -1 if it has exited.
int open_pidfd(const ProcessId& process);
// SIGTERM carries `value` as with sigqueue(3). False if the process has exited.
bool send_signal(int pidfd, int signal, int value = 0);

// A keeper is named kKeeperName and has its tag in a memfd at descriptor kKeeperTagFd. It was forked without exec, so
// its environment is the agent's; the memfd identifies it and exists exactly as long as the keeper.
inline constexpr const char* kKeeperName = "berth-keeper";
inline constexpr int kKeeperTagFd = 3;

struct Tagged {
  ProcessId process;
  std::string tag;
};

// Keepers, and workload processes (BERTH_TAG in their environment), whose tag starts with `prefix`. Processes whose
// environment we may not read are not ours.
std::vector<Tagged> find_keepers(std::string_view prefix);
std::vector<Tagged> find_tagged(std::string_view prefix);

// Sends SIGKILL to every process that has all of `entries` ("NAME=value") in its environment. Returns their number,
// including processes that are still dying: none is left once it returns 0.
int kill_by_environment(const std::vector<std::string>& entries);
// Sends SIGKILL to every live descendant of the calling process. Returns their number.
int kill_descendants();

}  // namespace berth
