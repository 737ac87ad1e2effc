// Two live devices under one name (D5).
#include "core/placement/twins.h"

#include "tests/unit/gateway/gateway_fixture.h"

namespace berth {
namespace {

class TwinsTest : public GatewayTest {
 protected:
  void connect_as(const std::string& incarnation, const std::string& machine) {
    connect_saying(incarnation, machine.empty() ? ""
                                                : R"(,"machine":")" + machine + R"(","serial":"s-)" + machine +
                                                      R"(","address":"10.0.0.)" + machine.back() + R"(")");
  }
  // A machine without a serial number.
  void come_as_copy(const std::string& incarnation, const std::string& machine, const std::string& boot,
                    std::uint64_t run = 7) {
    connect_saying(incarnation,
                   (machine.empty() ? "" : R"(,"machine":")" + machine + R"(")") + R"(,"bootId":")" + boot + R"(")");
    say_slots(incarnation, run);
  }
  void connect_saying(const std::string& incarnation, const std::string& says) {
    receive(topics.node_state("n1"),
            R"({"incarnation":")" + incarnation + R"(","session":")" + std::to_string(++session) +
                R"(","sequence":"1","allocatable":{"cpu":"2","memory":"1Gi","pods":"10"})" + says + "}");
    receive(topics.node_presence("n1"),
            R"({"incarnation":")" + incarnation + R"(","session":")" + std::to_string(session) + R"(","online":true})");
  }
  // It connects and answers a List.
  void come(const std::string& incarnation, const std::string& machine, std::uint64_t run = 7) {
    connect_as(incarnation, machine);
    say_slots(incarnation, run);
  }
  void say_slots(const std::string& incarnation, std::uint64_t run = 7) {
    for (auto it = transport.sent.rbegin(); it != transport.sent.rend(); ++it) {
      if (it->topic != topics.node_requests("n1")) continue;
      const Result<Request> list = decode_request(it->payload);
      if (list->type != RequestType::list) continue;
      Answer listing(AnswerType::slots);
      listing.incarnation = incarnation;
      listing.gateway_id = list->gateway_id;
      listing.list_id = list->list_id;
      listing.pages = 1;
      listing.at = {run, ++position};
      return answer("n1", listing);
    }
    FAIL() << "no List was sent";
  }
  void beat(const std::string& incarnation) {
    receive(topics.node_heartbeat("n1"), R"({"incarnation":")" + incarnation + R"(","sequence":"1"})");
  }
  // A device alone with pod u1, then another machine takes over, and answers for it.
  void meet() {
    start_connected();
    come("i1", "m1");
    bind_pod("web", "u1", "n1");
    asked = *request("n1");
    come("i2", "m2");
    say_hello("i2");
  }
  void say_hello(const std::string& incarnation, std::uint64_t run = 7) {
    Answer hello = answer_to(asked, AnswerType::hello, incarnation);
    hello.at = {run, ++position};
    answer("n1", hello);
  }
  // A device without a serial number, with pod u1; then one with a copy of its machine id takes over.
  void meet_copy(const std::string& machine) {
    start_connected();
    come_as_copy("i1", machine, "b1");
    bind_pod("web", "u1", "n1");
    asked = *request("n1");
    come_as_copy("i2", machine, "b2");
  }
  bool is_held() { return gateway->nodes().all().at("n1").holds.contains(Hold::twins); }
  std::string condition(const std::string& member) {
    const Json reply = api(R"({"op":"get","kind":"node","name":"n1"})");
    for (const Json& each : reply.find("object")->find("status")->find("conditions")->as_array()) {
      if (*each.find("type") == Json("Quarantined")) return each.string_at(member);
    }
    return {};
  }
  bool is_placed() { return gateway->bindings().contains(std::string_view("u1")); }
  // The devices beat, alternating, or one of them alone.
  void pass(Millis ms, const std::vector<std::string>& incarnations) {
    for (Millis end = clock.now_ms + ms; clock.now_ms < end; advance(5000)) {
      for (const std::string& each : incarnations) beat(each);
    }
  }

  Request asked{RequestType::bind};
  int session = 0;
  std::uint64_t position = 0;
};

TEST_F(TwinsTest, ADeviceThatAnswersAgainAfterAnotherOneIsNotAlone) {
  meet();
  ASSERT_FALSE(is_held());
  come("i1", "m1");
  EXPECT_TRUE(is_held());
  EXPECT_EQ(condition("reason"), "TwoDevices");
  const std::string why = condition("message");
  EXPECT_NE(why.find("machine m1 (serial s-m1, address 10.0.0.1)"), std::string::npos) << why;
  EXPECT_NE(why.find("machine m2 (serial s-m2, address 10.0.0.2)"), std::string::npos) << why;
  EXPECT_NE(why.find("enroll it under another name"), std::string::npos) << why;
}

