// Finds workloads in /proc, independently of our own records. Needs Linux 5.3 or newer.
// A process is absent only when the kernel says so. Whatever else fails (no descriptors, no memory, an I/O error, a
// /proc that cannot be read) is an error: nothing may then be started or reported as ended.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.h"
#include "core/status.h"

namespace berth {

// Identifies a process uniquely: a reused pid has another start time.
struct ProcessId {
  pid_t pid = 0;
  std::uint64_t start_time = 0;  // clock ticks since boot (/proc/<pid>/stat)
  bool operator==(const ProcessId&) const = default;
};

// "<pid>:<start time>"
std::string to_text(const ProcessId& process);
// 0 if the process has exited, or is another user's and hidden from us.
Result<std::uint64_t> start_time_of(pid_t pid);

// An open pidfd (close-on-exec) of exactly this process, or -1 if it has exited.
Result<int> open_pidfd(const ProcessId& process);
// The same of a child that nobody has waited for: its pid is certainly its own.
Result<int> open_pidfd_of_child(const ProcessId& process);
// SIGTERM carries `value` as with sigqueue(3). False if the process has exited.
bool send_signal(int pidfd, int signal, int value = 0);

// A keeper is named kKeeperName and has its tag in a memfd at descriptor kKeeperTagFd; the memfd's name, "<kKeeperName>
// <owner>", tells its owner. It was forked without exec, so
// its environment is the agent's; the memfd identifies it and exists exactly as long as the keeper.
inline constexpr const char* kKeeperName = "berth-keeper";
inline constexpr int kKeeperTagFd = 3;

struct Tagged {
  ProcessId process;
  std::string tag;
  std::string owner;  // as below; of an early version empty
};

// Names a directory of pods in the processes that were started from it, whatever the node was called then: made of its
// path, and of device and inode of the state directory above it, since two agents in mount namespaces of their own may
// have the same path. The directory itself may be lost, and the state directory moved.
std::string owner_of(const std::string& directory);
using Owners = std::set<std::string>;
// All its names: earlier programs made theirs of the path alone.
Owners owners_of(const std::string& directory);
// It is one of these, or their state directory under an earlier path.
bool is_of(const std::string& owner, const Owners& owners);

// Keepers, and workload processes (BERTH_TAG in their environment), whose tag starts with `prefix`, or which are of
// `owners`. Processes whose environment we may not read are not ours.
Result<std::vector<Tagged>> find_keepers(std::string_view prefix, const Owners& owners = {});
Result<std::vector<Tagged>> find_tagged(std::string_view prefix, const Owners& owners = {});

// A process, and a pidfd of exactly it, which the owner must close. One's own child must be reaped too.
struct OpenProcess {
  ProcessId process;
  int pidfd = -1;
};

// The keeper with exactly this tag, if there is one.
Result<std::optional<OpenProcess>> open_keeper(const std::string& tag);
// Sends SIGKILL to every keeper with exactly one of these tags.
Status kill_keepers(const std::vector<std::string>& tags);

// Sends SIGKILL to every process that has all of `entries` ("NAME=value") in its environment. Returns their number,
// including processes that are still dying: none is left once it returns 0.
Result<int> kill_by_environment(const std::vector<std::string>& entries);
// Sends SIGKILL to every live descendant of the calling process. Returns their number.
Result<int> kill_descendants();

inline constexpr Millis kSweepPause = 10;    // after processes were killed, before it is looked whether they are gone
inline constexpr Millis kSearchPause = 100;  // after a search for processes that failed
// Calls `kill_all`, one of the two above say, until it finds no process any more, with `meanwhile` in between. A failed
// search proves nothing, so it is repeated too. It blocks: not for the agent.
void kill_until_none(const std::function<Result<int>()>& kill_all, const std::function<void()>& meanwhile = [] {});

}  // namespace berth
