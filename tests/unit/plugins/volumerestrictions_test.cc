#include "plugins/volumerestrictions.h"

#include "tests/unit/plugins/volume_fixture.h"

namespace berth {
namespace {

using Type = DiskSource::Type;
const std::string kDiskTaken = "Unschedulable: node(s) had no available disk";
const std::string kClaimTaken =
    "Unschedulable: node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use "
    "by another pod";

struct DiskCase {
  std::string name;
  DiskSource mine;
  DiskSource theirs;
  bool collide = false;
};

DiskSource disk(Type type, const std::string& id, bool read_only = false) {
  DiskSource source;
  source.type = type;
  source.id = id;
  source.read_only = read_only;
  return source;
}

DiskSource rbd(const std::string& image, std::vector<std::string> monitors, const std::string& pool = "rbd",
               bool read_only = false) {
  DiskSource source = disk(Type::rbd, image, read_only);
  source.monitors = std::move(monitors);
  source.pool = pool;
  return source;
}

class SharedDisks : public ::testing::TestWithParam<DiskCase> {};

TEST_P(SharedDisks, CollideOrNot) {
  FakeHandle handle;
  VolumeRestrictions plugin(handle);
  const std::vector<NodeInfo> nodes = {node_with("n1", {pod_with_disk("other", GetParam().theirs)})};
  EXPECT_EQ(filter_with(plugin, pod_with_disk("p", GetParam().mine), nodes), GetParam().collide ? kDiskTaken : "");
}

INSTANTIATE_TEST_SUITE_P(
    Cases, SharedDisks,
    ::testing::Values(
        DiskCase{"GceWritten", disk(Type::gce_persistent_disk, "d"), disk(Type::gce_persistent_disk, "d", true), true},
        DiskCase{"GceRead", disk(Type::gce_persistent_disk, "d", true), disk(Type::gce_persistent_disk, "d", true)},
        DiskCase{"GceOther", disk(Type::gce_persistent_disk, "d"), disk(Type::gce_persistent_disk, "e")},
        DiskCase{"EbsEvenRead", disk(Type::aws_elastic_block_store, "d", true),
                 disk(Type::aws_elastic_block_store, "d", true), true},
        DiskCase{"EbsOther", disk(Type::aws_elastic_block_store, "d"), disk(Type::aws_elastic_block_store, "e")},
        DiskCase{"SameNameOfAnotherKind", disk(Type::aws_elastic_block_store, "d"),
                 disk(Type::gce_persistent_disk, "d")},
        DiskCase{"IscsiWritten", disk(Type::iscsi, "iqn", true), disk(Type::iscsi, "iqn"), true},
        DiskCase{"IscsiRead", disk(Type::iscsi, "iqn", true), disk(Type::iscsi, "iqn", true)},
        DiskCase{"RbdWritten", rbd("i", {"a", "b"}), rbd("i", {"b", "c"}), true},
        DiskCase{"RbdRead", rbd("i", {"a"}, "rbd", true), rbd("i", {"a"}, "rbd", true)},
        DiskCase{"RbdOtherMonitors", rbd("i", {"a"}), rbd("i", {"c"})},
        DiskCase{"RbdOtherPool", rbd("i", {"a"}), rbd("i", {"a"}, "fast")},
        DiskCase{"RbdOtherImage", rbd("i", {"a"}), rbd("j", {"a"})}),
    [](const auto& param) { return param.param.name; });

TEST(VolumeRestrictions, SkipsPodsThatCannotCollide) {
  FakeHandle handle;
  VolumeRestrictions plugin(handle);
  const std::vector<NodeInfo> nodes = {info_of(make_node("n1"))};
  EXPECT_EQ(filter_with(plugin, make_pod("p"), nodes), "skip");
  EXPECT_EQ(filter_with(plugin, pod_with_disk("p", disk(Type::csi, "driver")), nodes), "skip");
  add_claim(handle.volumes_of_test, "c").access_modes = {"ReadWriteOnce"};
  EXPECT_EQ(filter_with(plugin, pod_with_claims("p", {"c"}), nodes), "skip");
  EXPECT_EQ(filter_with(plugin, pod_with_claims("p", {"gone"}), nodes),
            "UnschedulableAndUnresolvable: persistentvolumeclaim \"gone\" not found");
}

TEST(VolumeRestrictions, RejectsEveryNodeForASecondPodOfAReadWriteOncePodClaim) {
  FakeHandle handle;
  VolumeRestrictions plugin(handle);
  add_claim(handle.volumes_of_test, "c").access_modes = {"ReadWriteOncePod"};
  Pod foreign = pod_with_claims("foreign", {"c"});
  foreign.metadata.namespace_ = "elsewhere";
  const std::vector<NodeInfo> unused = {node_with("n1", {foreign}), info_of(make_node("n2"))};
  EXPECT_EQ(filter_with(plugin, pod_with_claims("p", {"c"}), unused), "skip")
      << "another namespace's claim of that name";
  const std::vector<NodeInfo> used = {node_with("n1", {pod_with_claims("other", {"c"})}), info_of(make_node("n2"))};
  EXPECT_EQ(filter_with(plugin, pod_with_claims("p", {"c"}), used, 0), kClaimTaken);
  EXPECT_EQ(filter_with(plugin, pod_with_claims("p", {"c"}), used, 1), kClaimTaken);
}

TEST(VolumeRestrictions, CountsPodsAddedAndRemovedInTheCycleState) {
  FakeHandle handle;
  VolumeRestrictions plugin(handle);
  add_claim(handle.volumes_of_test, "c").access_modes = {"ReadWriteOncePod"};
  const Pod holder = pod_with_claims("other", {"c"});
  Cache cache;
  cache.set_node(share(make_node("n1")));
  cache.confirm(share(holder), "n1");
  Snapshot snapshot;
  cache.update_snapshot(snapshot);
  CycleState state;
  PreFilterResult result;
  const Pod pod = pod_with_claims("p", {"c"});
  ASSERT_TRUE(plugin.pre_filter(state, pod, snapshot, result).is_success());
  NodeInfo trial = *snapshot.find("n1");
  CycleState copy = state.clone();
  trial.remove_pod(holder.uid());
  ASSERT_TRUE(plugin.remove_pod(copy, pod, holder, trial).is_success());
  EXPECT_TRUE(plugin.filter(copy, pod, trial).is_success());
  EXPECT_FALSE(plugin.filter(state, pod, trial).is_success()) << "the change was made to a copy";
  ASSERT_TRUE(plugin.add_pod(copy, pod, holder, trial).is_success());
  EXPECT_FALSE(plugin.filter(copy, pod, trial).is_success());
}

TEST(VolumeRestrictionsHints, RequeueForAFreedDiskOrClaim) {
  FakeHandle handle;
  const VolumeRestrictions plugin(handle);
  const ClusterEvent gone{EventResource::assigned_pod, kDelete, ""};
  const auto after = [&](const Pod& pod, Pod deleted) {
    EventObjects objects;
    objects.old_pod = share(std::move(deleted));
    return hint_of(plugin, pod, gone, objects);
  };
  EXPECT_EQ(after(pod_with_claims("p", {"c"}), pod_with_claims("other", {"d", "c"})), "Queue");
  EXPECT_EQ(after(pod_with_claims("p", {"c"}), pod_with_claims("other", {"d"})), "QueueSkip");
  Pod foreign = pod_with_claims("other", {"c"});
  foreign.metadata.namespace_ = "elsewhere";
  EXPECT_EQ(after(pod_with_claims("p", {"c"}), foreign), "QueueSkip");
  EXPECT_EQ(after(pod_with_disk("p", disk(Type::iscsi, "i")), pod_with_disk("other", disk(Type::iscsi, "i"))), "Queue");
  EXPECT_EQ(
      after(pod_with_disk("p", disk(Type::iscsi, "i", true)), pod_with_disk("other", disk(Type::iscsi, "i", true))),
      "QueueSkip");
  EXPECT_EQ(hint_of(plugin, make_pod("p"), {EventResource::node, kAdd, ""}, {}), "Queue");
}

}  // namespace
}  // namespace berth
