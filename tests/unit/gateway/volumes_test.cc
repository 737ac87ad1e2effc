// Local volumes as devices offer them.
#include "tests/unit/gateway/gateway_fixture.h"

namespace berth {
namespace {

constexpr char kAllocatable[] = R"({"cpu":"2","memory":"1Gi","pods":"10"})";

TEST_F(GatewayTest, OfTwoVolumesOfOneDirectoryTheSecondIsRefusedNamingTheFirst) {
  start_connected();
  device("n1", "i1", kAllocatable,
         R"(,"volumes":[{"name":"a","path":"/d","capacity":"1Gi","storageClass":"local"},
                        {"name":"b","path":"/d","capacity":"1Gi","storageClass":"local"},
                        {"name":"c","path":"/e","capacity":"1Gi","storageClass":"local"}])");
  EXPECT_NE(gateway->objects().volume("n1-a"), nullptr);
  EXPECT_EQ(gateway->objects().volume("n1-b"), nullptr);
  EXPECT_NE(gateway->objects().volume("n1-c"), nullptr);
  ASSERT_EQ(log.warnings.size(), 1u);
  EXPECT_NE(log.warnings[0].find("/d on node n1 is that of volume n1-a already"), std::string::npos) << log.warnings[0];
  device("n2", "i2", kAllocatable, R"(,"volumes":[{"name":"a","path":"/d","capacity":"1Gi","storageClass":"local"}])");
  EXPECT_NE(gateway->objects().volume("n2-a"), nullptr) << "another node's";
}

constexpr char kLocalClass[] =
    R"({"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":"local"},
        "provisioner":"kubernetes.io/no-provisioner","volumeBindingMode":"WaitForFirstConsumer"})";
constexpr char kDataClaim[] =
    R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"data","namespace":"default"},
        "spec":{"storageClassName":"local","accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}})";
constexpr char kUsesData[] = R"(,"volumes":[{"name":"d","persistentVolumeClaim":{"claimName":"data"}}])";

TEST_F(GatewayTest, ADeletedClaimDoesNotWaitForAPodThatHasNoPlace) {
  start_connected();
  device("n1");
  apply(kLocalClass);
  apply(kDataClaim);
  apply(pod("web", "u1", "64Mi", kUsesData));
  ASSERT_EQ(phase("u1"), Phase::none) << "no node has a volume";
  EXPECT_EQ(*api(R"({"op":"delete","kind":"pvc","name":"data"})").find("result"), Json("deleted"));
  EXPECT_EQ(gateway->objects().claim("default/data"), nullptr);
}

TEST_F(GatewayTest, ADeletedClaimGoesWhenThePodThatUsedItLosesItsPlace) {
  start_connected();
  device("n1", "i1", kAllocatable, R"(,"volumes":[{"name":"a","path":"/d","capacity":"1Gi","storageClass":"local"}])");
  apply(kLocalClass);
  apply(kDataClaim);
  apply(pod("web", "u1", "64Mi", kUsesData));
  ASSERT_EQ(phase("u1"), Phase::prebind);
  EXPECT_EQ(*api(R"({"op":"delete","kind":"pvc","name":"data"})").find("result"), Json("deleting"));
  answer("n1", AnswerType::rejected);
  EXPECT_EQ(gateway->objects().claim("default/data"), nullptr);
}

// A volume of the operator's; `term`: of its node affinity.
std::string volume_at(const std::string& name, const std::string& path, const std::string& term) {
  return R"({"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":")" + name +
         R"("},"spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],"storageClassName":"local",)" +
         R"("local":{"path":")" + path + R"("},"nodeAffinity":{"required":{"nodeSelectorTerms":[)" + term + "]}}}}";
}

std::string on_node(const std::string& name) {
  return R"({"matchExpressions":[{"key":"kubernetes.io/hostname","operator":"In","values":[)" + name + "]}]}";
}

class DirectoriesTest : public GatewayTest {
 protected:
  // What the gateway says against it; empty: applied.
  std::string refusal(const std::string& volume) {
    const Json reply = apply(volume);
    return reply.string_at("error");
  }
};

