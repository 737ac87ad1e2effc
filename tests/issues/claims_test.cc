// Claims that operators bind or that outlive a node.
#include "tests/issues/volume_manifests.h"
#include "tests/unit/gateway/gateway_fixture.h"

namespace berth {

TEST_F(GatewayTest, AnOperatorCannotBindOnlyOneSideOfAClaim) {
  start_connected();
  receive(topics.desired(Kind::persistent_volume_claim, "default/c"), claim());
  receive(topics.desired(Kind::persistent_volume_claim, "default/c"), claim(R"(,"volumeName":"n1-d")"));
  EXPECT_EQ(gateway->objects().claim("default/c")->volume_name, "");
}

TEST_F(GatewayTest, AForgottenNodesReleasedVolumeDoesNotUnbindItsFormerClaim) {
  start_connected();
  device("n1", "i1", R"({"cpu":"2","memory":"1Gi","pods":"10"})", kOffersVolume);
  device("n2", "i2", R"({"cpu":"2","memory":"1Gi","pods":"10"})", kOffersVolume);
  const auto bind_to = [&](const std::string& volume) {
    std::string bound = claim(R"(,"volumeName":")" + volume + R"(")", R"(,"status":{"phase":"Bound"})");
    bound.insert(bound.find(R"("namespace")"), R"("annotations":{"berth/orphan-policy":"Release"},)");
    receive(topics.desired(Kind::persistent_volume_claim, "default/c"), bound);
  };
  bind_to("n1-d");
  api(R"({"op":"delete","kind":"pvc","namespace":"default","name":"c"})");
  ASSERT_EQ(gateway->objects().volume("n1-d")->phase, "Released");
  bind_to("n2-d");
  ASSERT_EQ(gateway->objects().volume("n2-d")->phase, "Bound");
  api(R"({"op":"forget","kind":"Node","name":"n1"})");
  EXPECT_EQ(gateway->objects().claim("default/c")->volume_name, "n2-d");
}

// What is in a released volume is the data of the claim that had it.
TEST_F(GatewayTest, AClaimThatComesBackBoundGetsNoReleasedVolumeOfAnother) {
  start_connected();
  device("n1", "i1", R"({"cpu":"2","memory":"1Gi","pods":"10"})", kOffersVolume);
  receive(topics.desired(Kind::persistent_volume_claim, "default/c"),
          claim(R"(,"volumeName":"n1-d")", R"(,"status":{"phase":"Bound"})"));
  api(R"({"op":"delete","kind":"pvc","namespace":"default","name":"c"})");
  ASSERT_EQ(gateway->objects().volume("n1-d")->phase, "Released");
  std::string stale = claim(R"(,"volumeName":"n1-d")", R"(,"status":{"phase":"Bound"})");
  stale.replace(stale.find(R"("name":"c")"), 10, R"("name":"b")");
  receive(topics.desired(Kind::persistent_volume_claim, "default/b"), stale);
  EXPECT_EQ(gateway->objects().claim("default/b")->volume_name, "");
  EXPECT_EQ(gateway->objects().claim("default/b")->phase, "Pending");
}

// Its reservation was kept for good, with the volume assumed for a claim that no longer exists.
TEST_F(GatewayTest, AClaimOfAPodDeletedWhileItWasBoundGetsAnotherVolumeOnceItIsAppliedAgain) {
  start_connected();
  apply(kStorageClass);
  apply(claim());
  device("n1", "i1", R"({"cpu":"2","memory":"1Gi","pods":"10"})", kOffersVolume);
  apply(pod("p", "u1", "64Mi", kMountsClaim));
  answer("n1", AnswerType::pre_bound);
  ASSERT_EQ(phase("u1"), Phase::bind);
  api(R"({"op":"delete","kind":"pod","namespace":"default","name":"p"})");
  ASSERT_EQ(phase("u1"), Phase::release);
  answer("n1", AnswerType::released);
  api(R"({"op":"delete","kind":"pvc","namespace":"default","name":"c"})");
  ASSERT_EQ(gateway->objects().volume("n1-d")->phase, "Released");
  apply(claim());
  device("n2", "i2", R"({"cpu":"2","memory":"1Gi","pods":"10"})", kOffersVolume);
  apply(pod("q", "u2", "64Mi", kMountsClaim));
  ASSERT_EQ(phase("u2"), Phase::prebind) << why("q");
  EXPECT_EQ(request("n2")->volumes.front().volume, "n2-d");
}

}  // namespace berth
