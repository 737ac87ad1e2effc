// ContainerStarter: how the first process of a container is started, and another one in a container that runs. All else
// that a keeper does, it does with whatever its runtime has for this. ProcessStarter is the process runtime's.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "core/status.h"
#include "firmware-host/agent/workload.h"

namespace berth {

// A child of the keeper that leads a process group of its own and is killed when the keeper exits.
struct StartedProcess {
  pid_t pid = -1;
  int output = -1;  // what it writes to its standard output and error; does not block; the caller closes it
};

class ContainerStarter {
 public:
  virtual ~ContainerStarter() = default;
  // The error names the directory or program at fault.
  virtual Result<StartedProcess> start(const ContainerPlan& plan) = 0;
  // `container` is the first process of it. An error: the command could not be run, which says nothing of the
  // container.
  virtual Result<StartedProcess> exec(const ContainerPlan& plan, pid_t container,
                                      const std::vector<std::string>& command) = 0;
};

// Plain processes: a command in a container is one with its environment and in its directory.
class ProcessStarter final : public ContainerStarter {
 public:
  Result<StartedProcess> start(const ContainerPlan& plan) override;
  Result<StartedProcess> exec(const ContainerPlan& plan, pid_t container,
                              const std::vector<std::string>& command) override;
};

}  // namespace berth
