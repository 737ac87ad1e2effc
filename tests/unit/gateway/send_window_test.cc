// A slow broker: what it is to retain waits, by name, for the send window; everything else is sent at once.
#include <algorithm>
#include <map>

#include "tests/unit/gateway/gateway_fixture.h"

namespace berth {

class SendWindowTest : public GatewayTest {
 protected:
  static std::string name(int number) { return "p" + std::to_string(number); }
  std::string desired(const std::string& pod) const { return topics.desired(Kind::pod, "default/" + pod); }
  std::string status(const std::string& pod) const { return topics.status(Kind::pod, "default/" + pod); }
  // It waits for its gate: nothing but what is said of it happens to it.
  static std::string gated(const std::string& name, const std::string& labels = "{}") {
    return pod(name, "u-" + name, "64Mi", R"(,"schedulingGates":[{"name":"later"}])", labels);
  }
  void start_full() {
    start_connected();
    advance(1000);
    transport.sent.clear();
    transport.places = 0;
  }
  // The broker has acknowledged so many.
  void make_room(std::size_t places) {
    transport.places = places;
    gateway->on_send_window();
    turn();
    while (timers.next() && *timers.next() <= clock.now_ms) {
      timers.run_due(clock.now_ms);
      turn();
    }
  }
  // The payloads by topic that are under this one, in their order; nothing else is remembered.
  std::map<std::string, std::vector<std::string>> said() {
    std::map<std::string, std::vector<std::string>> said;
    for (const Message& message : std::exchange(transport.sent, {})) said[message.topic].push_back(message.payload);
    return said;
  }
  std::size_t retained_sent() const {
    return static_cast<std::size_t>(
        std::count_if(transport.sent.begin(), transport.sent.end(), [](const Message& each) { return each.retain; }));
  }
  bool is_known(const std::string& pod) const { return gateway->objects().pods().find("default/" + pod) != nullptr; }
};

TEST_F(SendWindowTest, WhatTheSendWindowHasNoCapacityForIsPendingAndFollowsAsTheBrokerAcknowledges) {
  start_full();
  for (int i = 0; i < 30; ++i) hear(desired(name(i)), gated(name(i)));
  turn();
  EXPECT_EQ(retained_sent(), 0u);
  for (std::size_t sent = 0; sent < 60; sent += 6) {
    EXPECT_EQ(retained_sent(), sent);
    make_room(6);
  }
  auto all = said();
  for (int i = 0; i < 30; ++i) {
    EXPECT_EQ(all[desired(name(i))].size(), 1u) << i;
    EXPECT_EQ(all[status(name(i))].size(), 1u) << i;
  }
  make_room(6);
  EXPECT_EQ(retained_sent(), 0u) << "nothing is pending any more";
  EXPECT_EQ(transport.beyond_room, 0);
}

TEST_F(SendWindowTest, WhatChangesWhileItWaitsIsReportedOnceAndAsItIsThen) {
  start_full();
  for (const char* app : {"a", "b", "c", "d"}) {
    hear(desired("p"), gated("p", R"({"app":")" + std::string(app) + "\"}"));
    turn();
  }
  make_room(10);
  auto all = said();
  ASSERT_EQ(all[desired("p")].size(), 1u);
  EXPECT_NE(all[desired("p")][0].find(R"("app":"d")"), std::string::npos);
  EXPECT_EQ(all[status("p")].size(), 1u);
}

TEST_F(SendWindowTest, OfWhatIsGoneTheStatusIsClearedBeforeTheMirror) {
  start_full();
  make_room(10);
  apply(gated("p"));
  transport.sent.clear();
  transport.places = 0;
  api(R"({"op":"delete","kind":"Pod","namespace":"default","name":"p"})");
  EXPECT_EQ(retained_sent(), 0u);
  make_room(1);
  auto all = said();
  EXPECT_EQ(all[status("p")], std::vector<std::string>{""});
  EXPECT_TRUE(all[desired("p")].empty());
  make_room(1);
  EXPECT_EQ(said()[desired("p")], std::vector<std::string>{""});
}

