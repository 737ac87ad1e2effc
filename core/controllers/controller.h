// Controller: which changes concern which of its objects, and the synchronisation of one object. The rules themselves
// are plain functions beside it; what a controller keeps between calls is never needed to be right, only to wait.
#pragma once

#include <optional>
#include <string_view>

#include "core/clock.h"
#include "core/controllers/cluster_access.h"
#include "core/controllers/work_queue.h"
#include "core/status.h"

namespace berth {

// One write as watchers see it. Null: there was none before, or there is none now.
struct ObjectChange {
  ObjectPtr before;
  ObjectPtr after;
};

struct SyncResult {
  Status status = {};                  // an error: the key is tried again, later after each failure
  std::optional<Millis> wake_at = {};  // when time alone may change the answer; milliseconds since 1970
  bool retry = false;                  // as after a first failure, though nothing failed
};

class Controller {
 public:
  virtual ~Controller() = default;
  // "replicaset"
  virtual std::string_view name() const = 0;
  // Queues the keys that the change concerns.
  virtual void observe(const ObjectChange& change, const ClusterAccess& cluster, WorkQueue& queue) = 0;
  virtual SyncResult sync(const ObjectKey& key, ClusterAccess& cluster) = 0;
};

}  // namespace berth
