// A gateway that has lost its store: pods that still run on nodes without an object (orphans).
#include "tests/issues/lost_store_fixture.h"

namespace berth {

TEST_F(LostStoreTest, AnOrphanIsChargedAndItsPodIsPlacedNowhereElse) {
  lose_store({"n1", "n2"});
  slots("n1", {slot("u1")});
  slots("n2", {});
  EXPECT_FALSE(gateway->identity().adopting);
  EXPECT_EQ(gateway->scheduler().cache().find("n1")->requested.memory, 900 << 20);
  EXPECT_FALSE(was_sent("n1", RequestType::release, "u1"));
  apply(pod("p", "u1", "900Mi"));
  EXPECT_EQ(phase("u1"), Phase::none);
  slots("n1", {slot("u1")});
  EXPECT_EQ(phase("u1"), Phase::bound);
  EXPECT_EQ(gateway->bindings().at("u1").row.node, "n1");
  EXPECT_TRUE(gateway->identity().orphans.empty());
  EXPECT_TRUE(gateway->releases().empty());
  EXPECT_FALSE(was_sent("n2", RequestType::pre_bind, "u1"));
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
  EXPECT_TRUE(was_sent("n1", RequestType::release, "u1"));
  EXPECT_NE(gateway->objects().pods().find("default/p"), nullptr);
}

TEST_F(LostStoreTest, ADeleteBeforeTheNodeAnsweredIsKept) {
  lose_store({"n1"});
  receive(topics.desired(Kind::pod, "default/p"), R"({"deleted":true,"uid":"u1"})");
  restart();
  device("n1");
  slots("n1", {slot("u1")});
  EXPECT_TRUE(was_sent("n1", RequestType::release, "u1"));
}

TEST_F(LostStoreTest, AStoreThatLostAnOrphansEntryCanStillBeRead) {
  lose_store({"n1"});
  slots("n1", {slot("u1")});
  const std::set<std::string> orphans = gateway->identity().orphans;
  ASSERT_EQ(orphans.size(), 1u);
  store.erase(Table::release, *orphans.begin());
  ASSERT_TRUE(store.commit().is_success());
  restart();
  EXPECT_TRUE(gateway->identity().orphans.empty());
  receive(topics.desired(Kind::pod, "default/p"), pod("p", "u1", "64Mi"));
  EXPECT_NE(gateway->objects().pods().find("default/p"), nullptr);
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

TEST_F(LostStoreTest, AnAnswerWithoutAUidIsIgnoredWhileTwoPodsHaveItsEpoch) {
  start_connected();
  device("n1");
  apply(pod("p", "u1"));
  const Request asked = *request("n1");
  answer("n1", proven_superseded("n1", {2, "another-store"}));
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
  EXPECT_EQ(phase("u1"), Phase::bind) << "the placement that ended was the other pod's";
}

}  // namespace berth