TEST_F(SendWindowTest, NodesAreAskedAndClientsAnsweredThoughTheSendWindowIsFull) {
  start_full();
  device("n1");
  const Json answer = apply(pod("p", "u1"));
  EXPECT_EQ(*answer.find("ok"), Json(true));
  ASSERT_TRUE(request("n1").has_value());
  EXPECT_EQ(request("n1")->type, RequestType::pre_bind);
  EXPECT_EQ(retained_sent(), 0u);
}

TEST_F(SendWindowTest, ABarrierIsNoProofOfAClearingThatIsStillPending) {
  start_full();
  hear(desired("p"), gated("p"), true);  // retained just so: not mirrored
  turn();
  api(R"({"op":"delete","kind":"Pod","namespace":"default","name":"p"})");
  ASSERT_EQ(gateway->identity().withdrawn, std::set<std::string>{"u-p"});
  for (int tick = 0; tick < 3; ++tick) {
    advance(1000);
    return_fences();
  }
  EXPECT_EQ(gateway->identity().withdrawn, std::set<std::string>{"u-p"});
  make_room(10);
  transport.sent.clear();
  advance(1000);
  return_fences();
  EXPECT_TRUE(gateway->identity().withdrawn.empty());
}

TEST_F(SendWindowTest, APodThatGoesBeforeItsMirrorHasLeftDoesNotComeBackWithTheLink) {
  start_full();
  hear(desired("p"), gated("p"), true);
  hear(desired("p"), gated("p", R"({"app":"a"})"), true);
  api(R"({"op":"apply","object":)" + gated("p", R"({"app":"b"})") + "}");  // its mirror is pending
  api(R"({"op":"delete","kind":"Pod","namespace":"default","name":"p"})");
  gateway->on_link(false);
  turn();
  gateway->on_link(true);
  turn();
  hear(desired("p"), gated("p", R"({"app":"a"})"), true);  // it is what the broker has
  turn();
  EXPECT_FALSE(is_known("p"));
}

TEST_F(SendWindowTest, AnOrderToDeleteIsNotOverwrittenByAnOlderMirror) {
  start_full();
  make_room(10);
  device("n1");
  bind_pod("p", "u1", "n1");
  transport.sent.clear();
  transport.places = 0;
  apply(pod("p", "u1", "64Mi", "", R"({"app":"b"})"));
  hear(desired("p"), R"({"deleted":true})", true);
  turn();
  make_room(10);
  EXPECT_TRUE(is_known("p")) << "until the node has answered";
  EXPECT_TRUE(said()[desired("p")].empty());
}

TEST_F(SendWindowTest, AfterAConnectAllIsMirroredAgainAsTheSendWindowAllows) {
  start_connected();
  for (int i = 0; i < 30; ++i) apply(gated(name(i)));
  advance(1000);
  gateway->on_link(false);
  turn();
  transport.places = 0;
  connect();  // to a broker that has forgotten everything; the barrier is back
  transport.sent.clear();
  transport.beyond_room = 0;  // the presence
  for (int i = 0; i < 12; ++i) make_room(5);
  auto all = said();
  for (int i = 0; i < 30; ++i) {
    EXPECT_EQ(all[desired(name(i))].size(), 1u) << i;
    EXPECT_EQ(all[status(name(i))].size(), 1u) << i;
  }
  EXPECT_EQ(transport.beyond_room, 0);
}

TEST_F(SendWindowTest, AConnectWithThousandsOfPodsComesToItsEndThoughTheBrokerIsBehind) {
  start_connected();
  constexpr int kPods = 2'500;  // more than are pending at one time
  for (int i = 0; i < kPods; ++i) hear(desired(name(i)), gated(name(i)));
  device("n1");
  advance(1000);
  gateway->on_link(false);
  turn();
  transport.places = 0;
  connect();
  make_room(0);
  EXPECT_TRUE(std::any_of(transport.sent.begin(), transport.sent.end(), [this](const Message& each) {
    return each.topic == topics.node_requests("n1");
  })) << "nodes wait for none of it";
  transport.sent.clear();
  for (int i = 0; i < 2 * kPods; i += 100) make_room(110);
  auto all = said();
  for (int i = 0; i < kPods; ++i) {
    ASSERT_EQ(all[desired(name(i))].size(), 1u) << i;
    ASSERT_EQ(all[status(name(i))].size(), 1u) << i;
  }
}

