// Devices of other versions of the protocol: which are served, and what is shown of those that are not.
#include <algorithm>

#include "core/handshake/via.h"
#include "tests/unit/gateway/gateway_fixture.h"

namespace berth {
namespace {

class DeviceVersions : public GatewayTest {
 protected:
  // The device reports this version; an empty one: none.
  void speak(const std::string& version, int sequence = 2) {
    const std::string member = version.empty() ? "" : R"(,"protocol":")" + version + R"(")";
    receive(topics.node_state("n1"), R"({"incarnation":"i1","session":"1","sequence":")" + std::to_string(sequence) +
                                         R"(","allocatable":{"cpu":"2","memory":"1Gi","pods":"10"})" + member + "}");
    receive(topics.node_presence("n1"), R"({"incarnation":"i1","session":"1","online":true})");
  }
  std::string ready() {
    const Json reply = api(R"({"op":"get","kind":"node","name":"n1"})");
    const Json condition = reply.find("object")->find("status")->find("conditions")->as_array()[0];
    return condition.string_at("status") + " " + condition.string_at("reason") + ": " + condition.string_at("message");
  }
};

// A device that says with its listings what it answers to.
class DevicesWithNames : public GatewayTest {
 protected:
  void SetUp() override {
    start_connected();
    device("n1");
    say("k3dj9x");
  }
  // Answers the last List.
  void say(const std::string& name) {
    for (auto it = transport.sent.rbegin(); it != transport.sent.rend(); ++it) {
      const Result<Request> list = decode_request(it->payload);
      if (it->topic != topics.node_requests("n1") || list->type != RequestType::list) continue;
      Answer listing = answer_to(*list, AnswerType::slots);
      listing.list_id = list->list_id;
      listing.pages = 1;
      listing.answers_to = name;
      via = {name, "gateway", list->gateway_id, "i1"};
      return answer("n1", listing);
    }
    FAIL() << "no List was sent";
  }
  // The last request to it, as it is written; of any type but List.
  std::string asked() const {
    for (auto it = transport.on_wire.rbegin(); it != transport.on_wire.rend(); ++it) {
      if (it->topic == topics.node_requests("n1") && !it->payload.contains("\"List\"")) return it->payload;
    }
    return {};
  }
  Answer named_answer(AnswerType type) {
    Result<Request> last = decode_request(asked());
    EXPECT_TRUE(last && via.resolve(*last)) << asked();
    Answer answer = answer_to(*last, type);
    answer.via = via.name;
    answer.epoch_alone = true;
    return answer;
  }

  Via via;
};

