// VolumeBinding with dynamic provisioning: for which node a volume is provisioned, and what requeues a rejected pod.
#include "plugins/volumebinding_provision.h"
#include "core/api/node.h"
#include "plugins/registry.h"
#include "plugins/volumebinding.h"
#include "tests/unit/plugins/volume_fixture.h"

namespace berth {
namespace {

constexpr const char* kProvisioner = "csi.example.com";
constexpr const char* kSelected = "volume.kubernetes.io/selected-node";
const std::string kNoVolumeFound =
    "UnschedulableAndUnresolvable: node(s) didn't find available persistent volumes to bind";
const std::string kNoSpace = "UnschedulableAndUnresolvable: node(s) did not have enough free storage";

class ProvisionTest : public ::testing::Test {
 protected:
  ProvisionTest() {
    add_class(volumes, "dynamic", kProvisioner);
    add_claim(volumes, "c", "dynamic");
  }
  std::string filter(const Pod& pod, const Node& node) { return filter_with(plugin, pod, {info_of(node)}); }
  std::string filter(const std::string& node = "n1") { return filter(pod_with_claims("p", {"c"}), make_node(node)); }
  CsiStorageCapacity& add_capacity(const std::string& size, const std::string& host = "n1") {
    CsiStorageCapacity capacity;
    capacity.storage_class_name = "dynamic";
    capacity.capacity = quantity(size);
    capacity.node_topology = LabelSelector{{{"kubernetes.io/hostname", Requirement::Operator::in, {host}}}};
    return volumes.capacities.emplace_back(capacity);
  }
  void publish_capacities() {
    CsiDriver driver;
    driver.metadata.name = kProvisioner;
    driver.storage_capacity = true;
    volumes.csi_drivers[kProvisioner] = driver;
  }
  // The state after Filter accepted n1 for the pod.
  CycleState accepted(const Pod& pod) { return accepted_by(plugin, handle, pod, make_node("n1")); }

