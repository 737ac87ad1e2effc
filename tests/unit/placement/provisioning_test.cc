// Claims whose volumes a provisioner makes, between the decision for a node and the request to it.
#include "tests/unit/gateway/gateway_fixture.h"

namespace berth {
namespace {

class ProvisioningTest : public GatewayTest {
 protected:
  void start_with_claim() {
    start_connected();
    device("n1");
    apply(R"({"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":"made"},
        "provisioner":"example.com/maker","volumeBindingMode":"WaitForFirstConsumer"})");
    apply(claim());
    apply(pod("p", "u1", "64Mi", R"(,"volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"c"}}])"));
  }
  static std::string claim(const std::string& annotations = "{}") {
    return R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"c","namespace":"default",
        "annotations":)" +
           annotations + R"(},"spec":{"accessModes":["ReadWriteOnce"],"storageClassName":"made",
        "resources":{"requests":{"storage":"1Gi"}}}})";
  }
  // What a provisioner applies once it has made the directory.
  static std::string volume(const std::string& node = "n1") {
    return R"({"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"made-1"},"spec":{
        "capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],"storageClassName":"made",
        "claimRef":{"namespace":"default","name":"c"},"local":{"path":"/data/made-1"},
        "nodeAffinity":{"required":{"nodeSelectorTerms":[{"matchExpressions":[
        {"key":"kubernetes.io/hostname","operator":"In","values":[")" +
           node + R"("]}]}]}}}})";
  }
  std::string selected() const {
    const auto claim = gateway->objects().claim("default/c");
    const auto found = claim->metadata.annotations.find("volume.kubernetes.io/selected-node");
    return found == claim->metadata.annotations.end() ? std::string() : found->second;
  }
};

TEST_F(ProvisioningTest, NamesTheNodeOnTheClaimAndAsksTheDeviceOnlyOnceTheVolumeIsThere) {
  start_with_claim();
  EXPECT_EQ(selected(), "n1");
  EXPECT_EQ(request("n1"), std::nullopt);
  EXPECT_EQ(why("p"), "waiting for a provisioner to make volumes on node n1 for default/c");
  EXPECT_EQ(apply(volume()).find("error"), nullptr);
  ASSERT_EQ(phase("u1"), Phase::prebind);
  ASSERT_TRUE(request("n1").has_value());
  EXPECT_EQ(request("n1")->volumes, (std::vector<BoundVolume>{{"default/c", "made-1", "/data/made-1"}}));
  answer("n1", AnswerType::pre_bound);
  answer("n1", AnswerType::bound);
  EXPECT_EQ(phase("u1"), Phase::bound);
}

TEST_F(ProvisioningTest, TellsProvisionersOverTheMirrorOfTheClaim) {
  start_with_claim();
  std::string mirrored;
  for (const Message& message : transport.sent) {
    if (message.topic == topics.desired(Kind::persistent_volume_claim, "default/c")) mirrored = message.payload;
  }
  EXPECT_NE(mirrored.find(R"("volume.kubernetes.io/selected-node":"n1")"), std::string::npos) << mirrored;
}

class CountedPreBind final : public PreBindPlugin {
 public:
  CountedPreBind(std::string name, std::vector<std::string>& calls) : name_(std::move(name)), calls_(calls) {}
  std::string_view name() const override { return name_; }
  Status pre_bind_pre_flight(CycleState&, const Pod&, const std::string&) override { return {}; }
  Status pre_bind(CycleState&, const Pod&, const std::string&, PlacementRequest& request) override {
    calls_.push_back(name_);
    request.volumes.push_back({"default/" + name_, name_, "/data/" + name_});
    return {};
  }

 private:
  const std::string name_;
  std::vector<std::string>& calls_;
};

TEST_F(ProvisioningTest, RunsEachPreBindPluginOnceHoweverOftenVolumesChangeMeanwhile) {
  std::vector<std::string> calls;
  for (const char* name : {"Before", "After"}) {
    const Status added = registry.add(name, [name, &calls](const Json&, Handle&) {
      return Result<std::unique_ptr<Plugin>>(std::make_unique<CountedPreBind>(name, calls));
    });
    ASSERT_TRUE(added.is_success());
  }
  std::vector<ProfilePlugin>& plugins = options.profiles[0].multi_point.enabled;
  plugins.insert(plugins.begin(), {"Before", 0, {}});
  options.profiles[0].enable("After");
  start_with_claim();
  EXPECT_EQ(calls, std::vector<std::string>{"Before"});
  std::string other = claim();
  other.replace(other.find(R"("name":"c")"), 10, R"("name":"d")");
  apply(other);
  apply(other.replace(other.find("1Gi"), 3, "2Gi"));
  EXPECT_EQ(calls, std::vector<std::string>{"Before"});
  apply(volume());
  EXPECT_EQ(calls, (std::vector<std::string>{"Before", "After"}));
  ASSERT_TRUE(request("n1").has_value());
  EXPECT_EQ(request("n1")->volumes, (std::vector<BoundVolume>{{"default/Before", "Before", "/data/Before"},
                                                              {"default/c", "made-1", "/data/made-1"},
                                                              {"default/After", "After", "/data/After"}}));
}

