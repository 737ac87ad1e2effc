// Orders that do not come through the broker's retained set, and what that set still says when the link comes back.
#include <utility>

#include "tests/unit/gateway_fixture.h"

namespace berth {

class OvertakenTest : public GatewayTest, public ::testing::WithParamInterface<bool> {
 protected:
  // True: the power is cut as well.
  bool restarts() const { return GetParam(); }

  static std::string label(const std::string& value, const std::string& uid = "u1") {
    return pod("p", uid, "64Mi", "", R"({"app":")" + value + R"("})");
  }
  static std::string without_uid(const std::string& manifest) {
    Json json = *Json::parse(manifest);
    json.find("metadata")->erase("uid");
    return json.dump();
  }
  static std::string overlay(bool unschedulable) {
    return R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n1"},"spec":{"unschedulable":)" +
           std::string(unschedulable ? "true" : "false") + "}}";
  }
  static std::string priority(int value) {
    return R"({"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass","metadata":{"name":"c","uid":"c1"},"value":)" +
           std::to_string(value) + "}";
  }
  const std::string pod_topic = topics.desired(Kind::pod, "default/p");
  const std::string node_topic = topics.desired(Kind::node, "n1");
  const std::string class_topic = topics.desired(Kind::priority_class, "c");

  bool apply_by_api(const std::string& object) {
    return *api(R"({"op":"apply","object":)" + object + "}").find("ok") == Json(true);
  }
  bool delete_by_api(const std::string& kind, const std::string& name) {
    return *api(R"({"op":"delete","kind":")" + kind + R"(","name":")" + name + R"("})").find("ok") == Json(true);
  }
  void return_fences() {
    for (const Message& message : std::vector<Message>(transport.sent)) {
      if (message.topic == topics.gateway_fence("gateway")) gateway->on_message(message);
    }
    turn();
  }
  void settle() {
    advance(1000);
    return_fences();
  }
  // What the gateway sent is lost with the link. Connects again, to a broker that retains these.
  void come_back(const std::vector<std::pair<std::string, std::string>>& retained) {
    gateway->on_link(false);
    turn();
    if (restarts()) {
      gateway.reset();
      store.crash();
      start();
    }
    transport.sent.clear();
    transport.up = true;
    gateway->on_link(true);
    turn();
    for (const auto& [topic, payload] : retained) receive(topic, payload, true);
    return_fences();
  }
  std::string app() const {
    const PodEntry* entry = gateway->objects().find_pod("default/p");
    if (entry == nullptr) return "no pod";
    const auto found = entry->pod->metadata.labels.find("app");
    return found == entry->pod->metadata.labels.end() ? "none" : std::string(found->second);
  }
  // The last word on a topic since the link came back.
  std::string mirrored(const std::string& topic) const {
    std::string last = "none";
    for (const Message& message : transport.sent) {
      if (message.topic == topic) last = message.payload;
    }
    return last;
  }
  const std::set<std::string>& kept() const { return gateway->identity().overtaken; }
};

INSTANTIATE_TEST_SUITE_P(Links, OvertakenTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "PowerCut" : "LinkLost"; });

TEST_P(OvertakenTest, AnUpdateByTheApiIsNotUndoneByTheOlderWordThatTheBrokerRetains) {
  start_connected();
  receive(pod_topic, label("old"), true);
  ASSERT_TRUE(apply_by_api(label("new")));
  come_back({{pod_topic, label("old")}});
  EXPECT_EQ(app(), "new");
  EXPECT_NE(mirrored(pod_topic).find("new"), std::string::npos);
  settle();
  EXPECT_TRUE(kept().empty()) << "the broker has the mirror";
  receive(pod_topic, label("old"), true);
  EXPECT_EQ(app(), "old") << "from now on it is a new order";
}

TEST_P(OvertakenTest, AnUpdateThatIsNotRetainedIsNotUndoneByTheWordThatIs) {
  start_connected();
  receive(pod_topic, label("old"), true);
  receive(pod_topic, label("new"), false);
  come_back({{pod_topic, label("old")}});
  EXPECT_EQ(app(), "new");
}

TEST_P(OvertakenTest, AWordWithoutAUidIsKnownAgainThoughItsMirrorNeverLeft) {
  start_connected();
  const std::string old = without_uid(label("old"));
  receive(pod_topic, old, true);
  ASSERT_TRUE(apply_by_api(without_uid(label("new"))));
  come_back({{pod_topic, old}});
  EXPECT_EQ(app(), "new");
}

