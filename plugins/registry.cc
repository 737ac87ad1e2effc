#include "plugins/registry.h"

#include "core/check.h"
#include "plugins/defaultbinder.h"
#include "plugins/defaultpreemption.h"
#include "plugins/nodeaffinity.h"
#include "plugins/nodename.h"
#include "plugins/noderesources_fit.h"
#include "plugins/nodeunschedulable.h"
#include "plugins/prioritysort.h"
#include "plugins/schedulinggates.h"
#include "plugins/tainttoleration.h"
#include "plugins/volumebinding.h"

namespace berth {

namespace {

template <class T>
void add(Registry& registry) {
  CHECK(registry.add(T::kName, T::make).is_success());
}

}  // namespace

Registry in_tree_registry() {
  Registry registry;
  add<SchedulingGates>(registry);
  add<PrioritySort>(registry);
  add<NodeUnschedulable>(registry);
  add<NodeName>(registry);
  add<TaintToleration>(registry);
  add<NodeAffinity>(registry);
  add<NodeResourcesFit>(registry);
  CHECK(registry.add(VolumeBinding::kName, VolumeBinding::maker()).is_success());
  add<DefaultPreemption>(registry);
  add<DefaultBinder>(registry);
  return registry;
}

// The order is that of Filter: the first that rejects a node is the one reported.
Profile default_profile() {
  Profile profile;
  auto list = [&profile](std::string_view name, std::int64_t weight = 1) {
    profile.plugins.push_back({std::string(name), weight, Json()});
  };
  list(SchedulingGates::kName);
  list(PrioritySort::kName);
  list(NodeUnschedulable::kName);
  list(NodeName::kName);
  list(TaintToleration::kName, 3);
  list(NodeAffinity::kName);
  list(NodeResourcesFit::kName, 1);
  list(VolumeBinding::kName);
  list(DefaultPreemption::kName);
  list(DefaultBinder::kName);
  return profile;
}

}  // namespace berth
