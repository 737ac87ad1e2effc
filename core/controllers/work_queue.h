// WorkQueue: the keys that a controller has to look at, each once, and those that wait for a time (client-go
// util/workqueue, rate_limiting_queue.go and delaying_queue.go).
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>

#include "core/clock.h"
#include "core/controllers/cluster_access.h"

namespace berth {

class WorkQueue {
 public:
  // Nothing changes for a key that is queued already.
  void add(const ObjectKey& key);
  // The earlier of two times counts; one that has come queues the key.
  void add_at(const ObjectKey& key, Millis when, Millis now);
  // After 5 ms, and twice as long after each further failure (1000 s at most) until forget().
  void add_after_failure(const ObjectKey& key, Millis now);
  void forget(const ObjectKey& key) { failures_.erase(key); }
  // Queues the keys whose time has come.
  void wake(Millis now);

  // The first key, which is no longer queued; none: nothing to do.
  std::optional<ObjectKey> take();
  // When wake() has something to do; none: never.
  std::optional<Millis> next_wake() const;

 private:
  std::deque<ObjectKey> order_;
  std::set<ObjectKey> queued_;
  std::map<ObjectKey, Millis> times_;
  std::set<std::pair<Millis, ObjectKey>> waiting_;  // the same, by time
  std::map<ObjectKey, int> failures_;
};

}  // namespace berth
