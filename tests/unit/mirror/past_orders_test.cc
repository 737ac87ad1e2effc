// The broker comes back with what it retained some time ago: what was deleted or replaced since is no order (P16).
#include "core/mirror/past_orders.h"

#include "storage/memory_store.h"
#include "tests/unit/gateway/gateway_fixture.h"

namespace berth {
namespace {

// The bool: the gateway loses its power as well.
class PastOrdersTest : public GatewayTest, public testing::WithParamInterface<bool> {
 protected:
  const std::string pod_topic = topics.desired(Kind::pod, "default/p");
  const std::string class_topic = topics.desired(Kind::priority_class, "high");

  static std::string label(const std::string& app, const std::string& uid = "u") {
    const std::string own = uid.empty() ? "" : R"(,"uid":")" + uid + R"(")";
    return R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"default","labels":{"app":")" + app +
           R"("})" + own + R"(},"spec":{"containers":[{"name":"c","image":"i"}]}})";
  }
  static std::string high(int value) {
    return R"({"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass","metadata":{"name":"high"},"value":)" +
           std::to_string(value) + "}";
  }
  // The mark that was left last in the broker; empty: none.
  std::string mark() const {
    std::string last;
    for (const Message& message : transport.sent) {
      if (message.topic == topics.gateway_fence("gateway") && message.retain) last = message.payload;
    }
    return last;
  }
  // Another session, which begins with this mark and these orders.
  void come_back(const std::string& marked, const std::vector<std::pair<std::string, std::string>>& retained) {
    gateway->on_link(false);
    turn();
    if (GetParam()) {
      gateway.reset();
      store.crash();
      start();
    }
    transport.sent.clear();
    transport.up = true;
    gateway->on_link(true);
    turn();
    if (!marked.empty()) receive(topics.gateway_fence("gateway"), marked, true);
    for (const auto& [topic, payload] : retained) receive(topic, payload, true);
    return_fences();
  }
  std::string app() const {
    const PodEntry* entry = gateway->objects().pods().find("default/p");
    return entry == nullptr ? "no pod" : std::string(entry->pod->metadata.labels.find("app")->second);
  }
  std::string last_on(const std::string& topic) const {
    std::string last = "none";
    for (const Message& message : transport.sent) {
      if (message.topic == topic) last = message.payload;
    }
    return last;
  }
  void remove_pod() {
    receive(pod_topic, R"({"deleted":true})", true);
    ASSERT_EQ(app(), "no pod");
    for (int i = 0; i < 3; ++i) settle();
  }
};

INSTANTIATE_TEST_SUITE_P(Links, PastOrdersTest, ::testing::Bool(),
                         [](const auto& test) { return test.param ? "PowerCut" : "LinkLost"; });

TEST_P(PastOrdersTest, ADeletedPodDoesNotComeBackWithAnOlderRetainedSet) {
  for (const std::string uid : {"u", ""}) {
    start_connected();
    receive(pod_topic, label("old", uid), true);
    settle();
    const std::string before = mark();
    remove_pod();
    come_back(before, {{pod_topic, label("old", uid)}});
    EXPECT_EQ(app(), "no pod") << uid;
    EXPECT_EQ(last_on(pod_topic), "") << "its topic is cleared again";
  }
}

TEST_P(PastOrdersTest, TheOperatorIsToldOfTheFirstThatAreIgnored) {
  start_connected();
  std::vector<std::pair<std::string, std::string>> orders;
  for (int n = 0; n < 15; ++n) {
    const std::string name = "p" + std::to_string(n);
    orders.emplace_back(topics.desired(Kind::pod, "default/" + name), pod(name, "u" + std::to_string(n)));
    receive(orders.back().first, orders.back().second, true);
  }
  settle();
  const std::string before = mark();
  for (const auto& [topic, manifest] : orders) receive(topic, R"({"deleted":true})", true);
  for (int i = 0; i < 3; ++i) settle();
  come_back(before, orders);
  EXPECT_TRUE(gateway->objects().pods().all().empty());
  int told = 0;
  for (const Message& message : transport.sent) {
    if (message.topic == topics.events("default") && message.payload.find("OrderIgnored") != std::string::npos) ++told;
  }
  EXPECT_EQ(told, 10) << "a broker may come back with thousands";
}

TEST_P(PastOrdersTest, EachEarlierVersionOfAPodIsPast) {
  start_connected();
  for (const char* version : {"1", "2", "3"}) {
    receive(pod_topic, label(version), true);
    settle();
  }
  for (const char* version : {"1", "2"}) {
    come_back({}, {{pod_topic, label(version)}});
    EXPECT_EQ(app(), "3");
    EXPECT_NE(last_on(pod_topic).find("\"3\""), std::string::npos);
  }
}

