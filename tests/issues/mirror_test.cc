// The gateway's mirror and its statuses at the broker: what it must ignore, and what it must clear.
#include <algorithm>
#include <optional>

#include "tests/unit/gateway/gateway_fixture.h"

namespace berth {

TEST_F(GatewayTest, TheGatewaysOwnMirrorIsIgnored) {
  start_connected();
  receive(topics.desired(Kind::pod, "default/p"), pod("p", "u1"));
  const Message mirror = *std::find_if(transport.sent.begin(), transport.sent.end(), [&](const Message& message) {
    return message.topic == topics.desired(Kind::pod, "default/p");
  });
  receive(topics.desired(Kind::pod, "default/p"), pod("p", "u2"));
  ASSERT_EQ(gateway->objects().pods().find("default/p")->pod->uid(), "u2");
  gateway->on_message(mirror);  // arrives late
  turn();
  EXPECT_EQ(gateway->objects().pods().find("default/p")->pod->uid(), "u2");
  receive(topics.desired(Kind::pod, "default/p"), R"({"deleted":true,"uid":"u2"})");
  gateway->on_message(mirror);
  turn();
  EXPECT_EQ(gateway->objects().pods().find("default/p"), nullptr);
}

TEST_F(GatewayTest, AMirrorLeftByALostStoreIsAccepted) {
  start();
  transport.up = true;
  gateway->on_link(true);
  turn();
  Message mirror;
  mirror.topic = topics.desired(Kind::pod, "default/p");
  mirror.payload = pod("p", "u1");
  mirror.correlation = "mirror/of-another-store";
  mirror.retain = true;
  gateway->on_message(mirror);
  turn();
  EXPECT_NE(gateway->objects().pods().find("default/p"), nullptr);
}

TEST_F(GatewayTest, ALateMirrorOfALostStoreIsIgnored) {
  start_connected();
  apply(pod("p", "u2"));
  Message mirror;
  mirror.topic = topics.desired(Kind::pod, "default/p");
  mirror.payload = pod("p", "u1");
  mirror.correlation = "mirror/of-another-store";
  gateway->on_message(mirror);
  turn();
  EXPECT_EQ(gateway->objects().pods().find("default/p")->pod->uid(), "u2");
}

TEST_F(GatewayTest, ALostSynchronisationBarrierIsSentAgain) {
  start();
  transport.up = true;
  gateway->on_link(true);
  turn();
  transport.sent.clear();  // the barrier is lost
  advance(1500);
  for (const Message& message : std::vector<Message>(transport.sent)) {
    if (message.topic == topics.gateway_fence("gateway")) gateway->on_message(message);
  }
  EXPECT_EQ(gateway->not_ready(), "");
}

class ClearedStatusTest : public GatewayTest {
 protected:
  void SetUp() override {
    start_connected();
    receive(topics.desired(Kind::pod, "default/p"), pod("p", "u1"));
  }
  // The index of the message that cleared the topic.
  std::optional<std::size_t> cleared(const std::string& topic) const {
    for (std::size_t at = 0; at < transport.sent.size(); ++at) {
      if (transport.sent[at].topic == topic && transport.sent[at].payload.empty()) return at;
    }
    return std::nullopt;
  }
  const std::string status = topics.status(Kind::pod, "default/p");
  const std::string mirror = topics.desired(Kind::pod, "default/p");
};

TEST_F(ClearedStatusTest, AStatusIsClearedBeforeTheMirror) {
  api(R"({"op":"delete","kind":"pod","namespace":"default","name":"p"})");
  ASSERT_TRUE(cleared(status) && cleared(mirror));
  EXPECT_LT(*cleared(status), *cleared(mirror)) << "a mirror that remains shows that a status may remain too";
}

TEST_F(ClearedStatusTest, AStatusThatCouldNotBeClearedIsClearedAtTheNextConnection) {
  const Message left = *std::find_if(transport.sent.begin(), transport.sent.end(),
                                     [&](const Message& message) { return message.topic == mirror; });
  transport.up = false;
  api(R"({"op":"delete","kind":"pod","namespace":"default","name":"p"})");
  ASSERT_FALSE(cleared(status));
  restart();
  Message retained = left;
  retained.retain = true;
  gateway->on_message(retained);
  turn();
  EXPECT_TRUE(cleared(status));
}

TEST_F(ClearedStatusTest, NothingIsPublishedBeforeTheBarrier) {
  gateway.reset();
  start();
  transport.up = true;
  transport.sent.clear();
  gateway->on_link(true);
  turn();
  for (const Message& message : transport.sent) EXPECT_NE(message.topic, status);
}

}  // namespace berth
