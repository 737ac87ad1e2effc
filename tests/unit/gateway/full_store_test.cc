// A store or a memory without room: what is new is refused with that reason, what was begun goes on, and room needs no
// restart.
#include "tests/unit/gateway/gateway_fixture.h"

namespace berth {
namespace {

TEST_F(GatewayTest, AFullStoreRefusesNewPodsWithThatReason) {
  start_connected();
  device("n1");
  store.set_full(true);
  const Json refused = apply(pod("web", "u1"));
  ASSERT_NE(refused.find("error"), nullptr);
  EXPECT_NE(refused.find("error")->as_string().find("store is full"), std::string::npos);
  EXPECT_EQ(gateway->objects().pods().find("default/web"), nullptr);
  store.set_full(false);
  apply(pod("web", "u1"));
  EXPECT_EQ(phase("u1"), Phase::prebind);
}

TEST_F(GatewayTest, AFullStoreFinishesWhatWasBegun) {
  start_connected();
  device("n1");
  apply(pod("web", "u1"));
  store.set_full(true);
  answer("n1", AnswerType::pre_bound);
  answer("n1", AnswerType::bound);
  EXPECT_EQ(phase("u1"), Phase::bound);
  const Json changed = apply(pod("web", "u1", "64Mi", "", R"({"a":"b"})"));
  EXPECT_EQ(changed.find("error"), nullptr) << "an update of what is there";
  api(R"({"op":"delete","kind":"pod","namespace":"default","name":"web"})");
  answer("n1", AnswerType::released);
  EXPECT_EQ(gateway->objects().pods().find("default/web"), nullptr);
}

TEST_F(GatewayTest, WhatAFullStoreRefusedIsReadFromTheBrokerAgainOnceThereIsCapacity) {
  start_connected();
  device("n1");
  store.set_full(true);
  receive(topics.desired(Kind::pod, "default/web"), pod("web", "u1"), true);
  transport.filters.clear();
  advance(3000);
  EXPECT_TRUE(transport.filters.empty()) << "still full";
  store.set_full(false);
  advance(3000);
  EXPECT_EQ(transport.filters, std::vector<std::string>{topics.root() + "desired/#"}) << "once";
  receive(topics.desired(Kind::pod, "default/web"), pod("web", "u1"), true);
  EXPECT_EQ(phase("u1"), Phase::prebind);
}

TEST_F(GatewayTest, AFullMemoryRefusesWhatIsNewWithThatReasonAndTellsOfIt) {
  start_connected();
  device("n1");
  gateway->refuse_new("memory is full: 64 MiB");
  EXPECT_EQ(api(R"({"op":"status"})").find("full")->as_string(), "memory is full: 64 MiB");
  const Json refused = apply(pod("web", "u1"));
  ASSERT_NE(refused.find("error"), nullptr);
  EXPECT_EQ(refused.find("error")->as_string(), "memory is full: 64 MiB");
  const Json other =
      apply(R"({"kind":"PriorityClass","apiVersion":"scheduling.k8s.io/v1","metadata":{"name":"high"},"value":1000})");
  ASSERT_NE(other.find("error"), nullptr) << "other objects take memory too";
  gateway->measure();
  EXPECT_EQ(gateway->metrics().accepting.at().value(), 0);
  gateway->refuse_new("");
  apply(pod("web", "u1"));
  EXPECT_EQ(phase("u1"), Phase::prebind);
  gateway->measure();
  EXPECT_EQ(gateway->metrics().accepting.at().value(), 1);
  EXPECT_EQ(api(R"({"op":"status"})").find("full")->as_string(), "");
}

TEST_F(GatewayTest, AFullMemoryPlacesUpdatesAndDeletesWhatIsKnown) {
  start_connected();
  apply(pod("web", "u1"));
  gateway->refuse_new("memory is full");
  device("n1");
  advance(2000);
  answer("n1", AnswerType::pre_bound);
  answer("n1", AnswerType::bound);
  EXPECT_EQ(phase("u1"), Phase::bound) << "it waited for a node when memory became full";
  const Json changed = apply(pod("web", "u1", "64Mi", "", R"({"a":"b"})"));
  EXPECT_EQ(changed.find("error"), nullptr) << "an update of what is there";
  const Json recreated = apply(pod("web", "u2"));
  ASSERT_NE(recreated.find("error"), nullptr) << "two of one name for a while";
  EXPECT_EQ(phase("u1"), Phase::bound) << "the one that was to be replaced stays";
  api(R"({"op":"delete","kind":"pod","namespace":"default","name":"web"})");
  answer("n1", AnswerType::released);
  EXPECT_EQ(gateway->objects().pods().find("default/web"), nullptr);
}

TEST_F(GatewayTest, WhatAFullMemoryRefusedIsReadFromTheBrokerAgainOnceThereIsCapacity) {
  start_connected();
  device("n1");
  gateway->refuse_new("memory is full");
  receive(topics.desired(Kind::pod, "default/web"), pod("web", "u1"), true);
  transport.filters.clear();
  advance(3000);
  EXPECT_TRUE(transport.filters.empty()) << "still full";
  gateway->refuse_new("");
  advance(3000);
  EXPECT_EQ(transport.filters, std::vector<std::string>{topics.root() + "desired/#"}) << "once";
  receive(topics.desired(Kind::pod, "default/web"), pod("web", "u1"), true);
  EXPECT_EQ(phase("u1"), Phase::prebind);
}

TEST_F(GatewayTest, AVolumeThatAFullMemoryRefusedIsThereOnceThereIsCapacity) {
  start_connected();
  gateway->refuse_new("memory is full");
  device("n1", "i1", R"({"cpu":"2","memory":"1Gi","pods":"10"})",
         R"(,"volumes":[{"name":"d","path":"/d","capacity":"1Gi","storageClass":"local"}])");
  advance(3000);
  ASSERT_EQ(gateway->objects().volume("n1-d"), nullptr);
  gateway->refuse_new("");
  advance(3000);
  EXPECT_NE(gateway->objects().volume("n1-d"), nullptr);
}

TEST_F(GatewayTest, AVolumeThatWasRefusedBeforeARestartIsThereOnceThereIsCapacity) {
  start_connected();
  gateway->refuse_new("memory is full");
  device("n1", "i1", R"({"cpu":"2","memory":"1Gi","pods":"10"})",
         R"(,"volumes":[{"name":"d","path":"/d","capacity":"1Gi","storageClass":"local"}])");
  ASSERT_EQ(gateway->objects().volume("n1-d"), nullptr);
  restart();  // what the device reported is stored, and reported again it is no news
  advance(3000);
  EXPECT_NE(gateway->objects().volume("n1-d"), nullptr);
}

}  // namespace
}  // namespace berth
