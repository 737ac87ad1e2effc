// OrphanVolumes: directories in the pools of devices that no slot, no PersistentVolume and no claim names: the
// gateway's store was lost since, or the volume was deleted while its data stayed (reclaim policy Retain). Nobody uses
// them, and nobody but the operator knows whether their data is needed: they are shown as Orphan until he keeps them or
// has them deleted (P18).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/handshake/messages.h"
#include "core/placement/context.h"
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

  // The node has listed the used volumes that none of its slots has.
  void take_listing(const std::string& node, const std::vector<KeptVolume>& volumes);
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

  // It becomes a PersistentVolume again, Released: no claim gets it. `reclaim_policy` Delete: the device is asked to
  // remove it, until it has. The error says why it cannot.
  Status keep(const Orphan& orphan, const std::string& reclaim_policy);

 private:
  using Volumes = std::map<std::string, KeptVolume>;  // by name

  std::string class_of(const std::string& node, const KeptVolume& volume) const;
  bool has_object(const std::string& node, const KeptVolume& volume) const;
  bool has_claim(const std::string& volume) const;
  bool is_orphan(const std::string& node, const KeptVolume& volume) const;
  void review(const std::string& node);
  void tell(const std::string& node, const Volumes& news);

  const PlacementContext& context_;
  ProvisionedVolumes& provisioned_;
  std::map<std::string, Volumes> told_;     // by node: as last listed
  std::map<std::string, Volumes> orphans_;  // of those, when they were last reviewed
};

}  // namespace berth
