// Statuses that the broker retains of a device, and that no slot explains (D4).
#include <algorithm>

#include "core/placement/status_sweep.h"
#include "tests/unit/gateway/gateway_fixture.h"

namespace berth {
namespace {

class StatusSweepTest : public GatewayTest {
 protected:
  void status(const std::string& key, const std::string& uid = "u1", const std::string& epoch = "1.1") {
    receive(topics.node_pod("n1", key), R"({"uid":")" + uid + R"(","epoch":")" + epoch + R"(","phase":"Running"})",
            true);
  }
  // Names of n1 whose statuses were cleared.
  std::vector<std::string> cleared() const {
    std::vector<std::string> names;
    const std::string prefix = topics.root() + "nodes/n1/pods/";
    for (const Message& message : transport.sent) {
      if (!message.topic.starts_with(prefix)) continue;
      EXPECT_TRUE(message.retain);
      EXPECT_EQ(message.payload, "");
      names.push_back(message.topic.substr(prefix.size()));
    }
    return names;
  }
  std::string quarantine() {
    const Json shown = api(R"({"op":"get","kind":"Node","name":"n1"})");
    for (const Json& each : shown.find("object")->find("status")->find("conditions")->as_array()) {
      if (each.string_at("type") == "Quarantined") return each.string_at("message");
    }
    return {};
  }
  void seconds(int count) {
    for (int i = 0; i < count; ++i) advance(1000);
  }
};

using Names = std::vector<std::string>;

TEST_F(StatusSweepTest, AStatusThatNoSlotExplainsIsClearedOnceTheDeviceHasNot) {
  start_connected();
  device("n1");
  slots("n1", {});
  status("default/left");
  status("default/own");
  seconds(3);
  EXPECT_EQ(cleared(), Names());
  receive(topics.node_pod("n1", "default/own"), "");
  seconds(4);
  EXPECT_EQ(cleared(), Names{"default/left"});
}

TEST_F(StatusSweepTest, WhateverTheNameIs) {
  start_connected();
  device("n1");
  slots("n1", {});
  receive(topics.node_pod("n1", "No Name/\xc3\xa4"), "no JSON", true);
  seconds(7);
  EXPECT_EQ(cleared(), Names{"No Name/\xc3\xa4"});
}

TEST_F(StatusSweepTest, TheStatusOfAPlacedPodStays) {
  start_connected();
  device("n1");
  slots("n1", {});
  apply(pod("web", "u1"));
  answer("n1", AnswerType::pre_bound);
  answer("n1", AnswerType::bound);
  status("default/web", "u1", "9.9");
  seconds(20);
  EXPECT_EQ(cleared(), Names());
}

TEST_F(StatusSweepTest, AnEntryOfTheReleaseListExplainsOneStatusUntilItEnds) {
  options.enrolled_nodes = {"n1"};
  start_connected();
  device("n1");
  SlotReport slot{"u9", Epoch{1, 1}, SlotState::running, "{}", {}};
  slots("n1", {slot});
  status("default/first", "u9", "1.1");
  status("default/second", "u9", "1.1");
  seconds(20);
  EXPECT_EQ(cleared(), Names{"default/second"});
  const std::optional<Request> asked = request("n1");
  if (asked && asked->type == RequestType::release) {
    answer("n1", AnswerType::released);
    seconds(2);
    EXPECT_EQ(cleared(), (Names{"default/second", "default/first"}));
  }
}

TEST_F(StatusSweepTest, AStatusThatAnEntryExplainsKeepsNoNodeInQuarantine) {
  options.enrolled_nodes = {"n1"};
  options.node_limits.statuses = 10;
  start_connected();
  device("n1");
  SlotReport slot{"u9", Epoch{1, 1}, SlotState::running, "{}", {}};
  slots("n1", {slot});
  status("default/explained", "u9", "1.1");
  for (int i = 0; i < 11; ++i) status("default/x" + std::to_string(i));
  seconds(2);
  ASSERT_NE(quarantine(), "");
  seconds(160);
  EXPECT_EQ(quarantine(), "");
}

TEST_F(StatusSweepTest, NothingIsClearedInAdoptMode) {
  options.first_boot = FirstBoot::lost;
  options.known_nodes = {"n1", "n2"};
  start_connected();
  device("n1");
  slots("n1", {});
  status("default/left");
  seconds(20);
  EXPECT_EQ(cleared(), Names());
  device("n2");
  slots("n2", {});
  const auto count = [&] {
    return std::count(transport.filters.begin(), transport.filters.end(), topics.root() + "nodes/+/pods/+/+");
  };
  const auto before = count();
  seconds(70);
  EXPECT_EQ(count(), before + 1);  // what was there is told again
  status("default/left");
  seconds(7);
  EXPECT_EQ(cleared(), Names{"default/left"});
}

TEST_F(StatusSweepTest, ANodeWithTooManyIsQuarantinedUntilNoneIsFound) {
  options.node_limits.statuses = 10;
  start_connected();
  device("n1");
  slots("n1", {});
  for (int i = 0; i < 11; ++i) status("default/x" + std::to_string(i));
  seconds(2);
  EXPECT_EQ(quarantine(),
            "it left statuses at the broker that no slot explains, more than the 10 that node_limits.statuses allows");
  EXPECT_EQ(cleared().size(), 11u);
  seconds(100);
  EXPECT_NE(quarantine(), "");
  seconds(60);
  EXPECT_EQ(quarantine(), "");
}

TEST_F(StatusSweepTest, BytesCountAsWell) {
  options.node_limits.status_bytes = 1000;
  start_connected();
  device("n1");
  slots("n1", {});
  receive(topics.node_pod("n1", "default/large"), std::string(1001, 'x'), true);
  seconds(2);
  EXPECT_EQ(quarantine(),
            "it left statuses at the broker that no slot explains, more than the 1000 that node_limits.status_bytes "
            "allows");
}

TEST_F(StatusSweepTest, BytesAreNamedEvenIfThereAreTooManyNamesAsWell) {
  options.node_limits.statuses = 1;
  options.node_limits.status_bytes = 1000;
  start_connected();
  device("n1");
  slots("n1", {});
  for (const char* name : {"default/a", "default/b"}) receive(topics.node_pod("n1", name), std::string(600, 'x'), true);
  seconds(2);
  EXPECT_NE(quarantine().find("node_limits.status_bytes"), std::string::npos) << quarantine();
}

TEST_F(StatusSweepTest, NamesBeyondThoseThatAreKeptAreReadAgain) {
  start_connected();
  device("n1");
  slots("n1", {});
  const std::string ns(60'000, 'x');
  for (int i = 0; i < 30; ++i) status(ns + "/" + std::to_string(i));
  seconds(3);
  EXPECT_LT(cleared().size(), 20u);
  EXPECT_NE(quarantine(), "");
  transport.filters.clear();
  seconds(60);
  EXPECT_EQ(transport.filters, Names{topics.root() + "nodes/+/pods/+/+"});
}

}  // namespace
}  // namespace berth
