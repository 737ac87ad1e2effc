// Lister: the objects other than pods and nodes that plugins look up.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace berth {

struct CsiDriver;
struct CsiNode;
struct CsiStorageCapacity;
class ChangeLog;
struct Namespace;
struct PersistentVolume;
struct PersistentVolumeClaim;
struct PodDisruptionBudget;
struct Service;
struct StorageClass;

// Each is null or empty when there is none.
class Lister {
 public:
  virtual ~Lister() = default;
  virtual std::shared_ptr<const PersistentVolumeClaim> claim(const std::string& key) const = 0;
  virtual std::shared_ptr<const PersistentVolume> volume(const std::string& name) const = 0;
  virtual std::shared_ptr<const StorageClass> storage_class(const std::string& name) const = 0;
  // All volumes of a class, by name.
  virtual std::vector<std::shared_ptr<const PersistentVolume>> volumes_of_class(const std::string& name) const = 0;
  // Of volumes; null: not tracked.
  virtual const ChangeLog* volume_changes() const { return nullptr; }
  virtual std::shared_ptr<const CsiNode> csi_node(const std::string& /*node*/) const { return nullptr; }
  // False: csi_node() returns null for every node.
  virtual bool has_csi_nodes() const { return true; }
  virtual std::shared_ptr<const CsiDriver> csi_driver(const std::string& /*name*/) const { return nullptr; }
  virtual std::vector<std::shared_ptr<const CsiStorageCapacity>> csi_storage_capacities() const { return {}; }
  // Null for a namespace that has no object; its labels count as empty.
  virtual std::shared_ptr<const Namespace> name_space(std::string_view /*name*/) const { return nullptr; }
  virtual std::vector<std::shared_ptr<const Service>> services(std::string_view /*name_space*/) const { return {}; }
  virtual std::vector<std::shared_ptr<const PodDisruptionBudget>> disruption_budgets() const { return {}; }
};

}  // namespace berth
