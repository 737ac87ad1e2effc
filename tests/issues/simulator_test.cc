// What the simulator found, each as the shortest play that shows it.
#include <algorithm>

#include "tests/one_message.h"
#include "tests/unit/gateway/gateway_fixture.h"

namespace berth {

class LostStoreTest : public GatewayTest {
 protected:
  // A gateway without a store, told of these nodes by the operator.
  void lose_store(const std::vector<std::string>& nodes) {
    options.known_nodes = nodes;
    start_connected();
    for (const std::string& node : nodes) device(node);
  }
  static SlotReport slot(const std::string& uid, SlotState state = SlotState::running) {
    return {uid, Epoch{1, 5}, state, pod("p", uid, "900Mi"), {}};
  }
  // True when some request of this type for this uid went to the node.
  bool was_asked(const std::string& node, RequestType type, const std::string& uid) {
    return std::any_of(transport.sent.begin(), transport.sent.end(), [&](const Message& message) {
      if (message.topic != topics.node_requests(node)) return false;
      const Result<Request> request = decode_request(message.payload);
      return request && request->type == type && request->uid == uid;
    });
  }
  bool is_listed(const std::string& uid) const {
    const auto uids = gateway->queue().uids();
    return std::find(uids.begin(), uids.end(), uid) != uids.end();
  }
};

TEST_F(GatewayTest, TheGatewaysOwnMirrorIsNoOrder) {
  start_connected();
  receive(topics.desired(Kind::pod, "default/p"), pod("p", "u1"));
  const Message mirror = *std::find_if(transport.sent.begin(), transport.sent.end(), [&](const Message& message) {
    return message.topic == topics.desired(Kind::pod, "default/p");
  });
  receive(topics.desired(Kind::pod, "default/p"), pod("p", "u2"));
  ASSERT_EQ(gateway->objects().find_pod("default/p")->pod->uid(), "u2");
  gateway->on_message(mirror);  // late on its way back
  turn();
  EXPECT_EQ(gateway->objects().find_pod("default/p")->pod->uid(), "u2");
  receive(topics.desired(Kind::pod, "default/p"), R"({"deleted":true,"uid":"u2"})");
  gateway->on_message(mirror);
  turn();
  EXPECT_EQ(gateway->objects().find_pod("default/p"), nullptr);
}

TEST_F(GatewayTest, AMirrorLeftByALostStoreIsTakenUp) {
  start();
  transport.up = true;
  gateway->on_link(true);
  turn();
  Message mirror;
  mirror.topic = topics.desired(Kind::pod, "default/p");
  mirror.payload = pod("p", "u1");
  mirror.correlation = "mirror/of-another-store";
  mirror.retain = true;
  gateway->on_message(mirror);
  turn();
  EXPECT_NE(gateway->objects().find_pod("default/p"), nullptr);
}

TEST_F(GatewayTest, AMirrorOfALostStoreStillOnItsWayIsNoOrder) {
  start_connected();
  apply(pod("p", "u2"));
  Message mirror;
  mirror.topic = topics.desired(Kind::pod, "default/p");
  mirror.payload = pod("p", "u1");
  mirror.correlation = "mirror/of-another-store";
  gateway->on_message(mirror);
  turn();
  EXPECT_EQ(gateway->objects().find_pod("default/p")->pod->uid(), "u2");
}

TEST_F(GatewayTest, ALostFenceIsSentAgain) {
  start();
  transport.up = true;
  gateway->on_link(true);
  turn();
  transport.sent.clear();  // it never came back
  advance(1500);
  for (const Message& message : std::vector<Message>(transport.sent)) {
    if (message.topic == topics.gateway_fence("gateway")) gateway->on_message(message);
  }
  EXPECT_EQ(gateway->not_ready(), "");
}

TEST_F(GatewayTest, AFullStoreIsNotTriedAgainInTheSameInstant) {
  start_connected();
  device("n1");
  apply(pod("p", "u1", "64Mi", R"(,"schedulingGates":[{"name":"later"}])"));
  store.set_full(true);
  apply(pod("p", "u1"));
  for (int turns = 0; turns < 5; ++turns) {
    timers.run_due(clock.now_ms);
    turn();
  }
  EXPECT_EQ(gateway->queue().find("u1")->attempts, 1);
  store.set_full(false);
  advance(15'000);
  EXPECT_EQ(phase("u1"), Phase::prebind);
}

TEST_F(LostStoreTest, AnOrphanIsChargedAndItsPodIsPlacedNowhereElse) {
  lose_store({"n1", "n2"});
  slots("n1", {slot("u1")});
  slots("n2", {});
  EXPECT_FALSE(gateway->identity().adopting);
  EXPECT_EQ(gateway->cache().find("n1")->requested.memory, 900 << 20);
  EXPECT_FALSE(was_asked("n1", RequestType::release, "u1"));
  apply(pod("p", "u1", "900Mi"));
  EXPECT_EQ(phase("u1"), Phase::none);
  slots("n1", {slot("u1")});
  EXPECT_EQ(phase("u1"), Phase::bound);
  EXPECT_EQ(gateway->bindings().at("u1").row.node, "n1");
  EXPECT_TRUE(gateway->identity().orphans.empty());
  EXPECT_TRUE(gateway->releases().empty());
  EXPECT_FALSE(was_asked("n2", RequestType::pre_bind, "u1"));
}

TEST_F(LostStoreTest, AnOrphanThatEndedLetsItsPodBePlaced) {
  lose_store({"n1"});
  slots("n1", {slot("u1")});
  apply(pod("p", "u1", "900Mi"));
  slots("n1", {});
  EXPECT_EQ(phase("u1"), Phase::prebind);
}

TEST_F(LostStoreTest, ADeleteOfAnOrphansUidReleasesItThoughTheNameIsTaken) {
  lose_store({"n1"});
  slots("n1", {slot("u1")});
  receive(topics.desired(Kind::pod, "default/p"), pod("p", "u2", "64Mi"));
  receive(topics.desired(Kind::pod, "default/p"), R"({"deleted":true,"uid":"u1"})");
  EXPECT_TRUE(was_asked("n1", RequestType::release, "u1"));
  EXPECT_NE(gateway->objects().find_pod("default/p"), nullptr);
}

TEST_F(LostStoreTest, ADeleteBeforeTheNodeAnsweredIsKept) {
  lose_store({"n1"});
  receive(topics.desired(Kind::pod, "default/p"), R"({"deleted":true,"uid":"u1"})");
  restart();
  device("n1");
  slots("n1", {slot("u1")});
  EXPECT_TRUE(was_asked("n1", RequestType::release, "u1"));
}

TEST_F(LostStoreTest, AStoreThatLostAnOrphansEntryIsReadAllTheSame) {
  lose_store({"n1"});
  slots("n1", {slot("u1")});
  const std::set<std::string> orphans = gateway->identity().orphans;
  ASSERT_EQ(orphans.size(), 1u);
  store.erase(Table::release, *orphans.begin());
  ASSERT_TRUE(store.commit().is_success());
  restart();
  EXPECT_TRUE(gateway->identity().orphans.empty());
  receive(topics.desired(Kind::pod, "default/p"), pod("p", "u1", "64Mi"));
  EXPECT_NE(gateway->objects().find_pod("default/p"), nullptr);
}

TEST_F(LostStoreTest, APodWaitsWhileASlotOfItsUidMayStillRun) {
  lose_store({"n1", "n2"});
  slots("n1", {slot("u1")});
  slots("n2", {});
  receive(topics.desired(Kind::pod, "default/p"), R"({"deleted":true,"uid":"u1"})");
  const std::optional<Request> release = request("n1");
  ASSERT_EQ(release->type, RequestType::release);
  apply(pod("p", "u1", "64Mi"));
  restart();
  for (const char* node : {"n1", "n2"}) device(node);
  EXPECT_EQ(phase("u1"), Phase::none);
  answer("n1", answer_to(*release, AnswerType::released));
  EXPECT_EQ(phase("u1"), Phase::prebind);
}

TEST_F(LostStoreTest, ANodeHasNotAnsweredWhileTheStoreIsFull) {
  lose_store({"n1"});
  receive(topics.desired(Kind::pod, "default/p"), pod("p", "u1", "900Mi"));
  store.set_full(true);
  slots("n1", {slot("u1")});
  EXPECT_TRUE(gateway->identity().adopting);
  EXPECT_TRUE(is_listed("u1"));
  store.set_full(false);
  advance(15'000);
  slots("n1", {slot("u1")});
  EXPECT_EQ(phase("u1"), Phase::bound);
  EXPECT_FALSE(gateway->identity().adopting);
}

namespace {

constexpr char kClass[] = R"({"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":"local"},)"
                          R"("provisioner":"kubernetes.io/no-provisioner","volumeBindingMode":"WaitForFirstConsumer"})";
constexpr char kMountsClaim[] = R"(,"volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"c"}}])";
constexpr char kOffers[] = R"(,"volumes":[{"name":"d","path":"/d","capacity":"1Gi","storageClass":"local"}])";

