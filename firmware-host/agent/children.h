// The processes that an agent forks, without exec: keepers (keeper.h), the spare one that is to become a keeper, and
// sweepers.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/status.h"
#include "firmware-host/agent/keeper.h"
#include "firmware-host/agent/process_tree.h"

namespace berth {

// Tells when a forked keeper can be found by its tag, should this process die.
class KeeperTagged {
 public:
  KeeperTagged() = default;
  explicit KeeperTagged(int fd) : fd_(fd) {}
  ~KeeperTagged();
  KeeperTagged(KeeperTagged&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  KeeperTagged& operator=(KeeperTagged&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  // Returns once it can be found or has exited; at once when asked again.
  void wait();

 private:
  int fd_ = -1;  // reads as its end then
};

struct HeldKeeper {
  OpenProcess process;
  KeeperTagged tagged;  // to be waited for before it may go
};

// Forks a held keeper, a child of the calling process. After an error no process is left behind.
Result<HeldKeeper> fork_keeper(const KeeperPlan& plan);

// A process that is forked before it is known which pod it will keep: a fork costs more than all else that the agent
// does between Bind and the start, and copies pages of the agent afterwards. It waits for an order, in its own session
// and with no descriptor of the agent's; when the agent exits first, so does it.
class SpareKeeper {
 public:
  // Called in the spare process. None: it exits with kKeeperStopped.
  using ToPlan = std::function<std::optional<KeeperPlan>(const std::string& order)>;
  static constexpr const char* kName = "berth-spare";

  SpareKeeper() = default;
  ~SpareKeeper() { end(); }
  SpareKeeper(const SpareKeeper&) = delete;
  SpareKeeper& operator=(const SpareKeeper&) = delete;

  // Does nothing while one waits. After an error no process is left behind.
  Status fork(const ToPlan& to_plan);
  // A child that becomes a held keeper as soon as it has read the order. None: no process waits for one.
  std::optional<HeldKeeper> take(const std::string& order);

 private:
  bool is_waiting() const;
  bool give(const std::string& order) const;
  void end();

  OpenProcess process_;
  KeeperTagged tagged_;
  int channel_ = -1;  // a socket: how long the order is; its end tells that the agent has exited
  int order_ = -1;    // a memfd, since a socket takes no order of any length at once
};

// What is to be removed of pods that have no keeper.
struct Remains {
  std::vector<std::string> tags;
  std::string cgroup;                 // of the pod (containers/pod_cgroup.h); empty: none
  std::vector<std::string> networks;  // directories whose recorded networks are removed, and nothing else of them
  std::vector<std::string> directories;
};

// Forks a child that kills every process with one of the tags or in the control group until none is left, then removes
// the networks that are recorded in the directories and deletes these, then exits with 0. Keeps slow work off the loop.
Result<OpenProcess> fork_sweeper(const Remains& remains);

}  // namespace berth
