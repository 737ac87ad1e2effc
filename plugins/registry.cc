#include "plugins/registry.h"

#include "core/check.h"
#include "plugins/defaultbinder.h"
#include "plugins/defaultpreemption.h"
#include "plugins/devicerefusals.h"
#include "plugins/dynamicresources.h"
#include "plugins/imagelocality.h"
#include "plugins/interpodaffinity.h"
#include "plugins/nodeaffinity.h"
#include "plugins/nodecapabilities.h"
#include "plugins/nodename.h"
#include "plugins/nodeports.h"
#include "plugins/noderesources_balanced_allocation.h"
#include "plugins/noderesources_fit.h"
#include "plugins/nodeunschedulable.h"
#include "plugins/nodevolumelimits.h"
#include "plugins/podtopologyspread.h"
#include "plugins/prioritysort.h"
#include "plugins/schedulinggates.h"
#include "plugins/tainttoleration.h"
#include "plugins/volumebinding.h"
#include "plugins/volumerestrictions.h"
#include "plugins/volumezone.h"

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
  add<NodePorts>(registry);
  add<NodeResourcesFit>(registry);
  add<VolumeRestrictions>(registry);
  add<NodeVolumeLimits>(registry);
  CHECK(registry.add(VolumeBinding::kName, VolumeBinding::maker()).is_success());
  add<VolumeZone>(registry);
  add<PodTopologySpread>(registry);
  add<InterPodAffinity>(registry);
  add<DynamicResources>(registry);
  add<NodeCapabilities>(registry);
  add<DeviceRefusals>(registry);
  add<DefaultPreemption>(registry);
  add<NodeResourcesBalancedAllocation>(registry);
  add<ImageLocality>(registry);
  add<DefaultBinder>(registry);
  return registry;
}

// In the order of Filter: the first plugin that rejects a node is the one reported. The number is the weight for Score.
Profile default_profile() {
  Profile profile;
  profile.enable(SchedulingGates::kName);
  profile.enable(PrioritySort::kName);
  profile.enable(NodeUnschedulable::kName);
  profile.enable(NodeName::kName);
  profile.enable(TaintToleration::kName, 3);
  profile.enable(NodeAffinity::kName, 2);
  profile.enable(NodePorts::kName);
  profile.enable(NodeResourcesFit::kName, 1);
  profile.enable(VolumeRestrictions::kName);
  profile.enable(NodeVolumeLimits::kName);
  profile.enable(VolumeBinding::kName);
  profile.enable(VolumeZone::kName);
  // Ours, which upstream's order does not know: before those that sum up the fleet, since the fast path asks these last
  // and can tell only then which plugin rejected a node first.
  profile.enable(NodeCapabilities::kName);
  profile.enable(DeviceRefusals::kName);
  profile.enable(PodTopologySpread::kName, 2);
  profile.enable(InterPodAffinity::kName, 2);
  profile.enable(DynamicResources::kName);
  profile.enable(DefaultPreemption::kName);
  profile.enable(NodeResourcesBalancedAllocation::kName, 1);
  profile.enable(ImageLocality::kName, 1);
  profile.enable(DefaultBinder::kName);
  return profile;
}

}  // namespace berth
