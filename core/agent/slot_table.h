// SlotTable: what the device has promised: its durable state (core/agent/rules.h) with the records of it in the store,
// and the volatile part of each slot. It decides about requests; the agent carries the decisions out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/agent/admission.h"
#include "core/agent/answers.h"
#include "core/agent/made_volumes.h"
#include "core/agent/rules.h"
#include "core/agent/runtime.h"
#include "core/clock.h"
#include "core/handshake/messages.h"
#include "core/log.h"
#include "core/store.h"

namespace berth {

struct Pod;

class SlotTable {
 public:
  static constexpr std::size_t kMaxSlots = 512;
  static constexpr std::size_t kMaxManifestBytes = 56 * 1024;  // so that one slot always fits a page of Slots

  // The volatile part of a slot.
  struct Live {
    std::string key;  // "<namespace>/<name>"
    Demand demand;
    Millis grace_ms = kDefaultGraceMs;
    std::int32_t priority = 0;        // spec.priority
    std::string status;               // as last observed by the runtime, JSON text
    std::optional<ReplyTo> pre_bind;  // the PreBind to answer once prepared
    std::vector<ReplyTo> releases;    // the Release requests to answer once stopped
  };

  // All references must outlive this. Changes are staged in `store`, for the commit of the turn.
  SlotTable(Store& store, const Clock& clock, Log& log, Offer offer, MadeVolumes& made);

  // The state that the store has, at the start.
  void restore(NodeState state);
  const NodeState& state() const { return state_; }
  // The uids of all pods with a slot, those of the highest priority first.
  std::vector<std::string> by_priority() const;
  // The caller makes it durable.
  void set_incarnation(const std::string& incarnation) { state_.incarnation = incarnation; }

  // What carry_out() would decide; nothing changes.
  NodeDecision judge(const Request& request);
  // Decides about the request and stages what the decision makes durable. A pod that is admitted has its slot
  // afterwards, but no volatile part until begin().
  NodeDecision carry_out(const Request& request);
  // Gives the pod that carry_out() has just admitted its volatile part.
  void begin(const std::string& uid);
  // The slot of this tag in this state, or null. Changes to it must be saved.
  Slot* find(const Tag& tag, SlotState state);
  Slot& slot(const std::string& uid) { return state_.slots.at(uid); }
  Live& live(const std::string& uid) { return live_.at(uid); }
  // The pod with a slot and this key, or null.
  const std::string* find_uid(const std::string& key) const;
  void save(const std::string& uid);
  // The slot is gone after this event. Returns the pod's key, or "" if it is unknown.
  std::string drop(const std::string& uid, SlotEvent event);
  // Removes the volatile part, if there is one; returns as drop().
  std::string forget(const std::string& uid);

 private:
  static Live live_of(const Pod& pod, const std::vector<BoundVolume>& volumes);
  Live read_manifest(const std::string& pod, const std::vector<BoundVolume>& volumes);
  Status admit_request(const Request& request);
  void save(const Request& request, const NodeDecision& decision, const std::vector<std::string>& dropped);

  Store& store_;
  const Clock& clock_;
  Log& log_;
  const Offer offer_;
  MadeVolumes& made_;
  NodeState state_;
  std::map<std::string, Live> live_;  // by pod uid, as state_.slots
  std::optional<Live> admitted_;      // decoded by admission from the current request
};

}  // namespace berth
