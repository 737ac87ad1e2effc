// Heartbeats that repeat what the one before said are taken by their text; what they do must be what they always did.
#include "core/placement/routine_heartbeats.h"

#include "core/random.h"
#include "tests/unit/gateway/gateway_fixture.h"

namespace berth {
namespace {

std::string heartbeat(const std::string& incarnation, const std::string& at, const std::string& more = "") {
  return R"({"incarnation":")" + incarnation + R"(","sequence":"7")" + (at.empty() ? "" : R"(,"at":")" + at + R"(")") +
         more + "}";
}

class RoutineHeartbeatsTest : public GatewayTest {
 public:
  void TestBody() override {}
  void SetUp() override {
    start_connected();
    device("n1", "i1", R"({"cpu":"2","memory":"1Gi","pods":"10"})", R"(,"protocol":"1.10")");
    slots("n1", {});
  }
  void beat(const std::string& payload, bool retain = false) { receive(topics.node_heartbeat("n1"), payload, retain); }
  const DeviceNode& node() const { return gateway->nodes().all().at("n1"); }
  bool is_known() const { return node().routine.is_known; }
  // The one just received was taken by its text.
  bool was_routine() const { return node().routine.heard_at == clock.now_ms; }
  void begin() {
    beat(heartbeat("i1", "5.1"));
    ASSERT_TRUE(is_known());
    advance(10);
  }
};

TEST_F(RoutineHeartbeatsTest, TheSecondOfTwoThatSayTheSameIsTakenByItsText) {
  begin();
  EXPECT_FALSE(was_routine());
  beat(heartbeat("i1", "5.1"));
  EXPECT_TRUE(was_routine());
  EXPECT_EQ(node().last_heard, clock.now_ms);
}

TEST_F(RoutineHeartbeatsTest, ADeviceThatRepeatsItselfIsNotSilent) {
  begin();
  for (int times = 0; times < 10; ++times) {
    advance(5000);
    beat(heartbeat("i1", "5.1"));
    ASSERT_TRUE(was_routine());
  }
  EXPECT_TRUE(node().reachable);
  advance(16'000);
  EXPECT_FALSE(node().reachable);
  beat(heartbeat("i1", "5.1"));
  EXPECT_FALSE(was_routine()) << "it comes back";
  EXPECT_TRUE(node().reachable);
}

TEST_F(RoutineHeartbeatsTest, WhatSaysSomethingElseIsTakenInFull) {
  begin();
  beat(heartbeat("i1", "5.1"), true);
  EXPECT_FALSE(was_routine()) << "the broker had it retained: it may be old";
  const std::vector<std::string> others{
      heartbeat("i2", "5.1"),
      heartbeat("i1x", "5.1"),
      heartbeat("i", "5.1"),
      heartbeat("i1", ""),
      heartbeat("i1", "05.1"),
      heartbeat("i1", "5.1", R"(,"answer":true)"),
      heartbeat("i1", "5.1", R"(,"more":"x")"),
      R"( {"incarnation":"i1","sequence":"7","at":"5.1"})",
      R"({"incarnation":"i1","sequence":"7x","at":"5.1"})",
      R"({"incarnation":"i1","at":"5.1"})",
      heartbeat("i1", "5.2"),
      heartbeat("i1", "6.1"),
  };
  for (const std::string& payload : others) {
    begin();
    beat(heartbeat("i1", "5.1"));
    ASSERT_TRUE(was_routine());
    advance(10);
    beat(payload);
    EXPECT_FALSE(was_routine()) << payload;
  }
}

TEST_F(RoutineHeartbeatsTest, WhateverElseTheDeviceSaysEndsTheRoutine) {
  begin();
  receive(topics.node_presence("n1"), R"({"incarnation":"i1","session":"2","online":true})");
  EXPECT_FALSE(is_known());
  begin();
  receive(topics.node_state("n1"), R"({"incarnation":"i1","session":"2","sequence":"2","protocol":"1.10",)"
                                   R"("allocatable":{"cpu":"2","memory":"1Gi","pods":"10"}})");
  EXPECT_FALSE(is_known());
  begin();
  apply(pod("web", "u1"));
  EXPECT_TRUE(is_known()) << "it was asked, and has not answered";
  answer("n1", AnswerType::pre_bound);
  EXPECT_FALSE(is_known());
}

TEST_F(RoutineHeartbeatsTest, ADeviceOfAnEarlierProtocolHasNone) {
  receive(topics.node_state("n1"), R"({"incarnation":"i1","session":"2","sequence":"2","protocol":"1.9"})");
  for (int times = 0; times < 2; ++times) beat(heartbeat("i1", "5.1"));
  EXPECT_FALSE(was_routine()) << "each is to be answered";
}

TEST_F(RoutineHeartbeatsTest, AnEarlierRunOfTheAgentIsNone) {
  begin();
  for (int times = 0; times < 2; ++times) beat(heartbeat("i1", "4.9"));
  EXPECT_FALSE(is_known()) << "its store may be an older copy";
}

// Two gateways that hear the same, of which one takes each heartbeat in full, since a space is in front of it.
class BothWaysTest : public ::testing::Test {
 protected:
  // What such a gateway has said, and knows of its node.
  class Side : public RoutineHeartbeatsTest {
   public:
    Side() { RoutineHeartbeatsTest::SetUp(); }
    std::string told() {
      std::string text;
      for (const Message& message : transport.on_wire) text += message.topic + " " + message.payload + "\n";
      transport.on_wire.clear();
      text += node().incarnation + (node().reachable ? " reachable " : " silent ") + std::to_string(node().last_heard);
      for (const auto& [hold, why] : node().holds) text += " held: " + why;
      return text;
    }
    void come(const std::string& incarnation, const std::string& session) {
      const std::string about = R"({"incarnation":")" + incarnation + R"(","session":")" + session +
                                R"(","machine":"m)" + incarnation + R"(","serial":"s)" + incarnation + R"(")";
      receive(topics.node_state("n1"), about + R"(,"sequence":"1","protocol":"1.10","allocatable":{"cpu":"2",)" +
                                           R"("memory":"1Gi","pods":"10"}})");
      receive(topics.node_presence("n1"), about + R"(,"online":true})");
    }
    // To the last List, or request, of whichever incarnation.
    void reply(const std::string& incarnation, const Epoch& at, bool with_hello) {
      for (auto it = transport.sent.rbegin(); it != transport.sent.rend(); ++it) {
        if (it->topic != topics.node_requests("n1")) continue;
        const Result<Request> asked = decode_request(it->payload);
        const bool is_list = asked->type == RequestType::list;
        if (asked->type == RequestType::heartbeat || is_list == with_hello) continue;
        Answer said = answer_to(*asked, is_list ? AnswerType::slots : AnswerType::hello, incarnation);
        said.uid.clear();
        said.list_id = asked->list_id;
        said.pages = 1;
        said.at = at;
        return answer("n1", said);
      }
    }
    using GatewayTest::advance;
    using GatewayTest::apply;
    using GatewayTest::pod;
    using GatewayTest::receive;
    using GatewayTest::topics;
  };

