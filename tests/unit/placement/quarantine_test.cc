// Devices that report more of themselves than the limits allow.
#include "core/placement/quarantine.h"

#include "tests/unit/gateway/gateway_fixture.h"

namespace berth {
namespace {

constexpr const char kHuge[] = R"({"cpu":"100000","memory":"1Gi","pods":"10"})";
constexpr const char kUsual[] = R"({"cpu":"4","memory":"1Gi","pods":"10"})";

class Quarantined : public GatewayTest {
 protected:
  Quarantined() {
    options.node_limits.cpu = Quantity(64);
    options.node_limits.slots = 10;
    options.node_limits.incarnations_per_hour = 3;
  }
  bool is_quarantined(const std::string& name) {
    const NodeInfo* info = gateway->scheduler().cache().find(name);
    if (info == nullptr || info->node == nullptr) return false;
    const Node& node = *info->node;
    return std::any_of(node.taints.begin(), node.taints.end(), [](const Taint& taint) {
      return taint.key == "node.berth/quarantined" && taint.effect == TaintEffect::no_schedule;
    });
  }
  std::string condition(const std::string& name) {
    const Json reply = api(R"({"op":"get","kind":"node","name":")" + name + R"("})");
    for (const Json& each : reply.find("object")->find("status")->find("conditions")->as_array()) {
      if (*each.find("type") == Json("Quarantined")) return each.find("message")->as_string();
    }
    return {};
  }
  std::vector<std::string> told() {
    std::vector<std::string> lines;
    for (const std::string& line : log.warnings) {
      if (line.starts_with("node quarantined")) lines.push_back(line);
    }
    return lines;
  }
  static std::vector<SlotReport> made_up(int from, int count) {
    std::vector<SlotReport> reports;
    for (int index = from; index < from + count; ++index) {
      reports.push_back({"ghost" + std::to_string(index), {1, 3}, SlotState::running, "{}"});
    }
    return reports;
  }
  void connect_again(const std::string& name, const std::string& incarnation, int session) {
    receive(topics.node_presence(name),
            R"({"incarnation":")" + incarnation + R"(","session":")" + std::to_string(session) + R"(","online":true})");
  }
  std::size_t durable(Table table) const { return only_of(table).size(); }
  std::vector<std::string> only_of(Table table) const {
    std::vector<std::string> keys;
    for (const auto& [id, content] : store.durable()) {
      if (id.first == table) keys.push_back(id.second);
    }
    return keys;
  }
};

TEST_F(Quarantined, ADeviceThatOffersTooMuchGetsNoPod) {
  start_connected();
  device("liar", "i1", kHuge);
  device("honest", "i2", kUsual);
  EXPECT_EQ(condition("liar"), "allocatable.cpu is 100000, more than the 64 that node_limits.cpu allows");
  EXPECT_EQ(gateway->scheduler().cache().find("liar"), nullptr) << "nothing is known of it";
  apply(pod("web", "u1"));
  EXPECT_EQ(gateway->bindings().at("u1").row.node, "honest");
}

TEST_F(Quarantined, AKnownDeviceKeepsItsFactsWhileItSaysMore) {
  start_connected();
  device("n1", "i1", kUsual);
  const std::uint64_t commits = store.commits();
  for (int sequence = 2; sequence < 50; ++sequence) {
    receive(topics.node_state("n1"), R"({"incarnation":"i1","session":"1","sequence":")" + std::to_string(sequence) +
                                         R"(","allocatable":{"cpu":")" + std::to_string(1000 * sequence) +
                                         R"(","memory":"1Gi","pods":"10"}})");
  }
  EXPECT_EQ(store.commits(), commits);
  EXPECT_EQ(gateway->scheduler().cache().find("n1")->allocatable.milli_cpu, 4000);
  EXPECT_TRUE(is_quarantined("n1"));
  apply(pod("web", "u1"));
  EXPECT_EQ(phase("u1"), Phase::none);
  EXPECT_EQ(told().size(), 1u) << "once a minute at most";
}

