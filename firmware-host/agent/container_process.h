// ContainerProcess: one run of one container: a child in its own process group, with its output in a bounded log.
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
  // Starts the container; it is killed when the caller exits. The error names the directory or program at fault.
  static Result<std::unique_ptr<ContainerProcess>> start(const ContainerPlan& plan, const std::string& pod_directory);
  ~ContainerProcess();
  ContainerProcess(const ContainerProcess&) = delete;
  ContainerProcess& operator=(const ContainerProcess&) = delete;

  pid_t pid() const { return pid_; }
  // Descriptor to poll for output; -1 once all writers have closed it.
  int output() const { return output_; }
  // Moves available output, at most kReadBytesMax, to the log.
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
