// A store without records is new only while nothing speaks against that (P15).
#include "tests/unit/gateway/gateway_fixture.h"

namespace berth {
namespace {

class NewStoreTest : public GatewayTest {
 protected:
  static SlotReport running(const std::string& uid, const Epoch& epoch) {
    SlotReport slot;
    slot.uid = uid;
    slot.epoch = epoch;
    slot.state = SlotState::running;
    slot.pod = pod(uid, uid);
    return slot;
  }
  Json adopt_done() { return api(R"({"op":"adopt","done":true})"); }
  static bool succeeded(const Json& reply) { return *reply.find("ok") == Json(true); }
  bool has_warned(const std::string& text) const {
    for (const std::string& line : log.warnings) {
      if (line.find(text) != std::string::npos) return true;
    }
    return false;
  }
};

TEST_F(NewStoreTest, ANewStorePlacesAtOnceAndWaitsForNoAccount) {
  options.enrolled_nodes = {"n1", "n2"};
  start_connected();
  EXPECT_EQ(gateway->not_ready(), "");
  device("n1");
  bind_pod("web", "u1", "n1");
}

TEST_F(NewStoreTest, ALostStoreWaitsForEveryAccount) {
  options.first_boot = FirstBoot::lost;
  options.enrolled_nodes = {"n1", "n2"};
  start_connected();
  device("n1");
  slots("n1", {});
  EXPECT_NE(gateway->not_ready().find("the store was lost"), std::string::npos) << gateway->not_ready();
  EXPECT_NE(gateway->not_ready().find("n2"), std::string::npos) << gateway->not_ready();
  device("n2");
  slots("n2", {});
  EXPECT_EQ(gateway->not_ready(), "");
}

TEST_F(NewStoreTest, ALostStoreWithoutAnyListOfNodesWaitsForTheOperator) {
  options.first_boot = FirstBoot::lost;
  start_connected();
  EXPECT_NE(gateway->not_ready().find("berthctl adopt done"), std::string::npos) << gateway->not_ready();
  device("n1");
  slots("n1", {});
  apply(pod("web", "u1"));
  EXPECT_EQ(phase("u1"), Phase::none) << "another node may run what nobody remembers";
  restart();
  EXPECT_TRUE(gateway->identity().awaits_operator) << "durable";
  slots("n1", {});
  EXPECT_NE(gateway->not_ready(), "");
  EXPECT_TRUE(succeeded(adopt_done()));
  EXPECT_EQ(gateway->not_ready(), "");
  EXPECT_EQ(phase("u1"), Phase::prebind);
}

TEST_F(NewStoreTest, AMarkBesideTheStoreSaysThatItIsNotNew) {
  class Marks final : public StoreMarks {
   public:
    std::optional<StoreMark> read() override { return StoreMark{"earlier", 7, 100}; }
    bool write(const StoreMark&) override { return true; }
  } marks;
  options.marks = &marks;
  start_connected();
  EXPECT_TRUE(gateway->identity().awaits_operator);
}

TEST_F(NewStoreTest, ASlotThatItDidNotGiveEndsTheBeliefThatAStoreIsNew) {
  options.enrolled_nodes = {"n1", "n2", "n3"};
  start_connected();
  device("n1");
  slots("n1", {});
  device("n2");
  slots("n2", {running("old", {50, 7})});
  EXPECT_EQ(gateway->identity().adopt_nodes, (std::set<std::string>{"n1", "n3"}));
  EXPECT_TRUE(has_warned("the store is not new"));
  EXPECT_NE(api(R"({"op":"describe","kind":"node","name":"n2"})").dump().find("StoreNotNew"), std::string::npos);
  apply(pod("web", "u1"));
  EXPECT_EQ(phase("u1"), Phase::none);
  slots("n1", {});
  restart();
  EXPECT_EQ(gateway->identity().adopt_nodes.count("n3"), 1u) << "durable";
  EXPECT_FALSE(gateway->identity().is_new) << "durable";
}

// Nodes that connect a second later run what nobody remembers.
TEST_F(NewStoreTest, WithoutAnyListOfNodesTheOperatorIsWaitedForWhenItIsNotNew) {
  start_connected();
  ASSERT_EQ(gateway->not_ready(), "");
  device("n1");
  slots("n1", {running("old", {50, 7})});
  EXPECT_NE(gateway->not_ready().find("berthctl adopt done"), std::string::npos) << gateway->not_ready();
  apply(pod("web", "web"));
  EXPECT_EQ(phase("web"), Phase::none);
  device("n2");
  slots("n2", {running("web", {50, 8})});
  EXPECT_EQ(gateway->bindings().at("web").row.node, "n2");
  EXPECT_TRUE(succeeded(adopt_done()));
  EXPECT_EQ(gateway->not_ready(), "");
}

TEST_F(NewStoreTest, NothingIsSaidAgainstItAfterAnHour) {
  start_connected();
  device("n1");
  slots("n1", {});
  advance(3'700'000);
  EXPECT_FALSE(gateway->identity().is_new);
  receive(topics.node_presence("n1"), R"({"incarnation":"i1","session":"2","online":true})");
  slots("n1", {running("old", {50, 7})});
  EXPECT_EQ(gateway->not_ready(), "");
  EXPECT_EQ(gateway->identity().orphans.size(), 1u);
}

TEST_F(NewStoreTest, ABrokerThatWasThereBeforeHasAListOfNodes) {
  options.first_boot = FirstBoot::lost;
  for (const bool was_there : {false, true}) {
    SCOPED_TRACE(was_there);
    start();
    transport.up = true;
    gateway->on_link(true);
    turn();
    receive(topics.node_presence("n1"), R"({"incarnation":"i1","session":"1","online":true})", true);
    if (was_there) receive(topics.root() + "status/pods/default/web", R"({"phase":"Running"})", true);
    return_fences();
    slots("n1", {});
    EXPECT_EQ(gateway->not_ready().empty(), was_there) << gateway->not_ready();
    gateway.reset();
    store.wipe();
    transport.sent.clear();
  }
}

TEST_F(NewStoreTest, ItEndsOnceOnly) {
  options.enrolled_nodes = {"n1"};
  start_connected();
  device("n1");
  slots("n1", {running("old", {50, 7})});
  ASSERT_EQ(gateway->not_ready(), "") << "every known node has answered";
  receive(topics.node_presence("n1"), R"({"incarnation":"i1","session":"2","online":true})");
  slots("n1", {running("old", {50, 7}), running("another", {50, 8})});
  EXPECT_EQ(gateway->not_ready(), "") << "what a device makes up later stops nobody";
}

TEST_F(NewStoreTest, AnotherGatewaysTermEndsItToo) {
  options.enrolled_nodes = {"n1", "n2"};
  start_connected();
  device("n1");
  answer("n1", superseded({gateway->identity().id.term, "other"}));
  EXPECT_FALSE(gateway->identity().adopting) << "a device that says so and lists nothing stops nobody";
  slots("n1", {});
  EXPECT_EQ(gateway->identity().adopt_nodes, (std::set<std::string>{"n1", "n2"}));
}

TEST_F(NewStoreTest, TheEpochsOfTwoStoresDiffer) {
  start_connected();
  const std::uint64_t first = gateway->identity().id.term;
  gateway.reset();
  store.wipe();
  ++options.identity_seed;
  start_connected();
  EXPECT_NE(gateway->identity().id.term, first) << "slots of the lost one would be taken for ours, and ended";
}

TEST_F(NewStoreTest, TheOperatorEndsAdoptModeAndIsToldWhoHasNotAnswered) {
  options.first_boot = FirstBoot::lost;
  options.known_nodes = {"n1", "n2"};
  start_connected();
  device("n1");
  slots("n1", {});
  EXPECT_NE(api(R"({"op":"status"})").dump().find(R"("waitingFor":["n2"])"), std::string::npos);
  const Json reply = adopt_done();
  ASSERT_TRUE(succeeded(reply)) << reply.dump();
  EXPECT_EQ(reply.find("unanswered")->dump(), R"(["n2"])");
  EXPECT_FALSE(reply.find("warnings")->as_array().empty());
  EXPECT_FALSE(succeeded(adopt_done())) << "it has ended";
  restart();
  EXPECT_FALSE(gateway->identity().adopting) << "durable";
}

}  // namespace
}  // namespace berth