std::string claim(const std::string& more_spec = "", const std::string& more = "") {
  return R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"c","namespace":"default"},)"
         R"("spec":{"accessModes":["ReadWriteOnce"],"storageClassName":"local","resources":{"requests":)"
         R"({"storage":"1Mi"}})" +
         more_spec + "}" + more + "}";
}

}  // namespace

TEST_F(LostStoreTest, AClaimHasTheVolumeThatASlotHoldsAlsoWhenItComesLater) {
  lose_store({"n1"});
  device("n1", "i1", R"({"cpu":"2","memory":"1Gi","pods":"10"})", kOffers);
  receive(topics.desired(Kind::pod, "default/p"), pod("p", "u1", "900Mi"));
  SlotReport held = slot("u1");
  held.volumes = {{"default/c", "n1-d", "/d"}};
  slots("n1", {held});
  ASSERT_EQ(phase("u1"), Phase::bound);
  receive(topics.desired(Kind::storage_class, "local"), kClass);
  receive(topics.desired(Kind::persistent_volume_claim, "default/c"), claim());
  EXPECT_EQ(gateway->objects().claim("default/c")->volume_name, "n1-d");
  EXPECT_EQ(gateway->objects().volume("n1-d")->claim_ref, "default/c");
}

// n1 was forgotten while the pod ran there, and the claim's data given up; then the store that knew it was lost.
class TwoPlacesTest : public LostStoreTest {
 protected:
  void SetUp() override {
    lose_store({"n1", "n2"});
    for (const char* node : {"n1", "n2"}) {
      device(node, "i1", R"({"cpu":"2","memory":"1Gi","pods":"10"})", kOffers);
    }
    receive(topics.desired(Kind::storage_class, "local"), kClass);
    receive(topics.desired(Kind::persistent_volume_claim, "default/c"), claim());
  }
  void tells(const std::string& node) {
    SlotReport held = slot("u1");
    held.epoch = {1, node == "n1" ? 5u : 9u};
    held.volumes = {{"default/c", node + "-d", "/d"}};
    slots(node, {held});
  }
  void expect_later_place() {
    ASSERT_EQ(phase("u1"), Phase::bound);
    EXPECT_EQ(gateway->bindings().at("u1").row.node, "n2");
    EXPECT_EQ(gateway->objects().claim("default/c")->volume_name, "n2-d");
    EXPECT_EQ(gateway->objects().volume("n2-d")->claim_ref, "default/c");
    EXPECT_NE(gateway->objects().volume("n1-d")->phase, "Bound");
  }
};

