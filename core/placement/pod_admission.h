// PodAdmission: what is asked of a pod's manifest before it is accepted, whether an operator applies it or a device
// holds it. Changes nothing but the random source, for a uid.
#pragma once

#include <string>
#include <vector>

#include "core/api/decode.h"
#include "core/api/pod.h"
#include "core/api/volume.h"
#include "core/handshake/messages.h"
#include "core/placement/context.h"
#include "core/scheduler/scheduler.h"

namespace berth {

class PodAdmission {
 public:
  // Both outlive it.
  PodAdmission(const PlacementContext& context, const Scheduler& scheduler)
      : context_(context), scheduler_(scheduler) {}

  struct Admitted {
    CountedPtr<Pod> pod;
    bool known = false;  // a new version of the pod of this name
    Warnings warnings;
    std::vector<PersistentVolumeClaim> claims;  // of its ephemeral volumes, that come with it if it is new
  };
  // A manifest that an operator applies. `expected_key`: the name that the topic says; empty: any. `recreate`: the pod
  // is a new one, even of a known name.
  Result<Admitted> admit(const Json& object, const std::string& expected_key, bool recreate) const;
  // The manifest that a device holds for a pod whose object is lost.
  Result<CountedPtr<Pod>> admit_found(const SlotReport& slot) const;
  // The found pod as `applied` updates it, which has its name. An error says why that is no update.
  Result<CountedPtr<Pod>> update_found(const Pod& found, const Pod& applied) const;
  bool has_profile(const Pod& pod) const { return scheduler_.framework_of(pod) != nullptr; }

 private:
  Status check_pod(const Pod& pod, const PodEntry* same, const std::string& key) const;
  Status admit_priority(Json& manifest) const;

  const PlacementContext& context_;
  const Scheduler& scheduler_;
};

}  // namespace berth
