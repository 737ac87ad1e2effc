// What is found about workloads in the system itself: /proc, not a record of ours. Linux 5.3 or newer.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.h"

namespace berth {

// A process beyond doubt: a pid that came into use again has another start time.
struct ProcessId {
  pid_t pid = 0;
  std::uint64_t start_time = 0;  // clock ticks since boot (/proc/<pid>/stat)
  bool operator==(const ProcessId&) const = default;
};

// "<pid>:<start time>"
std::string to_text(const ProcessId& process);
// 0 when the process is gone.
std::uint64_t start_time_of(pid_t pid);

// An open pidfd (close-on-exec) of exactly this process, or -1 when it is gone.
int open_pidfd(const ProcessId& process);
// SIGTERM carries `value` as sigqueue(3) does. False: gone.
bool send_signal(int pidfd, int signal, int value = 0);

// A keeper: named kKeeperName, its tag in a memory file at descriptor kKeeperTagFd. It was forked, not executed, so its
// environment is the agent's; the memory file is what marks it, and it lives exactly as long as the keeper.
inline constexpr const char* kKeeperName = "berth-keeper";
inline constexpr int kKeeperTagFd = 3;

struct Tagged {
  ProcessId process;
  std::string tag;
};

// Keepers and processes of workloads (BERTH_TAG in their environment) whose tag starts with `prefix`. Processes that
// we may not look into are not ours.
std::vector<Tagged> find_keepers(std::string_view prefix);
std::vector<Tagged> find_tagged(std::string_view prefix);

// SIGKILL to every process that has all of `entries` ("NAME=value") in its environment. Returns how many there were,
// dying ones included: none is left when it returns 0.
int kill_by_environment(const std::vector<std::string>& entries);
// SIGKILL to every live descendant of the calling process. Returns how many there were.
int kill_descendants();

}  // namespace berth