TEST_F(ProvisioningTest, KeepsTheNodeOnTheClaimOverARestart) {
  start_with_claim();
  restart();
  EXPECT_EQ(selected(), "n1");
  device("n1");
  device("n2");
  EXPECT_EQ(why("p"), "waiting for a provisioner to make volumes on node n1 for default/c");
  apply(volume());
  EXPECT_EQ(phase("u1"), Phase::prebind);
}

TEST_F(ProvisioningTest, GivesUpWithUpstreamsTextWhenTheTimeIsOver) {
  start_with_claim();
  advance(599'000);
  EXPECT_EQ(why("p"), "waiting for a provisioner to make volumes on node n1 for default/c");
  transport.sent.clear();
  clock.now_ms += 1'000;
  timers.run_due(clock.now_ms);
  EXPECT_NE(why("p").find("binding volumes: context deadline exceeded"), std::string::npos) << why("p");
  device("n1");  // silent for as long
  advance(12'000);
  EXPECT_EQ(why("p"), "waiting for a provisioner to make volumes on node n1 for default/c") << "tried again";
}

TEST_F(ProvisioningTest, TriesAgainWhenTheProvisionerTakesTheNodeBack) {
  start_with_claim();
  apply(claim(R"({"note":"no room"})"));
  EXPECT_NE(why("p").find("binding volumes: provisioning failed for PVC \"c\""), std::string::npos) << why("p");
  EXPECT_EQ(selected(), "");
  EXPECT_EQ(gateway->scheduler().cache().assumed_count(), 0u);
}

TEST_F(ProvisioningTest, TriesAnotherNodeWhenTheOneChosenIsForgotten) {
  start_with_claim();
  ASSERT_EQ(selected(), "n1");
  api(R"({"op":"forget","kind":"Node","name":"n1"})");
  EXPECT_EQ(selected(), "");
  std::string mirrored;
  for (const Message& message : transport.sent) {
    if (message.topic == topics.desired(Kind::persistent_volume_claim, "default/c")) mirrored = message.payload;
  }
  EXPECT_EQ(mirrored.find("selected-node"), std::string::npos) << mirrored;
  device("n2");
  advance(12'000);
  EXPECT_EQ(selected(), "n2") << why("p");
  apply(volume("n2"));
  EXPECT_EQ(phase("u1"), Phase::prebind) << why("p");
}

TEST_F(ProvisioningTest, AClaimThatIsBeingDeletedSaysSo) {
  start_with_claim();
  const auto shown = [this] {
    std::string text;
    for (const Message& message : transport.sent) {
      if (message.topic == topics.status(Kind::persistent_volume_claim, "default/c")) text = message.payload;
    }
    return text;
  };
  EXPECT_EQ(shown().find("deleting"), std::string::npos) << shown();
  api(R"({"op":"delete","kind":"pvc","namespace":"default","name":"c"})");
  ASSERT_NE(gateway->objects().claim("default/c"), nullptr) << "a pod uses it";
  EXPECT_NE(shown().find(R"("deleting":true)"), std::string::npos) << shown();
}

TEST_F(ProvisioningTest, ABoundClaimKeepsTheNodeThatWasForgotten) {
  start_with_claim();
  apply(volume());
  answer("n1", AnswerType::pre_bound);
  answer("n1", AnswerType::bound);
  api(R"({"op":"forget","kind":"Node","name":"n1"})");
  EXPECT_EQ(selected(), "n1");
  EXPECT_EQ(gateway->objects().claim("default/c")->volume_name, "made-1");
}

TEST_F(ProvisioningTest, RefusesAVolumeThatTheNodeDoesNotReach) {
  start_with_claim();
  apply(volume("n9"));
  EXPECT_NE(why("p").find("binding volumes: pv \"made-1\" node affinity doesn't match node \"n1\": no matching "
                          "NodeSelectorTerms"),
            std::string::npos)
      << why("p");
}

TEST_F(ProvisioningTest, LetsGoOfADeletedPodThatWaits) {
  start_with_claim();
  api(R"({"op":"delete","kind":"pod","namespace":"default","name":"p"})");
  EXPECT_TRUE(gateway->bindings().empty());
  EXPECT_EQ(gateway->scheduler().cache().assumed_count(), 0u);
  EXPECT_EQ(gateway->objects().pods().find("default/p"), nullptr);
}

TEST_F(ProvisioningTest, OffersAVolumeAgainThatARejectedPodWasPromised) {
  start_connected();
  device("n1");
  apply(R"({"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":"made"},
      "provisioner":"kubernetes.io/no-provisioner","volumeBindingMode":"WaitForFirstConsumer"})");
  apply(claim());
  std::string other = claim();
  other.replace(other.find(R"("name":"c")"), 10, R"("name":"d")");
  apply(other);
  std::string free_volume = volume();
  const std::string reference = R"("claimRef":{"namespace":"default","name":"c"},)";
  free_volume.erase(free_volume.find(reference), reference.size());
  apply(free_volume);
  apply(pod("p", "u1", "64Mi", R"(,"volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"c"}}])"));
  ASSERT_EQ(phase("u1"), Phase::prebind);
  apply(pod("q", "u2", "64Mi", R"(,"volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"d"}}])"));
  ASSERT_EQ(gateway->scheduler().queue().where("u2"), Queue::Where::unschedulable);
  answer("n1", AnswerType::rejected);
  EXPECT_NE(gateway->scheduler().queue().where("u2"), Queue::Where::unschedulable) << "the volume is free again";
}

}  // namespace
}  // namespace berth
