#include "core/gateway/node_inboxes.h"

#include "tests/unit/gateway/gateway_fixture.h"

namespace berth {
namespace {

// Each node's messages as they are processed: at once, or later by the timer.
class NodeInboxesTest : public ::testing::Test {
 protected:
  void receive(const std::string& topic, const std::string& payload) {
    Message message;
    message.topic = "berth/v1/default/" + topic;
    message.payload = payload;
    const std::vector<std::string_view> levels = topics.split(message.topic);
    if (!inboxes.put_off(std::string(sender_of(levels)), levels, message)) processed.push_back(payload);
  }
  void answer(const std::string& node, const std::string& payload) { receive("gateways/g/answers/" + node, payload); }
  // Ends the turn and runs the next one; what it processed.
  std::vector<std::string> next_turn() {
    inboxes.end_turn();
    processed.clear();
    timers.run_due(clock.now_ms);
    return processed;
  }
  static std::string big(char of) { return std::string(20 * 1024, of); }

  Topics topics{"default"};
  HandClock clock;
  Timers timers;
  QuietLog log;
  std::vector<std::string> processed;
  NodeInboxes inboxes{clock, timers, log, [this](const Message& message) { processed.push_back(message.payload); }};
};

TEST(SenderOf, IsTheNodeOfItsOwnTopicsAndOfItsAnswers) {
  EXPECT_EQ(sender_of({"nodes", "n1", "state"}), "n1");
  EXPECT_EQ(sender_of({"gateways", "g", "answers", "n2"}), "n2");
  EXPECT_EQ(sender_of({"gateways", "g", "api"}), "");
  EXPECT_EQ(sender_of({"desired", "pods", "default", "p"}), "");
}

TEST_F(NodeInboxesTest, ProcessAtOnceWhatFitsInTheTurnAndOneMessageWhateverItsSize) {
  answer("n1", std::string(60 * 1024, 'x'));
  EXPECT_EQ(processed.size(), 1u);
  answer("n1", "later");
  EXPECT_EQ(processed.size(), 1u);
  answer("n2", "other");
  EXPECT_EQ(processed.back(), "other") << "a node delays nobody else";
  EXPECT_EQ(next_turn(), std::vector<std::string>{"later"});
  EXPECT_TRUE(next_turn().empty());
}

TEST_F(NodeInboxesTest, KeepTheOrderOfWhatWaits) {
  for (const char each : {'a', 'b', 'c'}) answer("n1", big(each));
  answer("n1", "small");  // would fit, but not before b
  EXPECT_EQ(processed, std::vector<std::string>{big('a')});
  EXPECT_EQ(next_turn(), std::vector<std::string>{big('b')});
  EXPECT_EQ(next_turn(), (std::vector<std::string>{big('c'), "small"}));
}

TEST_F(NodeInboxesTest, KeepOfEachTopicTheNewestMessageButEachAnswer) {
  answer("n1", big('a'));
  answer("n1", big('b'));
  for (const char* payload : {"1", "2"}) receive("nodes/n1/state", payload);
  receive("nodes/n1/presence", "3");
  for (const char* payload : {"4", "5"}) answer("n1", payload);
  EXPECT_EQ(next_turn(), (std::vector<std::string>{big('b'), "2", "3", "4", "5"}));
}

TEST_F(NodeInboxesTest, DropWhatIsBeyondHalfAMegabyteAndSayItOnce) {
  for (int i = 0; i < 100; ++i) answer("n1", big('x'));
  EXPECT_EQ(log.warnings, std::vector<std::string>{"node inbox overflow, messages dropped node=n1"});
  std::size_t later = 0;
  for (std::vector<std::string> some = next_turn(); !some.empty(); some = next_turn()) later += some.size();
  EXPECT_EQ(later, 512 / 21) << "of 20 KiB and what a message weighs at least, 1 KiB";
}

TEST_F(NodeInboxesTest, ChargeAListForEachAnswerInIt) {
  answer("n1", "list");
  inboxes.charge_answers("n1", 31);
  answer("n1", "next");
  EXPECT_EQ(processed, std::vector<std::string>{"list"});
  EXPECT_EQ(next_turn(), std::vector<std::string>{"next"});
}

TEST_F(NodeInboxesTest, ForgetWhatWaitsWhenTheLinkIsNew) {
  for (const char each : {'a', 'b'}) answer("n1", big(each));
  inboxes.clear();
  EXPECT_TRUE(next_turn().empty());
}

}  // namespace
}  // namespace berth
