#include "plugins/volumezone.h"
#include "core/api/node.h"

#include "tests/unit/plugins/volume_fixture.h"

namespace berth {
namespace {

constexpr const char* kZone = "topology.kubernetes.io/zone";
constexpr const char* kBetaZone = "failure-domain.beta.kubernetes.io/zone";
constexpr const char* kRegion = "topology.kubernetes.io/region";
const std::string kOtherZone = "UnschedulableAndUnresolvable: node(s) had no available volume zone";

struct ZoneCase {
  std::string name;
  Labels volume;
  Labels node;
  std::string want;
};

class VolumeZoneLabels : public ::testing::TestWithParam<ZoneCase> {};

TEST_P(VolumeZoneLabels, DecideWhetherTheNodeIsInTheVolumesZone) {
  FakeHandle handle;
  VolumeZone plugin(handle);
  add_volume(handle.volumes_of_test, "v", GetParam().volume);
  add_claim(handle.volumes_of_test, "c", "", "v");
  Node node = make_node("n1");
  for (const auto& [key, value] : GetParam().node) node.metadata.labels[key] = value;
  EXPECT_EQ(filter_with(plugin, pod_with_claims("p", {"c"}), {info_of(node)}), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, VolumeZoneLabels,
    ::testing::Values(ZoneCase{"SameZone", {{kZone, "a"}}, {{kZone, "a"}}, ""},
                      ZoneCase{"OtherZone", {{kZone, "a"}}, {{kZone, "b"}}, kOtherZone},
                      ZoneCase{"OneOfSeveralZones", {{kZone, "a__b"}}, {{kZone, "b"}}, ""},
                      ZoneCase{"NoneOfSeveralZones", {{kZone, "a__b"}}, {{kZone, "c"}}, kOtherZone},
                      ZoneCase{"SpacesAroundAZone", {{kZone, "a __ b"}}, {{kZone, "b"}}, ""},
                      ZoneCase{"AnEmptyZoneInvalidatesTheLabel", {{kZone, "a__"}}, {{kZone, "c"}}, "skip"},
                      ZoneCase{"NodeWithoutAnyZone", {{kZone, "a"}}, {}, ""},
                      ZoneCase{"NodeWithoutThatLabel", {{kZone, "a"}}, {{kRegion, "r"}}, kOtherZone},
                      ZoneCase{"BetaVolumeOnAStableNode", {{kBetaZone, "a"}}, {{kZone, "a"}}, ""},
                      ZoneCase{"StableVolumeOnABetaNode", {{kZone, "a"}}, {{kBetaZone, "a"}}, kOtherZone},
                      ZoneCase{
                          "OtherRegion", {{kZone, "a"}, {kRegion, "r"}}, {{kZone, "a"}, {kRegion, "s"}}, kOtherZone},
                      ZoneCase{"VolumeWithoutLabels", {}, {{kZone, "a"}}, "skip"}),
    [](const auto& param) { return param.param.name; });

TEST(VolumeZone, ReportsWhatIsMissing) {
  FakeHandle handle;
  VolumeZone plugin(handle);
  FakeVolumes& volumes = handle.volumes_of_test;
  const std::vector<NodeInfo> nodes = {info_of(make_node("n1"))};
  const auto answer = [&] { return filter_with(plugin, pod_with_claims("p", {"c"}), nodes); };
  EXPECT_EQ(answer(), "UnschedulableAndUnresolvable: persistentvolumeclaim \"c\" not found");
  add_claim(volumes, "c");
  EXPECT_EQ(answer(), "UnschedulableAndUnresolvable: PersistentVolumeClaim had no pv name and storageClass name");
  add_claim(volumes, "c", "fast");
  EXPECT_EQ(answer(), "UnschedulableAndUnresolvable: storageclass.storage.k8s.io \"fast\" not found");
  add_class(volumes, "fast", "x", false);
  EXPECT_EQ(answer(), "UnschedulableAndUnresolvable: PersistentVolume had no name");
  add_class(volumes, "fast", "x", true);
  EXPECT_EQ(answer(), "skip");
  add_claim(volumes, "c", "fast", "gone");
  EXPECT_EQ(answer(), "UnschedulableAndUnresolvable: persistentvolume \"gone\" not found");
  EXPECT_EQ(filter_with(plugin, make_pod("q"), nodes), "skip");
}

TEST(VolumeZoneHints, RequeueForZonesClaimsAndClassesThatWaitForConsumers) {
  FakeHandle handle;
  const VolumeZone plugin(handle);
  const Pod pod = pod_with_claims("p", {"c"});
  EventObjects objects;
  const ClusterEvent volume_update{EventResource::persistent_volume, kUpdate, ""};
  EXPECT_EQ(hint_of(plugin, pod, volume_update, objects), "QueueSkip") << "a dropped assumption moves no volume";
  FakeVolumes volumes;
  objects.old_volume = std::make_shared<PersistentVolume>(add_volume(volumes, "v", {{kZone, "a"}}));
  objects.new_volume = std::make_shared<PersistentVolume>(add_volume(volumes, "v", {{kZone, "a"}, {"x", "y"}}));
  EXPECT_EQ(hint_of(plugin, pod, volume_update, objects), "QueueSkip");
  objects.new_volume = std::make_shared<PersistentVolume>(add_volume(volumes, "v", {{kZone, "a__b"}}));
  EXPECT_EQ(hint_of(plugin, pod, volume_update, objects), "Queue");
  const ClusterEvent claim_add{EventResource::persistent_volume_claim, kAdd, ""};
  objects.new_claim = std::make_shared<PersistentVolumeClaim>(add_claim(volumes, "d"));
  EXPECT_EQ(hint_of(plugin, pod, claim_add, objects), "QueueSkip");
  objects.new_claim = std::make_shared<PersistentVolumeClaim>(add_claim(volumes, "c"));
  EXPECT_EQ(hint_of(plugin, pod, claim_add, objects), "Queue");
  const ClusterEvent class_add{EventResource::storage_class, kAdd, ""};
  objects.new_class = std::make_shared<StorageClass>(add_class(volumes, "s", "x", false));
  EXPECT_EQ(hint_of(plugin, pod, class_add, objects), "QueueSkip");
  objects.new_class = std::make_shared<StorageClass>(add_class(volumes, "s", "x", true));
  EXPECT_EQ(hint_of(plugin, pod, class_add, objects), "Queue");
  EXPECT_EQ(hint_of(plugin, pod, {EventResource::storage_class, kUpdate, ""}, objects), "NotRegistered");
}

}  // namespace
}  // namespace berth
