// A volume that a row reserves while its device has not answered yet.
#include "tests/issues/volume_manifests.h"
#include "tests/unit/gateway/gateway_fixture.h"

namespace berth {

class ReservedVolumeTest : public GatewayTest {
 protected:
  // Pod "web" (u1) was placed on n1, with volume n1-d for claim "c"; the device has been sent PreBind.
  void SetUp() override {
    start_connected();
    device("n1", "i1", kAllocatable, kOffersVolume);
    apply(kStorageClass);
    apply(claim());
    apply(pod("web", "u1", "64Mi", kMountsClaim));
    ASSERT_EQ(phase("u1"), Phase::prebind) << why("web");
  }
  void stop_offering() {
    receive(topics.node_state("n1"),
            R"({"incarnation":"i1","session":"1","sequence":"2","allocatable":)" + std::string(kAllocatable) + "}");
  }
  static constexpr char kAllocatable[] = R"({"cpu":"2","memory":"1Gi","pods":"10"})";
};

TEST_F(ReservedVolumeTest, StaysUntilTheDeviceAnswers) {
  stop_offering();
  answer("n1", AnswerType::pre_bound);
  ASSERT_EQ(phase("u1"), Phase::bind);
  EXPECT_EQ(gateway->objects().claim("default/c")->volume_name, "n1-d");
}

TEST_F(ReservedVolumeTest, IsRemovedWhenTheDeviceRejects) {
  stop_offering();
  ASSERT_NE(gateway->objects().volume("n1-d"), nullptr);
  answer("n1", AnswerType::rejected);
  EXPECT_EQ(gateway->objects().volume("n1-d"), nullptr);
}

TEST_F(ReservedVolumeTest, IsDeletedWhenTheDeviceRejects) {
  const std::string before = gateway->objects().volume("n1-d")->metadata.uid;
  api(R"({"op":"delete","kind":"persistentvolume","name":"n1-d"})");
  ASSERT_NE(gateway->objects().volume("n1-d"), nullptr);
  EXPECT_EQ(gateway->objects().volume("n1-d")->metadata.uid, before);
  answer("n1", AnswerType::rejected);
  ASSERT_NE(gateway->objects().volume("n1-d"), nullptr);
  EXPECT_NE(gateway->objects().volume("n1-d")->metadata.uid, before) << "deleted, and offered again";
}

TEST_F(ReservedVolumeTest, ItsClaimIsNotBoundToAnotherVolumeUntilTheDeviceAnswers) {
  receive(topics.desired(Kind::persistent_volume, "made"), made_volume("made", "n1"));
  EXPECT_EQ(gateway->objects().claim("default/c")->volume_name, "");
  answer("n1", AnswerType::pre_bound);
  ASSERT_EQ(phase("u1"), Phase::bind);
  EXPECT_EQ(gateway->objects().claim("default/c")->volume_name, "n1-d");
}

TEST_F(ReservedVolumeTest, ItsClaimIsBoundToTheProvisionedVolumeWhenTheDeviceRejects) {
  receive(topics.desired(Kind::persistent_volume, "made"), made_volume("made", "n1"));
  answer("n1", AnswerType::rejected);
  EXPECT_EQ(gateway->objects().claim("default/c")->volume_name, "made");
}

TEST_F(ReservedVolumeTest, AClaimAppliedAgainIsNotBoundByTheRowOfAPodThatHasFinished) {
  answer("n1", AnswerType::pre_bound);
  answer("n1", AnswerType::bound);
  receive(topics.node_pod("n1", "default/web"),
          R"({"uid":"u1","epoch":")" + to_text(gateway->bindings().at("u1").row.epoch) + R"(","phase":"Succeeded"})");
  ASSERT_EQ(phase("u1"), Phase::release);
  api(R"({"op":"delete","kind":"pvc","namespace":"default","name":"c"})");
  stop_offering();
  api(R"({"op":"delete","kind":"persistentvolume","name":"n1-d"})");
  ASSERT_EQ(gateway->objects().volume("n1-d"), nullptr);
  apply(claim());
  EXPECT_EQ(gateway->objects().claim("default/c")->volume_name, "");
  restart();
  ASSERT_EQ(phase("u1"), Phase::release);
  EXPECT_EQ(gateway->objects().claim("default/c")->volume_name, "")
      << "the volume is gone, and belonged to another claim";
}

TEST_F(ReservedVolumeTest, IsTakenBackForAClaimThatComesBackBoundToIt) {
  std::string restored = claim(R"(,"volumeName":"n1-d")", R"(,"status":{"phase":"Bound"})");
  restored.replace(restored.find(R"("name":"c")"), 10, R"("name":"late")");
  receive(topics.desired(Kind::persistent_volume_claim, "default/late"), restored, true);
  EXPECT_NE(phase("u1"), Phase::prebind);
  EXPECT_EQ(gateway->objects().claim("default/late")->volume_name, "n1-d");
  EXPECT_EQ(gateway->objects().volume("n1-d")->claim_ref, "default/late");
}

TEST_F(ReservedVolumeTest, StaysWithItsClaimWhenAnotherComesBackBoundToIt) {
  answer("n1", AnswerType::pre_bound);
  ASSERT_EQ(phase("u1"), Phase::bind);
  std::string restored = claim(R"(,"volumeName":"n1-d")", R"(,"status":{"phase":"Bound"})");
  restored.replace(restored.find(R"("name":"c")"), 10, R"("name":"late")");
  receive(topics.desired(Kind::persistent_volume_claim, "default/late"), restored, true);
  EXPECT_EQ(gateway->objects().claim("default/late")->volume_name, "");
  EXPECT_EQ(gateway->objects().claim("default/late")->phase, "Pending");
  EXPECT_EQ(gateway->objects().volume("n1-d")->claim_ref, "default/c");
}

TEST_F(ReservedVolumeTest, StaysReservedWhenAnUnboundOrInvalidClaimNamesIt) {
  std::string named = claim(R"(,"volumeName":"n1-d")");
  named.replace(named.find(R"("name":"c")"), 10, R"("name":"late")");
  apply(named);
  EXPECT_EQ(gateway->objects().claim("default/late")->volume_name, "n1-d") << "as the operator set it, pending";
  std::string wrong = claim(R"(,"volumeName":"n1-d","volumeMode":"Nonsense")", R"(,"status":{"phase":"Bound"})");
  wrong.replace(wrong.find(R"("name":"c")"), 10, R"("name":"bad1")");
  EXPECT_NE(apply(wrong).find("error"), nullptr);
  EXPECT_EQ(phase("u1"), Phase::prebind);
}

TEST_F(ReservedVolumeTest, StaysReservedWhateverStatusAndVolumeNameAClaimHas) {
  for (const char* more : {R"(,"volumeName":null)", R"(,"volumeName":7)", R"(,"volumeName":{})", ""}) {
    for (const char* status : {R"(,"status":{"phase":"Bound"})", R"(,"status":"Bound")", R"(,"status":null)"}) {
      std::string odd = claim(more, status);
      odd.replace(odd.find(R"("name":"c")"), 10, R"("name":"odd")");
      apply(odd);
      EXPECT_EQ(phase("u1"), Phase::prebind);
    }
  }
}

}  // namespace berth