TEST_F(DirectoriesTest, OfTwoVolumesOfTheOperatorsTheSecondIsRefusedNamingTheFirst) {
  start_connected();
  device("n1");
  EXPECT_EQ(refusal(volume_at("first", "/srv/d", on_node(R"("n1","n2")"))), "");
  const std::string said =
      "spec.local.path: /srv/d on node n1 is that of volume first already; give each volume a directory of its own";
  for (const char* path : {"/srv/d", "/srv/d/", "//srv/./d", "/srv//d/."}) {
    EXPECT_EQ(refusal(volume_at("second", path, on_node(R"("n1")"))), said) << path;
  }
  EXPECT_EQ(refusal(volume_at("second", "/srv/d", on_node(R"("n9","n2")"))).find("spec.local.path: /srv/d on node n2"),
            0u)
      << "n2 is not known yet";
  EXPECT_EQ(gateway->objects().volume("second"), nullptr);
  EXPECT_EQ(refusal(volume_at("second", "/srv/d", on_node(R"("n3")"))), "") << "another node";
  EXPECT_EQ(refusal(volume_at("third", "/srv/d2", on_node(R"("n1")"))), "") << "another directory";
  EXPECT_EQ(refusal(volume_at("first", "/srv/d", on_node(R"("n1","n2")"))), "") << "itself";
  EXPECT_NE(refusal(volume_at("third", "/srv/d", on_node(R"("n1")"))), "") << "a change counts as well";
}

TEST_F(DirectoriesTest, OfVolumesThatNameNoNodeAreThoseOfTheNodesThatTheyMatch) {
  start_connected();
  device("n1", "i1", kAllocatable, R"(,"labels":{"disk":"ssd"})");
  device("n2", "i2", kAllocatable, R"(,"labels":{"disk":"hdd"})");
  const auto with = [](const std::string& disk) {
    return R"({"matchExpressions":[{"key":"disk","operator":"In","values":[")" + disk + R"("]}]})";
  };
  EXPECT_EQ(refusal(volume_at("ssd", "/d", with("ssd"))), "");
  EXPECT_EQ(refusal(volume_at("hdd", "/d", with("hdd"))), "") << "no node has both";
  EXPECT_EQ(refusal(volume_at("other", "/d", on_node(R"("n2")")))
                .find("spec.local.path: /d on node n2 is that of volume hdd"),
            0u);
  EXPECT_EQ(refusal(volume_at("other", "/d", on_node(R"("n3")"))), "");
}

TEST_F(DirectoriesTest, AreNotGivenByDevicesToASecondVolumeEither) {
  start_connected();
  EXPECT_EQ(refusal(volume_at("mine", "/d", on_node(R"("n1")"))), "");
  device("n1", "i1", kAllocatable, R"(,"volumes":[{"name":"a","path":"/d/","capacity":"1Gi","storageClass":"local"}])");
  EXPECT_EQ(gateway->objects().volume("n1-a"), nullptr);
  ASSERT_EQ(log.warnings.size(), 1u);
  EXPECT_NE(log.warnings[0].find("/d on node n1 is that of volume mine already"), std::string::npos);
}

TEST_F(DirectoriesTest, StayWhenADeviceGivesItsVolumeAnotherName) {
  start_connected();
  device("n1", "i1", kAllocatable, R"(,"volumes":[{"name":"a","path":"/d","capacity":"1Gi","storageClass":"local"}])");
  device("n1", "i1", kAllocatable, R"(,"volumes":[{"name":"b","path":"/d","capacity":"1Gi","storageClass":"local"}])");
  EXPECT_EQ(gateway->objects().volume("n1-a"), nullptr);
  EXPECT_NE(gateway->objects().volume("n1-b"), nullptr);
}

// After a lost store they are all that the gateway learns of them.
TEST_F(DirectoriesTest, OfRetainedManifestsAreWarnedOf) {
  start_connected();
  receive(topics.desired(Kind::persistent_volume, "first"), volume_at("first", "/d", on_node(R"("n1")")), true);
  receive(topics.desired(Kind::persistent_volume, "second"), volume_at("second", "/d", on_node(R"("n1")")), true);
  EXPECT_NE(gateway->objects().volume("second"), nullptr);
  ASSERT_EQ(log.warnings.size(), 1u);
  EXPECT_NE(log.warnings[0].find("spec.local.path: /d on node n1 is that of volume first already"), std::string::npos);
  const std::string told = api(R"({"op":"events","kind":"PersistentVolume","name":"second"})").dump();
  EXPECT_NE(told.find("SharedDirectory"), std::string::npos) << told;
}

}  // namespace
}  // namespace berth