TEST_F(TwoPlacesTest, TheClaimGoesWithThePod) {
  receive(topics.desired(Kind::pod, "default/p"), pod("p", "u1", "900Mi"));
  tells("n1");
  ASSERT_EQ(gateway->objects().claim("default/c")->volume_name, "n1-d");
  tells("n2");
  expect_later_place();
  EXPECT_EQ(gateway->objects().volume("n1-d")->phase, "Released") << "it has data that the operator may want";
}

TEST_F(TwoPlacesTest, TheClaimStaysWithThePodWhenTheEarlierPlaceIsHeardLast) {
  receive(topics.desired(Kind::pod, "default/p"), pod("p", "u1", "900Mi"));
  tells("n2");
  tells("n1");
  expect_later_place();
}

TEST_F(TwoPlacesTest, TheClaimGoesWithThePodThatIsAppliedLater) {
  tells("n1");
  tells("n2");
  ASSERT_EQ(gateway->objects().claim("default/c")->volume_name, "n1-d");
  apply(pod("p", "u1", "900Mi"));
  tells("n2");
  tells("n1");
  expect_later_place();
}

TEST_F(TwoPlacesTest, AClaimThatComesLaterGoesWithThePod) {
  api(R"({"op":"delete","kind":"PersistentVolumeClaim","namespace":"default","name":"c"})");
  ASSERT_EQ(gateway->objects().claim("default/c"), nullptr);
  receive(topics.desired(Kind::pod, "default/p"), pod("p", "u1", "900Mi", kMountsClaim));
  tells("n1");
  tells("n2");
  receive(topics.desired(Kind::persistent_volume_claim, "default/c"), claim());
  expect_later_place();
}

