// The controller of StatefulSets.
#pragma once

#include <string_view>

#include "core/api/stateful_set.h"
#include "core/controllers/controller.h"
#include "core/controllers/stateful_set/stateful_set_rules.h"

namespace berth {

class StatefulSetController final : public Controller {
 public:
  explicit StatefulSetController(const StatefulSetOptions& options = {}) : options_(options) {}
  std::string_view name() const override { return "statefulset"; }
  void observe(const ObjectChange& change, const ClusterAccess& cluster, WorkQueue& queue) override;
  SyncResult sync(const ObjectKey& key, ClusterAccess& cluster) override;

 private:
  StatefulSetOptions options_;
};

}  // namespace berth
