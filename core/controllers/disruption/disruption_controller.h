// The controllers of PodDisruptionBudgets, and of pods that were to be disrupted and were not.
#pragma once

#include <string_view>

#include "core/controllers/controller.h"

namespace berth {

// Keeps the status of PodDisruptionBudgets.
class DisruptionController final : public Controller {
 public:
  std::string_view name() const override { return "disruption"; }
  void observe(const ObjectChange& change, const ClusterAccess& cluster, WorkQueue& queue) override;
  SyncResult sync(const ObjectKey& key, ClusterAccess& cluster) override;
};

// Sets the condition DisruptionTarget of pods to False that have not been deleted within two minutes.
class StaleDisruptionController final : public Controller {
 public:
  std::string_view name() const override { return "stale-disruption"; }
  void observe(const ObjectChange& change, const ClusterAccess& cluster, WorkQueue& queue) override;
  SyncResult sync(const ObjectKey& key, ClusterAccess& cluster) override;
};

}  // namespace berth
