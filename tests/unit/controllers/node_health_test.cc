#include "core/controllers/nodes/node_health.h"

#include <gtest/gtest.h>

#include <string>

#include "core/controllers/nodes/node_zones.h"

namespace berth {
namespace {

ControlledNode node_with(const std::string& ready, Millis heartbeat) {
  ControlledNode node;
  Condition condition;
  condition.type = "Ready";
  condition.status = ready;
  condition.last_heartbeat = heartbeat;
  node.conditions.push_back(condition);
  node.metadata.created = 1000;
  return node;
}

ControlledNode new_node() {
  ControlledNode node;
  node.metadata.created = 1000;
  return node;
}

ControlledLease lease_of(Millis renewed) {
  ControlledLease lease;
  lease.renewed = renewed;
  return lease;
}

TEST(NodeHealth, AHeartbeatOrARenewalIsHeard) {
  const ControlledLease lease = lease_of(1000);
  const NodeHealth first = note_signals(nullptr, node_with("True", 0), &lease, 5000);
  EXPECT_EQ(first.heard_at, 5000);
  EXPECT_EQ(note_signals(&first, node_with("True", 0), &lease, 10'000).heard_at, 5000);
  EXPECT_EQ(note_signals(&first, node_with("True", 7000), &lease, 10'000).heard_at, 10'000);
  const ControlledLease renewed = lease_of(7000);
  EXPECT_EQ(note_signals(&first, node_with("True", 0), &renewed, 10'000).heard_at, 10'000);
}

TEST(NodeHealth, AfterAHeartbeatAnUnchangedLeaseIsHeardOnceMore) {
  const ControlledLease lease = lease_of(1000);
  const NodeHealth first = note_signals(nullptr, node_with("True", 0), &lease, 5000);
  const NodeHealth second = note_signals(&first, node_with("True", 7000), &lease, 10'000);
  const NodeHealth third = note_signals(&second, node_with("True", 7000), &lease, 15'000);
  EXPECT_EQ(third.heard_at, 15'000);
  EXPECT_EQ(note_signals(&third, node_with("True", 7000), &lease, 20'000).heard_at, 15'000);
}

TEST(NodeHealth, AStatusThatChangesWithoutAHeartbeatIsNotNoted) {
  const NodeHealth first = note_signals(nullptr, node_with("True", 0), nullptr, 5000);
  EXPECT_EQ(note_signals(&first, node_with("False", 0), nullptr, 10'000).ready->status, "True");
  EXPECT_EQ(note_signals(&first, node_with("False", 7000), nullptr, 10'000).ready->status, "False");
}

TEST(NodeHealth, SilenceIsMoreThanFiftySecondsOrSixtyFromTheCreation) {
  const ControlledNode known = node_with("True", 0);
  const NodeHealth health = note_signals(nullptr, known, nullptr, 5000);
  EXPECT_FALSE(is_silent(health, known, 55'000));
  EXPECT_TRUE(is_silent(health, known, 55'001));
  const ControlledNode created = new_node();
  const NodeHealth first = note_signals(nullptr, created, nullptr, 5000);
  EXPECT_FALSE(is_silent(first, created, 61'000));
  EXPECT_TRUE(is_silent(first, created, 61'001));
}

TEST(NodeHealth, ASilentNodeIsUnknownInFourConditions) {
  const Conditions conditions = conditions_of_silent(node_with("True", 3000), 60'000);
  ASSERT_EQ(conditions.size(), 4U);
  EXPECT_EQ(conditions[0].reason, "NodeStatusUnknown");
  EXPECT_EQ(conditions[0].last_heartbeat, OptionalTime(3000));
  const Condition* pressure = find_condition(conditions, "PIDPressure");
  ASSERT_NE(pressure, nullptr);
  EXPECT_EQ(pressure->reason, "NodeStatusNeverUpdated");
  EXPECT_EQ(pressure->last_heartbeat, OptionalTime(1000));
  EXPECT_EQ(pressure->last_transition, OptionalTime(60'000));
}

ZoneCount count(std::int32_t ready, std::int32_t not_ready) { return {.ready = ready, .not_ready = not_ready}; }

TEST(NodeZones, StatesGoByTheShareOfNodesThatAreNotReady) {
  EXPECT_EQ(state_of(count(0, 1)), ZoneState::full);
  EXPECT_EQ(state_of(count(1, 2)), ZoneState::normal);
  EXPECT_EQ(state_of(count(2, 3)), ZoneState::partial);
  EXPECT_EQ(state_of(count(9, 11)), ZoneState::partial);  // exactly 55%
  EXPECT_EQ(state_of(count(10, 12)), ZoneState::normal);
}

TEST(NodeZones, ASmallZoneIsNotTaintedWhenMostOfItIsNotReady) {
  EXPECT_EQ(taint_rate(ZoneState::partial, 50), 0.0F);
  EXPECT_EQ(taint_rate(ZoneState::partial, 51), 0.01F);
  EXPECT_EQ(taint_rate(ZoneState::full, 3), 0.1F);
}

TEST(NodeZones, TellsWhenTheLastReadyNodeGoesAndTheFirstComesBack) {
  NodeZones zones;
  zones.add("a");
  zones.add("b");
  EXPECT_EQ(zones.update({{"a", count(1, 0)}, {"b", count(0, 1)}}, 0), NodeZones::Turn::none);
  EXPECT_EQ(zones.update({{"a", count(0, 1)}, {"b", count(0, 1)}}, 5000), NodeZones::Turn::lost);
  EXPECT_EQ(zones.update({{"a", count(0, 1)}, {"b", count(0, 1)}}, 10'000), NodeZones::Turn::none);
  zones.queue("b").add("n", 10'000);
  EXPECT_EQ(zones.queue("b").take(10'000), std::nullopt);
  EXPECT_EQ(zones.update({{"a", count(1, 0)}, {"b", count(0, 1)}}, 15'000), NodeZones::Turn::recovered);
  EXPECT_EQ(zones.queue("b").take(24'000), std::nullopt);
  EXPECT_EQ(zones.queue("b").take(25'000), "n");
}

TEST(NodeZones, AClusterWithoutNodesLosesNothing) {
  NodeZones zones;
  EXPECT_EQ(zones.update({}, 0), NodeZones::Turn::none);
  zones.add("a");
  EXPECT_EQ(zones.update({{"a", count(1, 0)}}, 0), NodeZones::Turn::none);
  EXPECT_TRUE(zones.knows("a"));
  EXPECT_EQ(zones.update({{"b", count(1, 0)}}, 0), NodeZones::Turn::none);
  EXPECT_EQ(zones.update({{"b", count(1, 0)}}, 0), NodeZones::Turn::none);
}

}  // namespace
}  // namespace berth
