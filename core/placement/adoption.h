// Adoption: what becomes of a slot whose pod has no object in a store that was lost, or is older. The object is made
// again from the manifest that the device holds, and of one name there is one pod (P14). What cannot be decided here
// is an orphan: it keeps running, holds its name, and waits for the operator.
#pragma once

#include <string>
#include <vector>

#include "core/api/pod.h"
#include "core/placement/listings.h"
#include "core/placement/pod_admission.h"
#include "core/placement/pod_lifecycle.h"
#include "core/placement/pod_registry.h"
#include "core/placement/release_list.h"

namespace berth {

class Adoption {
 public:
  struct Parts {
    PlacementState& state;
    VolumeBinder& volumes;
    ReleaseList& releases;
    PodLifecycle& lifecycle;
    PodRegistry& pods;
    const PodAdmission& admission;
  };
  // All outlive it.
  Adoption(const PlacementContext& context, const Parts& parts) : context_(context), parts_(parts) {}

  enum class Found {
    object,       // it has one now
    none,         // nobody can say what it is: it becomes an orphan, or stays one
    no_capacity,  // the node is to be asked again
  };
  // A slot that runs, or has finished, and whose uid has no object. `key`: its release_key().
  Found find_object(const std::string& node, const SlotReport& slot, const std::string& key);
  // The operator applied the pod of an orphan by its name: what the device runs is what counts.
  void reconcile(const std::string& node, const SlotReport& slot, PodEntry& entry);
  // The record of a slot that is no row: its name, and whether it holds that.
  void describe(const SlotReport& slot, ReleaseEntry& found) const;
  // "<namespace>/<name>" by what the device holds, even where that is not acceptable.
  static std::string name_of(const SlotReport& slot);
  // Adopt mode ends: names that several have are one's.
  void settle_names();

 private:
  bool is_open(const std::string& node) const;
  bool is_placed(const PodEntry& entry) const;
  void displace(const PodEntry& entry, const SlotReport& slot);
  void take_name(PodEntry& entry, const std::string& node, const CountedPtr<Pod>& found);
  void settle_name(const std::string& name, const std::vector<std::string>& orphans);
  void tell(const std::string& pod, const char* type, const char* reason, const std::string& message) const;

  const PlacementContext& context_;
  Parts parts_;
};

}  // namespace berth