TEST_F(TwoPlacesTest, AClaimThatComesLaterGoesWithThePodWhenTheEarlierPlaceIsHeardLast) {
  api(R"({"op":"delete","kind":"PersistentVolumeClaim","namespace":"default","name":"c"})");
  ASSERT_EQ(gateway->objects().claim("default/c"), nullptr);
  receive(topics.desired(Kind::pod, "default/p"), pod("p", "u1", "900Mi", kMountsClaim));
  tells("n2");
  tells("n1");
  receive(topics.desired(Kind::persistent_volume_claim, "default/c"), claim());
  expect_later_place();
}

TEST_F(TwoPlacesTest, AClaimThatComesAfterThePodWhichIsAppliedLaterGoesWithIt) {
  api(R"({"op":"delete","kind":"PersistentVolumeClaim","namespace":"default","name":"c"})");
  ASSERT_EQ(gateway->objects().claim("default/c"), nullptr);
  tells("n1");
  tells("n2");
  apply(pod("p", "u1", "900Mi", kMountsClaim));
  tells("n2");
  tells("n1");
  receive(topics.desired(Kind::persistent_volume_claim, "default/c"), claim());
  expect_later_place();
}

TEST_F(TwoPlacesTest, AClaimThatComesBeforeThePodIsAppliedGoesWithIt) {
  api(R"({"op":"delete","kind":"PersistentVolumeClaim","namespace":"default","name":"c"})");
  tells("n1");
  tells("n2");
  receive(topics.desired(Kind::persistent_volume_claim, "default/c"), claim());
  apply(pod("p", "u1", "900Mi", kMountsClaim));
  tells("n2");
  tells("n1");
  expect_later_place();
}

TEST_F(TwoPlacesTest, ARestartLeavesTheClaimWhereItWent) {
  receive(topics.desired(Kind::pod, "default/p"), pod("p", "u1", "900Mi", kMountsClaim));
  tells("n1");
  tells("n2");
  expect_later_place();
  restart();
  for (const char* node : {"n1", "n2"}) {
    device(node, "i1", R"({"cpu":"2","memory":"1Gi","pods":"10"})", kOffers);
  }
  expect_later_place();
}

// The later place has finished, the earlier one runs: that one keeps the row.
TEST_F(TwoPlacesTest, TheClaimGoesWithThePodThatRunsWhenTheLaterPlaceHasFinished) {
  const auto ended = [this] {
    SlotReport held = slot("u1");
    held.epoch = {1, 9u};
    held.state = SlotState::finished;
    held.volumes = {{"default/c", "n2-d", "/d"}};
    slots("n2", {held});
  };
  ended();
  tells("n1");
  apply(pod("p", "u1", "900Mi", kMountsClaim));
  tells("n1");
  ended();
  ASSERT_EQ(phase("u1"), Phase::bound);
  ASSERT_EQ(gateway->bindings().at("u1").row.node, "n1");
  EXPECT_EQ(gateway->objects().claim("default/c")->volume_name, "n1-d");
}

TEST_F(LostStoreTest, AVolumeThatIsOfferedAfterTwoNodesToldOfItsPodIsNotGivenAway) {
  lose_store({"n1", "n2"});
  receive(topics.desired(Kind::storage_class, "local"), kClass);
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
    device(node, "i1", R"({"cpu":"2","memory":"1Gi","pods":"10"})", kOffers);
  }
  EXPECT_EQ(gateway->objects().volume("n2-d")->phase, "Bound");
  EXPECT_EQ(gateway->objects().volume("n1-d")->claim_ref, "default/c") << "given away with the data on it";
  EXPECT_EQ(gateway->objects().volume("n1-d")->phase, "Released");
}

