// A gateway that has lost its store: claims and volumes of what still runs.
#include "tests/issues/lost_store_fixture.h"
#include "tests/issues/volume_manifests.h"

namespace berth {

TEST_F(LostStoreTest, AClaimHasTheVolumeThatASlotHoldsAlsoWhenAppliedLater) {
  lose_store({"n1"});
  device("n1", "i1", R"({"cpu":"2","memory":"1Gi","pods":"10"})", kOffersVolume);
  receive(topics.desired(Kind::pod, "default/p"), pod("p", "u1", "900Mi"));
  SlotReport held = slot("u1");
  held.volumes = {{"default/c", "n1-d", "/d"}};
  slots("n1", {held});
  ASSERT_EQ(phase("u1"), Phase::bound);
  receive(topics.desired(Kind::storage_class, "local"), kStorageClass);
  receive(topics.desired(Kind::persistent_volume_claim, "default/c"), claim());
  EXPECT_EQ(gateway->objects().claim("default/c")->volume_name, "n1-d");
  EXPECT_EQ(gateway->objects().volume("n1-d")->claim_ref, "default/c");
}

TEST_F(LostStoreTest, AClaimThatComesBackBoundTakesItsVolume) {
  lose_store({"n1"});
  device("n1", "i1", R"({"cpu":"2","memory":"1Gi","pods":"10"})", kOffersVolume);
  receive(topics.desired(Kind::persistent_volume_claim, "default/c"),
          claim(R"(,"volumeName":"n1-d")", R"(,"status":{"phase":"Bound"})"), true);
  EXPECT_EQ(gateway->objects().volume("n1-d")->claim_ref, "default/c");
}

TEST_F(LostStoreTest, AClaimHasTheVolumeThatAnOrphanHoldsAlsoAfterARestart) {
  lose_store({"n1"});
  device("n1", "i1", R"({"cpu":"2","memory":"1Gi","pods":"10"})", kOffersVolume);
  SlotReport held = slot("u1");
  held.volumes = {{"default/c", "n1-d", "/d"}};
  slots("n1", {held});
  ASSERT_FALSE(gateway->identity().orphans.empty());
  restart();
  receive(topics.desired(Kind::persistent_volume_claim, "default/c"), claim());
  EXPECT_EQ(gateway->objects().claim("default/c")->volume_name, "n1-d") << "the claim must stay with its data";
}

TEST_F(LostStoreTest, AClaimStaysWhileAnOrphanRunsWithItsVolume) {
  lose_store({"n1"});
  device("n1", "i1", R"({"cpu":"2","memory":"1Gi","pods":"10"})", kOffersVolume);
  receive(topics.desired(Kind::persistent_volume_claim, "default/c"), claim());
  SlotReport held = slot("u1");
  held.volumes = {{"default/c", "n1-d", "/d"}};
  slots("n1", {held});
  api(R"({"op":"delete","kind":"pvc","namespace":"default","name":"c"})");
  ASSERT_NE(gateway->objects().claim("default/c"), nullptr);
  EXPECT_TRUE(gateway->objects().claim("default/c")->metadata.deleting);
  receive(topics.desired(Kind::pod, "default/p"), R"({"deleted":true,"uid":"u1"})");
  answer("n1", AnswerType::released);
  EXPECT_EQ(gateway->objects().claim("default/c"), nullptr) << "the operator deleted the orphan";
}

// The gateway knows that claim c has the volume; then it starts again.
class OlderClaimTest : public LostStoreTest {
 protected:
  void begin() {
    lose_store({"n1"});
    device_offers();
    receive(topics.desired(Kind::persistent_volume_claim, "default/c"),
            claim(R"(,"volumeName":"n1-d")", R"(,"status":{"phase":"Bound"})"), true);
    slots("n1", {});
    ASSERT_EQ(gateway->objects().volume("n1-d")->claim_ref, "default/c");
  }
  void device_offers() { device("n1", "i1", R"({"cpu":"2","memory":"1Gi","pods":"10"})", kOffersVolume); }
  // A pod runs with the volume by another claim.
  void expect_the_volume_goes_with_what_runs() {
    receive(
        topics.desired(Kind::persistent_volume_claim, "default/other"),
        R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"other"},"spec":{"storageClassName":)"
        R"("local","accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Mi"}}}})");
    receive(topics.desired(Kind::pod, "default/p"), pod("p", "u1", "900Mi"), true);
    SlotReport held = slot("u1");
    held.epoch = {50, 7};
    held.volumes = {{"default/other", "n1-d", "/d"}};
    slots("n1", {held});
    EXPECT_EQ(phase("u1"), Phase::bound);
    EXPECT_EQ(gateway->objects().claim("default/other")->volume_name, "n1-d");
    EXPECT_EQ(gateway->objects().volume("n1-d")->claim_ref, "default/other");
    EXPECT_EQ(gateway->objects().claim("default/c")->volume_name, "");
  }
};