TEST_F(Quarantined, ADeviceIsNoMoreOnceItsReportIsWithinTheLimits) {
  start_connected();
  device("n1", "i1", kUsual);
  device("n1", "i1", kHuge);
  ASSERT_TRUE(is_quarantined("n1"));
  apply(pod("web", "u1"));
  device("n1", "i1", kUsual);
  EXPECT_FALSE(is_quarantined("n1"));
  EXPECT_EQ(condition("n1"), "");
  advance(10'000);
  EXPECT_EQ(phase("u1"), Phase::prebind);
}

TEST_F(Quarantined, OneIsNotAskedForItsStateAtEachHeartbeat) {
  start_connected();
  device("n1", "i1", kHuge);
  slots("n1", {});
  const auto lists = [this] {
    return std::count_if(transport.sent.begin(), transport.sent.end(), [this](const Message& message) {
      return message.topic == topics.node_requests("n1") && decode_request(message.payload)->type == RequestType::list;
    });
  };
  const auto before = lists();
  for (int beat = 0; beat < 20; ++beat) receive(topics.node_heartbeat("n1"), R"({"incarnation":"i1"})");
  EXPECT_EQ(lists(), before);
}

TEST_F(Quarantined, OneIsToldOfByEventAndLogLine) {
  start_connected();
  device("n1", "i1", kHuge);
  ASSERT_EQ(told().size(), 1u);
  EXPECT_EQ(told().front(),
            "node quarantined node=n1 reason=allocatable.cpu is 100000, more than the 64 that "
            "node_limits.cpu allows");
  const Json reply = api(R"({"op":"describe","kind":"node","name":"n1"})");
  ASSERT_EQ(reply.find("events")->as_array().size(), 1u);
  EXPECT_EQ(*reply.find("events")->as_array().front().find("reason"), Json("NodeQuarantined"));
  const auto published = std::find_if(transport.sent.begin(), transport.sent.end(), [this](const Message& message) {
    return message.topic == topics.events("default") && message.payload.find("NodeQuarantined") != std::string::npos;
  });
  ASSERT_NE(published, transport.sent.end());
  EXPECT_EQ(*Json::parse(published->payload)->find("kind"), Json("Node"));
  for (int again = 0; again < 20; ++again) {
    device("n1", "i1", kUsual);
    device("n1", "i1", kHuge);
  }
  EXPECT_EQ(told().size(), 1u);
  advance(60'000);
  device("n1", "i1", kUsual);
  device("n1", "i1", kHuge);
  EXPECT_EQ(told().size(), 2u);
}

TEST_F(Quarantined, AListingOfTooManySlotsIsNotTaken) {
  start_connected();
  device("n1", "i1", kUsual);
  slots("n1", made_up(0, 11));
  EXPECT_EQ(durable(Table::release), 0u);
  EXPECT_TRUE(is_quarantined("n1"));
  EXPECT_EQ(condition("n1"), "it listed 11 slots, more than the 10 that node_limits.slots allows");
  connect_again("n1", "i1", 2);
  slots("n1", made_up(0, 2));
  EXPECT_FALSE(is_quarantined("n1"));
  EXPECT_EQ(durable(Table::release), 2u) << "as those of any device";
}

TEST_F(Quarantined, SlotsThatNobodyGaveMakeNoMoreEntriesThanTheLimit) {
  start_connected();
  device("n1", "i1", kUsual);
  for (int round = 0; round < 40; ++round) {
    slots("n1", made_up(round * 4, 4), round == 0 ? "i1" : "i" + std::to_string(round));
    connect_again("n1", "i" + std::to_string(round + 1), 1);
  }
  EXPECT_LE(durable(Table::release), 10u);
  EXPECT_GT(durable(Table::release), 0u);
  EXPECT_TRUE(is_quarantined("n1"));
}

// It answers every Release: the list stays short, but each entry was written and erased.
TEST_F(Quarantined, SlotsThatNobodyGaveAreCountedWithinTheHourThoughTheirEntriesEnd) {
  start_connected();
  device("n1", "i1", kUsual);
  std::uint64_t made = 0;
  for (int round = 0; round < 10; ++round) {
    slots("n1", made_up(round * 4, 4));
    made += durable(Table::release);
    for (const auto& [key, release] : Releases(gateway->releases())) {
      Answer answer_of(AnswerType::released);
      answer_of.incarnation = "i1";
      answer_of.gateway_id = gateway->identity().id;
      answer_of.uid = release.entry.uid;
      answer_of.epoch = release.entry.epoch;
      answer("n1", answer_of);
    }
    connect_again("n1", "i1", round + 2);
  }
  EXPECT_EQ(made, 8u);
  EXPECT_TRUE(is_quarantined("n1"));
  advance(NodeLimits::kWindowMs);
  connect_again("n1", "i1", 100);
  slots("n1", made_up(100, 4));
  EXPECT_EQ(durable(Table::release), 4u) << "an hour later";
  EXPECT_FALSE(is_quarantined("n1"));
}

TEST_F(Quarantined, InAdoptModeSuchAListingIsNoAnswer) {
  options.known_nodes = {"n1"};
  start_connected();
  device("n1", "i1", kUsual);
  ASSERT_TRUE(gateway->identity().adopting);
  slots("n1", made_up(0, 11));
  EXPECT_TRUE(gateway->identity().adopting);
  EXPECT_EQ(durable(Table::release), 0u);
  advance(2'000);
  slots("n1", made_up(0, 1));
  EXPECT_FALSE(gateway->identity().adopting);
}

TEST_F(Quarantined, NewIncarnationsWithinTheHourAreBounded) {
  start_connected();
  device("n1", "i0", kUsual);
  for (int next = 1; next <= 3; ++next) connect_again("n1", "i" + std::to_string(next), 1);
  device("n1", "i3", kUsual);
  ASSERT_FALSE(is_quarantined("n1"));
  const std::uint64_t commits = store.commits();
  for (int next = 4; next <= 100; ++next) {
    const std::string incarnation = "i" + std::to_string(next);
    connect_again("n1", incarnation, 1);
    receive(topics.node_state("n1"), R"({"incarnation":")" + incarnation +
                                         R"(","session":"1","sequence":"1","allocatable":)" + std::string(kUsual) +
                                         "}");
  }
  EXPECT_EQ(gateway->nodes().all().at("n1").incarnation, "i3");
  EXPECT_TRUE(is_quarantined("n1"));
  EXPECT_EQ(store.commits(), commits);
  EXPECT_EQ(told().size(), 1u);
  advance(NodeLimits::kWindowMs);
  EXPECT_FALSE(is_quarantined("n1")) << "the hour is over";
  device("n1", "i100", kUsual);
  EXPECT_EQ(gateway->nodes().all().at("n1").incarnation, "i100");
}

TEST_F(Quarantined, AnsweringAListUnderNewIncarnationsIsBoundedToo) {
  start_connected();
  device("n1", "i0", kUsual);
  for (int next = 1; next <= 20; ++next) slots("n1", {}, "i" + std::to_string(next));
  EXPECT_EQ(gateway->nodes().all().at("n1").incarnation, "i3");
  EXPECT_TRUE(is_quarantined("n1"));
}

TEST_F(Quarantined, ANodeThatWasForgottenStartsAnew) {
  start_connected();
  device("n1", "i1", kUsual);
  device("n1", "i1", kHuge);
  ASSERT_TRUE(is_quarantined("n1"));
  api(R"({"op":"forget","kind":"Node","name":"n1"})");
  EXPECT_EQ(gateway->nodes().all().count("n1"), 0u);
  device("n1", "i2", kUsual);
  EXPECT_FALSE(is_quarantined("n1"));
}

TEST_F(Quarantined, StoredFactsBeyondTheLimitsAreStillRead) {
  options.node_limits.cpu = Quantity(200'000);
  start_connected();
  device("n1", "i1", kHuge);
  options.node_limits.cpu = Quantity(64);
  restart();
  ASSERT_NE(gateway->scheduler().cache().find("n1"), nullptr);
  device("n1", "i1", kHuge);
  EXPECT_TRUE(is_quarantined("n1"));
}

TEST_F(Quarantined, AStateThatChangesAtFullSpeedIsTakenAFewTimesAndInTheEnd) {
  start_connected();
  device("n1", "i1", kUsual);
  const auto change = [this](int number) {
    device("n1", "i1", kUsual,
           R"(,"labels":{"change":")" + std::to_string(number) + R"("},"volumes":[{"name":"v)" +
               std::to_string(number) + R"(","path":"/v","capacity":"1Gi"}])");
  };
  const auto label = [this] {
    return std::string(gateway->scheduler().cache().find("n1")->node->metadata.labels.find("change")->second);
  };
  const std::uint64_t before = store.next_position();
  for (int number = 1; number <= 5'000; ++number) change(number);
  EXPECT_LE(store.next_position() - before, 4 * NodeLimits::kStates) << "state, and volumes that come and go";
  EXPECT_EQ(label(), "10");
  const std::uint64_t taken = store.next_position();
  advance(NodeLimits::kStatesMs - 2'000);
  EXPECT_EQ(store.next_position(), taken);
  advance(4'000);
  EXPECT_EQ(label(), "5000") << "the newest";
  device("n1", "i1", kUsual);
  advance(NodeLimits::kStatesMs);
  change(7);
  EXPECT_EQ(label(), "7") << "at once, after a time without changes";
}

TEST_F(Quarantined, AStateThatWasPutOffIsReplacedByALaterOneOnlyAndEndsWithItsIncarnation) {
  start_connected();
  device("n1", "i1", kUsual);
  const auto change = [this](int sequence) {
    receive(topics.node_state("n1"),
            R"({"incarnation":"i1","session":"1","sequence":")" + std::to_string(sequence) +
                R"(","allocatable":{"cpu":"4","memory":"1Gi","pods":"10"},"labels":{"change":")" +
                std::to_string(sequence) + R"("}})");
  };
  const auto label = [this] {
    return std::string(gateway->scheduler().cache().find("n1")->node->metadata.labels.find("change")->second);
  };
  for (int sequence = 2; sequence <= 12; ++sequence) change(sequence);
  change(30);
  change(20);  // it comes late
  advance(NodeLimits::kStatesMs + 2'000);
  EXPECT_EQ(label(), "30");
  for (int sequence = 31; sequence <= 50; ++sequence) change(sequence);
  connect_again("n1", "i2", 1);
  advance(NodeLimits::kStatesMs + 2'000);
  EXPECT_EQ(gateway->nodes().all().at("n1").incarnation, "i2");
}

TEST_F(Quarantined, AStateThatGoesBackToWhatIsKnownIsNotPutOff) {
  start_connected();
  device("n1", "i1", kUsual);
  const auto change = [this](int number) {
    device("n1", "i1", kUsual, R"(,"labels":{"change":")" + std::to_string(number) + R"("})");
  };
  for (int number = 1; number <= 11; ++number) change(number);
  change(10);
  advance(NodeLimits::kStatesMs + 2'000);
  EXPECT_EQ(gateway->scheduler().cache().find("n1")->node->metadata.labels.find("change")->second, "10");
}

}  // namespace
}  // namespace berth
