// Pods that wait on Permit, as operators, plugins and time see them through the gateway.
#include "tests/issues/volume_manifests.h"
#include "tests/unit/gateway/gateway_fixture.h"

namespace berth {
namespace {

// Holds back every pod with a label "hold", for half a minute.
class Hold final : public PermitPlugin {
 public:
  explicit Hold(std::string name) : name_(std::move(name)) {}
  std::string_view name() const override { return name_; }
  Status permit(CycleState&, const Pod& pod, const std::string&, Millis& timeout) override {
    timeout = 30'000;
    return pod.metadata.labels.contains("hold") ? Status(Code::wait, "held") : Status();
  }

 private:
  std::string name_;
};

class PermitTest : public GatewayTest {
 protected:
  PermitTest() {
    for (const char* name : {"HoldA", "HoldB"}) {
      const Status added = registry.add(
          name, [name](const Json&, Handle&) { return Result<std::unique_ptr<Plugin>>(std::make_unique<Hold>(name)); });
      EXPECT_TRUE(added.is_success());
    }
    options.profiles[0].enable("HoldA").enable("HoldB");
    start_connected();
    device("n1");
    slots("n1", {});
    apply(pod("held", "u1", "64Mi", "", R"({"hold":"yes"})"));
  }
  Json of(const std::string& op, const std::string& more = "") {
    return api(R"({"op":")" + op + R"(","name":"held")" + more + "}");
  }
};

TEST_F(PermitTest, ListsWhoWaitsForWhomAndHowLong) {
  advance(10'000);
  const Json reply = api(R"({"op":"waiting"})");
  const Json::Array& items = reply.find("items")->as_array();
  ASSERT_EQ(items.size(), 1u);
  EXPECT_EQ(*items[0].find("name"), Json("held"));
  EXPECT_EQ(*items[0].find("node"), Json("n1"));
  EXPECT_EQ(items[0].find("plugins")->dump(),
            R"([{"name":"HoldA","remainingMs":20000},{"name":"HoldB","remainingMs":20000}])");
  EXPECT_EQ(why("held"), "waiting on permit of HoldA, HoldB for node n1");
  EXPECT_TRUE(api(R"({"op":"waiting","namespace":"other"})").find("items")->as_array().empty());
}

TEST_F(PermitTest, PlacesAPodWhenTheLastPluginAllowsIt) {
  EXPECT_EQ(*of("allow", R"(,"plugin":"HoldB")").find("result"), Json("still waits for HoldA"));
  EXPECT_EQ(phase("u1"), Phase::none);
  EXPECT_EQ(*of("allow").find("result"), Json("allowed"));
  EXPECT_EQ(phase("u1"), Phase::prebind);
  EXPECT_EQ(request("n1")->type, RequestType::pre_bind);
}

TEST_F(PermitTest, SendsBackAPodWhoseVolumeWasGivenToAnotherClaimMeanwhile) {
  api(R"({"op":"delete","kind":"pod","namespace":"default","name":"held"})");
  device("n1", "i1", R"({"cpu":"2","memory":"1Gi","pods":"10"})", kOffersVolume);
  apply(kStorageClass);
  apply(claim());
  apply(pod("waits", "u2", "64Mi", kMountsClaim, R"({"hold":"yes"})"));
  ASSERT_EQ(gateway->scheduler().waiting_pods().all().size(), 1u) << why("waits");
  std::string other = claim(R"(,"volumeName":"n1-d")");
  other.replace(other.find(R"("name":"c")"), 10, R"("name":"d")");
  apply(other);
  ASSERT_EQ(gateway->objects().claim("default/d")->phase, "Bound");
  api(R"({"op":"allow","name":"waits"})");
  EXPECT_EQ(phase("u2"), Phase::none);
  EXPECT_EQ(why("waits"), "volume n1-d is no longer free for claim default/c");
  EXPECT_FALSE(request("n1").has_value());
}

TEST_F(PermitTest, SendsARejectedPodBack) {
  EXPECT_EQ(*of("reject", R"(,"reason":"not today")").find("result"), Json("rejected"));
  EXPECT_EQ(why("held"), "0/1 nodes are available: 1 not today.");
  EXPECT_EQ(gateway->scheduler().cache().pod_count(), 0u);
  EXPECT_EQ(gateway->bindings().size(), 0u);
}

TEST_F(PermitTest, RejectsWhenTheTimeIsUp) {
  advance(15'000);
  device("n1");  // it would be taken for silent
  advance(14'000);
  EXPECT_EQ(gateway->scheduler().waiting_pods().all().size(), 1u);
  advance(1'000);
  EXPECT_EQ(why("held"), "0/1 nodes are available: 1 rejected due to timeout after waiting 30s at plugin HoldA.");
}

TEST_F(PermitTest, LetsADeletedPodGo) {
  api(R"({"op":"delete","kind":"pod","name":"held"})");
  EXPECT_TRUE(gateway->scheduler().waiting_pods().all().empty());
  EXPECT_TRUE(gateway->objects().pods().all().empty());
  EXPECT_EQ(gateway->scheduler().cache().pod_count(), 0u);
}

TEST_F(PermitTest, SaysWhatIsWrongWithARequest) {
  const auto error = [](const Json& reply) { return reply.find("error")->as_string(); };
  EXPECT_EQ(error(api(R"({"op":"allow"})")), "name: expected the name of a pod");
  EXPECT_EQ(error(api(R"({"op":"reject","name":"nobody"})")), "Pod \"default/nobody\" not found");
  EXPECT_EQ(error(of("allow", R"(,"plugin":"Other")")),
            "plugin: Pod \"default/held\" does not wait for \"Other\"; it waits for HoldA, HoldB");
  of("allow");
  EXPECT_EQ(error(of("allow")), "Pod \"default/held\" does not wait on permit");
}

// Another gateway has placed it meanwhile: placed here as well it would run twice (S4), released there it would stop.
TEST_F(PermitTest, APodThatIsFoundRunningInAdoptModeKeepsThatNodeAndWaitsNoMore) {
  device("n2");
  const std::uint64_t other = gateway->identity().id.term + 5;
  answer("n2", proven_superseded("n2", {other, "elsewhere"}));
  ASSERT_TRUE(gateway->identity().adopting);
  slots("n2", {{"u1", {6, 9}, SlotState::running, pod("held", "u1")}});
  EXPECT_EQ(phase("u1"), Phase::bound);
  EXPECT_TRUE(gateway->scheduler().waiting_pods().all().empty());
  EXPECT_TRUE(gateway->releases().empty());
  EXPECT_EQ(gateway->scheduler().cache().pod_count(), 1u);
}

TEST_F(PermitTest, WhatIsAllowedInAdoptModeIsDecidedAgainAfterIt) {
  receive(topics.node_presence("n1"), R"({"incarnation":"i1","session":"2","online":true})");
  const std::uint64_t other = gateway->identity().id.term + 5;
  answer("n1", proven_superseded("n1", {other, "elsewhere"}));
  ASSERT_TRUE(gateway->identity().adopting);
  of("allow");
  EXPECT_EQ(phase("u1"), Phase::none) << "it may run where the answers will tell";
  EXPECT_TRUE(gateway->identity().adopting);
}

TEST_F(PermitTest, ForgetsTheWaitAtARestartAndDecidesAgain) {
  restart();
  slots("n1", {});
  device("n1");
  EXPECT_EQ(gateway->scheduler().waiting_pods().all().size(), 1u);
}

}  // namespace
}  // namespace berth