// The claim that had it in the copy was deleted in the time that the copy lost.
TEST_F(OlderClaimTest, AVolumeGoesWithWhatRunsWhenTheStoreIsAnOlderCopy) {
  begin();
  options.lost_commits = "the write-ahead log is damaged";
  restart();
  device_offers();
  expect_the_volume_goes_with_what_runs();
}

// Simulator, seed 2666: a copy of the machine has served with a store of its own, and this one comes back. What it
// knows of claims is older than what the devices run.
TEST_F(OlderClaimTest, AVolumeGoesWithWhatRunsWhenACopyOfTheMachineHasServed) {
  options.first_boot = FirstBoot::lost;
  begin();
  restart();
  device_offers();
  answer("n1", proven_superseded("n1", {gateway->identity().id.term + 100, "copy"}));
  expect_the_volume_goes_with_what_runs();
}

TEST_F(LostStoreTest, AClaimThatOnlyASlotBoundToALostVolumeIsFreeOnceItEnds) {
  for (const auto& [came_back_bound, restarts] :
       {std::pair{false, false}, {false, true}, {true, false}, {true, true}}) {
    SCOPED_TRACE(std::to_string(came_back_bound) + std::to_string(restarts));
    lose_store({"n1"});
    if (came_back_bound) {
      receive(topics.desired(Kind::persistent_volume_claim, "default/c"),
              claim(R"(,"volumeName":"gone")", R"(,"status":{"phase":"Bound"})"), true);
    } else {
      receive(topics.desired(Kind::persistent_volume_claim, "default/c"), claim());
    }
    SlotReport held = slot("u1");
    held.volumes = {{"default/c", "gone", "/d"}};
    slots("n1", {held});
    ASSERT_EQ(gateway->objects().claim("default/c")->volume_name, "gone");
    if (restarts) {
      restart();
      device("n1");
    }
    receive(topics.desired(Kind::pod, "default/p"), R"({"deleted":true,"uid":"u1"})");
    answer("n1", AnswerType::released);
    ASSERT_TRUE(gateway->releases().empty());
    EXPECT_EQ(gateway->objects().claim("default/c")->volume_name, came_back_bound ? "gone" : "");
    gateway.reset();
    store.wipe();
    transport.sent.clear();
    transport.up = false;
  }
}

// Whose epoch is higher than all others.
TEST_F(LostStoreTest, ADeviceThatLiesTakesNoClaimThatAnotherPodRunsWith) {
  lose_store({"n1", "n2"});
  device("n1", "i1", R"({"cpu":"2","memory":"1Gi","pods":"10"})", kOffersVolume);
  device("n2", "i1", R"({"cpu":"2","memory":"1Gi","pods":"10"})", kOffersVolume);
  receive(topics.desired(Kind::persistent_volume_claim, "default/c"),
          claim(R"(,"volumeName":"n1-d")", R"(,"status":{"phase":"Bound"})"), true);
  receive(topics.desired(Kind::pod, "default/p"), pod("p", "u1", "64Mi"), true);
  receive(topics.desired(Kind::pod, "default/q"), pod("q", "u2", "64Mi"), true);
  SlotReport honest = slot("u1");
  honest.volumes = {{"default/c", "n1-d", "/d"}};
  slots("n1", {honest});
  slots("n2", {});
  options.lost_commits = "the write-ahead log is damaged";
  restart();
  device("n1", "i1", R"({"cpu":"2","memory":"1Gi","pods":"10"})", kOffersVolume);
  device("n2", "i1", R"({"cpu":"2","memory":"1Gi","pods":"10"})", kOffersVolume);
  ASSERT_EQ(phase("u1"), Phase::bound);
  SlotReport lie = slot("u2");
  lie.epoch = {std::uint64_t{1} << 60, 7};
  lie.volumes = {{"default/c", "n2-d", "/d"}};
  slots("n2", {lie});
  EXPECT_EQ(gateway->objects().claim("default/c")->volume_name, "n1-d");
  EXPECT_EQ(gateway->objects().volume("n1-d")->claim_ref, "default/c");
}

