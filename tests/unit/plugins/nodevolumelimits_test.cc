#include "plugins/nodevolumelimits.h"
#include "core/api/pod.h"
#include "core/api/volume.h"

#include "plugins/volume_migration.h"
#include "tests/unit/plugins/volume_fixture.h"

namespace berth {
namespace {

const std::string kTooMany = "Unschedulable: node(s) exceed max volume count";
constexpr const char* kDriver = "csi.example.com";

class NodeVolumeLimitsTest : public ::testing::Test {
 protected:
  NodeVolumeLimitsTest() { limit(kDriver, 2); }
  CsiNode& limit(const std::string& driver, std::optional<std::int64_t> count) {
    CsiNode& node = volumes.csi_nodes["n1"];
    node.metadata.name = "n1";
    node.drivers.push_back({driver, count});
    return node;
  }
  void add_csi_claim(const std::string& name, const std::string& handle_of_volume) {
    PersistentVolume& volume = add_volume(volumes, "pv-" + name);
    volume.csi_driver = kDriver;
    volume.csi_volume_handle = handle_of_volume;
    add_claim(volumes, name, "", "pv-" + name);
  }
  std::string filter(const std::vector<std::string>& claims, std::vector<Pod> existing) {
    return filter_with(plugin, pod_with_claims("p", claims), {node_with("n1", std::move(existing))});
  }

