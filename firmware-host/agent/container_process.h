// ContainerProcess: one run of one container: its first process, which leads a group, with its output in a bounded log.
#pragma once

#include <sys/types.h>

#include <string>

#include "firmware-host/agent/container_log.h"
#include "firmware-host/agent/container_starter.h"

namespace berth {

class ContainerProcess {
 public:
  // `log`: the path of its output.
  ContainerProcess(const StartedProcess& started, const std::string& log)
      : pid_(started.pid), output_(started.output), log_(log) {}
  ~ContainerProcess();
  ContainerProcess(const ContainerProcess&) = delete;
  ContainerProcess& operator=(const ContainerProcess&) = delete;

  pid_t pid() const { return pid_; }
  // Descriptor to poll for output; -1 once all writers have closed it.
  int output() const { return output_; }
  // Moves available output, at most kReadBytesMax, to the log.
  void read_output();
  // Sends it to the first process and its group.
  void kill_group(int signal) const;

  static constexpr int kReadBytesMax = 64 * 1024;

 private:
  pid_t pid_;
  int output_;
  ContainerLog log_;
};

}  // namespace berth