TEST_F(LostStoreTest, AListingDoesNotRebindAClaim) {
  lose_store({"n1"});
  device("n1", "i1", R"({"cpu":"2","memory":"1Gi","pods":"10"})", kOffersVolume);
  receive(topics.desired(Kind::persistent_volume_claim, "default/c"),
          claim(R"(,"volumeName":"n1-d")", R"(,"status":{"phase":"Bound"})"), true);
  SlotReport held = slot("u1");
  held.volumes = {{"default/c", "n9-d", "/d"}};
  slots("n1", {held});
  EXPECT_EQ(gateway->objects().claim("default/c")->volume_name, "n1-d");
  held.volumes = {{"default/other", "n1-d", "/d"}};
  held.uid = "u2";
  slots("n1", {held});
  receive(topics.desired(Kind::persistent_volume_claim, "default/other"),
          R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"other"},"spec":{"storageClassName":)"
          R"("local","accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Mi"}}}})");
  EXPECT_EQ(gateway->objects().volume("n1-d")->claim_ref, "default/c");
}

TEST_F(LostStoreTest, AClaimGetsNoOtherVolumeWhileItsOwnIsMissing) {
  lose_store({"n1"});
  device("n1", "i1", R"({"cpu":"2","memory":"1Gi","pods":"10"})", kOffersVolume);
  SlotReport held = slot("u1");
  held.volumes = {{"default/c", "made", "/raw"}};
  slots("n1", {held});
  receive(topics.desired(Kind::storage_class, "local"), kStorageClass);
  receive(topics.desired(Kind::persistent_volume_claim, "default/c"), claim());
  apply(pod("q", "u2", "64Mi", kMountsClaim));
  EXPECT_EQ(gateway->objects().claim("default/c")->volume_name, "made");
  EXPECT_EQ(phase("u2"), Phase::none);
}

TEST_F(LostStoreTest, AVolumeIsNotReusedWhileItsClaimIsMissing) {
  lose_store({"n1"});
  device("n1", "i1", R"({"cpu":"2","memory":"1Gi","pods":"10"})", kOffersVolume);
  SlotReport held = slot("u1");
  held.volumes = {{"default/other", "n1-d", "/d"}};
  slots("n1", {held});
  receive(topics.desired(Kind::storage_class, "local"), kStorageClass);
  receive(topics.desired(Kind::persistent_volume_claim, "default/c"), claim());
  apply(pod("q", "u2", "64Mi", kMountsClaim));
  EXPECT_EQ(phase("u2"), Phase::none) << "the device would refuse it";
}

TEST_F(LostStoreTest, OfTwoVolumesProvisionedForAClaimItGetsTheOneInUse) {
  lose_store({"n1"});
  receive(topics.desired(Kind::pod, "default/p"), pod("p", "u1", "900Mi"));
  receive(topics.desired(Kind::persistent_volume_claim, "default/c"), claim());
  for (const char* name : {"made-2", "made-3"}) {
    receive(topics.desired(Kind::persistent_volume, name), made_volume(name, "n1"));
  }
  EXPECT_EQ(gateway->objects().claim("default/c")->volume_name, "") << "n1 has not answered";
  SlotReport held = slot("u1");
  held.volumes = {{"default/c", "made-3", "/made-3"}};
  slots("n1", {held});
  EXPECT_EQ(gateway->objects().claim("default/c")->volume_name, "made-3");
}

TEST_F(LostStoreTest, AClaimIsBoundToItsProvisionedVolumeOnceEveryNodeHasAnswered) {
  lose_store({"n1"});
  receive(topics.desired(Kind::persistent_volume_claim, "default/c"), claim());
  receive(topics.desired(Kind::persistent_volume, "made"), made_volume("made", "n1"));
  slots("n1", {});
  EXPECT_EQ(gateway->objects().claim("default/c")->volume_name, "made");
}

}  // namespace berth