TEST_F(TwoPlacesTest, TheClaimComesBackWithTheLaterPlace) {
  tells("n2");
  tells("n1");
  apply(pod("p", "u1", "900Mi", kMountsClaim));
  tells("n1");
  tells("n2");
  expect_later_place();
}

// The pod finished on the later place and that was released before the earlier one tells.
TEST_F(TwoPlacesTest, APodThatHasFinishedGetsNoRowForWhatAnEarlierPlaceTells) {
  receive(topics.desired(Kind::pod, "default/p"), pod("p", "u1", "900Mi", kMountsClaim));
  SlotReport held = slot("u1");
  held.epoch = {1, 9u};
  held.state = SlotState::finished;
  slots("n2", {held});
  const std::optional<Request> release = request("n2");
  ASSERT_TRUE(release && release->type == RequestType::release);
  answer("n2", answer_to(*release, AnswerType::released));
  ASSERT_TRUE(gateway->objects().find_pod("default/p")->finished);
  tells("n1");
  EXPECT_FALSE(gateway->bindings().contains(std::string_view("u1")));
}

TEST_F(TwoPlacesTest, TheVolumeOfTheEarlierPlaceIsNotGivenAway) {
  receive(topics.desired(Kind::pod, "default/p"), pod("p", "u1", "900Mi", kMountsClaim));
  tells("n2");
  tells("n1");
  expect_later_place();
  ASSERT_FALSE(gateway->identity().adopting);
  apply(R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"other","namespace":"default"},)"
        R"("spec":{"accessModes":["ReadWriteOnce"],"storageClassName":"local","resources":{"requests":)"
        R"({"storage":"1Mi"}}}})");
  apply(pod("q", "u2", "1Mi", R"(,"volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"other"}}])"));
  advance(1000);
  EXPECT_EQ(phase("u2"), Phase::none);
  EXPECT_EQ(gateway->objects().volume("n1-d")->phase, "Released") << "u1 may still run with it, and has its data there";
}

TEST_F(TwoPlacesTest, TheVolumeOfAnOrphanIsNotGivenAway) {
  tells("n1");
  tells("n2");
  EXPECT_EQ(gateway->objects().volume("n2-d")->claim_ref, "default/c") << "u1 may run with it";
  apply(pod("p", "u1", "900Mi", kMountsClaim));
  tells("n2");
  tells("n1");
  expect_later_place();
}

TEST_F(LostStoreTest, AClaimThatComesBackBoundTakesItsVolume) {
  lose_store({"n1"});
  device("n1", "i1", R"({"cpu":"2","memory":"1Gi","pods":"10"})", kOffers);
  receive(topics.desired(Kind::persistent_volume_claim, "default/c"),
          claim(R"(,"volumeName":"n1-d")", R"(,"status":{"phase":"Bound"})"), true);
  EXPECT_EQ(gateway->objects().volume("n1-d")->claim_ref, "default/c");
}

TEST_F(GatewayTest, AnOperatorCannotBindAClaimByHalf) {
  start_connected();
  receive(topics.desired(Kind::persistent_volume_claim, "default/c"), claim());
  receive(topics.desired(Kind::persistent_volume_claim, "default/c"), claim(R"(,"volumeName":"n1-d")"));
  EXPECT_EQ(gateway->objects().claim("default/c")->volume_name, "");
}

TEST_F(LostStoreTest, AClaimHasTheVolumeThatAnOrphanHoldsAlsoAfterARestart) {
  lose_store({"n1"});
  device("n1", "i1", R"({"cpu":"2","memory":"1Gi","pods":"10"})", kOffers);
  SlotReport held = slot("u1");
  held.volumes = {{"default/c", "n1-d", "/d"}};
  slots("n1", {held});
  ASSERT_FALSE(gateway->identity().orphans.empty());
  restart();
  receive(topics.desired(Kind::persistent_volume_claim, "default/c"), claim());
  EXPECT_EQ(gateway->objects().claim("default/c")->volume_name, "n1-d") << "no pod may take its data elsewhere";
}

