// Queue positions over a restart of the gateway.
#include "tests/unit/gateway/gateway_fixture.h"

namespace berth {
namespace {

class QueuePositionsTest : public GatewayTest {
 protected:
  static constexpr const char* kTooMuch = "8Gi";

  int attempts(const std::string& uid) const {
    const QueuedPod* queued = gateway->scheduler().queue().find(uid);
    return queued == nullptr ? -1 : queued->attempts;
  }
  // Something else that is made durable.
  void commit_something() { api(R"({"op":"apply","object":)" + pod("other" + std::to_string(++others_), "") + "}"); }
  void try_again(const std::string& uid) {
    const int before = attempts(uid);
    device("n2", "i" + std::to_string(++others_));  // a new node may be what the pod waits for
    for (int i = 0; i < 30 && attempts(uid) == before; ++i) advance(1'000);
    ASSERT_EQ(attempts(uid), before + 1);
  }

  int others_ = 0;
};

TEST_F(QueuePositionsTest, AttemptsAreThoseOfTheLastCommit) {
  start_connected();
  device("n1");
  apply(pod("huge", "u1", kTooMuch));
  for (int i = 0; i < 2; ++i) try_again("u1");
  EXPECT_EQ(attempts("u1"), 3);
  commit_something();
  restart();
  EXPECT_EQ(attempts("u1"), 3 + 1) << "the first look after the restart counts";
  EXPECT_EQ(gateway->scheduler().queue().find("u1")->unschedulable_count, 4);
}

TEST_F(QueuePositionsTest, TryingAPodAgainWritesNothing) {
  start_connected();
  apply(pod("huge", "u1", kTooMuch));
  commit_something();
  advance(EventRecorder::kBesideMs);  // its events are written within a minute
  const std::uint64_t commits = store.commits();
  advance(20 * 60'000);
  EXPECT_GE(attempts("u1"), 100) << "without a node, each ten seconds";
  EXPECT_EQ(store.commits(), commits);
}

TEST_F(QueuePositionsTest, WhileWritesAreSavedOnlyACleanEndKeepsThem) {
  start_connected();
  gateway->save_writes(true);
  apply(pod("huge", "u1", kTooMuch));
  commit_something();
  advance(20 * 60'000);
  commit_something();
  EXPECT_FALSE(store.durable().contains({Table::queue, "u1"}));
  gateway->say_goodbye();
  turn();
  EXPECT_TRUE(store.durable().contains({Table::queue, "u1"}));
}

TEST_F(QueuePositionsTest, ACleanEndKeepsThemToo) {
  start_connected();
  apply(pod("huge", "u1", kTooMuch));
  advance(11 * 60'000);
  const int before = attempts("u1");
  EXPECT_GE(before, 2);
  gateway->say_goodbye();
  turn();
  restart();
  EXPECT_EQ(attempts("u1"), before) << "and it still backs off";
}

TEST_F(QueuePositionsTest, ABackoffGoesOnWhereItWas) {
  start_connected();
  device("n1");
  apply(pod("huge", "u1", kTooMuch));
  for (int i = 0; i < 4; ++i) try_again("u1");
  commit_something();
  gateway.reset();
  store.crash();
  transport.up = false;
  start();
  EXPECT_EQ(gateway->scheduler().queue().where("u1"), Queue::Where::backoff);
  EXPECT_GT(gateway->scheduler().queue().due("u1").value_or(0), clock.now()) << "10 s after the fifth attempt";
}

TEST_F(QueuePositionsTest, PodsThatWereNeverTriedAreTriedInTheOrderInWhichTheyCame) {
  start();
  for (const char* name : {"c", "a", "b"}) {
    clock.now_ms += 10;
    apply(pod(name, std::string("u-") + name));
  }
  gateway.reset();
  store.crash();
  start();
  std::vector<std::string> order;
  for (const QueuedPod* queued : gateway->scheduler().queue().content().active)
    order.push_back(queued->pod->metadata.name);
  EXPECT_EQ(order, (std::vector<std::string>{"c", "a", "b"}));
}

TEST_F(QueuePositionsTest, AClockThatStartsAgainKeepsTheOrderAndHoldsNobodyBack) {
  start();
  clock.now_ms = 9'000'000;
  for (const char* name : {"b", "a"}) {
    clock.now_ms += 10;
    apply(pod(name, std::string("u-") + name));
  }
  gateway.reset();
  store.crash();
  clock.now_ms = 50;
  timers = Timers();
  start();
  EXPECT_EQ(gateway->scheduler().queue().content().active.size(), 2u);
  EXPECT_EQ(gateway->scheduler().queue().content().active.front()->pod->metadata.name, "b");
  EXPECT_LE(gateway->scheduler().queue().find("u-a")->timestamp, 50);
}

TEST_F(QueuePositionsTest, NothingIsLeftOfAPodThatIsBoundOrGone) {
  start_connected();
  device("n1");
  slots("n1", {});
  for (const char* name : {"bound", "gone"}) apply(pod(name, std::string("u-") + name, "2Gi"));
  commit_something();
  const auto places = [this] {
    std::size_t count = 0;
    for (const auto& [key, content] : store.durable()) {
      count += key.first == Table::queue && !key.second.starts_with(EventRecorder::kRecords) ? 1 : 0;
    }
    return count;
  };
  EXPECT_EQ(places(), 2u);
  api(R"({"op":"delete","kind":"pod","name":"gone"})");
  EXPECT_EQ(places(), 1u);
  device("n1", "i1", R"({"cpu":"2","memory":"4Gi","pods":"10"})");
  advance(2'000);
  ASSERT_EQ(phase("u-bound"), Phase::prebind);
  EXPECT_EQ(places(), 1u) << "the node may still say no";
  answer("n1", AnswerType::pre_bound);
  answer("n1", AnswerType::bound);
  EXPECT_EQ(phase("u-bound"), Phase::bound);
  EXPECT_EQ(places(), 0u);
}

TEST_F(QueuePositionsTest, AManyPodsPositionsAreSpreadOverCommits) {
  start_connected();
  device("n1");
  for (int i = 0; i < 40; ++i) apply(pod("huge" + std::to_string(i), "u" + std::to_string(i), kTooMuch));
  device("n2");
  advance(12'000);  // all are tried again
  const std::uint64_t before = store.changes();
  commit_something();
  EXPECT_LE(store.changes() - before, 20u);
}

}  // namespace
}  // namespace berth
