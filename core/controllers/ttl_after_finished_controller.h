// Deletes Jobs some time after they have finished: spec.ttlSecondsAfterFinished (pkg/controller/ttlafterfinished/
// ttlafterfinished_controller.go).
#pragma once

#include <string_view>

#include "core/controllers/controller.h"

namespace berth {

class TtlAfterFinishedController final : public Controller {
 public:
  std::string_view name() const override { return "ttl-after-finished"; }
  void observe(const ObjectChange& change, const ClusterAccess& cluster, WorkQueue& queue) override;
  SyncResult sync(const ObjectKey& key, ClusterAccess& cluster) override;
};

}  // namespace berth
