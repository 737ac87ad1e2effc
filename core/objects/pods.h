// Pods: the pods the gateway has accepted, one entry each: the pod and all that the gateway keeps of it apart from its
// binding. Durable in Table::object. Others hold a pointer to the entry, or the uid.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/api/pod.h"
#include "core/clock.h"
#include "core/framework/queued_pod.h"
#include "core/key_index.h"
#include "core/keyed_pool.h"
#include "core/objects/report.h"
#include "core/store.h"

namespace berth {

// The condition PodScheduled of a pod.
struct PodCondition {
  bool status = false;
  std::string reason;  // "Unschedulable": rejected; "SchedulerError": all else that failed
  std::string message;
  bool operator==(const PodCondition&) const = default;
};

// What few pods have.
struct PodExtras {
  Text disruption;                        // not empty: preempted; the message of condition DisruptionTarget
  Manifest successor;                     // of the pod that takes this name once the row is gone; null: none
  std::optional<PodCondition> condition;  // why the last attempt failed
  std::optional<QueuePosition> position;  // as the store has it
  std::string wrong_report;               // what is wrong with the device's present report of it, by field
  bool operator==(const PodExtras&) const = default;
};

// A pod and what the gateway keeps of it, apart from its binding. Kept small: there is one for each pod of the fleet.
struct PodEntry {
  Text key;  // "<namespace>/<name>", as in pods()
  PodPtr pod;
  Millis arrived = 0;         // when it was accepted, on the clock's scale: the order of those that were never tried
  bool deleting : 1 = false;  // a delete was accepted; it completes when the row is gone
  bool finished : 1 = false;  // every container ended for good; never scheduled again
  bool unsaved : 1 = false;   // its record is behind, to save writes
  bool bound_at_start : 1 = false;  // while the gateway starts: a row was found by which it is placed, and is so still
  std::uint32_t seen_session : 28 = 0;  // with the broker: it is known what that retains of the pod
  std::uint32_t order_session = 0;      // likewise: it retains the operator's order, not our mirror
  Report observed;                      // what the device last reported for the present epoch

  const PodExtras& extras() const;
  // Changes them; they take no memory once there are none.
  void edit_extras(const std::function<void(PodExtras&)>& change);

 private:
  std::unique_ptr<PodExtras> extras_;  // null: none
};
static_assert(sizeof(void*) < 8 || sizeof(PodEntry) <= 64);

void set_disruption(PodEntry& entry, const Text& why);

class Pods {
 public:
  struct KeyOf {
    const Text& operator()(const PodEntry& entry) const { return entry.key; }
  };
  using Entries = KeyedPool<PodEntry, KeyOf>;  // by "<namespace>/<name>"; in no order that means anything

  explicit Pods(Store& store) : store_(store) {}

  // Takes a record of a pod in: `key` is the pod's, `value` the record's. An error says what is wrong with it.
  Status load(std::string_view key, std::string_view value);

  const Entries& all() const { return entries_; }
  // By "<namespace>/<name>"; null: none. The pointer lives until the pod is erased.
  PodEntry* find(const std::string& key);
  const PodEntry* find(const std::string& key) const;
  PodEntry* find_by_uid(std::string_view uid);
  const PodEntry* find_by_uid(std::string_view uid) const;
  // "<namespace>/<name>", sharing the entry's text if the pod is there.
  Text key_of(const Pod& pod) const;
  // In all(); near numbers are near each other in memory. kNone: no such pod.
  Entries::Index index_of_uid(std::string_view uid) const;

  PodEntry& put(PodPtr pod);                                // new, or a new version of the same uid
  void save(const std::string& key);                        // stages the entry as it is now
  void set_successor(PodEntry& entry, Manifest successor);  // staged by save(); null: none
  void erase(const std::string& key);
  // Keys of pods whose name another pod waits for, as loaded or last saved, and that one's uid.
  const std::map<std::string, std::string>& names_awaited() const { return names_awaited_; }

 private:
  Status load_json(const Json& stored);
  Status load_packed(std::string_view key, std::string_view stored);
  PodEntry& put(std::string_view key, PodPtr pod);
  auto has_uid(std::string_view uid) const {
    return [this, uid](KeyIndex::Index index) { return entries_[index].pod->uid() == uid; };
  }

  Store& store_;
  Entries entries_;
  KeyIndex by_uid_;  // of entries_
  std::map<std::string, std::string> names_awaited_;
};

}  // namespace berth