TEST_F(DevicesWithNames, AreAskedByThemAndAnswerByThem) {
  apply(pod("web", "u1"));
  EXPECT_TRUE(asked().starts_with(R"({"via":"k3dj9x","preBind":")")) << asked();
  answer("n1", named_answer(AnswerType::pre_bound));
  EXPECT_EQ(phase("u1"), Phase::bind);
  EXPECT_TRUE(asked().starts_with(R"({"via":"k3dj9x","bind":")")) << asked();
  EXPECT_LT(asked().size(), 40u);
  answer("n1", named_answer(AnswerType::bound));
  EXPECT_EQ(phase("u1"), Phase::bound);
}

TEST_F(DevicesWithNames, AreAskedAgainInFull) {
  apply(pod("web", "u1"));
  for (const Phase waits : {Phase::prebind, Phase::bind}) {
    EXPECT_TRUE(asked().starts_with(R"({"via":)")) << asked();
    advance(1500);
    ASSERT_EQ(phase("u1"), waits);
    EXPECT_FALSE(asked().contains("via")) << "the device may have forgotten it";
    const Result<Request> again = decode_request(asked());
    EXPECT_EQ(again->incarnation, "i1");
    EXPECT_EQ(again->uid, "u1");
    answer("n1", answer_to(*again, waits == Phase::prebind ? AnswerType::pre_bound : AnswerType::bound));
  }
  EXPECT_EQ(phase("u1"), Phase::bound);
}

TEST_F(DevicesWithNames, AreAskedInFullOnceTheyOrTheGatewayConnectAgain) {
  receive(topics.node_presence("n1"), R"({"incarnation":"i1","session":"2","online":true})");
  apply(pod("web", "u1"));
  EXPECT_FALSE(asked().contains("via"));
  const Answer late = [&] {
    Answer answer = answer_to(*decode_request(asked()), AnswerType::pre_bound);
    answer.via = "k3dj9x";
    return answer;
  }();
  answer("n1", late);
  EXPECT_EQ(phase("u1"), Phase::prebind) << "nobody has asked by that name in this session";
  say("another");
  answer("n1", late);
  EXPECT_EQ(phase("u1"), Phase::prebind);
  gateway->on_link(false);
  turn();
  connect();
  EXPECT_FALSE(asked().contains("via"));
  answer("n1", AnswerType::pre_bound);
  EXPECT_EQ(phase("u1"), Phase::bind);
}

constexpr char kTooNew[] =
    "its protocol 2.0 is not supported: this gateway speaks 1.16 and serves devices of 1; upgrade the gateway";

TEST_F(DeviceVersions, AnAbsentVersionAndAnotherMinorOneAreServed) {
  start_connected();
  for (const char* version : {"", "1.0", "1.999"}) {
    speak(version);
    EXPECT_EQ(ready(), "True : ") << version;
    apply(pod("web", "u1"));
    EXPECT_EQ(phase("u1"), Phase::prebind) << version;
    api(R"({"op":"delete","kind":"pod","namespace":"default","name":"web"})");
    answer("n1", AnswerType::released);
  }
  EXPECT_TRUE(log.warnings.empty());
}

TEST_F(DeviceVersions, OnlyHeartbeatsThatAskForItAreAnsweredUnlessTheDeviceIsOlderOrNotKnown) {
  start_connected();
  const auto is_answered = [&](const std::string& more, const std::string& incarnation = "i1") {
    transport.sent.clear();
    receive(topics.node_heartbeat("n1"), R"({"incarnation":")" + incarnation + R"(","sequence":"7")" + more + "}");
    return std::any_of(transport.sent.begin(), transport.sent.end(), [&](const Message& each) {
      const Result<Request> asked = decode_request(each.payload);
      return each.topic == topics.node_requests("n1") && asked && asked->type == RequestType::heartbeat;
    });
  };
  EXPECT_TRUE(is_answered("")) << "nothing is known of it";
  speak("1.9");
  EXPECT_TRUE(is_answered(""));
  speak("1.10", 3);
  EXPECT_FALSE(is_answered(""));
  EXPECT_FALSE(is_answered(R"(,"answer":false)"));
  EXPECT_FALSE(is_answered(R"(,"answer":"true")"));
  EXPECT_TRUE(is_answered(R"(,"answer":true)"));
  receive(topics.node_presence("n1"), R"({"incarnation":"i2","session":"1","online":true})");
  EXPECT_TRUE(is_answered("", "i2")) << "what it was said to speak was another incarnation's";
  speak("1.9", 4);
  EXPECT_TRUE(is_answered("")) << "after a downgrade";
  restart();
  speak("1.10", 5);
  EXPECT_FALSE(is_answered(""));
  EXPECT_TRUE(is_answered("", "i9")) << "whose presence and state were lost: it has to say Hello";
}

TEST_F(DeviceVersions, NothingIsPlacedOnAnUnsupportedOneEvenIfAPodToleratesEverything) {
  start_connected();
  speak("2.0");
  EXPECT_EQ(ready(), std::string("False UnsupportedProtocol: ") + kTooNew);
  EXPECT_EQ(log.warnings, std::vector<std::string>{std::string("refused topic=node n1 reason=") + kTooNew});
  apply(pod("web", "u1"));
  apply(pod("any", "u2", "64Mi", R"(,"tolerations":[{"operator":"Exists"}])"));
  EXPECT_EQ(request("n1"), std::nullopt);
  EXPECT_NE(why("web").find("untolerated taint"), std::string::npos) << why("web");
  EXPECT_EQ(phase("u2"), Phase::none) << why("any");
}

TEST_F(DeviceVersions, AnUpgradeOfTheDeviceWakesWhatWaitedForIt) {
  start_connected();
  speak("2.0");
  apply(pod("web", "u1"));
  speak("1.1", 3);
  advance(15'000);
  EXPECT_EQ(phase("u1"), Phase::prebind) << why("web");
  EXPECT_EQ(ready(), "True : ");
}

TEST_F(DeviceVersions, WhatRunsOnADeviceThatIsNoLongerSupportedStaysItsOwnAcrossARestart) {
  start_connected();
  speak("1.1");
  bind_pod("web", "u1", "n1");
  speak("2.0", 3);
  restart();
  EXPECT_EQ(phase("u1"), Phase::bound);
  EXPECT_EQ(ready(), std::string("False UnsupportedProtocol: ") + kTooNew);
  apply(pod("more", "u2"));
  EXPECT_EQ(phase("u2"), Phase::none);
  api(R"({"op":"delete","kind":"pod","namespace":"default","name":"web"})");
  ASSERT_TRUE(request("n1").has_value());
  EXPECT_EQ(request("n1")->type, RequestType::release) << "it is still asked to stop what it runs";
}

TEST_F(DeviceVersions, AVersionThatIsNoneIsRefusedByNameAndChangesNothing) {
  start_connected();
  speak("1.1");
  speak("two", 3);
  ASSERT_EQ(log.warnings.size(), 1u);
  EXPECT_NE(log.warnings[0].find("protocol: must be"), std::string::npos) << log.warnings[0];
  EXPECT_EQ(ready(), "True : ");
}

TEST_F(DeviceVersions, TheGatewaySaysItsOwnInEachList) {
  start_connected();
  speak("1.1");
  bool listed = false;
  for (const Message& message : transport.sent) {
    const Result<Request> asked = decode_request(message.payload);
    if (message.topic != topics.node_requests("n1") || !asked || asked->type != RequestType::list) continue;
    listed = true;
    EXPECT_EQ(to_text(asked->protocol), "1.16");
  }
  EXPECT_TRUE(listed);
}

}  // namespace
}  // namespace berth
