// ProvisionedVolumes: volumes that devices make below their pools, for claims of a class with the provisioner
// berth/local: their objects, and their end (core/handshake/rules.md P18, Volumes).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/objects/volume_manifest.h"
#include "core/placement/context.h"
#include "core/placement/object_changes.h"
#include "core/placement/request_sender.h"
#include "core/placement/state.h"

namespace berth {

struct PersistentVolume;

class ProvisionedVolumes {
 public:
  // All outlive it.
  ProvisionedVolumes(const PlacementContext& context, const PlacementState& state, RequestSender& sender,
                     ObjectChanges& changes)
      : context_(context), state_(state), sender_(sender), changes_(changes) {}
  ~ProvisionedVolumes();
  ProvisionedVolumes(const ProvisionedVolumes&) = delete;
  ProvisionedVolumes& operator=(const ProvisionedVolumes&) = delete;

  // The device of the row has made what the row asked for: the volumes get their objects, in this turn's transaction.
  void make_objects(const Row& row);
  // It has rejected the row, for that reason: a claim whose volume the reason names has an event of it.
  void tell_rejected(const Row& row, const std::string& reason);
  // The device has listed volumes that none of its slots has, and none has used; or may have made them for a placement
  // that has ended.
  void take_unused(const std::string& node, const std::vector<std::string>& volumes);
  // Asks the node to delete its volumes that are Released, with reclaim policy Delete; all of them, or this one. Each
  // is asked for again until it is gone.
  void reclaim(const std::string& node);
  void reclaim_volume(const std::string& volume);
  // Rows, entries of the release list and volumes looked at so far: for a node's listing those of that node.
  std::uint64_t looked_at() const { return looked_at_; }
  // VolumeDeleted. The object goes; an answer to anything but the last request changes nothing, and returns false.
  bool take_answer(const Answer& answer);
  // A row, or an entry of the release list, may have the volume on the node.
  bool is_named(const std::string& node, const std::string& volume) const;
  // A directory of the node that no object names gets one, in phase Released or Available.
  void add_found(const std::string& node, const std::string& storage_class, const KeptVolume& kept,
                 const std::string& reclaim_policy, const std::string& phase);

 private:
  void add_object(Json manifest);
  bool is_needless(const std::string& node, const std::string& volume) const;
  bool is_to_be_deleted(const PersistentVolume& volume) const;
  void ask(const std::string& node, const std::string& volume, const std::string& path);
  void ask_again(const std::string& volume);

  const PlacementContext& context_;
  const PlacementState& state_;
  RequestSender& sender_;
  ObjectChanges& changes_;
  std::map<std::pair<std::string, std::string>, Epoch> asked_;  // by node and volume: of the last request
  struct Resend {
    Timers::Id timer = 0;
    int sent = 0;
  };
  std::map<std::string, Resend> resends_;  // by volume: those with an object
  mutable std::uint64_t looked_at_ = 0;
};

std::vector<std::string> volumes_to_make(const Row& row);
// Its claim is gone, and the device that made it is to remove it.
bool is_reclaimed(const Objects& objects, const PersistentVolume& volume);

}  // namespace berth