TEST_F(SendWindowTest, WhatWasRefusedIsReadAgainOnceNoNewerOrderIsPending) {
  start_full();
  make_room(10);
  apply(gated("p"));
  gateway->refuse_new("memory is full");
  hear(desired("q"), gated("q"), true);
  turn();
  transport.places = 0;
  apply(gated("p", R"({"app":"a"})"));
  gateway->refuse_new("");
  transport.filters.clear();
  advance(1000);
  EXPECT_TRUE(transport.filters.empty()) << "the broker would bring p as it was";
  make_room(10);
  advance(1000);
  EXPECT_EQ(transport.filters, std::vector<std::string>{topics.root() + "desired/#"});
}

TEST_F(SendWindowTest, WhatWasPendingWhenTheLinkBrokeIsPendingNoMoreWhereTheBrokerHasIt) {
  start_connected();
  apply(gated("p"));
  const std::string mirror = *gateway->objects().text(Kind::pod, "default/p");
  transport.places = 0;
  apply(gated("p", R"({"app":"a"})"));
  apply(gated("p"));
  gateway->on_link(false);
  turn();
  transport.sent.clear();
  gateway->on_link(true);
  turn();
  Message own;
  own.topic = desired("p");
  own.payload = mirror;
  own.retain = true;
  own.correlation = std::string(RetainedPublisher::kMirrorMark) + gateway->identity().id.store_id;
  gateway->on_message(own);
  return_fences();
  make_room(10);
  EXPECT_TRUE(said()[desired("p")].empty());
}

TEST_F(SendWindowTest, AnOrderRefusedIsNotWipedByAClearingThatWasPending) {
  start_full();
  make_room(10);
  apply(gated("p"));
  transport.sent.clear();
  transport.places = 0;
  api(R"({"op":"delete","kind":"Pod","namespace":"default","name":"p"})");
  gateway->refuse_new("memory is full");
  hear(desired("p"), pod("p", "u-2"), true);
  turn();
  make_room(10);
  EXPECT_TRUE(said()[desired("p")].empty()) << "it is to be read again once there is capacity";
}

TEST_F(SendWindowTest, APodDeletedByAnOrderThatIsNotRetainedDoesNotComeBackWhileItsMirrorIsPending) {
  start_full();
  make_room(10);
  apply(gated("p", R"({"app":"old"})"));
  api(R"({"op":"delete","kind":"Pod","namespace":"default","name":"p"})");
  transport.places = 0;
  const std::string order = pod("p", "u-2", "64Mi", R"(,"schedulingGates":[{"name":"later"}])");
  hear(desired("p"), order, true);  // behind a clearing that is under way: it is mirrored
  turn();
  ASSERT_TRUE(is_known("p"));
  hear(desired("p"), R"({"deleted":true,"uid":"u-2"})", false);
  turn();
  ASSERT_FALSE(is_known("p"));
  gateway->on_link(false);
  turn();
  gateway->on_link(true);
  turn();
  hear(desired("p"), order, true);  // what the broker retains
  turn();
  EXPECT_FALSE(is_known("p"));
}

TEST_F(SendWindowTest, NoStatusLeavesBeforeTheMirrorOfItsObject) {
  start_full();
  hear(desired("m5"), gated("m5"), true);  // of which only the status is told
  turn();
  make_room(1);
  transport.places = 0;
  for (int i = 1; i < 9; ++i) {
    if (i != 5) apply(gated("m" + std::to_string(i)));
  }
  make_room(2);
  auto all = said();
  for (int i = 1; i < 9; ++i) {
    const std::string pod = "m" + std::to_string(i);
    if (i != 5 && !all[status(pod)].empty()) {
      EXPECT_FALSE(all[desired(pod)].empty()) << pod;
    }
  }
}

TEST_F(SendWindowTest, WhatHasLeftSettlesThoughSomethingElseIsPending) {
  start_full();
  make_room(10);
  hear(desired("p"), gated("p"), true);
  turn();
  api(R"({"op":"delete","kind":"Pod","namespace":"default","name":"p"})");
  ASSERT_EQ(gateway->identity().withdrawn.size(), 1u) << "the broker may retain the operator's order";
  turn();
  transport.places = 0;
  apply(gated("q"));
  advance(1000);
  return_fences();
  EXPECT_TRUE(gateway->identity().withdrawn.empty());
}

}  // namespace berth