TEST_P(OvertakenTest, APodWithoutAUidThatIsDeletedBeforeItsMirrorLeavesStaysGone) {
  start_connected();
  const std::string word = without_uid(label("old"));
  receive(pod_topic, word, true);
  ASSERT_TRUE(delete_by_api("Pod", "p"));
  come_back({{pod_topic, word}});
  EXPECT_EQ(app(), "no pod");
  EXPECT_EQ(mirrored(pod_topic), "") << "cleared";
  settle();
  EXPECT_TRUE(kept().empty());
}

TEST_P(OvertakenTest, ACordonByTheApiOutlivesTheOverlayThatTheBrokerRetains) {
  start_connected();
  device("n1");
  receive(node_topic, overlay(false), true);
  settle();
  receive(node_topic, overlay(false), true);
  ASSERT_TRUE(apply_by_api(overlay(true)));
  come_back({{node_topic, overlay(false)}});
  EXPECT_EQ(*gateway->objects().overlay("n1")->find("spec")->find("unschedulable"), Json(true));
}

TEST_P(OvertakenTest, AClassDeletedByTheApiStaysGone) {
  start_connected();
  receive(class_topic, priority(1), true);
  ASSERT_TRUE(delete_by_api("PriorityClass", "c"));
  come_back({{class_topic, priority(1)}});
  EXPECT_FALSE(gateway->objects().has(Kind::priority_class, "c"));
  EXPECT_EQ(mirrored(class_topic), "");
}

TEST_P(OvertakenTest, ATombstoneThatIsCarriedOutDoesNotDeleteWhatTheApiAppliesAfterIt) {
  start_connected();
  receive(class_topic, priority(1), true);
  receive(class_topic, R"({"deleted":true})", true);
  ASSERT_FALSE(gateway->objects().has(Kind::priority_class, "c"));
  EXPECT_TRUE(kept().empty()) << "a delete that comes again finds nothing";
  ASSERT_TRUE(apply_by_api(priority(2)));
  come_back({{class_topic, R"({"deleted":true})"}});
  EXPECT_TRUE(gateway->objects().has(Kind::priority_class, "c"));
}

TEST_P(OvertakenTest, APodRecreatedByTheApiIsNotReplacedByItsPredecessorsWord) {
  start_connected();
  receive(pod_topic, label("old", "u1"), true);
  const std::string request = R"({"op":"apply","recreate":true,"object":)" + label("new", "u2") + "}";
  ASSERT_EQ(*api(request).find("ok"), Json(true));
  come_back({{pod_topic, label("old", "u1")}});
  EXPECT_EQ(app(), "new");
}

TEST_P(OvertakenTest, WhatAnOperatorSaysWhileTheGatewayIsAwayCounts) {
  start_connected();
  receive(pod_topic, label("old"), true);
  ASSERT_TRUE(apply_by_api(label("new")));
  come_back({{pod_topic, label("newest")}});
  EXPECT_EQ(app(), "newest");
  EXPECT_TRUE(kept().empty()) << "it stands in the place of the old one";
}

TEST_P(OvertakenTest, AnOldWordThatIsSaidAnewCountsAndGoesOnCounting) {
  start_connected();
  receive(pod_topic, label("old"), true);
  ASSERT_TRUE(apply_by_api(label("new")));
  ASSERT_EQ(kept().size(), 1u);
  receive(pod_topic, label("old"), true);
  EXPECT_EQ(app(), "old");
  come_back({{pod_topic, label("old")}});
  EXPECT_EQ(app(), "old");
}

TEST_P(OvertakenTest, AFenceThatLeftBeforeTheMirrorSettlesNothing) {
  start_connected();
  receive(topics.desired(Kind::pod, "default/other"), pod("other", "u2"));
  receive(pod_topic, label("old"), true);
  advance(1000);  // the fence for the mirror of the other
  ASSERT_TRUE(apply_by_api(label("new")));
  return_fences();
  EXPECT_EQ(kept().size(), 1u);
  come_back({{pod_topic, label("old")}});
  EXPECT_EQ(app(), "new");
}

TEST_P(OvertakenTest, NothingIsKeptOfAnUpdateOfWhatTheBrokerHasTheMirrorOf) {
  start_connected();
  ASSERT_TRUE(apply_by_api(label("old")));
  settle();
  ASSERT_TRUE(apply_by_api(label("new")));
  EXPECT_TRUE(kept().empty());
}

}  // namespace berth
