// OrphanVolumes: directories in the pools of devices that no slot and no PersistentVolume names: the gateway's store
// was lost since, or the volume was deleted while its data stayed (reclaim policy Retain). Nobody uses them, and nobody
// but the operator knows whether their data is needed: they are shown as Orphan until they are adopted or deleted
// (P18).
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/handshake/messages.h"
#include "core/placement/context.h"
#include "core/placement/listings.h"
#include "core/placement/provisioned_volumes.h"

namespace berth {

class OrphanVolumes {
 public:
  struct Orphan {
    std::string node;
    std::string storage_class;  // of the pool
    KeptVolume volume;
  };

  // All outlive it.
  OrphanVolumes(const PlacementContext& context, ProvisionedVolumes& provisioned)
      : context_(context), provisioned_(provisioned) {}

  // The node has listed its slots, and the used volumes that none of them has.
  void take_listing(const std::string& node, const Listed& listed);
  // A slot of the node has ended. True: it had a volume that no object names, which a listing would tell of by now.
  bool note_ended(const std::string& node, const Epoch& epoch);
  // One of these slots of the node has a volume that no object names.
  bool has_left_volume(const std::string& node, const std::vector<SlotReport>& slots) const;
  // In adopt mode the objects may still come; it is over.
  void adopt_mode_ended();
  // The node was forgotten.
  void forget(const std::string& node);
  // The device has deleted the volume.
  void note_deleted(const std::string& node, const std::string& volume);

  const ProvisionedVolumes& provisioned() const { return provisioned_; }

  // By node, then by name.
  std::vector<Orphan> all() const;
  std::vector<Orphan> of(const std::string& node) const;
  // Of that name, on whatever node.
  std::vector<Orphan> named(const std::string& volume) const;

  // The claim that is bound to it, and waits for its object; empty: none.
  std::string claim_of(const std::string& volume) const;
  // It becomes a PersistentVolume again: Released, so that no claim gets it, or Available for the claim of claim_of(),
  // to which it is then to be bound (VolumeBinder::bind). `reclaim_policy` Delete: the device is asked to remove it,
  // until it has. The error says why it cannot.
  Status keep(const Orphan& orphan, const std::string& reclaim_policy);

 private:
  using Volumes = std::map<std::string, KeptVolume>;  // by name

  std::string class_of(const std::string& node, const KeptVolume& volume) const;
  bool has_object(const std::string& node, const KeptVolume& volume) const;
  bool is_orphan(const std::string& node, const KeptVolume& volume) const;
  void review(const std::string& node);
  void tell(const std::string& node, const Volumes& news);

  const PlacementContext& context_;
  ProvisionedVolumes& provisioned_;
  std::map<std::string, Volumes> told_;           // by node: as last listed
  std::map<std::string, Volumes> orphans_;        // of those, when they were last reviewed
  std::map<std::string, std::set<Epoch>> holds_;  // by node: the slots, as last listed, with such a volume
};

}  // namespace berth
