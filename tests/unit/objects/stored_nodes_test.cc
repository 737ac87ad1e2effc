// What a start finds of a device node: whole, at its overlay's word, and from the forms of earlier programs.
#include "core/objects/node_record.h"
#include "tests/unit/gateway/gateway_fixture.h"

namespace berth {
namespace {

class StoredNodes : public GatewayTest {
 protected:
  static constexpr const char kRich[] =
      R"(,"labels":{"zone":"a","operator.berth/x":"y"},"images":[{"names":["i:1"],"sizeBytes":7}],
    "taints":[{"key":"k","value":"v","effect":"NoExecute"}])";

  void come(const std::string& name) { device(name, "i1", R"({"cpu":"2","memory":"1Gi","pods":"10"})", kRich); }
  const NodeInfo& seen(const std::string& name) const { return *gateway->scheduler().cache().find(name); }
  Json shown(const std::string& name) {
    return *api(R"({"op":"get","kind":"node","name":")" + name + R"("})").find("object");
  }
  std::string& record(const std::string& name) {
    return const_cast<Contents&>(store.durable()).at({Table::node, name}).value;
  }
};

TEST_F(StoredNodes, AreAfterAStartAsTheyWere) {
  start_connected();
  come("n1");
  const Json before = shown("n1");
  const NodeInfo kept = seen("n1");
  restart();
  const Node& is = *seen("n1").node;
  EXPECT_EQ(is.metadata.labels, kept.node->metadata.labels);
  EXPECT_EQ(is.metadata.labels.at("zone"), "a");
  EXPECT_EQ(is.taints, kept.node->taints);
  EXPECT_EQ(is.images.at(0).size_bytes, 7);
  EXPECT_TRUE(seen("n1").allocatable == kept.allocatable);
  EXPECT_EQ(shown("n1"), before);
}

TEST_F(StoredNodes, WithAnOverlayShowItAfterAStart) {
  start_connected();
  come("n1");
  apply(R"({"kind":"Node","metadata":{"name":"n1","labels":{"zone":"b"}},"spec":{"unschedulable":true}})");
  ASSERT_EQ(seen("n1").node->metadata.labels.at("zone"), "b");
  restart();
  EXPECT_EQ(seen("n1").node->metadata.labels.at("zone"), "b");
  EXPECT_TRUE(seen("n1").node->unschedulable);
}

TEST_F(StoredNodes, TellOfTheSameFactsAgainWithoutAnEvent) {
  start_connected();
  come("n1");
  restart();
  const std::int64_t before = seen("n1").generation;
  come("n1");
  EXPECT_EQ(seen("n1").generation, before);
  device("n1", "i1", R"({"cpu":"3","memory":"1Gi","pods":"10"})", kRich);
  EXPECT_EQ(seen("n1").allocatable.milli_cpu, 3000);
}

TEST_F(StoredNodes, AreNotWrittenForWhatTheyTellAgainWhileWritesAreSaved) {
  start_connected();
  come("n1");
  const std::string stored = record("n1");
  const auto commits = store.commits();
  gateway->save_writes(true);
  for (const char* cpu : {"3", "4", "5"}) {
    device("n1", "i1", std::string(R"({"cpu":")") + cpu + R"(","memory":"1Gi","pods":"10"})", kRich);
  }
  EXPECT_EQ(seen("n1").allocatable.milli_cpu, 5000) << "it is scheduled by all the same";
  EXPECT_EQ(record("n1"), stored);
  EXPECT_EQ(store.commits(), commits);
  gateway->save_writes(false);
  turn();
  EXPECT_NE(record("n1"), stored);
  restart();
  EXPECT_EQ(seen("n1").allocatable.milli_cpu, 5000);
}

TEST_F(StoredNodes, AreWrittenWhileWritesAreSavedWhenTheyAreNewOrAnotherIncarnation) {
  start_connected();
  gateway->save_writes(true);
  come("n1");
  ASSERT_TRUE(store.durable().contains({Table::node, "n1"}));
  const std::string stored = record("n1");
  device("n1", "i2");
  EXPECT_NE(record("n1"), stored);
}

TEST_F(StoredNodes, AreWrittenWhileWritesAreSavedWhenPresenceIsHeardFirst) {
  start_connected();
  gateway->save_writes(true);
  receive(topics.node_presence("n1"), R"({"incarnation":"i1","session":"1","online":true})");
  come("n1");
  ASSERT_NE(gateway->scheduler().cache().find("n1"), nullptr);
  restart();
  ASSERT_NE(gateway->scheduler().cache().find("n1"), nullptr) << "a new node is written as before";
}

TEST_F(StoredNodes, OfAnotherIncarnationAreWrittenWhileWritesAreSavedWhenPresenceIsHeardFirst) {
  start_connected();
  come("n1");
  gateway->save_writes(true);
  receive(topics.node_presence("n1"), R"({"incarnation":"i2","session":"1","online":true})");
  device("n1", "i2", R"({"cpu":"1","memory":"1Gi","pods":"10"})");
  ASSERT_EQ(seen("n1").allocatable.milli_cpu, 1000);
  restart();
  EXPECT_EQ(gateway->nodes().all().at("n1").incarnation, "i2");
  EXPECT_EQ(seen("n1").allocatable.milli_cpu, 1000) << "facts of the old incarnation, taken for the new one's";
}

TEST_F(StoredNodes, KeepAtACleanEndWhatWasSpared) {
  start_connected();
  come("n1");
  gateway->save_writes(true);
  device("n1", "i1", R"({"cpu":"3","memory":"1Gi","pods":"10"})", kRich);
  gateway->say_goodbye();
  turn();
  restart();
  EXPECT_EQ(seen("n1").allocatable.milli_cpu, 3000);
}

TEST_F(StoredNodes, OfANodeForgottenWhileWritesAreSavedNothingComesBack) {
  start_connected();
  come("n1");
  gateway->save_writes(true);
  device("n1", "i1", R"({"cpu":"3","memory":"1Gi","pods":"10"})", kRich);
  api(R"({"op":"forget","kind":"Node","name":"n1"})");
  gateway->save_writes(false);
  turn();
  EXPECT_FALSE(store.durable().contains({Table::node, "n1"}));
}

TEST_F(StoredNodes, OfEarlierProgramsAreStillRead) {
  start_connected();
  come("n1");
  const Node was = *seen("n1").node;
  const Result<NodeRecord> stored = decode_node_record(record("n1"));
  ASSERT_TRUE(stored.has_value());
  const std::string json = R"({"incarnation":"i1","facts":)" + std::string(stored->facts) + "}";
  // The form of before, and one whose decoded part is of a program that decodes differently.
  NodeRecord other = *stored;
  other.packed = "\x7f some other form";
  for (const std::string& value : {json, encode(other)}) {
    record("n1") = value;
    restart();
    ASSERT_NE(gateway->scheduler().cache().find("n1"), nullptr);
    EXPECT_EQ(seen("n1").node->metadata.labels, was.metadata.labels);
    EXPECT_EQ(seen("n1").node->taints, was.taints);
    EXPECT_EQ(gateway->nodes().all().at("n1").incarnation, "i1");
  }
}

TEST_F(StoredNodes, ThatAreDamagedAreNamed) {
  start_connected();
  come("n1");
  const std::string whole = record("n1");
  const Result<NodeRecord> stored = decode_node_record(whole);
  ASSERT_TRUE(stored.has_value());
  for (const std::size_t left : {std::size_t{1}, std::size_t{5}, whole.size() - 1}) {
    record("n1") = whole.substr(0, left);
    Gateway again(options, registry, clock, transport, store, timers, log);
    const Status started = again.start();
    ASSERT_FALSE(started.is_success()) << left;
    EXPECT_NE(started.message().find("stored node n1: "), std::string::npos) << started.message();
  }
}

}  // namespace
}  // namespace berth
