// PodPlanner: from a pod's manifest to what its keeper is told, on this node. The same in the agent and in the spare
// process that becomes a keeper (children.h).
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/agent/runtime.h"
#include "core/handshake/messages.h"
#include "core/status.h"
#include "firmware-host/agent/keeper.h"
#include "firmware-host/agent/workload.h"

namespace berth {

// Whose pods these are.
struct PodSite {
  std::string fleet;  // fleet and node are part of every tag; several agents may share a machine
  std::string node;
  std::string root;  // absolute; the directories of pods are in it
};

class PodPlanner {
 public:
  PodPlanner(PodSite site, CrashBackoff backoff, VolumeDemands demands)
      : site_(std::move(site)), backoff_(backoff), demands_(std::move(demands)) {}

  std::string directory_of(const Tag& tag) const;
  // is_new: it is refused if this runtime cannot do all that it asks for. Every error names the field and the fix.
  Result<Workload> plan(const Tag& tag, const std::string& pod, const std::vector<BoundVolume>& volumes,
                        bool is_new = false) const;
  // Of a pod that never had a keeper.
  KeeperPlan first_keeper(const Tag& tag, Workload workload) const;
  // The same from a text of PodOrder; none: it is no such text, or the pod cannot be planned.
  std::optional<KeeperPlan> first_keeper(const std::string& order) const;

 private:
  PodSite site_;
  CrashBackoff backoff_;
  VolumeDemands demands_;
};

}  // namespace berth
