// QueueParts: the ordered sets in which the queue's entries wait: active, backoff, error backoff, unschedulable and
// gated. An entry is in at most one of them, and remembers which.
#pragma once

#include <map>
#include <memory_resource>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "core/api/pod.h"
#include "core/clock.h"
#include "core/queue/queue_entry.h"

namespace berth {

class QueueParts {
 public:
  using Active = std::pmr::set<QueueEntry*, QueueEntry::ActiveOrder>;
  using BackingOff = std::set<QueueEntry*, QueueEntry::BackoffOrder>;
  using Waiting = std::set<QueueEntry*, QueueEntry::UidOrder>;
  // By profile and gating plugin: an event that the plugin did not register costs nothing, however many pods it gates.
  using Gates = std::map<std::pair<std::string, std::string>, Waiting>;

  // The nodes of active are from `memory`, which may be released whenever there are no entries. Entries must stay where
  // they are while they are in a part.
  explicit QueueParts(std::pmr::memory_resource& memory) : active_(&memory) {}

  // The entry must be in no part.
  void put_active(QueueEntry& entry);
  void put_backoff(QueueEntry& entry, Millis until, bool is_error);
  void put_unschedulable(QueueEntry& entry);
  void put_gated(QueueEntry& entry);  // by its gating plugin
  // Takes the entry out of its part, if it is in one.
  void detach(QueueEntry& entry);
  // A newer version of the entry's pod: it stays in its part, possibly at another position.
  void replace_pod(QueueEntry& entry, PodPtr pod);

  // The first of active or, when that is empty, of backoff, never of error backoff; null when both are empty.
  QueueEntry* first() const;
  // An entry whose backoff or error backoff is over; null: none.
  QueueEntry* first_expired(Millis now) const;
  // When first_expired() is next to return an entry; none: nothing backs off.
  std::optional<Millis> next_expiry() const;
  bool has_waiting() const;  // unschedulable or gated pods

  const Active& active() const { return active_; }
  const BackingOff& backoff() const { return backoff_; }
  const BackingOff& error_backoff() const { return error_backoff_; }
  const Waiting& unschedulable() const { return unschedulable_; }
  const Gates& gates() const { return gates_; }

 private:
  BackingOff& backoff_of(const QueueEntry& entry) { return entry.error_backoff ? error_backoff_ : backoff_; }

  Active active_;
  BackingOff backoff_;
  BackingOff error_backoff_;
  Waiting unschedulable_;
  Gates gates_;
};

}  // namespace berth
