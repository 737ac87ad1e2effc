// The objects besides nodes and pods that plugins read, for tests that change them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/api/namespace.h"
#include "core/api/policy.h"
#include "core/api/service.h"
#include "core/api/volume.h"
#include "core/framework/change_log.h"
#include "core/random.h"
#include "tests/unit/scheduler/scheduling_fixture.h"

namespace berth {

// Volumes, and what selects pods and namespaces. A volume that did not change stays the same object, as in a gateway.
class TestObjects final : public Lister {
 public:
  std::shared_ptr<const PersistentVolumeClaim> claim(const std::string& key) const override { return disks.claim(key); }
  std::shared_ptr<const PersistentVolume> volume(const std::string& name) const override {
    const auto found = volumes.find(name);
    return found == volumes.end() ? nullptr : found->second;
  }
  std::shared_ptr<const StorageClass> storage_class(const std::string& name) const override {
    return disks.storage_class(name);
  }
  std::vector<std::shared_ptr<const PersistentVolume>> volumes_of_class(const std::string& name) const override {
    std::vector<std::shared_ptr<const PersistentVolume>> found;
    for (const auto& [key, each] : volumes) {
      if (each->storage_class_name == name) found.push_back(each);
    }
    return found;
  }
  const ChangeLog* volume_changes() const override { return counts_volumes ? &changes : nullptr; }
  bool has_csi_nodes() const override { return false; }
  std::shared_ptr<const Namespace> name_space(std::string_view name) const override {
    return FakeVolumes::get(namespaces, std::string(name));
  }
  std::vector<std::shared_ptr<const Service>> services(std::string_view) const override { return all_services; }
  std::vector<std::shared_ptr<const PodDisruptionBudget>> disruption_budgets() const override { return budgets; }
  void put(PersistentVolume volume) {
    const std::string name = volume.metadata.name;
    changes.note(name);
    volumes[name] = std::make_shared<const PersistentVolume>(std::move(volume));
  }
  void remove(const std::string& volume) {
    if (volumes.erase(volume) > 0) changes.note(volume);
  }
  FakeVolumes disks;  // classes and claims
  std::map<std::string, std::shared_ptr<const PersistentVolume>> volumes;
  ChangeLog changes;
  bool counts_volumes = true;
  std::map<std::string, Namespace> namespaces;
  std::vector<std::shared_ptr<const Service>> all_services;
  std::vector<std::shared_ptr<const PodDisruptionBudget>> budgets;
};

class ObjectsHandle final : public Handle {
 public:
  const Clock& clock() const override { return clock_of_test; }
  const Snapshot& snapshot() const override { return snapshot_of_test; }
  const Lister& lister() const override { return objects; }
  const Nominator& nominator() const override { return nominator_of_test; }
  std::uint64_t draw(std::uint64_t bound) override { return drawing.below(bound); }
  FakeClock clock_of_test;
  Snapshot snapshot_of_test;
  TestObjects objects;
  Nominator nominator_of_test;
  Random drawing{1};
};

}  // namespace berth
