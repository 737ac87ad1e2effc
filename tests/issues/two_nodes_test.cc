// A gateway that has lost its store, and two nodes that list the same pod.
#include "tests/issues/lost_store_fixture.h"
#include "tests/issues/volume_manifests.h"

namespace berth {

// n1 was forgotten while the pod ran there, and the claim's data were given up; then the store was lost.
// Both nodes list the pod: n1 with an earlier epoch, n2 with a later one.
class TwoNodesTest : public LostStoreTest {
 protected:
  void SetUp() override {
    lose_store({"n1", "n2"});
    for (const char* node : {"n1", "n2"}) {
      device(node, "i1", R"({"cpu":"2","memory":"1Gi","pods":"10"})", kOffersVolume);
    }
    receive(topics.desired(Kind::storage_class, "local"), kStorageClass);
    receive(topics.desired(Kind::persistent_volume_claim, "default/c"), claim());
  }
  void list_pod(const std::string& node) {
    SlotReport held = slot("u1");
    held.epoch = {1, node == "n1" ? 5u : 9u};
    held.volumes = {{"default/c", node + "-d", "/d"}};
    slots(node, {held});
  }
  void expect_later_placement() {
    ASSERT_EQ(phase("u1"), Phase::bound);
    EXPECT_EQ(gateway->bindings().at("u1").row.node, "n2");
    EXPECT_EQ(gateway->objects().claim("default/c")->volume_name, "n2-d");
    EXPECT_EQ(gateway->objects().volume("n2-d")->claim_ref, "default/c");
    EXPECT_NE(gateway->objects().volume("n1-d")->phase, "Bound");
  }
};

TEST_F(TwoNodesTest, TheClaimFollowsThePod) {
  receive(topics.desired(Kind::pod, "default/p"), pod("p", "u1", "900Mi"));
  list_pod("n1");
  ASSERT_EQ(gateway->objects().claim("default/c")->volume_name, "n1-d");
  list_pod("n2");
  expect_later_placement();
  EXPECT_EQ(gateway->objects().volume("n1-d")->phase, "Released") << "it contains data that the operator may need";
}

TEST_F(TwoNodesTest, TheClaimStaysWithThePodWhenTheEarlierPlacementIsListedLast) {
  receive(topics.desired(Kind::pod, "default/p"), pod("p", "u1", "900Mi"));
  list_pod("n2");
  list_pod("n1");
  expect_later_placement();
}

TEST_F(TwoNodesTest, TheEndOfTheEarlierPlacementIsNotThatOfTheLaterOne) {
  receive(topics.desired(Kind::pod, "default/p"), pod("p", "u1", "900Mi"));
  list_pod("n1");
  receive(topics.node_pod("n1", "default/p"), R"({"uid":"u1","epoch":"1.5","incarnation":"i1","phase":"Succeeded"})");
  ASSERT_TRUE(gateway->objects().pods().find("default/p")->finished);
  list_pod("n2");
  EXPECT_EQ(phase("u1"), Phase::bound);
  EXPECT_FALSE(gateway->objects().pods().find("default/p")->finished);
  EXPECT_EQ(gateway->scheduler().cache().node_of("u1"), "n2") << "its resources count there";
}

TEST_F(TwoNodesTest, TheClaimFollowsAPodThatIsAppliedLater) {
  list_pod("n1");
  list_pod("n2");
  ASSERT_EQ(gateway->objects().claim("default/c")->volume_name, "n1-d");
  apply(pod("p", "u1", "900Mi"));
  list_pod("n2");
  list_pod("n1");
  expect_later_placement();
}

TEST_F(TwoNodesTest, AClaimAppliedLaterFollowsThePod) {
  api(R"({"op":"delete","kind":"PersistentVolumeClaim","namespace":"default","name":"c"})");
  ASSERT_EQ(gateway->objects().claim("default/c"), nullptr);
  receive(topics.desired(Kind::pod, "default/p"), pod("p", "u1", "900Mi", kMountsClaim));
  list_pod("n1");
  list_pod("n2");
  receive(topics.desired(Kind::persistent_volume_claim, "default/c"), claim());
  expect_later_placement();
}

TEST_F(TwoNodesTest, AClaimAppliedLaterFollowsThePodWhenTheEarlierPlacementIsListedLast) {
  api(R"({"op":"delete","kind":"PersistentVolumeClaim","namespace":"default","name":"c"})");
  ASSERT_EQ(gateway->objects().claim("default/c"), nullptr);
  receive(topics.desired(Kind::pod, "default/p"), pod("p", "u1", "900Mi", kMountsClaim));
  list_pod("n2");
  list_pod("n1");
  receive(topics.desired(Kind::persistent_volume_claim, "default/c"), claim());
  expect_later_placement();
}

TEST_F(TwoNodesTest, AClaimAppliedAfterAPodThatIsAppliedLaterFollowsIt) {
  api(R"({"op":"delete","kind":"PersistentVolumeClaim","namespace":"default","name":"c"})");
  ASSERT_EQ(gateway->objects().claim("default/c"), nullptr);
  list_pod("n1");
  list_pod("n2");
  apply(pod("p", "u1", "900Mi", kMountsClaim));
  list_pod("n2");
  list_pod("n1");
  receive(topics.desired(Kind::persistent_volume_claim, "default/c"), claim());
  expect_later_placement();
}

TEST_F(TwoNodesTest, AClaimAppliedBeforeThePodFollowsIt) {
  api(R"({"op":"delete","kind":"PersistentVolumeClaim","namespace":"default","name":"c"})");
  list_pod("n1");
  list_pod("n2");
  receive(topics.desired(Kind::persistent_volume_claim, "default/c"), claim());
  apply(pod("p", "u1", "900Mi", kMountsClaim));
  list_pod("n2");
  list_pod("n1");
  expect_later_placement();
}

TEST_F(TwoNodesTest, ARestartKeepsTheClaimsVolume) {
  receive(topics.desired(Kind::pod, "default/p"), pod("p", "u1", "900Mi", kMountsClaim));
  list_pod("n1");
  list_pod("n2");
  expect_later_placement();
  restart();
  for (const char* node : {"n1", "n2"}) {
    device(node, "i1", R"({"cpu":"2","memory":"1Gi","pods":"10"})", kOffersVolume);
  }
  expect_later_placement();
}

// The later placement has finished, the earlier one runs: the row stays with the running one.
TEST_F(TwoNodesTest, TheClaimFollowsTheRunningPodWhenTheLaterPlacementHasFinished) {
  const auto list_finished = [this] {
    SlotReport held = slot("u1");
    held.epoch = {1, 9u};
    held.state = SlotState::finished;
    held.volumes = {{"default/c", "n2-d", "/d"}};
    slots("n2", {held});
  };
  list_finished();
  list_pod("n1");
  apply(pod("p", "u1", "900Mi", kMountsClaim));
  list_pod("n1");
  list_finished();
  ASSERT_EQ(phase("u1"), Phase::bound);
  ASSERT_EQ(gateway->bindings().at("u1").row.node, "n1");
  EXPECT_EQ(gateway->objects().claim("default/c")->volume_name, "n1-d");
}

TEST_F(TwoNodesTest, TheClaimReturnsWithTheLaterPlacement) {
  list_pod("n2");
  list_pod("n1");
  apply(pod("p", "u1", "900Mi", kMountsClaim));
  list_pod("n1");
  list_pod("n2");
  expect_later_placement();
}

// The pod has finished and was released on the later node before the earlier one lists it.
TEST_F(TwoNodesTest, AFinishedPodGetsNoRowForAnEarlierPlacement) {
  receive(topics.desired(Kind::pod, "default/p"), pod("p", "u1", "900Mi", kMountsClaim));
  SlotReport held = slot("u1");
  held.epoch = {1, 9u};
  held.state = SlotState::finished;
  slots("n2", {held});
  const std::optional<Request> release = request("n2");
  ASSERT_TRUE(release && release->type == RequestType::release);
  answer("n2", answer_to(*release, AnswerType::released));
  ASSERT_TRUE(gateway->objects().pods().find("default/p")->finished);
  list_pod("n1");
  EXPECT_FALSE(gateway->bindings().contains(std::string_view("u1")));
}

TEST_F(TwoNodesTest, TheVolumeOfTheEarlierPlacementIsNotReused) {
  receive(topics.desired(Kind::pod, "default/p"), pod("p", "u1", "900Mi", kMountsClaim));
  list_pod("n2");
  list_pod("n1");
  expect_later_placement();
  ASSERT_FALSE(gateway->identity().adopting);
  apply(R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"other","namespace":"default"},)"
        R"("spec":{"accessModes":["ReadWriteOnce"],"storageClassName":"local","resources":{"requests":)"
        R"({"storage":"1Mi"}}}})");
  apply(pod("q", "u2", "1Mi", R"(,"volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"other"}}])"));
  advance(1000);
  EXPECT_EQ(phase("u2"), Phase::none);
  EXPECT_EQ(gateway->objects().volume("n1-d")->phase, "Released") << "u1 may still use it, and its data are there";
}

