// ExitCollector: reaps children whose exit nothing depends on, without waiting for it.
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <optional>

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
  // Takes ownership of the descriptor. Below 0, for want of descriptors: it stays a zombie until this process ends.
  void add(const OpenProcess& child);

 private:
  asio::io_context& context_;
  std::map<pid_t, std::unique_ptr<FdWatch>> children_;
};

}  // namespace berth
