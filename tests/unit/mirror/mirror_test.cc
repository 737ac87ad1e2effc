// What of desired/ the broker retains: the operator's order, or the gateway's mirror of it.
#include <algorithm>

#include "tests/unit/gateway/gateway_fixture.h"

namespace berth {

class MirrorTest : public GatewayTest {
 protected:
  const std::string topic = topics.desired(Kind::pod, "default/p");

  // How often the topic was published to since the last call; the last payload.
  std::size_t mirrors(std::string* last = nullptr) {
    std::size_t count = 0;
    for (const Message& message : std::exchange(transport.sent, {})) {
      if (message.topic != topic) continue;
      ++count;
      if (last != nullptr) *last = message.payload;
    }
    return count;
  }
  void lose_link() {
    transport.up = false;
    gateway->on_link(false);
    turn();
  }
  // Connects to a broker that retains this under the topic.
  void come_back(const std::string& retained) {
    transport.sent.clear();
    transport.up = true;
    gateway->on_link(true);
    turn();
    receive(topic, retained, true);
    return_fences();
  }
  bool is_known() const { return gateway->objects().pods().find("default/p") != nullptr; }
};

TEST_F(MirrorTest, AStatusThatWasClearedAsTheLinkBrokeIsClearedAgainUntilTheBrokerHasIt) {
  start_connected();
  apply(pod("p", "u1"));
  advance(1000);
  transport.sent.clear();
  const auto cleared = [this] {
    return std::count_if(transport.sent.begin(), transport.sent.end(), [this](const Message& message) {
      return message.topic == topics.status(Kind::pod, "default/p") && message.payload.empty() && message.retain;
    });
  };
  api(R"({"op":"delete","kind":"Pod","namespace":"default","name":"p"})");
  ASSERT_FALSE(is_known());
  EXPECT_EQ(cleared(), 1);
  lose_link();
  come_back("");
  EXPECT_EQ(cleared(), 1) << "it may have been lost";
  settle();
  lose_link();
  come_back("");
  EXPECT_EQ(cleared(), 0) << "the broker has it";
}

TEST_F(MirrorTest, WhatTheBrokerRetainsJustAsItWasAcceptedIsNotMirrored) {
  start_connected();
  receive(topic, pod("p", "u1"), true);
  ASSERT_TRUE(is_known());
  EXPECT_EQ(mirrors(), 0u);
  receive(topic, pod("p", "u1", "64Mi", "", R"({"app":"a"})"), true);
  EXPECT_EQ(mirrors(), 0u) << "an update neither";
  std::string last;
  receive(topic, pod("p", "u1"));
  EXPECT_EQ(mirrors(&last), 1u) << "not retained";
  EXPECT_EQ(*Json::parse(last), *Json::parse(pod("p", "u1")));
  apply(pod("p", "u1", "64Mi", "", R"({"app":"b"})"));
  EXPECT_EQ(mirrors(), 1u) << "came by the api";
}

TEST_F(MirrorTest, WhatTheBrokerRetainsButIsNotWhatWasAcceptedIsMirrored) {
  start_connected();
  Json without_uid = *Json::parse(pod("p", "u1"));
  without_uid.find("metadata")->erase("uid");
  receive(topic, without_uid.dump(), true);
  std::string last;
  EXPECT_EQ(mirrors(&last), 1u);
  EXPECT_NE(last.find("\"uid\""), std::string::npos);
  receive(topic, pod("p", gateway->objects().pods().find("default/p")->pod->uid(), "1Gi"), true);
  EXPECT_EQ(mirrors(), 1u) << "refused: the gateway's object stays";
}

TEST_F(MirrorTest, AnOrderThatMayHaveMetTheMirrorUnderWayIsMirroredUntilABarrierIsBack) {
  start_connected();
  apply(pod("p", "u1"));
  EXPECT_EQ(mirrors(), 1u);
  receive(topic, pod("p", "u1", "64Mi", "", R"({"app":"a"})"), true);
  EXPECT_EQ(mirrors(), 1u) << "the broker may have got the first mirror after it";
  settle();
  mirrors();
  receive(topic, pod("p", "u1", "64Mi", "", R"({"app":"b"})"), true);
  EXPECT_EQ(mirrors(), 0u);
}

TEST_F(MirrorTest, APodThatIsGoneStaysGoneThoughItsClearingWasLost) {
  for (const bool restarts : {false, true}) {
    SCOPED_TRACE(restarts);
    store = MemoryStore();
    start_connected();
    receive(topic, pod("p", "u1"), true);
    transport.up = false;  // the link is lost before the clearing leaves
    api(R"({"op":"delete","kind":"pod","namespace":"default","name":"p"})");
    ASSERT_FALSE(is_known());
    lose_link();
    if (restarts) {
      gateway.reset();
      store.crash();
      start();
    }
    come_back(pod("p", "u1"));
    EXPECT_FALSE(is_known());
    std::string last = "none";
    EXPECT_EQ(mirrors(&last), 1u);
    EXPECT_EQ(last, "") << "cleared again";
    settle();
    EXPECT_TRUE(gateway->identity().withdrawn.empty());
    receive(topic, pod("p", "u1"), true);
    EXPECT_TRUE(is_known()) << "from now on it is a new order";
  }
}

TEST_F(MirrorTest, ABarrierThatLeftBeforeTheClearingSettlesNothing) {
  start_connected();
  receive(topics.desired(Kind::pod, "default/other"), pod("other", "u2"));
  receive(topic, pod("p", "u1"), true);
  advance(1000);  // the barrier for the mirror of the other
  api(R"({"op":"delete","kind":"pod","namespace":"default","name":"p"})");
  return_fences();
  EXPECT_EQ(gateway->identity().withdrawn, std::set<std::string>{"u1"});
  settle();
  EXPECT_TRUE(gateway->identity().withdrawn.empty());
}

TEST_F(MirrorTest, AGatewayThatLostItsStoreClearsTheStatusesOfWhatIsGone) {
  start();
  transport.up = true;
  gateway->on_link(true);
  turn();
  const std::string filter = "berth/v1/default/status/#";
  const auto subscribed = [&] { return std::count(transport.filters.begin(), transport.filters.end(), filter); };
  ASSERT_EQ(subscribed(), 1);
  EXPECT_TRUE(transport.no_local.contains(filter)) << "its own statuses need not come back";
  const std::string status = topics.status(Kind::pod, "default/ghost");
  receive(status, R"({"phase":"Pending","uid":"u9"})", true);
  std::vector<std::string> said;
  return_fences();
  for (const Message& message : transport.sent) {
    if (message.topic == status) said.push_back(message.payload);
  }
  EXPECT_EQ(said, std::vector<std::string>{""});
  restart();
  EXPECT_EQ(subscribed(), 1) << "once a store";
}

TEST_F(MirrorTest, AnotherStoresMirrorIsNoOrderOnceTheRetainedSetIsRead) {
  start_connected();
  Message mirror;
  mirror.topic = topic;
  mirror.payload = pod("p", "u1");
  mirror.correlation = "mirror/of-another-store";
  mirror.retain = true;
  gateway->on_message(mirror);
  turn();
  EXPECT_FALSE(is_known());
}

}  // namespace berth
