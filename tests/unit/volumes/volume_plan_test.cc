// Volumes as manifests say them.
#include "firmware-host/agent/volumes/volume_plan.h"

#include "tests/unit/volumes/volume_fixture.h"

namespace berth {
namespace {

class VolumePlanTest : public testing::Test {
 protected:
  Result<std::vector<VolumePlan>> plans(const std::string& volumes, const std::string& container = "{}",
                                        const std::string& more = "") const {
    const Json pod = pod_with(volumes, container, more);
    return plan_volumes(facts_of(pod), bound_, "/pods/uid-1");
  }
  VolumePlan plan(const std::string& volume, const std::string& container = "{}", const std::string& more = "") const {
    Result<std::vector<VolumePlan>> all = plans(volume, container, more);
    EXPECT_TRUE(all) << (all ? "" : all.error().message());
    return all ? std::move(all->front()) : VolumePlan();
  }
  std::string refused(const std::string& volumes, const std::string& more = "") const {
    const Result<std::vector<VolumePlan>> all = plans(volumes, "{}", more);
    return all ? "planned" : all.error().message();
  }
  std::vector<BoundVolume> bound_{{"shop/data", "pv-1", "/disks/one"}, {"shop/web-0-scratch", "pv-2", "/disks/two"}};
};

using VolumeKind = VolumePlan::Kind;

TEST_F(VolumePlanTest, AnEmptyDirIsOfThePod) {
  for (const char* source : {R"(,"emptyDir":{})", R"(,"emptyDir":null)", ""}) {
    const VolumePlan made = plan(std::string(R"({"name":"tmp")") + source + "}");
    EXPECT_EQ(made.kind, VolumeKind::empty_dir);
    EXPECT_EQ(made.path, "/pods/uid-1/volumes/tmp");
    EXPECT_EQ(made.size_limit, 0);
    EXPECT_FALSE(made.group);
  }
  EXPECT_EQ(plan(R"({"name":"tmp","emptyDir":{"sizeLimit":"1Mi"}})").size_limit, 1 << 20);
}

TEST_F(VolumePlanTest, MemoryIsLimitedByVolumePodAndNode) {
  const std::string volume = R"({"name":"m","emptyDir":{"medium":"Memory")";
  EXPECT_EQ(plan(volume + "}}").kind, VolumeKind::memory);
  EXPECT_EQ(plan(volume + "}}").size_limit, std::int64_t{8} << 30);
  EXPECT_EQ(plan(volume + R"(,"sizeLimit":"64Mi"}})").size_limit, 64 << 20);
  const std::string limited = R"({"resources":{"limits":{"memory":"32Mi"}}})";
  EXPECT_EQ(plan(volume + R"(,"sizeLimit":"64Mi"}})", limited).size_limit, 32 << 20);
  EXPECT_EQ(plan(volume + R"(,"sizeLimit":"16Mi"}})", limited).size_limit, 16 << 20);
  EXPECT_EQ(plan(volume + "}}", limited + ",{}").size_limit, std::int64_t{8} << 30) << "one container has no limit";
}

TEST_F(VolumePlanTest, APodMayTakeWhatItsContainersTakeAtATime) {
  const auto limit = [](const std::string& containers, const std::string& more) {
    const Json pod = pod_with("", containers, more);
    return memory_limit_of_pod(*pod.find("spec")).value_or(std::nullopt).value_or(-1);
  };
  const std::string of_10 = R"({"resources":{"limits":{"memory":10}}})";
  EXPECT_EQ(limit(of_10 + "," + of_10, ""), 20);
  EXPECT_EQ(limit(of_10, R"(,"initContainers":[{"resources":{"limits":{"memory":50}}}])"), 50);
  EXPECT_EQ(limit(of_10, R"(,"initContainers":[{"restartPolicy":"Always","resources":{"limits":{"memory":7}}},
                                              {"resources":{"limits":{"memory":5}}}])"),
            17);
  EXPECT_EQ(limit("{}", R"(,"resources":{"limits":{"memory":99}})"), 99);
  EXPECT_EQ(limit("{}", ""), -1);
}

TEST_F(VolumePlanTest, ClaimsAreThoseThatCameWithThePod) {
  EXPECT_EQ(plan(R"({"name":"d","persistentVolumeClaim":{"claimName":"data"}})").path, "/disks/one");
  EXPECT_EQ(plan(R"({"name":"d","persistentVolumeClaim":{"claimName":"data"}})").kind, VolumeKind::bound);
  EXPECT_TRUE(plan(R"({"name":"d","persistentVolumeClaim":{"claimName":"data","readOnly":true}})").read_only);
  EXPECT_EQ(plan(R"({"name":"scratch","ephemeral":{}})").path, "/disks/two");
  EXPECT_EQ(refused(R"({"name":"d","persistentVolumeClaim":{"claimName":"none"}})"),
            "spec.volumes[0]: no bound volume for claim shop/none");
}

TEST_F(VolumePlanTest, AGroupGetsWhatIsThePodsAndNoHostPath) {
  const std::string group = R"(,"securityContext":{"fsGroup":2000,"fsGroupChangePolicy":"OnRootMismatch"})";
  const Result<std::vector<VolumePlan>> all = plans(
      R"({"name":"a"},{"name":"b","persistentVolumeClaim":{"claimName":"data"}},{"name":"c","hostPath":{"path":"/x"}},
         {"name":"d","secret":{"secretName":"s"}},{"name":"e","persistentVolumeClaim":{"claimName":"data","readOnly":true}})",
      "{}", group);
  ASSERT_TRUE(all) << all.error().message();
  EXPECT_EQ((*all)[0].group->group, 2000u);
  EXPECT_FALSE((*all)[0].group->on_root_mismatch) << "the policy is for claims only";
  EXPECT_TRUE((*all)[1].group->on_root_mismatch);
  EXPECT_FALSE((*all)[2].group);
  EXPECT_EQ((*all)[3].group->group, 2000u);
  EXPECT_TRUE((*all)[3].read_only);
  EXPECT_FALSE((*all)[4].group) << "a claim that is read-only is not written";
}

