// TaintEvictionController: evicts pods from nodes with NoExecute taints that they do not tolerate, or not for longer
// (pkg/controller/tainteviction/taint_eviction.go).
#pragma once

#include <map>
#include <set>
#include <string_view>

#include "core/controllers/controlled_pod.h"
#include "core/controllers/controller.h"

namespace berth {

// A pod waits from when it is first seen on a node that it tolerates for some time only. That wait goes on whatever
// taints and tolerations come afterwards, and even without the node. It ends early when a taint is not tolerated at all
// (the pod is evicted at once), when all taints are tolerated for ever or are gone, and when the pod is gone.
//
// What it keeps is lost with the process, as upstream: then all waits begin again.
class TaintEvictionController final : public Controller {
 public:
  std::string_view name() const override { return "taint-eviction"; }
  void observe(const ObjectChange& change, const ClusterAccess& cluster, WorkQueue& queue) override;
  // The key of a pod.
  SyncResult sync(const ObjectKey& key, ClusterAccess& cluster) override;

 private:
  struct Wait {
    Millis since = 0;
    Millis until = 0;
  };
  void look_again(const ObjectKey& key, WorkQueue& queue);
  void reconsider(const ObjectKey& key, ClusterAccess& cluster);
  void cancel(const ObjectKey& key, ClusterAccess& cluster);
  Status evict_if_due(const ObjectKey& key, ClusterAccess& cluster);

  std::map<ObjectKey, Wait> waits_;
  // The pods to be looked at again. A pod must not be otherwise: each look at a taint that it does not tolerate evicts
  // it once more, with an event.
  std::set<ObjectKey> changed_;
};

}  // namespace berth
