// What preemption does to victims, to the pod that needs their place, and to others promised it.
#include "tests/unit/gateway/gateway_fixture.h"

namespace berth {
namespace {

class PreemptionTest : public GatewayTest {
 protected:
  PreemptionTest() {
    start_connected();
    device("n1");
    slots("n1", {});
    bind_low();
  }
  void bind_low() {
    apply(pod("low", "u1", "900Mi", R"(,"priority":1)"));
    answer("n1", AnswerType::pre_bound);
    answer("n1", AnswerType::bound);
    ASSERT_EQ(phase("u1"), Phase::bound);
  }
  void apply_high() { apply(pod("high", "u2", "900Mi", R"(,"priority":100)")); }
  Json status(const std::string& name) {
    const Json reply = describe_pod(name);
    return *reply.find("object")->find("status");
  }
  std::string nominated(const std::string& name) {
    const Json shown = status(name);
    const Json* node = shown.find("nominatedNodeName");
    return node == nullptr ? "" : node->as_string();
  }
};

TEST_F(PreemptionTest, EvictsThroughReleaseAndNominatesTheNode) {
  apply_high();
  EXPECT_EQ(phase("u1"), Phase::release);
  EXPECT_EQ(request("n1")->type, RequestType::release);
  EXPECT_EQ(gateway->scheduler().cache().node_of("u1"), "n1") << "free only after proof";
  EXPECT_EQ(nominated("high"), "n1");
  EXPECT_EQ(gateway->scheduler().queue().nominator().node_of("u2"), "n1");
  EXPECT_EQ(phase("u2"), Phase::none);
}

TEST_F(PreemptionTest, TellsTheVictimWhy) {
  apply_high();
  const Json reply = describe_pod("low");
  const std::string conditions = reply.find("object")->find("status")->find("conditions")->dump();
  EXPECT_NE(conditions.find(R"("type":"DisruptionTarget","status":"True","reason":"PreemptionByScheduler",)"
                            R"("message":"default-scheduler: preempting to accommodate a higher priority pod")"),
            std::string::npos)
      << conditions;
  EXPECT_NE(reply.find("events")->dump().find("Preempted by pod u2 on node n1"), std::string::npos);
}

TEST_F(PreemptionTest, TellsAVictimThatLeavesAlreadyNothing) {
  api(R"({"op":"delete","kind":"pod","name":"low"})");
  ASSERT_EQ(phase("u1"), Phase::release);
  apply_high();
  EXPECT_EQ(nominated("high"), "n1");
  const Json low = describe_pod("low");
  EXPECT_EQ(low.dump().find("Preempted"), std::string::npos) << low.dump();
}

TEST_F(PreemptionTest, PlacesThePodWhenTheVictimIsProvenGone) {
  apply_high();
  answer("n1", AnswerType::released);
  EXPECT_EQ(gateway->objects().pods().find("default/low"), nullptr) << "an evicted pod is deleted, as upstream";
  advance(2'000);
  ASSERT_EQ(phase("u2"), Phase::prebind);
  answer("n1", AnswerType::pre_bound);
  answer("n1", AnswerType::bound);
  EXPECT_EQ(nominated("high"), "");
  EXPECT_TRUE(gateway->scheduler().queue().nominator().by_node().empty());
}

TEST_F(PreemptionTest, WritesTheNominationLaterWhileWritesAreSaved) {
  const auto nominated_in_store = [this] {
    const std::string& record = store.durable().at({Table::object, "pods/default/high"}).value;
    return record.find("n1") != std::string::npos;
  };
  gateway->save_writes(true);
  apply_high();
  ASSERT_EQ(nominated("high"), "n1");
  EXPECT_FALSE(nominated_in_store());
  gateway->save_writes(false);
  turn();
  EXPECT_TRUE(nominated_in_store());
}

TEST_F(PreemptionTest, KeepsTheNominationOverARestart) {
  apply_high();
  restart();
  EXPECT_EQ(gateway->objects().pods().find("default/high")->pod->nominated_node_name, "n1");
  EXPECT_EQ(gateway->scheduler().queue().nominator().node_of("u2"), "n1");
  EXPECT_TRUE(gateway->objects().pods().find("default/low")->pod->preempted);
  EXPECT_EQ(nominated("high"), "n1");
}

TEST_F(PreemptionTest, TakesTheNominationOfALowerPod) {
  apply(pod("middle", "u3", "900Mi", R"(,"priority":50)"));
  ASSERT_EQ(nominated("middle"), "n1");
  // Its own promise is worth less: the place, once free, is high's. Nobody has to go for that any more.
  apply_high();
  answer("n1", AnswerType::released);
  advance(3'000);
  EXPECT_EQ(phase("u2"), Phase::prebind);
  EXPECT_EQ(phase("u3"), Phase::none);
}

// It had the node for victims that leave anyway: none goes for the higher one (preemption.go prepareCandidateAsync).
TEST_F(PreemptionTest, LeavesALowerPodItsNominationWhenAllVictimsLeaveAlready) {
  apply(pod("middle", "u3", "900Mi", R"(,"priority":50)"));
  ASSERT_EQ(gateway->scheduler().queue().nominator().node_of("u3"), "n1");
  ASSERT_EQ(phase("u1"), Phase::release);
  apply_high();
  ASSERT_EQ(gateway->scheduler().queue().nominator().node_of("u2"), "n1");
  EXPECT_EQ(gateway->scheduler().queue().nominator().node_of("u3"), "n1");
  EXPECT_EQ(nominated("middle"), "n1");
}

// eventhandlers.go deletePodFromSchedulingQueue: such pods did not count it as placed.
TEST_F(PreemptionTest, ANominatedPodThatGoesWakesNoneOfHigherPriority) {
  apply(pod("middle", "u3", "900Mi", R"(,"priority":50)"));
  ASSERT_EQ(nominated("middle"), "n1");
  const std::string never = R"(,"preemptionPolicy":"Never")";
  apply(pod("polite", "u4", "900Mi", R"(,"priority":100)" + never));
  apply(pod("equal", "u5", "900Mi", R"(,"priority":50)" + never));
  const auto attempts = [this](const char* key) {
    return gateway->objects().pods().find(key)->extras().position->attempts;
  };
  ASSERT_EQ(attempts("default/polite"), 1);
  ASSERT_EQ(attempts("default/equal"), 1);
  api(R"({"op":"delete","kind":"pod","name":"middle"})");
  EXPECT_EQ(attempts("default/polite"), 1);
  EXPECT_EQ(attempts("default/equal"), 2);
}

// Of two victims alike but for their start, which goes.
class StartTimeTest : public PreemptionTest, public ::testing::WithParamInterface<std::pair<const char*, const char*>> {
 protected:
  void report(const std::string& node, const std::string& key, const std::string& uid, const std::string& start) {
    const Epoch epoch = gateway->bindings().at(uid).row.epoch;
    receive(topics.node_pod(node, key), R"({"uid":")" + uid + R"(","epoch":")" + to_text(epoch) +
                                            R"(","phase":"Running","startTime":")" + start + R"("})");
  }
};

TEST_P(StartTimeTest, PrefersTheVictimThatStartedLast) {
  device("n2");
  slots("n2", {});
  apply(pod("low2", "u3", "900Mi", R"(,"priority":1)"));
  answer("n2", AnswerType::pre_bound);
  answer("n2", AnswerType::bound);
  report("n1", "default/low", "u1", GetParam().first);
  report("n2", "default/low2", "u3", GetParam().second);
  apply_high();
  const bool first = std::string(GetParam().first) > GetParam().second;
  EXPECT_EQ(phase("u1"), first ? Phase::release : Phase::bound);
  EXPECT_EQ(phase("u3"), first ? Phase::bound : Phase::release);
}

INSTANTIATE_TEST_SUITE_P(Orders, StartTimeTest,
                         ::testing::Values(std::pair{"2026-03-01T10:00:00Z", "2026-03-01T09:00:00Z"},
                                           std::pair{"2026-03-01T09:00:00Z", "2026-03-01T10:00:00Z"}));

TEST_F(PreemptionTest, LeavesPodsOfThePolicyNeverWaiting) {
  apply(pod("polite", "u2", "900Mi", R"(,"priority":100,"preemptionPolicy":"Never")"));
  EXPECT_EQ(phase("u1"), Phase::bound);
  EXPECT_NE(why("polite").find("not eligible due to preemptionPolicy=Never."), std::string::npos) << why("polite");
}

}  // namespace
}  // namespace berth