TEST_F(VolumePlanTest, IsRefusedWithTheFieldThatIsWrong) {
  EXPECT_EQ(refused(R"({"name":"../x"})"),
            "spec.volumes[0].name: must be lower-case letters, digits and '-', at most 63");
  EXPECT_EQ(refused(R"({"name":"a"},{"name":"a"})"), "spec.volumes[1].name: another volume has it too");
  EXPECT_EQ(refused(R"({"name":"a","hostPath":{"path":"x"}})"),
            "spec.volumes[0].hostPath.path: must be an absolute path without ..");
  EXPECT_EQ(refused(R"({"name":"a","hostPath":{"path":"/x/../etc"}})"),
            "spec.volumes[0].hostPath.path: must be an absolute path without ..");
  EXPECT_EQ(
      refused(R"({"name":"a","hostPath":{"path":"/x","type":"Fifo"}})"),
      "spec.volumes[0].hostPath.type: expected Directory, DirectoryOrCreate, File, FileOrCreate, Socket, CharDevice "
      "or BlockDevice, got 'Fifo'");
  EXPECT_EQ(refused(R"({"name":"a","emptyDir":{"medium":"HugePages"}})"),
            "spec.volumes[0].emptyDir.medium: expected Memory or none, got 'HugePages', which node edge-a does not "
            "support");
  EXPECT_EQ(refused(R"({"name":"a","emptyDir":{"sizeLimit":"-1"}})"),
            "spec.volumes[0].emptyDir.sizeLimit: must not be negative");
  EXPECT_EQ(
      refused(R"({"name":"a","nfs":{"server":"x"}})"),
      "spec.volumes[0].nfs: not supported by node edge-a; use persistentVolumeClaim, ephemeral, hostPath, emptyDir, "
      "configMap, secret, downwardAPI or projected");
  EXPECT_EQ(refused(R"({"name":"a"})", R"(,"securityContext":{"fsGroup":-1})"),
            "spec.securityContext.fsGroup: must be a number between 0 and 2147483647");
  EXPECT_EQ(refused(R"({"name":"a"})", R"(,"securityContext":{"fsGroup":1,"fsGroupChangePolicy":"Never"})"),
            "spec.securityContext.fsGroupChangePolicy: expected Always or OnRootMismatch, got 'Never'");
}

}  // namespace
}  // namespace berth
