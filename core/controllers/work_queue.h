// WorkQueue: the keys that a controller has to look at, each once, and those that wait for a time (client-go
// util/workqueue, rate_limiting_queue.go and delaying_queue.go).
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <vector>

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
  // Queues the keys whose time has come, the earliest first.
  void wake(Millis now);

  // The first key, which is no longer queued; none: nothing to do.
  std::optional<ObjectKey> take();
  // When wake() has something to do; none: never.
  std::optional<Millis> next_wake() const;

 private:
  std::deque<ObjectKey> order_;
  std::set<ObjectKey> queued_;
  struct Waiting {
    Millis when;
    ObjectKey key;
  };
  void move_up(std::size_t at);
  void move_down(std::size_t at);

  // A binary heap by time. Ties leave it in the order in which Go's container/heap has them, as some records show it.
  std::vector<Waiting> waiting_;
  std::map<ObjectKey, Millis> times_;  // of the keys in it
  std::map<ObjectKey, int> failures_;
};

}  // namespace berth
