// Runtime interface (device side): prepares, starts and stops workloads. Everything it creates carries the pod's tag,
// so that it can be found again even if every store is lost.
#pragma once

#include <string>
#include <vector>

#include "core/clock.h"
#include "core/handshake/epoch.h"
#include "core/handshake/messages.h"
#include "core/status.h"

namespace berth {

struct Tag {
  std::string uid;
  Epoch epoch;
  auto operator<=>(const Tag&) const = default;
};

inline constexpr Millis kDefaultGraceMs = 30'000;  // of a workload whose manifest cannot be read

class PodObjects;

class Runtime {
 public:
  class Handler {
   public:
    virtual ~Handler() = default;
    // Answers prepare(), unless undo() came first. May be called by it.
    virtual void on_prepared(const Tag& tag, Status status) = 0;
    // The observed state of a started workload changed. `status` is the pod's status as JSON text ({"phase": ...,
    // "containerStatuses": [...]}); `finished`: every container has terminated (phase Succeeded or Failed).
    virtual void on_status(const Tag& tag, const std::string& status, bool finished) = 0;
    // Answers stop(): nothing with this tag is alive or left behind, not even a process detached from its parent.
    virtual void on_stopped(const Tag& tag) = 0;
  };

  virtual ~Runtime() = default;
  virtual void set_handler(Handler* handler) = 0;
  // Every tag with something alive, held or prepared, found in the system itself, not in our records: prepare() and
  // start() may come before the commit that records them, and what a lost one leaves is found here. An error: the
  // system could not be searched, so what is there is unknown.
  virtual Result<std::vector<Tag>> list() = 0;
  // What runs under another name that this device had, for people, and list() does not have because it was started from
  // another state directory, of which this one may be a copy. Another agent may have it, so it is left alone.
  virtual Result<std::vector<std::string>> list_others(const std::string& fleet, const std::string& node) = 0;
  // Prepares everything that can be prepared without running it (directories, volumes). Answered by on_prepared().
  virtual void prepare(const Tag& tag, const std::string& pod, const std::vector<BoundVolume>& volumes) = 0;
  // Why prepare() would refuse the pod now; changes nothing. Success: it would not. Pending: only prepare() can tell.
  virtual Status check(const std::string& pod, const std::vector<BoundVolume>& volumes) = 0;
  // Removes at once what prepare() created or a finished workload left, and a child that start() created if it was
  // never let go. Unknown tags are ignored.
  virtual void undo(const Tag& tag) = 0;
  // Creates the workload, held before its first instruction. The handle ("<pid>:<start time>") must be durable
  // before go(). If the tag's workload is alive already (the agent restarted), takes it over and returns its handle. An
  // empty handle: whether it is alive cannot be told now; the runtime starts it once that is known, and go() has been
  // called.
  virtual Result<std::string> start(const Tag& tag, const std::string& pod,
                                    const std::vector<BoundVolume>& volumes) = 0;
  // Lets a started workload run; idempotent.
  virtual void go(const Tag& tag) = 0;
  // Where it finds the ConfigMaps and Secrets of pods; outlives it. Null: there are none.
  virtual void set_objects(const PodObjects* /*objects*/) {}
  // Those that this workload refers to are others now, or gone.
  virtual void objects_changed(const Tag& /*tag*/) {}
  // SIGTERM, then SIGKILL after `grace`; then removes what prepare() created. Answered by on_stopped(), also for
  // unknown tags.
  virtual void stop(const Tag& tag, Millis grace) = 0;
};

}  // namespace berth
