#include "core/agent/records.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

constexpr char kPod[] = R"({"metadata":{"name":"web"}})";

TEST(AgentRecords, RoundTrip) {
  Slot slot;
  slot.epoch = {3, 17};
  slot.state = SlotState::stopping;
  slot.pod = kPod;
  slot.volumes = {{"default/db", "n1-data", "/srv/data"}};
  slot.handle = "100:7";
  slot.finished_before_stop = true;
  slot.promise_ms = 30'000;
  slot.deadline = 123'456'789'012;
  slot.status = R"({"phase":"Succeeded"})";
  AgentRecords written;
  written.state.incarnation = "inc";
  written.state.gateway = {4, "store"};
  written.state.proof = "4.ab";
  written.state.obeyed_before = {{"store", "3.cd"}, {"lost", "9.ef"}};
  written.identity = {"f", "n1", "machine", "serial"};
  written.lost = "StoreRolledBack";
  written.lost_before = "AnotherDevice";
  TermHistory runs;
  runs.begin(7, 3);
  const Result<AgentRecords> read = decode_records({{Table::meta, "incarnation", encode_incarnation(written), 0},
                                                    {Table::meta, "gateway", encode_gateway(written.state), 0},
                                                    {Table::meta, "floor", encode(Epoch{3, 1}), 0},
                                                    {Table::meta, "boot", encode_boot("boot-1", runs), 0},
                                                    {Table::meta, "session", encode_text("12"), 0},
                                                    {Table::slot, "u1", encode(slot), 0},
                                                    {Table::high, "u2", encode(Epoch{3, 9}), 0}});
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->state.incarnation, "inc");
  EXPECT_EQ(read->state.gateway, (GatewayId{4, "store"}));
  EXPECT_EQ(read->state.proof, "4.ab");
  EXPECT_EQ(read->state.obeyed_before, written.state.obeyed_before);
  EXPECT_EQ(read->state.floor, (Epoch{3, 1}));
  EXPECT_EQ(read->identity, written.identity);
  EXPECT_EQ(read->lost, "StoreRolledBack");
  EXPECT_EQ(read->lost_before, "AnotherDevice");
  EXPECT_EQ(read->boot_id, "boot-1");
  EXPECT_EQ(read->runs, runs);
  EXPECT_EQ(read->session, 12u);
  EXPECT_EQ(read->state.high.at("u2"), (Epoch{3, 9}));
  const Slot& back = read->state.slots.at("u1");
  EXPECT_EQ(back.epoch, slot.epoch);
  EXPECT_EQ(back.state, slot.state);
  EXPECT_EQ(back.pod, slot.pod);
  EXPECT_EQ(back.volumes, slot.volumes);
  EXPECT_EQ(back.handle, slot.handle);
  EXPECT_TRUE(back.finished_before_stop);
  EXPECT_EQ(back.promise_ms, slot.promise_ms);
  EXPECT_EQ(back.deadline, slot.deadline);
  EXPECT_EQ(back.status, slot.status);
}

TEST(AgentRecords, AnErrorNamesTableAndKey) {
  const auto error = [](const Record& record) { return decode_records({record}).error().message(); };
  EXPECT_TRUE(error({Table::meta, "floor", "{", 0}).starts_with("meta floor: "));
  EXPECT_EQ(error({Table::high, "u1", R"({"value":7})", 0}), "high u1: value: must be an epoch, \"<term>.<counter>\"");
  EXPECT_EQ(error({Table::slot, "u1", R"({"epoch":"1.2","state":"none","pod":{},"promiseMs":"1","deadline":"1"})", 0}),
            "slot u1: state: must be preparing, prepared, running, stopping or finished");
  EXPECT_EQ(error({Table::row, "u1", "{}", 0}), "row u1: table: not used by an agent; is this the gateway's store?");
  EXPECT_EQ(error({Table::meta, "colour", "{}", 0}), "meta colour: key: unknown to this version");
}

TEST(AgentRecords, SlotsWithoutAnIncarnationAreADamagedStore) {
  Slot slot;
  slot.epoch = {1, 2};
  slot.state = SlotState::running;
  slot.pod = kPod;
  EXPECT_FALSE(decode_records({{Table::slot, "u1", encode(slot), 0}}));
}

TEST(AgentRecords, AnIdentityWithoutMachineIdOrSerialNumberIsRead) {
  AgentRecords plain;
  plain.state.incarnation = "inc";
  plain.identity = {"f", "n1", "", ""};
  EXPECT_EQ(decode_records({{Table::meta, "incarnation", encode_incarnation(plain), 0}})->identity, plain.identity);
  EXPECT_EQ(decode_records({{Table::meta, "identity", R"({"fleet":"f"})", 0}}).error().message(),
            "meta identity: node: is missing; must be a string");
}

// Its program knew "value" only, and took a record with another key for damage.
TEST(AgentRecords, AnEarlierProgramReadsTheIncarnationAndTheBoot) {
  AgentRecords full;
  full.state.incarnation = "inc";
  full.identity = {"f", "n1", "m", "s"};
  full.lost_before = "StoreRolledBack";
  TermHistory runs;
  runs.begin(1, 1);
  EXPECT_EQ(Json::parse(encode_incarnation(full))->find("value")->as_string(), "inc");
  EXPECT_EQ(Json::parse(encode_boot("b", runs))->find("value")->as_string(), "b");
}

TEST(AgentRecords, RunsThatAreNoHistoryAreAnError) {
  EXPECT_EQ(decode_records({{Table::meta, "boot", R"({"value":"b","runs":["1.2","1.3"]})", 0}}).error().message(),
            "meta boot: runs: terms must ascend");
}

TEST(DeviceIdentity, DiffersByFleetNodeAndMachine) {
  const DeviceIdentity was{"f", "n1", "m1", "s1"};
  EXPECT_EQ(difference(was, was), "");
  EXPECT_EQ(difference(was, {"g", "n1", "m1", "s1"}), "fleet: was f, is g");
  EXPECT_EQ(difference(was, {"f", "n2", "m1", "s1"}), "node: was n1, is n2");
  EXPECT_EQ(difference(was, {"f", "n1", "m1", "s2"}), "hardware serial number: was s1, is s2") << "a cloned card";
  EXPECT_EQ(difference(was, {"f", "n1", "m1", ""}), "hardware serial number: was s1, is unknown");
  EXPECT_EQ(difference(was, {"f", "n1", "m2", "s1"}), "") << "the same board, installed again or with a transient id";
  const DeviceIdentity plain{"f", "n1", "m1", ""};
  EXPECT_EQ(difference(plain, {"f", "n1", "m2", ""}), "machine id: was m1, is m2");
  EXPECT_EQ(difference(plain, {"f", "n1", "m2", "s1"}), "machine id: was m1, is m2");
  EXPECT_EQ(difference(plain, {"f", "n1", "m1", "s1"}), "") << "the serial number is learned";
  EXPECT_EQ(difference({"f", "n1", "", ""}, {"f", "n1", "m1", "s1"}), "") << "nothing was known of the machine";
}

}  // namespace
}  // namespace berth
