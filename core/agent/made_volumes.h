// MadeVolumes: the volumes that this device has made below its pools (core/handshake/rules.md N11), with a record of
// each that is durable before its directory is made, and gone only when the directory is.
//
//            PreBind with `make`           Bind                DeleteVolume             the directory is gone
//     none ─────────────────────▶ made ─────────▶ kept ───────────────────▶ removing ─────────────────────▶ none
//                                   └──────────── DeleteVolume ─────────────────▲
//
// A directory is removed only when the gateway says so: only it knows whether a volume was given to a claim. `made`
// without a slot is therefore told with each listing; so is `kept`, and what lies in a pool without a record, since the
// gateway may have lost its own: it shows them, and the operator decides. A record of `made` is durable before its
// directory is, so it does not prove that the device made what lies there: only an empty directory goes with it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/agent/answers.h"
#include "core/agent/made_volume.h"
#include "core/agent/pool_directories.h"
#include "core/agent/rules.h"
#include "core/api/volume_pool.h"
#include "core/clock.h"
#include "core/handshake/messages.h"
#include "core/log.h"
#include "core/timers.h"
#include "core/turn.h"

namespace berth {

class MadeVolumes {
 public:
  static constexpr std::size_t kMaxUnused = 64;  // told in one listing
  static constexpr std::size_t kMaxVolumes = 4096;

  struct Parts {
    Turn& turn;
    const Clock& clock;
    Timers& timers;
    Log& log;
    const std::vector<VolumePool>& pools;
    PoolDirectories* directories;  // null: there are no pools
  };
  // `removed`: a removal that was asked for is over, and staged for the commit of this turn.
  using Removed = std::function<void(const std::string& volume, const ReplyTo& asked_by)>;

  MadeVolumes(const Parts& parts, Removed removed);
  ~MadeVolumes();
  MadeVolumes(const MadeVolumes&) = delete;
  MadeVolumes& operator=(const MadeVolumes&) = delete;

  // What the store has, at the start: removals go on. What has no record was left by a store that was lost, or by
  // somebody else: only the operator knows whether anybody needs it.
  void restore(std::map<std::string, MadeVolume> volumes);

  // Whether the volumes of a PreBind that lie in pools can be had; unresolvable: never by this agent. `slots`: of the
  // other pods. What else was made the gateway has counted: a volume that it has given up must not fill the pool.
  // One that is to be made needs a path that is free: what else lies there is somebody's data.
  Status admit(const std::vector<BoundVolume>& volumes, const std::vector<const Slot*>& slots) const;
  // A slot has them from now on; staged with it.
  void note_admitted(const std::vector<BoundVolume>& volumes, const Epoch& epoch);
  // Bind: whatever follows, they have data.
  void note_bound(const std::vector<BoundVolume>& volumes);
  // Makes the directories that are to be made. Their records are durable.
  Status make(const std::vector<BoundVolume>& volumes);

  // DeleteVolume. Nothing happens when a slot has it, or a later one has had it, or when it is in no pool; or, without
  // a path, when a pod has used it, or when its directory is not empty: no pod wrote that, so this device has not made
  // it, and its record ends.
  void remove(const Request& request, const NodeState& state);
  // Before a listing: ends the records of unused volumes whose directories are not empty, as remove() would, so that
  // the listing tells of them as of what this agent has no record of.
  void disown_filled(const NodeState& state);
  // Made for slots, none of which is left or came to run.
  std::vector<std::string> unused(const NodeState& state) const;
  // Used, and no slot has them; and what this agent has no record of.
  std::vector<KeptVolume> kept(const NodeState& state) const;

 private:
  Status check_room(const BoundVolume& volume, const VolumePool& pool) const;
  bool disown(const Request& request);
  void end_record(const std::string& volume);
  std::string_view why_not_removed(const Request& request, const NodeState& state) const;
  const VolumePool* pool_at(const BoundVolume& volume) const;
  std::map<const VolumePool*, Quantity> used_by(const std::vector<const Slot*>& slots,
                                                const std::vector<BoundVolume>& except) const;
  void save(const std::string& volume);
  std::map<std::string, std::string> without_record() const;
  void remove_some(const std::string& volume);
  void remove_later(const std::string& volume, Millis delay);

  Parts parts_;
  Removed removed_;
  std::map<std::string, MadeVolume> volumes_;  // by name
  std::map<std::string, ReplyTo> asked_;       // removals: who is to be told
  std::map<std::string, Timers::Id> steps_;    // removals: the next step
};

// The volume lies below this pool, under its name.
bool is_in(const VolumePool& pool, const BoundVolume& volume);

}  // namespace berth