TEST_P(PastOrdersTest, OtherKindsAreNotUndoneEither) {
  start_connected();
  receive(class_topic, high(1), true);
  receive(class_topic, high(2), true);
  settle();
  come_back({}, {{class_topic, high(1)}});
  EXPECT_EQ(gateway->objects().manifest(Kind::priority_class, "high").find("value")->as_int(), 2);
  receive(class_topic, R"({"deleted":true})", true);
  settle();
  come_back({}, {{class_topic, high(2)}});
  EXPECT_FALSE(gateway->objects().has(Kind::priority_class, "high"));
}

TEST_P(PastOrdersTest, AnOlderDeleteDoesNotEndALaterPod) {
  start_connected();
  receive(pod_topic, label("first"), true);
  remove_pod();
  receive(pod_topic, label("second", "u2"), true);
  settle();
  come_back({}, {{pod_topic, R"({"deleted":true})"}});
  EXPECT_EQ(app(), "second");
}

TEST_P(PastOrdersTest, TheSameTextIsAnOrderAgainWhenItIsSaidAgain) {
  start_connected();
  receive(pod_topic, label("same", ""), true);
  remove_pod();
  const std::string marked = mark();
  EXPECT_NE(marked.find("\"orders\""), std::string::npos);
  receive(pod_topic, label("same", ""), true);
  EXPECT_EQ(app(), "same") << "said while the gateway was connected";
  remove_pod();
  come_back(mark(), {{pod_topic, label("same", "")}});
  EXPECT_EQ(app(), "same") << "said while it was not, behind the mark";
}

TEST_P(PastOrdersTest, AMarkOfAnotherStoreTellsNothing) {
  start_connected();
  receive(pod_topic, label("old"), true);
  remove_pod();
  come_back(R"({"orders":"1000","storeId":"another"})", {{pod_topic, label("old")}});
  EXPECT_EQ(app(), "no pod");
}

// The lost store had numbered more orders than its copy; the copy goes on from where it was.
TEST_P(PastOrdersTest, AMarkOfTheStoreThatWasLostTellsNothingOfLaterOrders) {
  start_connected();
  receive(pod_topic, label("1"), true);
  settle();
  const MemoryStore copy = store;
  for (const char* version : {"2", "3", "4"}) receive(pod_topic, label(version), true);
  for (int i = 0; i < 3; ++i) settle();
  const std::string left_by_lost_store = mark();
  ASSERT_NE(left_by_lost_store, "");
  gateway.reset();
  store = copy;
  ++options.identity_seed;
  options.lost_commits = "the write-ahead log is damaged at frame 7: the commits behind it are lost";
  start();
  options.lost_commits.clear();
  come_back(left_by_lost_store, {{pod_topic, label("4")}});
  ASSERT_EQ(app(), "4") << "the broker did not go back";
  receive(pod_topic, label("5"), true);
  come_back(left_by_lost_store, {{pod_topic, label("4")}});
  EXPECT_EQ(app(), "5");
}

TEST(PastOrdersStoreTest, KeepsTheNewestInFewRecords) {
  MemoryStore store;
  PastOrders past(store);
  const auto overlay = [](int number) {
    return Json(Json::Object{{"metadata", Json(Json::Object{{"name", Json("n" + std::to_string(number))}})}});
  };
  const int count = static_cast<int>(PastOrders::kBlock * PastOrders::kMaxBlocks) + 100;
  for (int i = 0; i < count; ++i) {
    past.remember(Kind::node, "n" + std::to_string(i), overlay(i));
    past.save();
    ASSERT_TRUE(store.commit().is_success());
  }
  EXPECT_EQ(store.durable().size(), PastOrders::kMaxBlocks);
  PastOrders loaded(store);
  for (const auto& [id, content] : store.durable()) {
    ASSERT_TRUE(loaded.load({id.first, id.second, content.value, 0}).is_success());
  }
  EXPECT_EQ(loaded.newest(), static_cast<std::uint64_t>(count));
  EXPECT_FALSE(loaded.is_past(Kind::node, "n0", overlay(0)));
  EXPECT_TRUE(loaded.is_past(Kind::node, "n200", overlay(200)));
  EXPECT_TRUE(loaded.is_past(Kind::node, "n" + std::to_string(count - 1), overlay(count - 1)));
  loaded.set_marked(static_cast<std::uint64_t>(count));
  EXPECT_FALSE(loaded.is_past(Kind::node, "n200", overlay(200)));
  EXPECT_FALSE(loaded.load({Table::meta, "past/1x", "12345678", 0}).is_success());
  EXPECT_FALSE(loaded.load({Table::meta, "past/1", "1234567", 0}).is_success());
}

}  // namespace
}  // namespace berth
