// Comparison: what a device runs against what the rows say (List and Slots), and what is made of slots that no row
// explains. Adopt mode: adopt_mode.h.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "core/placement/adopt_mode.h"
#include "core/placement/node_registry.h"
#include "core/placement/orphan_volumes.h"
#include "core/placement/pod_registry.h"
#include "core/placement/recovery.h"
#include "core/placement/twins.h"

namespace berth {

class Comparison {
 public:
  struct Parts {
    PlacementState& state;
    Scheduler& scheduler;
    Listings& listings;
    VolumeBinder& volumes;
    ProvisionedVolumes& provisioned;
    ReleaseList& releases;
    PodLifecycle& lifecycle;
    NodeRegistry& nodes;
    PodRegistry& pods;
    Recovery& recovery;
    Adoption& adoption;
    AdoptMode& adopt_mode;
    Twins& twins;
    OrphanVolumes& orphan_volumes;
  };
  // All outlive it.
  Comparison(const PlacementContext& context, const Parts& parts) : context_(context), parts_(parts) {}

  // A page of slots; the last page of a listing has the node compared.
  void take_slots(const Answer& answer);
  // P11: the store is an older copy of itself. What the time that was lost made of its promises is not known.
  void give_up_promises();

 private:
  bool is_given(const std::string& node, const Epoch& epoch) const;
  SlotReport believed(const SlotReport& slot, bool has_object) const;
  std::size_t count_unexplained(const std::string& node, const std::vector<SlotReport>& slots) const;
  bool compare(const std::string& node, const std::vector<SlotReport>& slots, const std::string& incarnation);
  void find_promise(const std::string& node, const SlotReport& slot);
  void hold_back_pod_of(const SlotReport& slot, const std::string& key);
  bool adopt_slot(const std::string& node, const SlotReport& slot, const std::string& incarnation);
  bool adopt_row(const std::string& node, const SlotReport& slot, const std::string& incarnation, PodEntry& entry);
  bool is_ending(const SlotReport& slot) const;
  void add_orphans_of_twins(const std::string& node, const std::string& incarnation, std::set<std::string>& keys) const;
  void add_orphan(const SlotReport& slot, ReleaseEntry orphan, const std::string& key);
  void welcome_back(const std::string& node, const std::string& incarnation);

  const PlacementContext& context_;
  Parts parts_;
};

}  // namespace berth