TEST_F(LostStoreTest, AnAnswerWithoutAUidIsOfNobodyWhileTwoPodsHaveItsEpoch) {
  start_connected();
  device("n1");
  apply(pod("p", "u1"));
  const Request asked = *request("n1");
  Answer superseded = answer_to(asked, AnswerType::superseded);
  superseded.gateway_id = {1, "another-store"};
  answer("n1", superseded);
  SlotReport other = slot("x");
  other.epoch = asked.epoch;
  slots("n1", {other});
  Answer prepared = answer_to(*request("n1"), AnswerType::pre_bound);
  prepared.uid = "u1";
  prepared.epoch = asked.epoch;
  prepared.epoch_alone = true;
  answer("n1", prepared);
  EXPECT_EQ(phase("u1"), Phase::prebind);
  receive(topics.desired(Kind::pod, "default/gone"), R"({"deleted":true,"uid":"x"})");
  Answer released = answer_to(*request("n1"), AnswerType::released);
  ASSERT_EQ(released.uid, "x");
  answer("n1", released);
  answer("n1", prepared);
  EXPECT_EQ(phase("u1"), Phase::bind) << "what ended was the other pod's";
}

TEST_F(LostStoreTest, AClaimStaysWhileAnOrphanRunsWithItsVolume) {
  lose_store({"n1"});
  device("n1", "i1", R"({"cpu":"2","memory":"1Gi","pods":"10"})", kOffers);
  receive(topics.desired(Kind::persistent_volume_claim, "default/c"), claim());
  SlotReport held = slot("u1");
  held.volumes = {{"default/c", "n1-d", "/d"}};
  slots("n1", {held});
  api(R"({"op":"delete","kind":"pvc","namespace":"default","name":"c"})");
  ASSERT_NE(gateway->objects().claim("default/c"), nullptr);
  EXPECT_TRUE(gateway->objects().claim("default/c")->metadata.deleting);
  receive(topics.desired(Kind::pod, "default/p"), R"({"deleted":true,"uid":"u1"})");
  answer("n1", AnswerType::released);
  EXPECT_EQ(gateway->objects().claim("default/c"), nullptr) << "the operator's word ended the orphan";
}

TEST_F(LostStoreTest, AListingTakesNoClaimFromItsVolume) {
  lose_store({"n1"});
  device("n1", "i1", R"({"cpu":"2","memory":"1Gi","pods":"10"})", kOffers);
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

TEST_F(LostStoreTest, AClaimIsGivenNoOtherVolumeWhileItsOwnIsNotThere) {
  lose_store({"n1"});
  device("n1", "i1", R"({"cpu":"2","memory":"1Gi","pods":"10"})", kOffers);
  SlotReport held = slot("u1");
  held.volumes = {{"default/c", "made", "/raw"}};
  slots("n1", {held});
  receive(topics.desired(Kind::storage_class, "local"), kClass);
  receive(topics.desired(Kind::persistent_volume_claim, "default/c"), claim());
  apply(pod("q", "u2", "64Mi", kMountsClaim));
  EXPECT_EQ(gateway->objects().claim("default/c")->volume_name, "made");
  EXPECT_EQ(phase("u2"), Phase::none);
}

TEST_F(LostStoreTest, AVolumeIsGivenToNobodyWhileItsClaimIsNotThere) {
  lose_store({"n1"});
  device("n1", "i1", R"({"cpu":"2","memory":"1Gi","pods":"10"})", kOffers);
  SlotReport held = slot("u1");
  held.volumes = {{"default/other", "n1-d", "/d"}};
  slots("n1", {held});
  receive(topics.desired(Kind::storage_class, "local"), kClass);
  receive(topics.desired(Kind::persistent_volume_claim, "default/c"), claim());
  apply(pod("q", "u2", "64Mi", kMountsClaim));
  EXPECT_EQ(phase("u2"), Phase::none) << "the device would refuse it";
}

class ReservedVolumeTest : public GatewayTest {
 protected:
  // Pod "web" (u1) was decided for n1, with its volume n1-d for claim "c"; the device was asked.
  void SetUp() override {
    start_connected();
    device("n1", "i1", kAllocatable, kOffers);
    apply(kClass);
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

TEST_F(ReservedVolumeTest, StaysWhileTheDeviceAnswers) {
  stop_offering();
  answer("n1", AnswerType::pre_bound);
  ASSERT_EQ(phase("u1"), Phase::bind);
  EXPECT_EQ(gateway->objects().claim("default/c")->volume_name, "n1-d");
}

TEST_F(ReservedVolumeTest, GoesWhenTheDeviceHasRefused) {
  stop_offering();
  ASSERT_NE(gateway->objects().volume("n1-d"), nullptr);
  answer("n1", AnswerType::rejected);
  EXPECT_EQ(gateway->objects().volume("n1-d"), nullptr);
}

TEST_F(ReservedVolumeTest, IsDeletedWhenTheDeviceHasRefused) {
  const std::string before = gateway->objects().volume("n1-d")->metadata.uid;
  api(R"({"op":"delete","kind":"persistentvolume","name":"n1-d"})");
  ASSERT_NE(gateway->objects().volume("n1-d"), nullptr);
  EXPECT_EQ(gateway->objects().volume("n1-d")->metadata.uid, before);
  answer("n1", AnswerType::rejected);
  ASSERT_NE(gateway->objects().volume("n1-d"), nullptr);
  EXPECT_NE(gateway->objects().volume("n1-d")->metadata.uid, before) << "deleted, and offered anew";
}

// A volume that its maker made for claim "c".
std::string made_volume(const std::string& name, const std::string& node) {
  return R"({"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":")" + name +
         R"("},"spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],"storageClassName":"local",)"
         R"("claimRef":{"namespace":"default","name":"c"},"local":{"path":"/)" +
         name +
         R"("},"nodeAffinity":{"required":{"nodeSelectorTerms":[{"matchExpressions":[{"key":)"
         R"("kubernetes.io/hostname","operator":"In","values":[")" +
         node + R"("]}]}]}}}})";
}

