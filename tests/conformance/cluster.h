// The cluster of a conformance case: its objects, and how the outcome of an attempt changes them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/api/namespace.h"
#include "core/api/pod.h"
#include "core/api/policy.h"
#include "core/api/service.h"
#include "core/api/volume.h"
#include "core/cache/cache.h"
#include "core/framework/framework.h"

namespace berth {

class Cluster final : public Handle, public Lister {
 public:
  // Decodes a case's `input`. An error names the object.
  Status load(const Json& input);

  // In the order of their first attempts, in their current state.
  const std::vector<PodPtr>& pending() const { return pending_; }
  // Null if no pending pod has this key.
  PodPtr find_pending(const std::string& key) const;
  const Snapshot& take_snapshot();

  // Places the pod on the node and removes its nomination. `start_time`: milliseconds since 1970.
  void place(const Pod& pod, const std::string& node, std::int64_t start_time);
  // Binds the volumes to their claims.
  void bind_volumes(const std::vector<BoundVolume>& bound_volumes);
  // Requests a volume on the node from a provisioner, which does not answer.
  void select_node(const std::string& claim, const std::string& node);
  bool is_unbound(const std::string& claim) const;
  // Removes the pod with this key from its node.
  void evict(const std::string& key);
  // Nominates the pod for the node (empty: removes its nomination); pods of lower priority lose their nomination there.
  void nominate(const Pod& pod, const std::string& node);

  const Clock& clock() const override { return still_; }
  const Snapshot& snapshot() const override { return snapshot_; }
  const Lister& lister() const override { return *this; }
  const Nominator& nominator() const override { return nominator_; }
  std::shared_ptr<const PersistentVolumeClaim> claim(const std::string& key) const override;
  std::shared_ptr<const PersistentVolume> volume(const std::string& name) const override;
  std::shared_ptr<const StorageClass> storage_class(const std::string& name) const override;
  std::vector<std::shared_ptr<const PersistentVolume>> volumes_of_class(const std::string& name) const override;
  std::shared_ptr<const CsiNode> csi_node(const std::string& node) const override;
  std::shared_ptr<const CsiDriver> csi_driver(const std::string& name) const override;
  std::vector<std::shared_ptr<const CsiStorageCapacity>> csi_storage_capacities() const override;
  std::shared_ptr<const Namespace> name_space(std::string_view name) const override;
  std::vector<std::shared_ptr<const Service>> services(std::string_view name_space) const override;
  std::vector<std::shared_ptr<const PodDisruptionBudget>> disruption_budgets() const override;

 private:
  class StillClock final : public Clock {
   public:
    Millis now() const override { return 0; }
    Millis wall() const override { return 0; }
  };
  template <class T>
  using ByKey = std::map<std::string, std::shared_ptr<const T>>;
  Status load_pods(const Json& input);
  void set_nomination(const Pod& pod, const std::string& node);

  StillClock still_;
  Cache cache_;
  Snapshot snapshot_;
  Nominator nominator_;
  std::vector<PodPtr> pending_;
  ByKey<PersistentVolumeClaim> claims_;
  ByKey<PersistentVolume> volumes_;
  ByKey<StorageClass> classes_;
  ByKey<CsiNode> csi_nodes_;
  ByKey<CsiDriver> csi_drivers_;
  ByKey<CsiStorageCapacity> csi_capacities_;
  ByKey<Namespace> namespaces_;
  ByKey<Service> services_;
  ByKey<PodDisruptionBudget> budgets_;
};

}  // namespace berth
