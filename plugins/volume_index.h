// VolumeIndex: the volumes of one class, indexed by host if their affinity names hosts, and by claim if they are
// reserved. It is kept between attempts and updated where volumes or assumptions have changed.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/api/volume.h"
#include "core/framework/change_log.h"
#include "core/framework/framework.h"
#include "plugins/volumebinding_assumed.h"

namespace berth {

inline constexpr const char* kHostLabel = "kubernetes.io/hostname";

class VolumeIndex {
 public:
  explicit VolumeIndex(std::string storage_class) : storage_class_(std::move(storage_class)) {}

  // Does a part of what the first follow() would do, for so many volumes. False: nothing was left to do in parts.
  bool build(const Lister& volumes, const AssumedVolumes& assumed, std::size_t most);
  // Updates the index; must always be called with the same arguments, as build().
  void follow(const Lister& volumes, const AssumedVolumes& assumed);

  // The volume reserved for this claim (by claimRef, or assumed for it) that matches it; null: none.
  std::shared_ptr<const PersistentVolume> reserved_for(const PersistentVolumeClaim& claim) const;
  // The smallest free volume that fits the claim on the node, by (capacity, name); null: none. `taken`: names chosen
  // for other claims of the pod.
  std::shared_ptr<const PersistentVolume> smallest_for(const PersistentVolumeClaim& claim, const Node& node,
                                                       const std::set<std::string>& taken) const;

  // True when all free volumes are on hosts that they name, at so many at most.
  bool is_on_few_hosts(std::size_t most) const { return free_anywhere_.empty() && free_by_host_.size() <= most; }
  // Then: the hosts with free volumes for the claim, the nodes of which it fits; `sure` is false where a volume asks
  // for more labels of the node.
  struct HostWithVolume {
    std::string_view host;
    bool sure = false;
  };
  std::vector<HostWithVolume> hosts_for(const PersistentVolumeClaim& claim) const;

  // The number of changes of free volumes so far.
  std::uint64_t seen() const { return forgotten_ + changed_hosts_.size(); }
  // Appends the values of kubernetes.io/hostname whose free volumes have changed since `seen`, and updates `seen`.
  // False: the free volumes of any node may have changed.
  bool changed_since(std::uint64_t& seen, std::vector<std::string>& hosts) const;

  // The volumes that the node's device has made below its pool, by name; null: none.
  struct Made {
    Quantity size;
    std::string claim;  // "<namespace>/<name>" of the one that has it; empty: none
  };
  using MadeVolumes = std::map<std::string, Made>;
  const MadeVolumes* made_on(const std::string& node) const;
  // The nodes where such volumes came or went.
  const ChangeLog& made_changes() const { return made_changes_; }

 private:
  using Volume = std::shared_ptr<const PersistentVolume>;
  // By capacity, then by name; lower_bound() with a size finds the first volume that is large enough.
  struct Smaller {
    using is_transparent = void;
    bool operator()(const Volume& a, const Volume& b) const;
    bool operator()(const Volume& a, const Quantity& size) const { return a->capacity < size; }
  };
  using Volumes = std::set<Volume, Smaller>;
  static constexpr std::size_t kHostsKept = 4096;

  void follow_volumes(const Lister& volumes, const AssumedVolumes& assumed);
  void replace(const std::string& name, const Volume& volume, const AssumedVolumes& assumed);
  void add(const Volume& volume, const AssumedVolumes& assumed);
  void remove(const Volume& volume);
  void put_free(const Volume& volume, bool is_free);
  void note_made(const PersistentVolume& volume, bool is_there);
  void note_change(const std::string& host);
  void note_change_anywhere();

  std::string storage_class_;
  std::optional<std::uint64_t> changes_seen_;  // of the lister
  std::vector<Volume> to_add_;                 // of those that were there then
  std::optional<std::uint64_t> assumptions_seen_;
  std::unordered_map<std::string, Volume> by_name_;
  std::unordered_map<std::string, MadeVolumes> made_;  // by node
  ChangeLog made_changes_{kHostsKept};
  std::map<std::string, std::string> assumed_claims_;              // the claim, by volume
  std::map<std::string, std::map<std::string, Volume>> reserved_;  // by claim, by name
  std::unordered_map<std::string, Volumes> free_by_host_;
  Volumes free_anywhere_;
  std::deque<std::string> changed_hosts_;  // the latest changes
  std::uint64_t forgotten_ = 0;            // number of changes before these
};

}  // namespace berth
