// What devices say of how far their stores have come, and what Lists tell them of it (N8).
#include "core/placement/heard_runs.h"

#include "tests/unit/gateway/gateway_fixture.h"

namespace berth {
namespace {

TEST(HeardRuns, AnotherRunIsToldWhatWasHeardBeforeUntilItGoesOn) {
  HeardRuns runs;
  EXPECT_FALSE(runs.note("n1", "i1", {5, 10}));
  EXPECT_FALSE(runs.note("n1", "i1", {5, 30}));
  EXPECT_FALSE(runs.note("n1", "i1", {5, 20})) << "late";
  EXPECT_EQ(runs.to_tell("n1", "i1"), std::nullopt);
  EXPECT_TRUE(runs.note("n1", "i1", {9, 12}));
  EXPECT_EQ(runs.to_tell("n1", "i1"), (Epoch{5, 30}));
  EXPECT_FALSE(runs.note("n1", "i1", {11, 14})) << "it started again before it was told";
  EXPECT_EQ(runs.to_tell("n1", "i1"), (Epoch{5, 30}));
  EXPECT_EQ(runs.to_tell("n1", "i2"), std::nullopt);
  runs.note_judged("n1", "i2");
  EXPECT_EQ(runs.to_tell("n1", "i1"), (Epoch{5, 30}));
  runs.note_judged("n1", "i1");
  EXPECT_EQ(runs.to_tell("n1", "i1"), std::nullopt);
  EXPECT_TRUE(runs.note("n1", "i1", {8, 12})) << "an older copy may have a lower number";
  EXPECT_EQ(runs.to_tell("n1", "i1"), (Epoch{11, 14}));
}

TEST(HeardRuns, AnotherIncarnationAndAForgottenNodeAreToldNothing) {
  HeardRuns runs;
  EXPECT_FALSE(runs.note("n1", "i1", {}));
  EXPECT_FALSE(runs.note("n1", "i1", {5, 10}));
  EXPECT_FALSE(runs.note("n1", "i2", {7, 1}));
  EXPECT_FALSE(runs.note("n2", "i1", {9, 1}));
  runs.forget("n1");
  EXPECT_FALSE(runs.note("n1", "i2", {9, 1}));
}

class HeardOfADevice : public GatewayTest {
 protected:
  void SetUp() override {
    start_connected();
    device("n1");
    slots("n1", {});
  }
  void heartbeat(const std::string& at) {
    transport.sent.clear();
    receive(topics.node_heartbeat("n1"), R"({"incarnation":"i1","sequence":"1","at":")" + at + R"("})");
  }
  // What Lists since the last heartbeat tell; "none": there was no List.
  std::string told() const {
    std::string seen = "none";
    for (const Message& message : transport.sent) {
      if (message.topic != topics.node_requests("n1")) continue;
      const Result<Request> request = decode_request(message.payload);
      if (request->type == RequestType::list) seen = request->seen_incarnation + " " + to_text(request->seen);
    }
    return seen;
  }
};

TEST_F(HeardOfADevice, AHeartbeatOfAnotherRunIsFollowedByAList) {
  heartbeat("5.10");
  EXPECT_EQ(told(), "none");
  heartbeat("9.3");
  EXPECT_EQ(told(), "i1 5.10");
  advance(1500);
  EXPECT_EQ(told(), "i1 5.10") << "again, since it may be lost";
  slots("n1", {});
  heartbeat("9.4");
  EXPECT_EQ(told(), "none");
}

TEST_F(HeardOfADevice, AnAnswerOfAnotherRunIsNoAnswerToWhatItWasNotTold) {
  heartbeat("5.10");
  bind_pod("web", "u1", "n1");
  Answer late = answer_to(*request("n1"), AnswerType::bound);
  late.at = {9, 3};
  transport.sent.clear();
  answer("n1", late);
  EXPECT_EQ(told(), "i1 5.10");
  slots("n1", {});
  transport.sent.clear();
  late.at = {9, 4};
  answer("n1", late);
  EXPECT_EQ(told(), "none");
}

TEST_F(HeardOfADevice, APositionThatIsNoneIsRefused) {
  heartbeat("5");
  EXPECT_EQ(log.warnings.back(),
            "refused topic=berth/v1/default/nodes/n1/heartbeat reason=at: must be \"<run>.<position>\", two numbers");
}

}  // namespace
}  // namespace berth