  FakeHandle handle;
  FakeVolumes& volumes = handle.volumes_of_test;
  std::shared_ptr<AssumedVolumes> assumed = std::make_shared<AssumedVolumes>();
  VolumeBinding plugin{{}, handle, assumed};
};

TEST_F(ProvisionTest, AcceptsANodeWhereTheVolumeCanBeProvisioned) {
  EXPECT_EQ(filter(), "");
  const CycleState state = accepted(pod_with_claims("p", {"c"}));
  const PodVolumes* decision = VolumeBinding::decision(state, "n1");
  ASSERT_NE(decision, nullptr);
  EXPECT_TRUE(decision->bind.empty());
  EXPECT_EQ(decision->provision, std::vector<std::string>{"default/c"});
  EXPECT_EQ(VolumeBinding::decision(state, "n2"), nullptr);
}

TEST_F(ProvisionTest, PrefersAFreeVolumeToANewOne) {
  PersistentVolume& volume = add_volume(volumes, "v");
  volume.storage_class_name = "dynamic";
  volume.capacity = quantity("2Gi");
  add_claim(volumes, "large", "dynamic").request = quantity("9Gi");
  const CycleState state = accepted(pod_with_claims("p", {"large", "c"}));
  const PodVolumes* decision = VolumeBinding::decision(state, "n1");
  ASSERT_NE(decision, nullptr);
  EXPECT_EQ(decision->bind, (std::vector<BoundVolume>{{"default/c", "v", ""}}));
  EXPECT_EQ(decision->provision, std::vector<std::string>{"default/large"});
}

TEST_F(ProvisionTest, RequiresAProvisionerAndAnAllowedNode) {
  StorageClass& storage_class = volumes.classes.at("dynamic");
  storage_class.provisioner = StorageClass::kNoProvisioner;
  EXPECT_EQ(filter(), kNoVolumeFound);
  storage_class.provisioner = kProvisioner;
  storage_class.allowed_topologies = {LabelSelector{{{"kubernetes.io/hostname", Requirement::Operator::in, {"n2"}}}}};
  EXPECT_EQ(filter("n1"), kNoVolumeFound);
  EXPECT_EQ(filter("n2"), "");
  storage_class.allowed_topologies = {LabelSelector{}};
  EXPECT_EQ(filter("n2"), kNoVolumeFound) << "an empty term matches no node";
}

TEST_F(ProvisionTest, RequiresFreeStorageIfTheDriverPublishesCapacities) {
  add_capacity("512Mi");
  EXPECT_EQ(filter(), "") << "no CSIDriver object says that the driver publishes capacities";
  publish_capacities();
  EXPECT_EQ(filter(), kNoSpace);
  add_capacity("2Gi", "n2");
  EXPECT_EQ(filter("n1"), kNoSpace);
  EXPECT_EQ(filter("n2"), "");
  CsiStorageCapacity& capacity = add_capacity("2Gi");
  EXPECT_EQ(filter("n1"), "");
  capacity.maximum_volume_size = quantity("768Mi");
  EXPECT_EQ(filter("n1"), kNoSpace) << "the largest single volume counts";
  capacity.maximum_volume_size = quantity("1Gi");
  EXPECT_EQ(filter("n1"), "");
  capacity.node_topology.reset();
  EXPECT_EQ(filter("n1"), kNoSpace) << "without a topology, no node can reach it";
  volumes.csi_drivers.at(kProvisioner).storage_capacity = false;
  EXPECT_EQ(filter("n1"), "");
}

TEST_F(ProvisionTest, KeepsTheSelectedNode) {
  volumes.claims.at("default/c").metadata.annotations[kSelected] = "n2";
  EXPECT_EQ(filter("n1"), kNoVolumeFound);
  EXPECT_EQ(filter("n2"), "");
}

TEST_F(ProvisionTest, AssumesTheNodeForOtherPodsOfTheClaim) {
  const Pod pod = pod_with_claims("p", {"c"});
  CycleState state = accepted(pod);
  ASSERT_TRUE(plugin.reserve(state, pod, "n1").is_success());
  EXPECT_EQ(filter(pod_with_claims("q", {"c"}), make_node("n2")), kNoVolumeFound);
  EXPECT_EQ(filter(pod_with_claims("q", {"c"}), make_node("n1")), "");
  plugin.unreserve(state, pod, "n1");
  EXPECT_EQ(filter(pod_with_claims("q", {"c"}), make_node("n2")), "");
}

TEST_F(ProvisionTest, WaitsInPreBindForTheVolume) {
  handle.clock_of_test.now_ms = 5'000;
  const Pod pod = pod_with_claims("p", {"c"});
  CycleState state = accepted(pod);
  const auto pre_bind = [&](PlacementRequest& request) { return plugin.pre_bind(state, pod, "n1", request).message(); };
  PlacementRequest first;
  EXPECT_EQ(pre_bind(first), "");
  EXPECT_EQ(first.provision, std::vector<std::string>{"default/c"});
  EXPECT_EQ(first.again_at, 605'000);
  handle.clock_of_test.now_ms = 6'000;
  volumes.claims.at("default/c").metadata.annotations[kSelected] = "n1";
  PlacementRequest second;
  EXPECT_EQ(pre_bind(second), "");
  EXPECT_EQ(second.again_at, 605'000) << "the timeout starts with the first request";
  PersistentVolumeClaim& claim = volumes.claims.at("default/c");
  claim.volume_name = "v";
  PlacementRequest third;
  EXPECT_EQ(pre_bind(third), "");
  EXPECT_FALSE(third.provision.empty()) << "named, but not created yet";
  add_volume(volumes, "v").local_path = "/data/v";
  claim.phase = "Bound";
  PlacementRequest last;
  EXPECT_EQ(pre_bind(last), "");
  EXPECT_TRUE(last.provision.empty());
  EXPECT_EQ(last.volumes, (std::vector<BoundVolume>{{"default/c", "v", "/data/v"}}));
}

TEST_F(ProvisionTest, FailsInPreBindWithUpstreamsMessages) {
  const Pod pod = pod_with_claims("p", {"c"});
  CycleState state = accepted(pod);
  const auto pre_bind = [&] {
    PlacementRequest request;
    return plugin.pre_bind(state, pod, "n1", request).message();
  };
  EXPECT_EQ(pre_bind(), "");
  EXPECT_EQ(pre_bind(), "binding volumes: provisioning failed for PVC \"c\"")
      << "the selected node was removed from the claim";
  volumes.claims.at("default/c").metadata.annotations[kSelected] = "n1";
  handle.clock_of_test.now_ms = 600'000;
  EXPECT_EQ(pre_bind(), "binding volumes: context deadline exceeded");
  volumes.claims.clear();
  EXPECT_EQ(pre_bind(),
            "binding volumes: failed to check provisioning pvc: could not find v1.PersistentVolumeClaim \"default/c\"");
}

TEST_F(ProvisionTest, IdentifiesEphemeralClaimsByTheirOwner) {
  Pod pod = make_pod("p");
  pod.volumes.push_back({"scratch", "", true});
  EXPECT_EQ(filter(pod, make_node("n1")),
            "UnschedulableAndUnresolvable: waiting for ephemeral volume controller to create the persistentvolumeclaim "
            "\"p-scratch\"");
  add_claim(volumes, "p-scratch", "dynamic");
  EXPECT_EQ(filter(pod, make_node("n1")),
            "UnschedulableAndUnresolvable: PVC default/p-scratch was not created for pod default/p (pod is not owner)");
  volumes.claims.at("default/p-scratch").metadata.controller_uid = pod.uid();
  EXPECT_EQ(filter(pod, make_node("n1")), "");
}

TEST(VolumeBindingArguments, AreDefaultedAndChecked) {
  FakeHandle handle;
  const Registry registry = in_tree_registry();
  const auto made = [&](const std::string& args) {
    return (*registry.find("VolumeBinding"))(*Json::parse(args), handle);
  };
  EXPECT_EQ((*made("{}"))->args().dump(), R"({"bindTimeoutSeconds":600})");
  EXPECT_EQ((*made(R"({"kind":"VolumeBindingArgs","bindTimeoutSeconds":30})"))->args().dump(),
            R"({"bindTimeoutSeconds":30})");
  EXPECT_NE(made(R"({"bindTimeoutSeconds":-1})").error().message().find("bindTimeoutSeconds"), std::string::npos);
  EXPECT_NE(made(R"({"shape":[]})").error().message().find("StorageCapacityScoring"), std::string::npos);
  EXPECT_NE(made(R"({"bindTimeout":1})").error().message().find("bindTimeout"), std::string::npos);
}

TEST(VolumeBindingHints, RequeueForChangesThatMayHelp) {
  FakeHandle handle;
  const VolumeBinding plugin({}, handle, std::make_shared<AssumedVolumes>());
  Pod pod = pod_with_claims("p", {"c"});
  EventObjects objects;
  FakeVolumes volumes;
  const auto hint = [&](EventResource resource, std::uint32_t actions) {
    return hint_of(plugin, pod, {resource, actions, ""}, objects);
  };
  EXPECT_EQ(hint(EventResource::persistent_volume, kUpdate), "Queue");
  EXPECT_EQ(hint(EventResource::assigned_pod, kDelete), "NotRegistered");
  objects.new_claim = std::make_shared<PersistentVolumeClaim>(add_claim(volumes, "other"));
  EXPECT_EQ(hint(EventResource::persistent_volume_claim, kUpdate), "QueueSkip");
  objects.new_claim = std::make_shared<PersistentVolumeClaim>(add_claim(volumes, "c"));
  EXPECT_EQ(hint(EventResource::persistent_volume_claim, kUpdate), "Queue");
  pod.volumes = {{"data", "", true}};
  objects.new_claim = std::make_shared<PersistentVolumeClaim>(add_claim(volumes, "p-data"));
  EXPECT_EQ(hint(EventResource::persistent_volume_claim, kAdd), "Queue");

  objects.old_class = objects.new_class = std::make_shared<StorageClass>(add_class(volumes, "s", kProvisioner));
  EXPECT_EQ(hint(EventResource::storage_class, kUpdate), "QueueSkip");
  volumes.classes.at("s").allowed_topologies.emplace_back();
  objects.new_class = std::make_shared<StorageClass>(volumes.classes.at("s"));
  EXPECT_EQ(hint(EventResource::storage_class, kUpdate), "Queue");

  CsiNode node;
  objects.old_csi_node = std::make_shared<CsiNode>(node);
  node.drivers.push_back({"a", 1});
  objects.new_csi_node = std::make_shared<CsiNode>(node);
  EXPECT_EQ(hint(EventResource::csi_node, kUpdate), "QueueSkip");
  node.metadata.annotations["storage.alpha.kubernetes.io/migrated-plugins"] = "kubernetes.io/gce-pd";
  objects.new_csi_node = std::make_shared<CsiNode>(node);
  EXPECT_EQ(hint(EventResource::csi_node, kUpdate), "Queue");
}

TEST(VolumeBindingHints, RequeueForMoreStorage) {
  FakeHandle handle;
  const VolumeBinding plugin({}, handle, std::make_shared<AssumedVolumes>());
  Pod pod = pod_with_disk("p", {DiskSource::Type::csi, kProvisioner, {}, {}, false});
  EventObjects objects;
  CsiDriver driver;
  driver.metadata.name = kProvisioner;
  driver.storage_capacity = true;
  objects.old_csi_driver = std::make_shared<CsiDriver>(driver);
  driver.storage_capacity = false;
  objects.new_csi_driver = std::make_shared<CsiDriver>(driver);
  const ClusterEvent of_driver{EventResource::csi_driver, kUpdate, ""};
  EXPECT_EQ(hint_of(plugin, pod, of_driver, objects), "Queue");
  EXPECT_EQ(hint_of(plugin, make_pod("q"), of_driver, objects), "QueueSkip");
  std::swap(objects.old_csi_driver, objects.new_csi_driver);
  EXPECT_EQ(hint_of(plugin, pod, of_driver, objects), "QueueSkip");

  const ClusterEvent of_capacity{EventResource::csi_storage_capacity, kUpdate, ""};
  CsiStorageCapacity capacity;
  objects.old_csi_capacity = std::make_shared<CsiStorageCapacity>(capacity);
  capacity.capacity = quantity("2Gi");
  objects.new_csi_capacity = std::make_shared<CsiStorageCapacity>(capacity);
  EXPECT_EQ(hint_of(plugin, pod, of_capacity, objects), "Queue");
  capacity.maximum_volume_size = quantity("1Gi");
  objects.old_csi_capacity = objects.new_csi_capacity;
  objects.new_csi_capacity = std::make_shared<CsiStorageCapacity>(capacity);
  EXPECT_EQ(hint_of(plugin, pod, of_capacity, objects), "QueueSkip");
}

}  // namespace
}  // namespace berth
