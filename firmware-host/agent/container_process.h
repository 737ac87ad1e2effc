// ContainerProcess: one run of one container, with its output in a bounded log.
#pragma once

#include <array>
#include <memory>
#include <string>

#include "firmware-host/agent/container_log.h"
#include "firmware-host/agent/container_starter.h"

namespace berth {

class ContainerProcess {
 public:
  // Its log is begun in the pod's directory. `clock` must outlive it.
  ContainerProcess(StartedRun started, const std::string& directory, const std::string& container,
                   const LogLimits& limits, const Clock& clock)
      : run_(std::move(started.run)),
        outputs_{started.output, started.errors},
        log_(directory, container, limits, clock) {}
  ~ContainerProcess();
  ContainerProcess(const ContainerProcess&) = delete;
  ContainerProcess& operator=(const ContainerProcess&) = delete;

  ContainerRun& run() const { return *run_; }
  // Descriptors to poll for its standard output and errors; -1 once all writers have closed it.
  const std::array<int, 2>& outputs() const { return outputs_; }
  // Moves available output, at most kReadBytesMax of each, to the log.
  void read_output();

  static constexpr int kReadBytesMax = 64 * 1024;

 private:
  void read_output(OutputStream stream);

  std::unique_ptr<ContainerRun> run_;
  std::array<int, 2> outputs_;  // by OutputStream
  ContainerLog log_;
};

}  // namespace berth