TEST_F(ReservedVolumeTest, ItsClaimIsNotJoinedWithAnotherOneWhileTheDeviceAnswers) {
  receive(topics.desired(Kind::persistent_volume, "made"), made_volume("made", "n1"));
  EXPECT_EQ(gateway->objects().claim("default/c")->volume_name, "");
  answer("n1", AnswerType::pre_bound);
  ASSERT_EQ(phase("u1"), Phase::bind);
  EXPECT_EQ(gateway->objects().claim("default/c")->volume_name, "n1-d");
}

TEST_F(ReservedVolumeTest, ItsClaimIsJoinedWithTheOneMadeForItWhenTheDeviceHasRefused) {
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
  EXPECT_EQ(gateway->objects().claim("default/c")->volume_name, "") << "its volume is gone, and was another claim's";
}

TEST_F(ReservedVolumeTest, IsTakenBackForAClaimThatComesBackBoundToIt) {
  std::string late = claim(R"(,"volumeName":"n1-d")", R"(,"status":{"phase":"Bound"})");
  late.replace(late.find(R"("name":"c")"), 10, R"("name":"late")");
  receive(topics.desired(Kind::persistent_volume_claim, "default/late"), late, true);
  EXPECT_NE(phase("u1"), Phase::prebind);
  EXPECT_EQ(gateway->objects().claim("default/late")->volume_name, "n1-d");
  EXPECT_EQ(gateway->objects().volume("n1-d")->claim_ref, "default/late");
}

TEST_F(ReservedVolumeTest, StaysWithItsClaimWhenAnotherComesBackBoundToIt) {
  answer("n1", AnswerType::pre_bound);
  ASSERT_EQ(phase("u1"), Phase::bind);
  std::string late = claim(R"(,"volumeName":"n1-d")", R"(,"status":{"phase":"Bound"})");
  late.replace(late.find(R"("name":"c")"), 10, R"("name":"late")");
  receive(topics.desired(Kind::persistent_volume_claim, "default/late"), late, true);
  EXPECT_EQ(gateway->objects().claim("default/late")->volume_name, "");
  EXPECT_EQ(gateway->objects().claim("default/late")->phase, "Pending");
  EXPECT_EQ(gateway->objects().volume("n1-d")->claim_ref, "default/c");
}

