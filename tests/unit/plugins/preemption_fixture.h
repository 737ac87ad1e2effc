// A small cluster for tests of preemption, with helpers to add nodes, pods, budgets and nominations, and a framework
// with NodeResourcesFit and DefaultPreemption.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/api/pod.h"
#include "core/api/policy.h"
#include "core/api/volume.h"
#include "core/scheduler/scheduling_cycle.h"
#include "plugins/defaultpreemption.h"
#include "plugins/registry.h"
#include "tests/unit/scheduler/scheduling_fixture.h"

namespace berth {

class PreemptionCluster final : public Handle, public Lister {
 public:
  const Clock& clock() const override { return clock_; }
  const Snapshot& snapshot() const override { return snapshot_; }
  const Lister& lister() const override { return *this; }
  const Nominator& nominator() const override { return nominations; }
  std::uint64_t draw(std::uint64_t bound) override { return drawn % bound; }
  std::shared_ptr<const PersistentVolumeClaim> claim(const std::string&) const override { return nullptr; }
  std::shared_ptr<const PersistentVolume> volume(const std::string&) const override { return nullptr; }
  std::shared_ptr<const StorageClass> storage_class(const std::string&) const override { return nullptr; }
  std::vector<std::shared_ptr<const PersistentVolume>> volumes_of_class(const std::string&) const override {
    return {};
  }
  std::vector<std::shared_ptr<const PodDisruptionBudget>> disruption_budgets() const override { return budgets; }

  void add_node(const std::string& name, const std::string& cpu = "4") { cache.set_node(share(make_node(name, cpu))); }
  // `start` is in milliseconds; the pod is labelled app=<name>.
  Pod& make(const std::string& name, std::int32_t priority, const std::string& cpu, std::int64_t start = 1000) {
    pod_ = make_pod(name, resources({{"cpu", cpu}}));
    pod_.priority = priority;
    pod_.start_time = start;
    pod_.metadata.labels["app"] = name;
    return pod_;
  }
  void run(const std::string& name, const std::string& node, std::int32_t priority, const std::string& cpu = "4",
           std::int64_t start = 1000) {
    cache.confirm(share(make(name, priority, cpu, start)), node);
  }
  // Adds a budget that allows `allowed` disruptions of the pods labelled app=<any of the names>.
  PodDisruptionBudget& protect(std::vector<std::string> names, std::int32_t allowed = 0) {
    auto budget = std::make_shared<PodDisruptionBudget>();
    budget->metadata.name = "budget-" + std::to_string(budgets.size());
    budget->metadata.namespace_ = "default";
    budget->selector = LabelSelector{{{"app", Requirement::Operator::in, std::move(names)}}};
    budget->disruptions_allowed = allowed;
    budgets.push_back(budget);
    return *budget;
  }
  Result<std::unique_ptr<Framework>> make_framework(const Json& args = {}) {
    Profile profile;
    profile.enable("PrioritySort").enable("NodeResourcesFit").enable("DefaultBinder");
    profile.enable(DefaultPreemption::kName, 0, args);
    return Framework::make(in_tree_registry(), profile, *this);
  }
  ScheduleResult attempt(const Pod& pod, CycleState& state, const Json& args = {}) {
    const auto framework = make_framework(args);
    CHECK(framework.has_value());
    cache.update_snapshot(snapshot_);
    Random random(1);
    NodeSearch search{&nominations, pick_uniformly(random), 0};
    return schedule_pod(**framework, state, pod, snapshot_, search);
  }
  ScheduleResult attempt(const Pod& pod) {
    CycleState state;
    return attempt(pod, state);
  }

  Cache cache;
  Nominator nominations;
  std::vector<std::shared_ptr<const PodDisruptionBudget>> budgets;
  std::uint64_t drawn = 0;

 private:
  FakeClock clock_;
  Snapshot snapshot_;
  Pod pod_;
};

inline std::vector<std::string> names(const preemption::Pods& pods) {
  std::vector<std::string> names;
  for (const auto& pod : pods) names.push_back(pod->metadata.name);
  return names;
}

}  // namespace berth