TEST_F(TwoNodesTest, TheVolumeOfAnOrphanIsNotReused) {
  list_pod("n1");
  list_pod("n2");
  EXPECT_EQ(gateway->objects().volume("n2-d")->claim_ref, "default/c") << "u1 may be using it";
  apply(pod("p", "u1", "900Mi", kMountsClaim));
  list_pod("n2");
  list_pod("n1");
  expect_later_placement();
}

// n1 was forgotten while u1 ran there, the claim was freed, and u2 has run with it on n2; then the store was lost.
TEST_F(TwoNodesTest, TheClaimFollowsThePodThatRunsWhenAnotherOneHasEnded) {
  receive(topics.desired(Kind::pod, "default/p"), pod("p", "u1", "900Mi", kMountsClaim));
  receive(topics.desired(Kind::pod, "default/q"), pod("q", "u2", "1Mi", kMountsClaim));
  SlotReport ended = slot("u2");
  ended.epoch = {1, 9};
  ended.state = SlotState::finished;
  ended.volumes = {{"default/c", "n2-d", "/d"}};
  slots("n2", {ended});
  ASSERT_EQ(gateway->objects().claim("default/c")->volume_name, "n2-d");
  list_pod("n1");
  EXPECT_EQ(phase("u1"), Phase::bound);
  EXPECT_EQ(gateway->objects().claim("default/c")->volume_name, "n1-d");
  EXPECT_EQ(gateway->objects().volume("n1-d")->claim_ref, "default/c");
  EXPECT_EQ(gateway->objects().volume("n2-d")->phase, "Released") << "it contains data that the operator may need";
}