  FakeHandle handle;
  FakeVolumes& volumes = handle.volumes_of_test;
  NodeVolumeLimits plugin{handle};
};

TEST_F(NodeVolumeLimitsTest, CountsTheVolumesOfAllPods) {
  for (const char* name : {"a", "b", "c"}) add_csi_claim(name, name);
  EXPECT_EQ(filter({"a", "b"}, {}), "");
  EXPECT_EQ(filter({"a", "b", "c"}, {}), kTooMany);
  EXPECT_EQ(filter({"c"}, {pod_with_claims("q", {"a"})}), "");
  EXPECT_EQ(filter({"c"}, {pod_with_claims("q", {"a"}), pod_with_claims("r", {"b"})}), kTooMany);
}

TEST_F(NodeVolumeLimitsTest, CountsASharedVolumeOnce) {
  for (const char* name : {"a", "b"}) add_csi_claim(name, name);
  EXPECT_EQ(filter({"a"}, {pod_with_claims("q", {"a", "b"})}), "");
  add_csi_claim("same", "a");
  EXPECT_EQ(filter({"same"}, {pod_with_claims("q", {"a", "b"})}), "") << "another claim of the same handle";
}

TEST_F(NodeVolumeLimitsTest, IgnoresNodesAndDriversWithoutLimit) {
  for (const char* name : {"a", "b", "c"}) add_csi_claim(name, name);
  volumes.csi_nodes.clear();
  EXPECT_EQ(filter({"a", "b", "c"}, {}), "");
  limit(kDriver, std::nullopt);
  EXPECT_EQ(filter({"a", "b", "c"}, {}), "");
  limit("other.example.com", 0);
  EXPECT_EQ(filter({"a", "b", "c"}, {}), "");
}

TEST_F(NodeVolumeLimitsTest, CountsUnboundClaimsByTheirClass) {
  add_class(volumes, "made", kDriver);
  for (const char* name : {"a", "b", "c"}) add_claim(volumes, name, "made");
  EXPECT_EQ(filter({"a", "b"}, {}), "");
  EXPECT_EQ(filter({"c"}, {pod_with_claims("q", {"a", "b"})}), kTooMany);
  EXPECT_EQ(filter({"a"}, {pod_with_claims("q", {"a", "b"})}), "");
  add_claim(volumes, "d", "unknown");
  EXPECT_EQ(filter({"d"}, {pod_with_claims("q", {"a", "b"})}), "") << "no class, no driver";
  add_claim(volumes, "e", "made", "pv-gone");
  EXPECT_EQ(filter({"e"}, {pod_with_claims("q", {"a", "b"})}), kTooMany) << "its volume is still unknown";
}

TEST_F(NodeVolumeLimitsTest, RequiresTheClaimsOfTheNewPodOnly) {
  add_csi_claim("a", "a");
  EXPECT_EQ(filter({"gone"}, {}),
            "UnschedulableAndUnresolvable: looking up PVC default/gone: persistentvolumeclaim \"gone\" not found");
  EXPECT_EQ(filter({"a"}, {pod_with_claims("q", {"gone"})}), "");
  EXPECT_EQ(filter_with(plugin, make_pod("p"), {info_of(make_node("n1"))}), "skip");
}

TEST_F(NodeVolumeLimitsTest, CountsEphemeralVolumesThatThePodOwns) {
  add_class(volumes, "made", kDriver);
  for (const char* name : {"a", "b"}) add_claim(volumes, name, "made");
  Pod pod = make_pod("p");
  pod.volumes.push_back({"scratch", "", true});
  const std::vector<NodeInfo> full = {node_with("n1", {pod_with_claims("q", {"a", "b"})})};
  EXPECT_EQ(filter_with(plugin, pod, full),
            "UnschedulableAndUnresolvable: looking up PVC default/p-scratch: persistentvolumeclaim \"p-scratch\" not "
            "found");
  add_claim(volumes, "p-scratch", "made");
  EXPECT_EQ(filter_with(plugin, pod, full),
            "Error: PVC default/p-scratch was not created for pod default/p (pod is not owner)");
  volumes.claims.at("default/p-scratch").metadata.controller_uid = pod.uid();
  EXPECT_EQ(filter_with(plugin, pod, full), kTooMany);
}

TEST_F(NodeVolumeLimitsTest, CountsInTreeDisksByTheirCsiDriver) {
  DiskSource disk;
  disk.type = DiskSource::Type::aws_elastic_block_store;
  disk.id = "aws://zone/vol-1";
  const std::vector<NodeInfo> nodes = {info_of(make_node("n1"))};
  volumes.csi_nodes.clear();
  disk.id = "aws://zone/disk-1";
  EXPECT_EQ(filter_with(plugin, pod_with_disk("p", disk), nodes), "") << "no CSINode: the disk's name is not parsed";
  disk.id = "aws://zone/vol-1";
  limit("ebs.csi.aws.com", 0);
  EXPECT_EQ(filter_with(plugin, pod_with_disk("p", disk), nodes), kTooMany)
      << "even if the CSINode lists no migrated plugin";
  disk.id = "aws://zone/disk-1";
  EXPECT_EQ(filter_with(plugin, pod_with_disk("p", disk), nodes),
            "Error: converting volume(v) from inline to csi: invalid format for AWS volume (aws://zone/disk-1)");
  add_volume(volumes, "pv").disk = {DiskSource::Type::aws_elastic_block_store, "vol-2", {}, {}, false};
  add_claim(volumes, "c", "", "pv");
  EXPECT_EQ(filter({"c"}, {}), kTooMany);
  add_class(volumes, "old", "kubernetes.io/aws-ebs");
  add_claim(volumes, "d", "old");
  EXPECT_EQ(filter({"d"}, {}), kTooMany);
}

TEST(VolumeMigration, ConvertsDiskNamesToCsiHandles) {
  DiskSource disk;
  disk.type = DiskSource::Type::gce_persistent_disk;
  disk.id = "d";
  EXPECT_EQ(*csi_handle(disk, nullptr), "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d");
  PersistentVolume volume;
  volume.metadata.labels["failure-domain.beta.kubernetes.io/zone"] = "europe-west1-b";
  EXPECT_EQ(*csi_handle(disk, &volume), "projects/UNSPECIFIED/zones/europe-west1-b/disks/d");
  volume.metadata.labels["topology.kubernetes.io/zone"] = "europe-west1-b__europe-west1-c";
  EXPECT_EQ(*csi_handle(disk, &volume), "projects/UNSPECIFIED/regions/europe-west1/disks/d");
  volume.metadata.labels["topology.kubernetes.io/zone"] = "europe-west1-b__asia-east1-c";
  EXPECT_FALSE(csi_handle(disk, &volume).has_value());
  disk.type = DiskSource::Type::aws_elastic_block_store;
  disk.id = "aws://zone/vol-1";
  EXPECT_EQ(*csi_handle(disk, nullptr), "vol-1");
  disk.type = DiskSource::Type::azure_disk;
  disk.id = "/subscriptions/x";
  EXPECT_EQ(*csi_handle(disk, nullptr), "/subscriptions/x");
}

TEST(NodeVolumeLimitsHints, RequeueWhenANominatedPodWithVolumesIsDeleted) {
  FakeHandle handle;
  const NodeVolumeLimits plugin(handle);
  Pod deleted = pod_with_claims("q", {"d"});
  deleted.nominated_node_name = "n1";
  EventObjects objects;
  objects.old_pod = share(deleted);
  const ClusterEvent gone{EventResource::unscheduled_pod, kDelete, ""};
  EXPECT_EQ(hint_of(plugin, pod_with_claims("p", {"c"}), gone, objects), "Queue");
  deleted.volumes.clear();
  objects.old_pod = share(deleted);
  EXPECT_EQ(hint_of(plugin, pod_with_claims("p", {"c"}), gone, objects), "QueueSkip");
}

TEST(NodeVolumeLimitsHints, RequeueForFreedVolumesAndForThePodsClaims) {
  FakeHandle handle;
  const NodeVolumeLimits plugin(handle);
  const Pod pod = pod_with_claims("p", {"c"});
  EventObjects objects;
  Pod deleted = pod_with_claims("q", {"d"});
  const ClusterEvent gone{EventResource::assigned_pod, kDelete, ""};
  objects.old_pod = share(deleted);
  EXPECT_EQ(hint_of(plugin, pod, gone, objects), "QueueSkip") << "it was assigned to no node";
  deleted.node_name = "n1";
  objects.old_pod = share(deleted);
  EXPECT_EQ(hint_of(plugin, pod, gone, objects), "Queue");
  deleted.volumes.clear();
  objects.old_pod = share(deleted);
  EXPECT_EQ(hint_of(plugin, pod, gone, objects), "QueueSkip");

  const ClusterEvent update{EventResource::csi_node, kUpdate, ""};
  const auto node = [](std::vector<CsiNode::Driver> drivers) {
    auto made = std::make_shared<CsiNode>();
    made->drivers = std::move(drivers);
    return made;
  };
  objects.old_csi_node = node({{"a", 1}, {"b", 5}});
  objects.new_csi_node = node({{"a", 1}, {"b", 4}, {"c", 0}});
  EXPECT_EQ(hint_of(plugin, pod, update, objects), "QueueSkip");
  objects.new_csi_node = node({{"a", 2}});
  EXPECT_EQ(hint_of(plugin, pod, update, objects), "Queue");
  objects.new_csi_node = node({{"new", 1}});
  EXPECT_EQ(hint_of(plugin, pod, update, objects), "Queue");
  EXPECT_EQ(hint_of(plugin, pod, {EventResource::csi_node, kAdd, ""}, objects), "Queue");

  const ClusterEvent detached{EventResource::volume_attachment, kDelete, ""};
  VolumeAttachment attachment;
  attachment.attacher = "pd.csi.storage.gke.io";
  objects.old_attachment = std::make_shared<VolumeAttachment>(attachment);
  EXPECT_EQ(hint_of(plugin, pod, detached, objects), "Queue");
  EXPECT_EQ(hint_of(plugin, pod_with_disk("p", {DiskSource::Type::gce_persistent_disk, "d", {}, {}, false}), detached,
                    objects),
            "Queue");
  EXPECT_EQ(hint_of(plugin, pod_with_disk("p", {DiskSource::Type::cinder, "d", {}, {}, false}), detached, objects),
            "QueueSkip");
}

TEST(NodeVolumeLimitsHints, RequeueAPodWhoseDiskNameIsInvalid) {
  FakeHandle handle;
  const NodeVolumeLimits plugin(handle);
  EventObjects objects;
  VolumeAttachment attachment;
  attachment.attacher = "pd.csi.storage.gke.io";
  objects.old_attachment = std::make_shared<VolumeAttachment>(attachment);
  const ClusterEvent detached{EventResource::volume_attachment, kDelete, ""};
  DiskSource disk{DiskSource::Type::aws_elastic_block_store, "vol-1", {}, {}, false};
  EXPECT_EQ(hint_of(plugin, pod_with_disk("p", disk), detached, objects), "QueueSkip");
  disk.id = "aws://zone/disk-1";
  EXPECT_EQ(hint_of(plugin, pod_with_disk("p", disk), detached, objects), "Queue");
}

}  // namespace
}  // namespace berth