TEST_F(ReservedVolumeTest, StaysWhereItIsWhenAClaimNamesItThatIsNotBoundOrIsRefused) {
  std::string named = claim(R"(,"volumeName":"n1-d")");
  named.replace(named.find(R"("name":"c")"), 10, R"("name":"late")");
  apply(named);
  EXPECT_EQ(gateway->objects().claim("default/late")->volume_name, "n1-d") << "the operator's word, kept pending";
  std::string wrong = claim(R"(,"volumeName":"n1-d","volumeMode":"Nonsense")", R"(,"status":{"phase":"Bound"})");
  wrong.replace(wrong.find(R"("name":"c")"), 10, R"("name":"bad1")");
  EXPECT_NE(apply(wrong).find("error"), nullptr);
  EXPECT_EQ(phase("u1"), Phase::prebind);
}

TEST_F(ReservedVolumeTest, StaysWhereItIsWhateverAClaimsStatusAndVolumeNameAre) {
  for (const char* more : {R"(,"volumeName":null)", R"(,"volumeName":7)", R"(,"volumeName":{})", ""}) {
    for (const char* status : {R"(,"status":{"phase":"Bound"})", R"(,"status":"Bound")", R"(,"status":null)"}) {
      std::string odd = claim(more, status);
      odd.replace(odd.find(R"("name":"c")"), 10, R"("name":"odd")");
      apply(odd);
      EXPECT_EQ(phase("u1"), Phase::prebind);
    }
  }
}

TEST_F(LostStoreTest, OfTwoVolumesMadeForAClaimItHasTheOneThatADeviceWasGiven) {
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

TEST_F(LostStoreTest, AClaimIsJoinedWithTheVolumeMadeForItWhenEveryNodeHasAnswered) {
  lose_store({"n1"});
  receive(topics.desired(Kind::persistent_volume_claim, "default/c"), claim());
  receive(topics.desired(Kind::persistent_volume, "made"), made_volume("made", "n1"));
  slots("n1", {});
  EXPECT_EQ(gateway->objects().claim("default/c")->volume_name, "made");
}

TEST_F(GatewayTest, AForgottenNodesReleasedVolumeTakesNothingFromItsClaimsHeir) {
  start_connected();
  device("n1", "i1", R"({"cpu":"2","memory":"1Gi","pods":"10"})", kOffers);
  device("n2", "i2", R"({"cpu":"2","memory":"1Gi","pods":"10"})", kOffers);
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

class ShownTest : public GatewayTest {
 protected:
  void SetUp() override {
    start_connected();
    receive(topics.desired(Kind::pod, "default/p"), pod("p", "u1"));
  }
  // Where in what was sent the topic was cleared.
  std::optional<std::size_t> cleared(const std::string& topic) const {
    for (std::size_t at = 0; at < transport.sent.size(); ++at) {
      if (transport.sent[at].topic == topic && transport.sent[at].payload.empty()) return at;
    }
    return std::nullopt;
  }
  const std::string status = topics.status(Kind::pod, "default/p");
  const std::string mirror = topics.desired(Kind::pod, "default/p");
};

TEST_F(ShownTest, AStatusIsClearedBeforeTheMirror) {
  api(R"({"op":"delete","kind":"pod","namespace":"default","name":"p"})");
  ASSERT_TRUE(cleared(status) && cleared(mirror));
  EXPECT_LT(*cleared(status), *cleared(mirror)) << "a mirror that is left tells of a status that may be";
}

TEST_F(ShownTest, AStatusThatCouldNotBeClearedGoesWithTheNextConnect) {
  const Message left = *std::find_if(transport.sent.begin(), transport.sent.end(),
                                     [&](const Message& message) { return message.topic == mirror; });
  transport.up = false;
  api(R"({"op":"delete","kind":"pod","namespace":"default","name":"p"})");
  ASSERT_FALSE(cleared(status));
  restart();
  Message retained = left;
  retained.retain = true;
  gateway->on_message(retained);
  turn();
  EXPECT_TRUE(cleared(status));
}

TEST_F(ShownTest, NothingIsShownBeforeTheFence) {
  gateway.reset();
  start();
  transport.up = true;
  transport.sent.clear();
  gateway->on_link(true);
  turn();
  for (const Message& message : transport.sent) EXPECT_NE(message.topic, status);
}

}  // namespace berth