// Likewise, and both pods run when the nodes list them.
TEST_F(TwoNodesTest, TheClaimGoesToThePodThatRunsWhenTheOtherOneEndsAndTheBrokerRetainsThat) {
  receive(topics.desired(Kind::pod, "default/p"), pod("p", "u1", "900Mi", kMountsClaim));
  receive(topics.desired(Kind::pod, "default/q"), pod("q", "u2", "1Mi", kMountsClaim));
  SlotReport running = slot("u2");
  running.epoch = {1, 9};
  running.volumes = {{"default/c", "n2-d", "/d"}};
  slots("n2", {running});
  list_pod("n1");
  ASSERT_EQ(phase("u1"), Phase::bound);
  ASSERT_EQ(gateway->objects().claim("default/c")->volume_name, "n2-d");
  api(R"({"op":"delete","kind":"Pod","namespace":"default","name":"q"})");
  const std::optional<Request> release = request("n2");
  ASSERT_TRUE(release && release->type == RequestType::release);
  answer("n2", answer_to(*release, AnswerType::released));
  EXPECT_EQ(gateway->objects().claim("default/c")->volume_name, "n1-d");
  EXPECT_EQ(gateway->objects().volume("n1-d")->claim_ref, "default/c");
  EXPECT_EQ(gateway->objects().volume("n1-d")->phase, "Bound");
  EXPECT_EQ(gateway->objects().volume("n2-d")->phase, "Released") << "it contains data that the operator may need";
  advance(1000);
  std::string retained;
  for (const Message& message : transport.sent) {
    if (message.topic == topics.desired(Kind::persistent_volume_claim, "default/c")) retained = message.payload;
  }
  EXPECT_NE(retained.find(R"("volumeName":"n1-d")"), std::string::npos) << "or a gateway without a store is misled";
}

TEST_F(LostStoreTest, AVolumeOfferedAfterTwoNodesListedItsPodIsNotReused) {
  lose_store({"n1", "n2"});
  receive(topics.desired(Kind::storage_class, "local"), kStorageClass);
  receive(topics.desired(Kind::persistent_volume_claim, "default/c"), claim());
  receive(topics.desired(Kind::pod, "default/p"), pod("p", "u1", "900Mi", kMountsClaim));
  for (const char* node : {"n1", "n2"}) {
    SlotReport held = slot("u1");
    held.epoch = {1, node == std::string("n1") ? 5u : 9u};
    held.volumes = {{"default/c", std::string(node) + "-d", "/d"}};
    slots(node, {held});
  }
  ASSERT_EQ(gateway->objects().claim("default/c")->volume_name, "n2-d");
  for (const char* node : {"n1", "n2"}) {
    device(node, "i1", R"({"cpu":"2","memory":"1Gi","pods":"10"})", kOffersVolume);
  }
  EXPECT_EQ(gateway->objects().volume("n2-d")->phase, "Bound");
  EXPECT_EQ(gateway->objects().volume("n1-d")->claim_ref, "default/c") << "it would be reused with the data on it";
  EXPECT_EQ(gateway->objects().volume("n1-d")->phase, "Released");
}

}  // namespace berth
