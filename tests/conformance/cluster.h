// The cluster of one conformance case: its objects, and what each placement changes in them.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/cache/cache.h"
#include "core/framework/framework.h"

namespace berth {

class Cluster final : public Handle, public Lister {
 public:
  // Decodes a case's `input`. The error names the object.
  Status load(const Json& input);

  const std::vector<std::shared_ptr<const Pod>>& pending() const { return pending_; }
  Cache& cache() { return cache_; }
  const Snapshot& take_snapshot();
  // The volumes become the claims', completely.
  void bind_volumes(const std::vector<VolumeGrant>& grants);
  bool is_unbound(const std::string& claim) const;

  const Clock& clock() const override { return still_; }
  const Snapshot& snapshot() const override { return snapshot_; }
  const Lister& lister() const override { return *this; }
  const Nominator& nominator() const override { return nominator_; }
  Nominator& nominator() { return nominator_; }
  std::shared_ptr<const PersistentVolumeClaim> claim(const std::string& key) const override;
  std::shared_ptr<const PersistentVolume> volume(const std::string& name) const override;
  std::shared_ptr<const StorageClass> storage_class(const std::string& name) const override;
  std::vector<std::shared_ptr<const PersistentVolume>> volumes_of_class(const std::string& name) const override;
  std::shared_ptr<const CsiNode> csi_node(const std::string& node) const override;
  std::shared_ptr<const CsiDriver> csi_driver(const std::string& name) const override;
  std::vector<std::shared_ptr<const CsiStorageCapacity>> csi_storage_capacities() const override;
  std::shared_ptr<const Namespace> name_space(const std::string& name) const override;
  std::vector<std::shared_ptr<const Service>> services(const std::string& name_space) const override;
  std::vector<std::shared_ptr<const PodDisruptionBudget>> disruption_budgets() const override;

 private:
  class StillClock final : public Clock {
   public:
    Millis now() const override { return 0; }
    Millis wall() const override { return 0; }
  };
  template <class T>
  using Shelf = std::map<std::string, std::shared_ptr<const T>>;
  Status load_pods(const Json& input);

  StillClock still_;
  Cache cache_;
  Snapshot snapshot_;
  Nominator nominator_;
  std::vector<std::shared_ptr<const Pod>> pending_;
  Shelf<PersistentVolumeClaim> claims_;
  Shelf<PersistentVolume> volumes_;
  Shelf<StorageClass> classes_;
  Shelf<CsiNode> csi_nodes_;
  Shelf<CsiDriver> csi_drivers_;
  Shelf<CsiStorageCapacity> csi_capacities_;
  Shelf<Namespace> namespaces_;
  Shelf<Service> services_;
  Shelf<PodDisruptionBudget> budgets_;
};

}  // namespace berth
