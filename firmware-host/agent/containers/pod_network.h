// PodNetwork: the network of one pod, made and removed by CNI plugins from within its keeper, without waiting. What was
// made is recorded in the pod's directory before it is made, so that it can be removed when the keeper has died.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/json/json.h"
#include "core/status.h"
#include "firmware-host/agent/cni/cni_run.h"
#include "firmware-host/agent/containers/network_record.h"
#include "firmware-host/agent/containers/sandbox_plan.h"

namespace berth {

class PodNetwork {
 public:
  // Before the keeper enters the sandbox: plugins are run in the network that it is in now. `plan` outlives it.
  explicit PodNetwork(const SandboxPlan& plan);
  ~PodNetwork();
  PodNetwork(const PodNetwork&) = delete;
  PodNetwork& operator=(const PodNetwork&) = delete;

  // In the sandbox. True: it is there. False: the end of a child brings it further. After an error nothing is left, and
  // the next call tries again.
  Result<bool> make();
  // Of an own pod whose keeper ends. True: nothing is left that could be removed.
  bool remove();
  bool take_exit(pid_t child, int wait_status);
  // Once it is there.
  const std::vector<std::string>& addresses() const { return addresses_; }

 private:
  enum class Stage { none, removing_earlier, adding, there, removing, removed };

  template <class Begin>
  void run(const NetworkRecord& record, const Begin& begin);
  Status take_result();

  const SandboxPlan& plan_;
  int machine_ = -1;  // the namespace that plugins are run in
  int own_ = -1;      // the pod's
  Stage stage_ = Stage::none;
  std::unique_ptr<CniRun> run_;
  std::vector<std::string> addresses_;
};

}  // namespace berth
