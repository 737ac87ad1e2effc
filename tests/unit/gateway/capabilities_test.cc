// A pod goes only where the device says that its runtime can do what the pod asks for (D7).
#include "tests/unit/gateway/gateway_fixture.h"

namespace berth {
namespace {

class CapabilitiesTest : public GatewayTest {
 protected:
  void start_with(const std::map<std::string, std::string>& features) {
    start_connected();
    for (const auto& [node, said] : features) {
      device(node, "i1", R"({"cpu":"2","memory":"1Gi","pods":"10"})", said);
      slots(node, {});
    }
  }
  static std::string probed(const std::string& name, const std::string& uid, const std::string& more = "") {
    std::string text = pod(name, uid, "64Mi", more);
    const std::string container = R"({"name":"c",)";
    return text.replace(text.find(container), container.size(), container + R"("livenessProbe":{"periodSeconds":5},)");
  }
  // As a device does that is alive and has nothing new to say.
  void beat(const std::string& node, Millis ms) {
    for (Millis past = 0; past < ms; past += 5000) {
      receive(topics.node_heartbeat(node), R"({"incarnation":"i1","sequence":"1"})");
      advance(5000);
    }
  }
  std::string node_of(const std::string& uid) const {
    const auto found = gateway->bindings().find(std::string_view(uid));
    return found == gateway->bindings().end() ? std::string() : std::string(found->second.row.node);
  }
};

const std::string kNoFeatures = R"(,"features":[])";
const std::string kProbes = R"(,"features":["probes"])";

TEST_F(CapabilitiesTest, APodThatAsksForAProbeRunsWhereThereAreProbes) {
  start_with({{"edge-a", kNoFeatures}, {"edge-b", kProbes}});
  for (int i = 0; i < 4; ++i) {
    const std::string uid = "u" + std::to_string(i);
    apply(probed("web-" + std::to_string(i), uid));
    EXPECT_EQ(node_of(uid), "edge-b");
  }
}

TEST_F(CapabilitiesTest, AnOlderDeviceThatDoesNotSayIsAsked) {
  start_with({{"edge-a", ""}});
  apply(probed("web", "u1"));
  EXPECT_EQ(node_of("u1"), "edge-a");
}

TEST_F(CapabilitiesTest, APodThatNoNodeCanRunNamesTheFieldAndAsksNobody) {
  start_with({{"edge-a", kNoFeatures}, {"edge-b", kNoFeatures}});
  apply(probed("web", "u1"));
  EXPECT_EQ(node_of("u1"), "");
  EXPECT_TRUE(
      why("web").starts_with("0/2 nodes are available: 2 node(s) do not support "
                             "spec.containers[0].livenessProbe (feature processes/probes)."))
      << why("web");
  EXPECT_FALSE(request("edge-a").has_value());
  EXPECT_FALSE(request("edge-b").has_value());
}

TEST_F(CapabilitiesTest, PlanAndExplainSayTheSame) {
  start_with({{"edge-a", kNoFeatures}});
  const std::string planned = api(R"({"op":"plan","manifest":)" + probed("web", "u1") + "}").dump();
  EXPECT_TRUE(planned.contains("node(s) do not support spec.containers[0].livenessProbe (feature processes/probes)"))
      << planned;
  EXPECT_TRUE(planned.contains("NodeCapabilities")) << planned;
  apply(probed("web", "u1"));
  const std::string explained = api(R"({"op":"explain","namespace":"default","name":"web"})").dump();
  EXPECT_TRUE(explained.contains("NodeCapabilities")) << explained;
}

TEST_F(CapabilitiesTest, TheNodeShowsWhatItsDeviceCanDo) {
  start_with({{"edge-a", R"(,"features":["volumes/emptyDir","probes"])"}});
  const std::string shown = api(R"({"op":"get","kind":"node","name":"edge-a"})").dump();
  EXPECT_TRUE(shown.contains(R"("declaredFeatures":["volumes/emptyDir","probes"])")) << shown;
}

TEST_F(CapabilitiesTest, TheNodeShowsThePoolsOfItsDevice) {
  const std::string pools = R"("volumePools":[{"class":"fast","root":"/pool","capacity":"1Gi","limited":true}])";
  start_with({{"edge-a", "," + pools}});
  const std::string shown = api(R"({"op":"get","kind":"node","name":"edge-a"})").dump();
  EXPECT_TRUE(shown.contains(pools)) << shown;
}

TEST_F(CapabilitiesTest, TheNodeShowsTheContainerRuntimeOfItsDeviceAlsoAfterARestart) {
  start_with({{"edge-a", R"(,"nodeInfo":{"containerRuntimeVersion":"crun://1.8.1","kernelVersion":"6.1"})"},
              {"edge-b", R"(,"nodeInfo":{"containerRuntimeVersion":7})"},
              {"edge-c", R"(,"nodeInfo":{"containerRuntimeVersion":")" + std::string(129, 'v') + "\"}"}});
  for (int run = 1; run <= 2; ++run) {
    const std::string shown = api(R"({"op":"get","kind":"node","name":"edge-a"})").dump();
    EXPECT_TRUE(shown.contains(R"("nodeInfo":{"containerRuntimeVersion":"crun://1.8.1"})")) << shown;
    for (const char* wrong : {"edge-b", "edge-c"}) {
      const std::string other = api(R"({"op":"get","kind":"node","name":")" + std::string(wrong) + "\"}").dump();
      EXPECT_TRUE(other.contains("allocatable") && !other.contains("nodeInfo")) << other;
    }
    restart();
  }
}

TEST_F(CapabilitiesTest, ProcessesThatAskForASeccompProfileAreNeverSentToADeviceOfThisProgram) {
  const std::string both =
      R"(,"features":["images","runtimeClass/container","runtimeClass/process","securityContext"])";
  start_with({{"edge-a", both}, {"edge-b", R"(,"features":["runtimeClass/process","securityContext"])"}});
  const std::string profile = R"(,"securityContext":{"seccompProfile":{"type":"RuntimeDefault"}})";
  const auto command = [&](const std::string& name, const std::string& uid, const std::string& image) {
    std::string manifest = pod(name, uid, "64Mi", profile);
    const std::string named = R"("image":"/bin/app")";
    return manifest.replace(manifest.find(named), named.size(), image + R"("command":["app"])");
  };
  apply(command("web", "u1", ""));
  EXPECT_EQ(node_of("u1"), "");
  EXPECT_TRUE(why("web").contains("node(s) do not support spec.securityContext.seccompProfile")) << why("web");
  apply(command("app", "u2", R"("image":"app:1",)"));
  EXPECT_EQ(node_of("u2"), "edge-a") << why("app");
}

TEST_F(CapabilitiesTest, WhatOnlyContainersOfADeviceCanHaveIsNotAskedOfItForProcesses) {
  start_with({{"edge-a", R"(,"features":["images","probes","processes/lifecycle"])"}});
  apply(probed("web", "u1"));
  EXPECT_EQ(node_of("u1"), "");
  EXPECT_FALSE(request("edge-a").has_value());
  device("edge-b", "i1", R"({"cpu":"2","memory":"1Gi","pods":"10"})", R"(,"features":["processes/probes"])");
  slots("edge-b", {});
  EXPECT_EQ(node_of("u1"), "edge-b") << why("web");
}

TEST_F(CapabilitiesTest, APodThatNamesAnImageIsKeptOffDevicesWithoutImagesAlsoIfItHasACommand) {
  start_with({{"edge-a", kNoFeatures}});
  std::string manifest = pod("web", "u1");
  const std::string program = R"("image":"/bin/app")";
  manifest.replace(manifest.find(program), program.size(), R"("image":"app:1","command":["app"])");
  apply(manifest);
  EXPECT_EQ(node_of("u1"), "");
  EXPECT_TRUE(
      why("web").starts_with("0/1 nodes are available: 1 node(s) do not support spec.containers[0].image (feature "
                             "images: install crun or runc and skopeo there, or remove image to run the command as a "
                             "process of the device)."))
      << why("web");
  EXPECT_FALSE(request("edge-a").has_value());
  device("edge-b", "i1", R"({"cpu":"2","memory":"1Gi","pods":"10"})", R"(,"features":["images"])");
  slots("edge-b", {});
  EXPECT_EQ(node_of("u1"), "edge-b") << why("web");
}

TEST_F(CapabilitiesTest, ADeviceThatLearnsTheFeatureGetsThePodAtOnce) {
  start_with({{"edge-a", kNoFeatures}});
  apply(probed("web", "u1"));
  ASSERT_EQ(node_of("u1"), "");
  beat("edge-a", 20'000);
  receive(topics.node_state("edge-a"),
          R"({"incarnation":"i1","session":"1","sequence":"2","allocatable":{"cpu":"2","memory":"1Gi","pods":"10"})" +
              kProbes + "}");
  advance(1000);
  EXPECT_EQ(node_of("u1"), "edge-a") << why("web");
}

TEST_F(CapabilitiesTest, AnotherFeatureDoesNotWakeThePod) {
  start_with({{"edge-a", kNoFeatures}});
  apply(probed("web", "u1"));
  beat("edge-a", 20'000);
  const int attempts = gateway->scheduler().queue().find("u1")->attempts;
  receive(topics.node_state("edge-a"),
          R"({"incarnation":"i1","session":"1","sequence":"2","allocatable":{"cpu":"2","memory":"1Gi","pods":"10"},)"
          R"("features":["limits"]})");
  advance(1000);
  EXPECT_EQ(gateway->scheduler().queue().find("u1")->attempts, attempts);
}

TEST_F(CapabilitiesTest, APodThatNamesItsNodeIsNotAdmittedThereEither) {
  start_with({{"edge-a", kNoFeatures}});
  apply(probed("web", "u1", R"(,"nodeName":"edge-a")"));
  EXPECT_EQ(node_of("u1"), "");
  EXPECT_TRUE(why("web").contains("node(s) do not support spec.containers[0].livenessProbe")) << why("web");
}

TEST_F(CapabilitiesTest, HoldAfterARestartOfTheGateway) {
  start_with({{"edge-a", kNoFeatures}});
  restart();
  slots("edge-a", {});
  apply(probed("web", "u1"));
  EXPECT_EQ(node_of("u1"), "");
  EXPECT_TRUE(why("web").contains("do not support")) << why("web");
}

TEST_F(CapabilitiesTest, AStateWithTooManyFeaturesIsNotTaken) {
  start_with({{"edge-a", kProbes}});
  std::string many = R"("f0")";
  for (int i = 1; i < 65; ++i) many += ",\"f" + std::to_string(i) + "\"";
  receive(topics.node_state("edge-a"),
          R"({"incarnation":"i1","session":"1","sequence":"2","allocatable":{"cpu":"2","memory":"1Gi","pods":"10"},)"
          R"("features":[)" +
              many + "]}");
  apply(probed("web", "u1"));
  EXPECT_EQ(node_of("u1"), "edge-a") << "as it said before";
  ASSERT_FALSE(log.warnings.empty());
  EXPECT_TRUE(log.warnings.back().contains("expected at most 64 names, got 65")) << log.warnings.back();
}

TEST_F(CapabilitiesTest, ADryRunOfAKnownPodSaysWhetherItWouldChange) {
  start_with({{"edge-a", kNoFeatures}});
  const auto dry_run = [this](const std::string& object) {
    return api(R"({"op":"apply","dryRun":true,"object":)" + object + "}").string_at("result");
  };
  for (const std::string& next : {pod("web", "u1"), pod("web", "u1"), pod("web", "u1", "64Mi", "", R"({"a":"b"})"),
                                  pod("web", "u2", "64Mi", "", R"({"a":"b"})")}) {
    const std::string said = dry_run(next);
    EXPECT_EQ(said, apply(next).string_at("result")) << next;
  }
}

TEST_F(CapabilitiesTest, ADryRunAnswersAsApplyAndPlanWouldAndStoresNothing) {
  start_with({{"edge-a", kNoFeatures}});
  const std::uint64_t before = store.next_position();
  transport.sent.clear();
  const auto dry_run = [this](const std::string& object) {
    return api(R"({"op":"apply","dryRun":true,"object":)" + object + "}");
  };
  EXPECT_EQ(dry_run(pod("web", "u1")).string_at("result"), "created");
  const std::string waits = dry_run(probed("web", "u1")).dump();
  EXPECT_TRUE(
      waits.contains("it would wait: 0/1 nodes are available: 1 node(s) do not support "
                     "spec.containers[0].livenessProbe (feature processes/probes)."))
      << waits;
  std::string mounts = pod("web", "u1");
  mounts.insert(mounts.find("\"image\""), R"("volumeMounts":[{"name":"data","mountPath":"/d"}],)");
  EXPECT_EQ(dry_run(mounts).string_at("error"), apply(mounts).string_at("error"));
  EXPECT_TRUE(dry_run(mounts).string_at("error").starts_with("spec.containers[0].volumeMounts[0].name: no volume of"));
  const std::string priority =
      R"({"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass","metadata":{"name":"high"},"value":)";
  EXPECT_EQ(dry_run(priority + "7}").string_at("result"), "created");
  EXPECT_NE(dry_run(priority + "\"x\"}").string_at("error"), "");
  const std::string node =
      R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"edge-a"},"spec":{"unschedulable":true}})";
  EXPECT_EQ(dry_run(node).string_at("result"), "created");
  EXPECT_EQ(store.next_position(), before);
  EXPECT_TRUE(gateway->objects().pods().all().empty());
  for (const Message& message : transport.sent) EXPECT_FALSE(message.retain) << message.topic;
}

}  // namespace
}  // namespace berth
