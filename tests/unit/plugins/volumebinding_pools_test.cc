// VolumeBinding for a class whose volumes the devices make: room in their pools.
#include "plugins/volumebinding_pools.h"

#include "plugins/volumebinding.h"
#include "tests/unit/plugins/volume_fixture.h"

namespace berth {
namespace {

const std::string kNoRoom = "UnschedulableAndUnresolvable: node(s) did not have enough free storage";

class PoolsTest : public ::testing::Test {
 protected:
  PoolsTest() {
    add_class(volumes, "fast", std::string(StorageClass::kLocalProvisioner));
    for (const char* name : {"a", "b"}) add_claim(volumes, name, "fast").metadata.uid = std::string("uid-") + name;
  }
  static Node node(const std::string& capacity = "2Gi", const std::string& name = "n1") {
    Node node = make_node(name);
    node.volume_pools = std::vector<VolumePool>{{"fast", "/pool", quantity(capacity)}};
    return node;
  }
  std::string filter(const Pod& pod, const Node& on) { return filter_with(plugin, pod, {info_of(on)}); }
  void make(const std::string& name, const std::string& capacity, const std::string& on = "n1") {
    PersistentVolume& volume = add_volume(volumes, name);
    volume.storage_class_name = "fast";
    volume.capacity = quantity(capacity);
    volume.claim_ref = "default/other";
    volume.metadata.annotations = {{std::string(kProvisionedBy), std::string(StorageClass::kLocalProvisioner)},
                                   {std::string(kOfferedBy), on}};
  }
  CycleState accepted(const Pod& pod, const Node& on) { return accepted_by(plugin, handle, pod, on); }

  FakeHandle handle;
  FakeVolumes& volumes = handle.volumes_of_test;
  std::shared_ptr<AssumedVolumes> assumed = std::make_shared<AssumedVolumes>();
  VolumeBinding plugin{{}, handle, assumed};
  const Pod one = pod_with_claims("p", {"a"});
  const Pod two = pod_with_claims("p", {"a", "b"});
};

TEST_F(PoolsTest, ANodeNeedsAPoolOfTheClassWithRoom) {
  EXPECT_EQ(filter(one, make_node("n1")), kNoRoom);
  EXPECT_EQ(filter(one, node("1Gi")), "");
  EXPECT_EQ(filter(one, node("1023Mi")), kNoRoom);
  EXPECT_EQ(filter(two, node("2Gi")), "");
  EXPECT_EQ(filter(two, node("2047Mi")), kNoRoom) << "both claims of the pod count";
}

TEST_F(PoolsTest, WhatDevicesHaveMadeThereIsTaken) {
  make("pvc-1", "1Gi");
  EXPECT_EQ(filter(one, node()), "");
  EXPECT_EQ(filter(two, node()), kNoRoom);
  make("pvc-2", "1Gi", "n2");
  EXPECT_EQ(filter(one, node()), "") << "another node's";
  make("pvc-3", "1Mi");
  EXPECT_EQ(filter(one, node()), kNoRoom);
}

TEST_F(PoolsTest, WhatIsAboutToBeMadeIsTakenOnce) {
  CycleState state = accepted(one, node("1Gi"));
  ASSERT_TRUE(plugin.reserve(state, one, "n1").is_success());
  EXPECT_EQ(filter(pod_with_claims("q", {"b"}), node("1Gi")), kNoRoom);
  EXPECT_EQ(filter(pod_with_claims("q", {"a"}), node("1Gi")), "") << "the same claim";
  plugin.unreserve(state, one, "n1");
  EXPECT_EQ(filter(pod_with_claims("q", {"b"}), node("1Gi")), "");
  CycleState restored;
  plugin.restore(restored, one, "n1", {{"default/a", "pvc-uid-a", "/pool/pvc-uid-a", VolumeToMake{"fast", 1 << 30}}});
  EXPECT_EQ(filter(pod_with_claims("q", {"b"}), node("1Gi")), kNoRoom) << "a row after a restart";
}

TEST_F(PoolsTest, PreBindNamesTheVolumeAfterTheClaimAndItsPathInThePool) {
  CycleState state = accepted(one, node());
  PlacementRequest request;
  ASSERT_TRUE(plugin.pre_bind(state, one, "n1", request).is_success());
  EXPECT_TRUE(request.provision.empty()) << "nobody else is asked";
  EXPECT_EQ(request.volumes, (std::vector<BoundVolume>{{"default/a", "pvc-uid-a", "/pool/pvc-uid-a",
                                                        VolumeToMake{"fast", std::int64_t{1} << 30}}}));
}

TEST_F(PoolsTest, ADirectoryIsNoBlockDeviceAndHasNoLabels) {
  volumes.claims.at("default/a").volume_mode = "Block";
  EXPECT_EQ(filter(one, node()),
            "UnschedulableAndUnresolvable: node(s) didn't find available persistent volumes to bind");
}

}  // namespace
}  // namespace berth
