// ContainerProcess: one run of one container: a child in a process group of its own, its output in a bounded log.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "core/status.h"
#include "firmware-host/agent/container_log.h"
#include "firmware-host/agent/workload.h"

namespace berth {

class ContainerProcess {
 public:
  // Starts the container; it dies with the caller. The error says what the system refused (directory, program).
  static Result<std::unique_ptr<ContainerProcess>> start(const ContainerPlan& plan, const std::string& pod_directory);
  ~ContainerProcess();
  ContainerProcess(const ContainerProcess&) = delete;
  ContainerProcess& operator=(const ContainerProcess&) = delete;

  pid_t pid() const { return pid_; }
  // Descriptor to poll for output; -1 once every writer is gone.
  int output() const { return output_; }
  // Moves what is there, at most kReadBytesMax, into the log.
  void read_output();
  void kill_group(int signal) const;

  static constexpr int kReadBytesMax = 64 * 1024;

 private:
  ContainerProcess(pid_t pid, int output, std::string log) : pid_(pid), output_(output), log_(std::move(log)) {}

  pid_t pid_;
  int output_;
  ContainerLog log_;
};

}  // namespace berth