TEST_F(TwinsTest, NothingIsPlacedOnTwoDevicesWhateverItTolerates) {
  meet();
  come("i1", "m1");
  apply(pod("app", "u2", "64Mi", R"(,"tolerations":[{"operator":"Exists"}])"));
  EXPECT_FALSE(gateway->bindings().contains(std::string_view("u2")));
  pass(600'000, {"i1"});
  advance(1000);
  settle();
  EXPECT_FALSE(is_held());
}

TEST_F(TwinsTest, AnIncarnationThatWasForgottenAmongManyWasJustHeardToo) {
  start_connected();
  come("i1", "m1");
  bind_pod("web", "u1", "n1");
  asked = *request("n1");
  advance(120'000);
  beat("i1");
  for (const char* other : {"i2", "i3", "i4", "i5"}) {
    advance(10);
    connect_as(other, "m2");
  }
  say_hello("i5");
  EXPECT_EQ(phase("u1"), Phase::bound);
}

TEST_F(TwinsTest, AHelloOfAnotherMachineIsNotBelievedWhileTheOtherOneWasJustHeard) {
  meet();
  EXPECT_EQ(phase("u1"), Phase::bound) << "it may run there still";
  pass(30'000, {"i2"});
  say_hello("i2");
  EXPECT_EQ(phase("u1"), Phase::bound);
  come("i1", "m1");
  EXPECT_EQ(phase("u1"), Phase::bound);
}

TEST_F(TwinsTest, AHeartbeatOfARoutineIsHeardLikeAnyOther) {
  start_connected();
  connect_saying("i1", R"(,"protocol":"1.10","machine":"m1","serial":"s-m1")");
  say_slots("i1");
  bind_pod("web", "u1", "n1");
  asked = *request("n1");
  pass(120'000, {"i1"});
  ASSERT_GT(gateway->nodes().all().at("n1").routine.heard_at, 0);
  come("i2", "m2");
  say_hello("i2");
  EXPECT_EQ(gateway->bindings().at("u1").row.incarnation, "i1") << "it may run there still";
}

TEST_F(TwinsTest, AReplacedDeviceIsBelievedWithinAMinute) {
  meet();
  pass(60'000, {"i2"});
  say_hello("i2");
  EXPECT_EQ(gateway->bindings().at("u1").row.incarnation, "i2") << "placed again";
}

TEST_F(TwinsTest, AWipedDeviceIsBelievedAtOnce) {
  start_connected();
  come("i1", "m1");
  bind_pod("web", "u1", "n1");
  asked = *request("n1");
  come("i2", "m1");
  say_hello("i2");
  EXPECT_EQ(gateway->bindings().at("u1").row.incarnation, "i2") << "placed again";
}

TEST_F(TwinsTest, AnAgentThatDoesNotNameItsMachineIsBelievedAtOnce) {
  start_connected();
  come("i1", "");
  bind_pod("web", "u1", "n1");
  asked = *request("n1");
  come("i2", "");
  say_hello("i2");
  EXPECT_EQ(gateway->bindings().at("u1").row.incarnation, "i2") << "placed again";
}

TEST_F(TwinsTest, AMachineIdAloneIsNoProofOfOneMachine) {
  meet_copy("m1");
  say_hello("i2");
  EXPECT_EQ(phase("u1"), Phase::bound) << "a card may have been cloned";
  EXPECT_EQ(gateway->bindings().at("u1").row.incarnation, "i1");
  come_as_copy("i1", "m1", "b1");
  EXPECT_TRUE(is_held());
  EXPECT_EQ(gateway->bindings().at("u1").row.incarnation, "i1");
}

TEST_F(TwinsTest, DevicesWithoutAMachineIdAreToldApartByTheirBoots) {
  meet_copy("");
  say_hello("i2");
  EXPECT_EQ(gateway->bindings().at("u1").row.incarnation, "i1");
  pass(60'000, {"i2"});
  say_hello("i2");
  EXPECT_EQ(gateway->bindings().at("u1").row.incarnation, "i2") << "placed again";
}

TEST_F(TwinsTest, AStoreThatIsLostWhileItsMachineRunsIsBelievedAtOnce) {
  start_connected();
  come_as_copy("i1", "m1", "b1");
  bind_pod("web", "u1", "n1");
  asked = *request("n1");
  come_as_copy("i2", "m1", "b1");
  say_hello("i2");
  EXPECT_EQ(gateway->bindings().at("u1").row.incarnation, "i2") << "placed again";
}

TEST_F(TwinsTest, TwoCopiesOfOneStoreAreNotTakenForOneMachine) {
  start_connected();
  come_as_copy("i1", "m1", "b1");
  bind_pod("web", "u1", "n1");
  asked = *request("n1");
  come_as_copy("i1", "m1", "b2", 9);  // a clone with the store; it is told that it is an older copy, and starts again
  come_as_copy("i2", "m1", "b2");
  say_hello("i2");
  EXPECT_EQ(gateway->bindings().at("u1").row.incarnation, "i1");
}

TEST_F(TwinsTest, AHelloForTheIncarnationThatCameAfterIsThatOfASecondDevice) {
  meet();
  pass(60'000, {"i2"});
  say_hello("i2");
  answer("n1", AnswerType::pre_bound, "i2");
  answer("n1", AnswerType::bound, "i2");
  asked = *request("n1");
  ASSERT_EQ(asked.incarnation, "i2");
  advance(61'000);
  connect_as("i1", "m1");
  say_hello("i1");
  EXPECT_TRUE(is_held());
  EXPECT_EQ(gateway->bindings().at("u1").row.incarnation, "i2") << "it runs on the other one";
}

TEST_F(TwinsTest, AHelloOfAStoreThatWasPutBackIsNoSecondDevice) {
  meet();
  pass(60'000, {"i2"});
  say_hello("i2");
  asked = *request("n1");
  connect_as("i1", "m1");
  say_hello("i1", 9);
  EXPECT_FALSE(is_held());
}

TEST_F(TwinsTest, AfterARestartOfTheGatewayAHelloWaitsAMinuteToo) {
  start_connected();
  come("i1", "m1");
  bind_pod("web", "u1", "n1");
  asked = *request("n1");
  restart();
  come("i2", "m2");
  say_hello("i2");
  EXPECT_EQ(phase("u1"), Phase::bound);
  pass(60'000, {"i2"});
  say_hello("i2");
  EXPECT_EQ(gateway->bindings().at("u1").row.incarnation, "i2") << "placed again";
}

// Seed 3695 of the simulator: the second hold was against one whose state a restarted gateway had not read.
TEST_F(TwinsTest, OfOneThatHasNotNamedItsMachineSinceARestartNothingIsOver) {
  start_connected();
  come_as_copy("i1", "m1", "b1");
  bind_pod("web", "u1", "n1");
  asked = *request("n1");
  restart();
  come_as_copy("i2", "m1", "b2");
  const std::string presence = R"({"incarnation":"i1","session":"9","online":true})";
  receive(topics.node_presence("n1"), presence);
  say_slots("i1");
  come_as_copy("i2", "m1", "b2");
  ASSERT_TRUE(is_held());
  pass(11 * 60'000, {"i2"});
  ASSERT_FALSE(is_held());
  say_hello("i2");
  EXPECT_TRUE(is_placed());
}

TEST_F(TwinsTest, MessagesOfAnEarlierLifeThatComeLateProveNothing) {
  meet();
  for (int late = 0; late < 5; ++late) {
    connect_as("i1", "m1");
    beat("i1");
    connect_as("i2", "m2");
    say_slots("i2");
  }
  EXPECT_FALSE(is_held());
}

TEST_F(TwinsTest, AStoreThatWasPutBackIsNoSecondDevice) {
  meet();
  come("i1", "m1", 9);
  EXPECT_FALSE(is_held()) << "another run of the agent";
}

TEST_F(TwinsTest, AlternatingCostsNoWrites) {
  meet();
  come("i1", "m1");
  ASSERT_TRUE(is_held());
  const std::uint64_t commits = store.commits();
  const std::size_t warnings = log.warnings.size();
  for (int times = 0; times < 100; ++times) {
    connect_as("i2", "m2");
    beat("i2");
    connect_as("i1", "m1");
    beat("i1");
  }
  EXPECT_EQ(store.commits(), commits);
  EXPECT_LE(log.warnings.size(), warnings + 1);
}

TEST_F(TwinsTest, TheOneThatStaysIsTheNodeAgainAndTheOthersPodsAreItsOwn) {
  meet();
  come("i1", "m1");
  pass(590'000, {"i2"});
  EXPECT_TRUE(is_held());
  pass(20'000, {"i2"});
  ASSERT_FALSE(is_held());
  say_slots("i2");
  connect_as("i2", "m2");
  EXPECT_EQ(gateway->nodes().all().at("n1").incarnation, "i2");
  say_hello("i2");
  EXPECT_EQ(phase("u1"), Phase::bound) << "the device that is away may run it";
  api(R"({"op":"forget","kind":"Node","name":"n1"})");
  EXPECT_NE(phase("u1"), Phase::bound);
  EXPECT_TRUE(gateway->identity().twins.empty());
}

TEST_F(TwinsTest, WhichPodsBelongToTheDeviceThatLeftSurvivesARestart) {
  meet();
  come("i1", "m1");
  restart();
  come("i2", "m2");
  pass(700'000, {"i2"});
  say_hello("i2");
  EXPECT_EQ(phase("u1"), Phase::bound);
  come("i3", "m1");
  say_hello("i3");
  EXPECT_TRUE(!is_placed() || gateway->bindings().at("u1").row.incarnation == "i3")
      << "its machine itself says that its store was lost";
}

TEST_F(TwinsTest, BothAreHeardWhileTheyAreHeld) {
  meet();
  come("i1", "m1");
  answer("n1", answer_to(asked, AnswerType::stale));
  EXPECT_FALSE(is_placed()) << "the proof of the device itself";
}

}  // namespace
}  // namespace berth
