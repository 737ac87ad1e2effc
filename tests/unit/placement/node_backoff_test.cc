// Nodes that do not take what they are asked to are passed over for a while.
#include "core/placement/node_backoff.h"

#include "tests/unit/gateway/gateway_fixture.h"

namespace berth {
namespace {

class BackoffOfNodes : public ::testing::Test {
 protected:
  bool fail(Millis now) {
    backoff.note_unanswered("n1", "i1", "did not answer PreBind in 60 s", now);
    return backoff.is_passed_over("n1", now);
  }
  NodeBackoff backoff{{.first = 10'000, .max = 60'000}};
};

TEST_F(BackoffOfNodes, DoublesFromTheFirstToTheBound) {
  Millis now = 0;
  for (const Millis pause : {10'000, 20'000, 40'000, 60'000, 60'000}) {
    EXPECT_TRUE(fail(now));
    EXPECT_TRUE(backoff.is_passed_over("n1", now + pause - 1)) << pause;
    EXPECT_FALSE(backoff.is_passed_over("n1", now + pause)) << pause;
    now += pause;
  }
}

TEST_F(BackoffOfNodes, CountsThoseAskedTogetherOnce) {
  fail(0);
  fail(1);
  fail(9'999);
  EXPECT_FALSE(backoff.is_passed_over("n1", 10'000));
}

TEST_F(BackoffOfNodes, LetsOnePodTryWhenTheTimeIsOver) {
  fail(0);
  backoff.note_asked("n1", "u1", 10'000);
  EXPECT_TRUE(backoff.is_passed_over("n1", 10'000));
  EXPECT_TRUE(backoff.is_passed_over("n1", 500'000)) << "until it has answered";
  backoff.note_ended("n1", "u2");
  EXPECT_TRUE(backoff.is_passed_over("n1", 500'000)) << "that was another pod";
  backoff.note_ended("n1", "u1");
  EXPECT_FALSE(backoff.is_passed_over("n1", 500'000)) << "the pod was deleted: the next one may try";
  EXPECT_TRUE(fail(500'000));
  EXPECT_TRUE(backoff.is_passed_over("n1", 519'999)) << "doubled: it has not taken a pod";
}

TEST_F(BackoffOfNodes, EndsWithAPodTakenOrAnotherIncarnation) {
  fail(0);
  backoff.note_taken("n1");
  EXPECT_FALSE(backoff.is_passed_over("n1", 1));
  fail(0);
  backoff.note_incarnation("n1", "i1");
  EXPECT_TRUE(backoff.is_passed_over("n1", 1));
  backoff.note_incarnation("n1", "i2");
  EXPECT_FALSE(backoff.is_passed_over("n1", 1));
  fail(2);
  EXPECT_FALSE(backoff.is_passed_over("n1", 10'002)) << "from the first pause again";
}

TEST_F(BackoffOfNodes, OnePodThatIsRejectedAgainAndAgainIsNotTheNodesFault) {
  for (Millis now = 0; now < 50; ++now) backoff.note_rejected("n1", "i1", "u1", now);
  EXPECT_FALSE(backoff.is_passed_over("n1", 50));
  backoff.note_rejected("n1", "i1", "u2", 51);
  EXPECT_FALSE(backoff.is_passed_over("n1", 51));
  backoff.note_taken("n1");
  backoff.note_rejected("n1", "i1", "u3", 52);
  EXPECT_FALSE(backoff.is_passed_over("n1", 52)) << "it took one in between";
}

TEST_F(BackoffOfNodes, SeveralPodsRejectedOneAfterAnotherAre) {
  for (const char* uid : {"u1", "u2", "u3"}) backoff.note_rejected("n1", "i1", uid, 0);
  EXPECT_TRUE(backoff.is_passed_over("n1", 1));
  backoff.note_rejected("n1", "i1", "u1", 10'000);
  EXPECT_TRUE(backoff.is_passed_over("n1", 29'999)) << "one more is enough from then on";
}

TEST_F(BackoffOfNodes, SaysWhyAndForHowLong) {
  fail(0);
  EXPECT_EQ(backoff.why("n1"), "did not answer PreBind in 60 s; passed over for 10 s");
  EXPECT_EQ(backoff.why("n1", 3'500), "did not answer PreBind in 60 s; passed over for 7 s more");
  EXPECT_EQ(backoff.why("n1", 10'000), "did not answer PreBind in 60 s; passed over until it has answered for one pod");
  EXPECT_EQ(backoff.why("n2"), "");
}

class PassedOver : public GatewayTest {
 protected:
  // The first one attracts every pod.
  void two_devices() {
    start_connected();
    device("big", "i1", R"({"cpu":"1000","memory":"1Ti","pods":"1000"})");
    device("small", "i2", R"({"cpu":"4","memory":"1Gi","pods":"10"})");
  }
  bool is_passed_over(const std::string& name) {
    const Node& node = *gateway->scheduler().cache().find(name)->node;
    return std::any_of(node.taints.begin(), node.taints.end(),
                       [](const Taint& taint) { return taint.key == "node.berth/passed-over"; });
  }
  // Heard of, but it says nothing to what it is asked.
  void be_alive(const std::string& name, const std::string& incarnation, Millis ms) {
    for (Millis passed = 0; passed < ms; passed += 5000) {
      receive(topics.node_heartbeat(name), R"({"incarnation":")" + incarnation + R"("})");
      receive(topics.node_heartbeat("small"), R"({"incarnation":"i2"})");
      advance(5000);
    }
  }
  std::string node_of(const std::string& uid) {
    const auto found = gateway->bindings().find(uid);
    return found == gateway->bindings().end() ? std::string() : std::string(found->second.row.node);
  }
};

TEST_F(PassedOver, APodGoesElsewhereOnceTheNodeThatAttractsItHasNotAnswered) {
  two_devices();
  apply(pod("web", "u1"));
  ASSERT_EQ(node_of("u1"), "big");
  be_alive("big", "i1", 65'000);
  EXPECT_TRUE(is_passed_over("big"));
  EXPECT_EQ(node_of("u1"), "small");
  apply(pod("other", "u2"));
  EXPECT_EQ(node_of("u2"), "small");
}

TEST_F(PassedOver, ANodeIsNotForWhatTheGatewayCouldNotAskWithoutItsBroker) {
  two_devices();
  apply(pod("web", "u1"));
  ASSERT_EQ(node_of("u1"), "big");
  transport.up = false;
  gateway->on_link(false);
  turn();
  advance(30'000);
  connect();
  receive(topics.node_presence("big"), R"({"incarnation":"i1","session":"2","online":true})");
  be_alive("big", "i1", 35'000);
  EXPECT_FALSE(is_passed_over("big"));
}

TEST_F(PassedOver, PodsDecidedForItBeforeGoBackToTheQueue) {
  options.max_rows_per_node = 1;
  two_devices();
  apply(pod("a", "a"));
  be_alive("big", "i1", 30'000);
  apply(pod("b", "b"));
  ASSERT_EQ(node_of("b"), "big");
  ASSERT_EQ(phase("b"), Phase::none) << "it waits until the node has answered for the first one";
  be_alive("big", "i1", 35'000);
  EXPECT_EQ(node_of("a"), "small");
  EXPECT_EQ(node_of("b"), "small");
}

TEST_F(PassedOver, APodThatCanGoNowhereElseIsTriedThereWhenTheTimeIsOver) {
  two_devices();
  apply(pod("pinned", "u1", "64Mi", R"(,"nodeSelector":{"kubernetes.io/hostname":"big"})"));
  be_alive("big", "i1", 65'000);
  ASSERT_TRUE(is_passed_over("big"));
  EXPECT_EQ(phase("u1"), Phase::none);
  be_alive("big", "i1", 15'000);
  ASSERT_EQ(node_of("u1"), "big");
  EXPECT_EQ(phase("u1"), Phase::prebind);
  EXPECT_TRUE(is_passed_over("big")) << "by others, until it has answered for this one";
  answer("big", AnswerType::pre_bound);
  answer("big", AnswerType::bound);
  EXPECT_EQ(phase("u1"), Phase::bound);
  EXPECT_FALSE(is_passed_over("big"));
}

TEST_F(PassedOver, ExplainSaysForHowLong) {
  two_devices();
  apply(pod("pinned", "u1", "64Mi", R"(,"nodeSelector":{"kubernetes.io/hostname":"big"})"));
  be_alive("big", "i1", 60'000);
  ASSERT_TRUE(is_passed_over("big"));
  advance(3'000);
  const Json reply = api(R"({"op":"explain","namespace":"default","name":"pinned"})");
  ASSERT_NE(reply.find("notes"), nullptr) << reply.dump();
  EXPECT_EQ(*reply.find("notes")->as_array().at(0).find("message"),
            Json("did not answer PreBind in 60 s; passed over for 7 s more"));
  EXPECT_NE(why("pinned").find("untolerated taint"), std::string::npos) << why("pinned");
  EXPECT_EQ(log.warnings.back(),
            "node passed over node=big reason=did not answer PreBind in 60 s; passed over for 10 s");
}

TEST_F(PassedOver, ANewIncarnationIsAskedAtOnce) {
  two_devices();
  apply(pod("pinned", "u1", "64Mi", R"(,"nodeSelector":{"kubernetes.io/hostname":"big"})"));
  be_alive("big", "i1", 60'000);
  ASSERT_TRUE(is_passed_over("big"));
  receive(topics.node_presence("big"), R"({"incarnation":"i1","session":"2","online":true})");
  EXPECT_TRUE(is_passed_over("big")) << "a connection proves nothing";
  device("big", "i9", R"({"cpu":"1000","memory":"1Ti","pods":"1000"})");
  EXPECT_FALSE(is_passed_over("big"));
}

TEST_F(PassedOver, ANodeIsNotForWhatAnEarlierIncarnationLeftUnanswered) {
  two_devices();
  apply(pod("pinned", "u1", "64Mi", R"(,"nodeSelector":{"kubernetes.io/hostname":"big"})"));
  be_alive("big", "i1", 55'000);
  device("big", "i9", R"({"cpu":"1000","memory":"1Ti","pods":"1000"})");
  be_alive("big", "i9", 5'000);
  EXPECT_FALSE(is_passed_over("big"));
  EXPECT_EQ(std::count_if(log.warnings.begin(), log.warnings.end(),
                          [](const std::string& line) { return line.starts_with("node passed over"); }),
            0);
}

TEST_F(PassedOver, ADeviceThatRejectsEveryPodLosesThem) {
  two_devices();
  std::set<std::string> placed;
  for (int index = 0; index < 3; ++index) {
    const std::string uid = "u" + std::to_string(index);
    apply(pod(uid, uid, std::to_string(index + 1) + "Mi"));
    ASSERT_EQ(node_of(uid), "big") << uid;
    answer("big", AnswerType::rejected);
  }
  EXPECT_TRUE(is_passed_over("big"));
  receive(topics.node_heartbeat("small"), R"({"incarnation":"i2"})");
  advance(2'000);
  for (const char* uid : {"u0", "u1", "u2"}) EXPECT_EQ(node_of(uid), "small") << uid;
}

TEST_F(PassedOver, ANodeIsNoMoreAfterARestart) {
  two_devices();
  apply(pod("web", "u1"));
  be_alive("big", "i1", 65'000);
  ASSERT_TRUE(is_passed_over("big"));
  restart();
  EXPECT_FALSE(is_passed_over("big"));
}

}  // namespace
}  // namespace berth