  void step(Random& random) {
    // Each for some time, as devices do.
    if (random.chance(1, 40)) incarnation_ = random.chance(2, 3) ? "i1" : "i2";
    if (random.chance(1, 20)) at_ = {5 + random.below(2), random.below(3)};
    const std::string incarnation = random.chance(19, 20) ? incarnation_ : "i1";
    const Epoch at = random.chance(19, 20) ? at_ : Epoch{5, 1};
    const auto both = [this](const auto& act) {
      act(texts_);
      act(full_);
    };
    switch (random.below(20)) {
      case 0: return both([&, session = std::to_string(++session_)](Side& side) { side.come(incarnation, session); });
      case 1: return both([&](Side& side) { side.reply(incarnation, at, false); });
      case 2: return both([&](Side& side) { side.reply(incarnation, at, true); });
      case 3:
        return both([&](Side& side) {
          side.receive(side.topics.node_presence("n1"), R"({"incarnation":")" + incarnation + R"(","session":")" +
                                                            std::to_string(session_) + R"(","online":false})");
        });
      case 4: return both([&, ms = random.below(40'000)](Side& side) { side.advance(static_cast<Millis>(ms)); });
      case 5:
        return both(
            [&, name = std::to_string(random.below(8))](Side& side) { side.apply(Side::pod("p" + name, "u" + name)); });
      default: {
        const std::string said = heartbeat(incarnation, random.chance(49, 50) ? to_text(at) : "");
        both([&](Side& side) { side.advance(2000); });
        texts_.beat(said);
        full_.beat(" " + said);
        routine_ += texts_.was_routine() ? 1 : 0;
      }
    }
  }

  Side texts_, full_;
  std::string incarnation_ = "i1";
  Epoch at_{5, 1};
  int session_ = 1;
  int routine_ = 0;
};

TEST_F(BothWaysTest, AGatewayThatTakesThemByTheirTextDoesWhatOneDoesThatDecodesThem) {
  Random random(20);
  for (int count = 0; count < 3000; ++count) {
    step(random);
    ASSERT_EQ(texts_.told(), full_.told()) << "step " << count;
  }
  EXPECT_GT(routine_, 100);
}

}  // namespace
}  // namespace berth
