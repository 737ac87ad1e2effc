// ExitCollector: reaps children whose exit nothing depends on, without waiting for it.
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "firmware-host/agent/process_tree.h"
#include "firmware-host/fd_watch.h"

namespace berth {

// Reaps a child that has exited and returns its exit code; nullopt if it is not our child or was killed.
std::optional<int> collect_exit(int pidfd);

bool has_exited(int pidfd);

class ExitCollector {
 public:
  // The context must outlive the collector.
  explicit ExitCollector(asio::io_context& context) : context_(context) {}
  // Takes ownership of the descriptor. Below 0, for want of descriptors: it is reaped when the next one is added or
  // exits after it.
  void add(const OpenProcess& child);
  // All that have a descriptor have been reaped.
  bool is_empty() const { return children_.empty(); }

 private:
  void reap_unwatched();

  asio::io_context& context_;
  std::map<pid_t, std::unique_ptr<FdWatch>> children_;
  std::vector<pid_t> unwatched_;
};

}  // namespace berth
