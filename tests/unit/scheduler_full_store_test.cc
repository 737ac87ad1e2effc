// A store without room: what is new is refused with that reason, what was begun goes on, and room needs no restart.
#include "tests/unit/gateway_fixture.h"

namespace berth {
namespace {

TEST_F(GatewayTest, AFullStoreRefusesNewPodsWithThatReason) {
  start_connected();
  device("n1");
  store.set_full(true);
  const Json refused = apply(pod("web", "u1"));
  ASSERT_NE(refused.find("error"), nullptr);
  EXPECT_NE(refused.find("error")->as_string().find("store is full"), std::string::npos);
  EXPECT_EQ(gateway->objects().find_pod("default/web"), nullptr);
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
  EXPECT_EQ(gateway->objects().find_pod("default/web"), nullptr);
}

TEST_F(GatewayTest, WhatAFullStoreRefusedIsReadFromTheBrokerAgainOnceThereIsRoom) {
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

}  // namespace
}  // namespace berth
