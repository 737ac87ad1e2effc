// Claims that the gateway binds or makes by itself: those of Immediate classes, and those of ephemeral volumes.
#include "tests/unit/gateway/gateway_fixture.h"

namespace berth {
namespace {

class ClaimsTest : public GatewayTest {
 protected:
  ClaimsTest() {
    start_connected();
    add_class("now", "Immediate");
  }
  void add_class(const std::string& name, const std::string& mode) {
    apply(R"({"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":")" + name +
          R"("},"provisioner":"kubernetes.io/no-provisioner","volumeBindingMode":")" + mode + R"("})");
  }
  // `created`: empty, or its creationTimestamp.
  void set_default(const std::string& name, const std::string& is_default, const std::string& created = {}) {
    apply(R"({"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":")" + name +
          (created.empty() ? std::string() : R"(","creationTimestamp":")" + created) +
          R"(","annotations":{"storageclass.kubernetes.io/is-default-class":")" + is_default +
          R"("}},"provisioner":"kubernetes.io/no-provisioner","volumeBindingMode":"Immediate"})");
  }
  std::string class_of(const std::string& name) {
    turn();
    return gateway->objects().claim("default/" + name)->storage_class_name.value_or("none");
  }
  void add_volume(const std::string& name, const std::string& size, const std::string& node,
                  const std::string& more = R"(,"storageClassName":"now")",
                  const std::string& modes = R"(["ReadWriteOnce"])", const std::string& labels = "{}") {
    const Json reply =
        apply(R"({"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":")" + name + R"(","labels":)" +
              labels + R"(},"spec":{"capacity":{"storage":")" + size + R"("},"accessModes":)" + modes + more +
              R"(,"local":{"path":"/)" + name + R"("},"nodeAffinity":{"required":{"nodeSelectorTerms":[
              {"matchExpressions":[{"key":"kubernetes.io/hostname","operator":"In","values":[")" +
              node + R"("]}]}]}}}})");
    ASSERT_EQ(reply.find("error"), nullptr) << reply.dump();
  }
  static std::string claim(const std::string& name, const std::string& size,
                           const std::string& more = R"(,"storageClassName":"now")") {
    return R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":")" + name +
           R"(","namespace":"default"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":")" +
           size + R"("}})" + more + "}}";
  }
  // The next turn that schedules.
  std::string volume_of(const std::string& name) {
    turn();
    const auto claim = gateway->objects().claim("default/" + name);
    if (claim == nullptr || claim->phase != "Bound") return "";
    const auto volume = gateway->objects().volume(claim->volume_name);
    return volume != nullptr && volume->claim_ref == "default/" + name && volume->phase == "Bound" ? claim->volume_name
                                                                                                   : "half";
  }
  static std::string mounts(const std::string& claim_name) {
    return R"(,"volumes":[{"name":"v","persistentVolumeClaim":{"claimName":")" + claim_name + R"("}}])";
  }
  static std::string with_scratch(const std::string& size = "1Gi") {
    return R"(,"volumes":[{"name":"s","ephemeral":{"volumeClaimTemplate":{"metadata":{"labels":{"a":"b"}},"spec":{
        "accessModes":["ReadWriteOnce"],"storageClassName":"now","resources":{"requests":{"storage":")" +
           size + R"("}}}}}}])";
  }
};

TEST_F(ClaimsTest, AnImmediateClaimGetsTheSmallestVolumeThatFitsWithoutAPod) {
  add_volume("small", "1Gi", "n1");
  add_volume("large", "10Gi", "n1");
  add_volume("middle", "5Gi", "n1");
  apply(claim("c", "2Gi"));
  EXPECT_EQ(volume_of("c"), "middle");
  apply(claim("d", "2Gi"));
  EXPECT_EQ(volume_of("d"), "large");
  apply(claim("e", "2Gi"));
  EXPECT_EQ(volume_of("e"), "");
  add_volume("late", "2Gi", "n1");
  EXPECT_EQ(volume_of("e"), "late");
}

TEST_F(ClaimsTest, AVolumeMadeForTheClaimComesFirstAndOneMadeForAnotherNever) {
  add_volume("other", "1Gi", "n1", R"(,"storageClassName":"now","claimRef":{"namespace":"default","name":"x"})");
  add_volume("small", "1Gi", "n1");
  add_volume("mine", "5Gi", "n1", R"(,"storageClassName":"now","claimRef":{"namespace":"default","name":"c"})");
  apply(claim("c", "1Gi"));
  EXPECT_EQ(volume_of("c"), "mine");
}

TEST_F(ClaimsTest, FewerAccessModesComeBeforeASmallerSize) {
  add_volume("shared", "1Gi", "n1", R"(,"storageClassName":"now")", R"(["ReadWriteOnce","ReadOnlyMany"])");
  add_volume("plain", "5Gi", "n1");
  add_volume("wrong", "1Gi", "n1", R"(,"storageClassName":"now")", R"(["ReadOnlyMany"])");
  apply(claim("c", "1Gi"));
  EXPECT_EQ(volume_of("c"), "plain");
  apply(claim("d", "1Gi"));
  EXPECT_EQ(volume_of("d"), "shared");
  apply(claim("e", "1Gi"));
  EXPECT_EQ(volume_of("e"), "");
}

TEST_F(ClaimsTest, ClassSelectorAndModeMustMatch) {
  add_class("later", "WaitForFirstConsumer");
  add_volume("none", "1Gi", "n1", "");
  add_volume("waits", "1Gi", "n1", R"(,"storageClassName":"later")");
  add_volume("block", "1Gi", "n1", R"(,"storageClassName":"now","volumeMode":"Block")");
  add_volume("labelled", "5Gi", "n1", R"(,"storageClassName":"now")", R"(["ReadWriteOnce"])", R"({"disk":"ssd"})");
  apply(claim("c", "1Gi", R"(,"storageClassName":"now","selector":{"matchLabels":{"disk":"hdd"}})"));
  EXPECT_EQ(volume_of("c"), "");
  apply(claim("d", "1Gi", R"(,"storageClassName":"now","selector":{"matchLabels":{"disk":"ssd"}})"));
  EXPECT_EQ(volume_of("d"), "labelled");
  apply(claim("e", "1Gi", R"(,"storageClassName":"later")"));
  EXPECT_EQ(volume_of("e"), "") << "waits for a pod";
  apply(claim("f", "1Gi", ""));
  EXPECT_EQ(volume_of("f"), "none") << "a claim without a class gets a volume without one";
}

TEST_F(ClaimsTest, AClaimThatNamesAVolumeGetsItOnlyIfTheVolumeSatisfiesIt) {
  const std::string names = R"(,"storageClassName":"now","volumeName":"v")";
  const auto mismatches = [this](const std::string& name) {
    turn();
    std::string all;
    for (const Json& each : api(R"({"op":"describe","kind":"pvc","namespace":"default","name":")" + name + R"("})")
                                .find("events")
                                ->as_array()) {
      if (each.find("reason")->as_string() == "VolumeMismatch") all += each.find("message")->as_string();
    }
    return all;
  };
  add_volume("v", "1Gi", "n1", R"(,"storageClassName":"now","volumeMode":"Filesystem")", R"(["ReadOnlyMany"])");
  const std::string why = "Cannot bind to requested volume \"v\": ";
  apply(claim("c", "1Gi", names));
  EXPECT_EQ(volume_of("c"), "");
  EXPECT_EQ(mismatches("c"), why + "incompatible accessMode");
  EXPECT_EQ(gateway->objects().claim("default/c")->phase, "Pending");
  add_volume("v", "1Gi", "n1");
  EXPECT_EQ(volume_of("c"), "v") << "the volume was changed";
  api(R"({"op":"delete","kind":"pvc","namespace":"default","name":"c"})");
  api(R"({"op":"delete","kind":"pv","name":"v"})");
  add_volume("v", "1Gi", "n1");
  apply(claim("small", "2Gi", names));
  EXPECT_EQ(mismatches("small"), why + "requested PV is too small");
  apply(claim("class", "1Gi", R"(,"volumeName":"v")"));
  EXPECT_EQ(mismatches("class"), why + "storageClassName does not match");
  apply(claim("mode", "1Gi", names + R"(,"volumeMode":"Block")"));
  EXPECT_EQ(mismatches("mode"), why + "incompatible volumeMode");
  EXPECT_EQ(gateway->objects().volume("v")->phase, "Available");
  apply(claim("fits", "1Gi", names));
  EXPECT_EQ(volume_of("fits"), "v");
}

TEST_F(ClaimsTest, AVolumeThatSeveralClaimsNameGoesToOneThatItSatisfies) {
  const std::string names = R"(,"storageClassName":"now","volumeName":"v")";
  apply(claim("a", "5Gi", names));
  apply(claim("b", "1Gi", names));
  add_volume("v", "1Gi", "n1");
  EXPECT_EQ(volume_of("a"), "");
  EXPECT_EQ(volume_of("b"), "v");
}

TEST_F(ClaimsTest, AVolumeThatNamesAClaimMustHoldItUnlessTheClaimNamesItToo) {
  const std::string made_for = R"(,"claimRef":{"namespace":"default","name":)";
  add_volume("v", "1Gi", "n1", made_for + R"("c"},"storageClassName":"other")");
  add_volume("w", "1Gi", "n1", made_for + R"("d"},"storageClassName":"other")");
  add_volume("x", "1Gi", "n1", made_for + R"("e"},"storageClassName":"other")");
  apply(claim("c", "2Gi"));
  apply(claim("d", "1Gi"));
  apply(claim("e", "2Gi", R"(,"storageClassName":"now","volumeName":"x")"));
  EXPECT_EQ(volume_of("c"), "");
  EXPECT_EQ(volume_of("d"), "w") << "whatever its class";
  EXPECT_EQ(volume_of("e"), "x");
}

TEST_F(ClaimsTest, AClaimThatComesBackBoundKeepsItsVolumeWhateverTheSizes) {
  apply(R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"c","namespace":"default"},"spec":{
      "accessModes":["ReadWriteOnce"],"storageClassName":"now","volumeName":"v",
      "resources":{"requests":{"storage":"9Gi"}}},"status":{"phase":"Bound"}})");
  add_volume("v", "1Gi", "n1");
  EXPECT_EQ(volume_of("c"), "v");
}

TEST_F(ClaimsTest, AClaimThatSaysNothingOfItsClassGetsTheDefaultOne) {
  add_volume("plain", "1Gi", "n1", "");
  add_volume("v", "1Gi", "n1");
  set_default("now", "true");
  apply(claim("c", "1Gi", ""));
  EXPECT_EQ(class_of("c"), "now");
  EXPECT_EQ(volume_of("c"), "v");
  EXPECT_EQ(apply(claim("c", "1Gi", "")).string_at("result"), "unchanged");
  apply(claim("null", "1Gi", R"(,"storageClassName":null)"));
  EXPECT_EQ(class_of("null"), "now");
  apply(claim("without", "1Gi", R"(,"storageClassName":"")"));
  EXPECT_EQ(class_of("without"), "");
  EXPECT_EQ(volume_of("without"), "plain");
  restart();
  EXPECT_EQ(class_of("c"), "now");
}

TEST_F(ClaimsTest, OfSeveralDefaultClassesTheNewestCountsThenTheFirstByName) {
  set_default("b", "true");
  set_default("a", "true");
  apply(claim("c", "1Gi", ""));
  EXPECT_EQ(class_of("c"), "a");
  set_default("old", "true", "2025-01-01T00:00:00Z");
  set_default("young", "true", "2025-06-01T00:00:00Z");
  set_default("younger", "false", "2025-07-01T00:00:00Z");
  apply(claim("d", "1Gi", ""));
  EXPECT_EQ(class_of("d"), "young");
}

TEST_F(ClaimsTest, AClassThatBecomesTheDefaultIsGivenToClaimsThatWaitWithoutOne) {
  device("n1");
  add_volume("plain", "1Gi", "n1", "");
  apply(claim("bound", "1Gi", ""));
  ASSERT_EQ(volume_of("bound"), "plain");
  apply(claim("waits", "1Gi", ""));
  apply(claim("without", "1Gi", R"(,"storageClassName":"")"));
  apply(pod("p", "u1", "64Mi", mounts("waits")));
  ASSERT_EQ(phase("u1"), Phase::none);
  add_volume("v", "1Gi", "n1");
  EXPECT_EQ(class_of("waits"), "none");
  set_default("now", "true");
  EXPECT_EQ(class_of("waits"), "now");
  EXPECT_EQ(volume_of("waits"), "v");
  EXPECT_EQ(class_of("bound"), "none");
  EXPECT_EQ(class_of("without"), "");
  advance(2000);
  EXPECT_EQ(phase("u1"), Phase::prebind) << why("p");
  restart();
  EXPECT_EQ(class_of("waits"), "now");
}

TEST_F(ClaimsTest, AnEphemeralVolumeThatSaysNothingOfItsClassGetsTheDefaultOne) {
  device("n1");
  set_default("now", "true");
  add_volume("v", "1Gi", "n1");
  std::string scratch = with_scratch();
  scratch.erase(scratch.find(R"("storageClassName":"now",)"), std::string(R"("storageClassName":"now",)").size());
  const Json planned = api(R"({"op":"plan","manifest":)" + pod("p", "u1", "64Mi", scratch) + "}");
  EXPECT_EQ(planned.find("trial")->string_at("node"), "n1") << planned.dump();
  apply(pod("p", "u1", "64Mi", scratch));
  EXPECT_EQ(class_of("p-s"), "now");
  EXPECT_EQ(volume_of("p-s"), "v");
}

TEST_F(ClaimsTest, ItsPodGoesWhereTheVolumeIs) {
  device("n1");
  device("n2", "i2");
  add_volume("there", "1Gi", "n2");
  apply(claim("c", "1Gi"));
  ASSERT_EQ(volume_of("c"), "there");
  apply(pod("p", "u1", "64Mi", mounts("c")));
  ASSERT_TRUE(request("n2").has_value()) << why("p");
  EXPECT_EQ(request("n2")->volumes, (std::vector<BoundVolume>{{"default/c", "there", "/there"}}));
}

TEST_F(ClaimsTest, AReleasedVolumeIsForNobodyAndAClaimThatIsBoundStaysSoOverARestart) {
  add_volume("v", "1Gi", "n1");
  apply(claim("c", "1Gi"));
  ASSERT_EQ(volume_of("c"), "v");
  restart();
  EXPECT_EQ(volume_of("c"), "v");
  api(R"({"op":"delete","kind":"pvc","namespace":"default","name":"c"})");
  apply(claim("d", "1Gi"));
  EXPECT_EQ(volume_of("d"), "");
  EXPECT_EQ(gateway->objects().volume("v")->phase, "Released");
}

// No manifest can tell that its data may go to another claim: most never name one.
TEST_F(ClaimsTest, AReleasedVolumeThatIsAppliedAgainStaysSoUntilItIsDeleted) {
  add_volume("v", "1Gi", "n1");
  apply(claim("c", "1Gi"));
  ASSERT_EQ(volume_of("c"), "v");
  api(R"({"op":"delete","kind":"pvc","namespace":"default","name":"c"})");
  apply(claim("d", "1Gi"));
  add_volume("v", "1Gi", "n1");
  EXPECT_EQ(volume_of("d"), "");
  add_volume("v", "1Gi", "n1", R"(,"storageClassName":"now","claimRef":null)");
  EXPECT_EQ(volume_of("d"), "");
  EXPECT_EQ(gateway->objects().volume("v")->phase, "Released");
  api(R"({"op":"delete","kind":"pv","name":"v"})");
  add_volume("v", "1Gi", "n1");
  EXPECT_EQ(volume_of("d"), "v");
}

TEST_F(ClaimsTest, AfterALostStoreNothingIsBoundBeforeTheNodesHaveSaidWhatTheirSlotsHold) {
  gateway.reset();
  store = MemoryStore();
  options.known_nodes = {"n1"};
  start_connected();
  add_class("now", "Immediate");
  add_volume("v", "1Gi", "n1");
  add_volume("w", "2Gi", "n1");
  apply(claim("c", "1Gi"));
  EXPECT_EQ(volume_of("c"), "");
  device("n1");
  slots("n1",
        {{"u1", Epoch{1, 5}, SlotState::running, pod("p", "u1", "64Mi", mounts("c")), {{"default/c", "w", "/w"}}}});
  EXPECT_EQ(volume_of("c"), "w");
}

TEST_F(ClaimsTest, AnEphemeralVolumeHasAClaimThatComesAndGoesWithItsPod) {
  device("n1");
  add_volume("v", "1Gi", "n1");
  apply(pod("p", "u1", "64Mi", with_scratch()));
  EXPECT_EQ(volume_of("p-s"), "v");
  const auto claim = gateway->objects().claim("default/p-s");
  EXPECT_EQ(claim->metadata.controller_uid, "u1");
  EXPECT_EQ(claim->metadata.labels.at("a"), "b");
  ASSERT_TRUE(request("n1").has_value()) << why("p");
  EXPECT_EQ(request("n1")->volumes, (std::vector<BoundVolume>{{"default/p-s", "v", "/v"}}));
  answer("n1", AnswerType::pre_bound);
  answer("n1", AnswerType::bound);
  restart();
  api(R"({"op":"delete","kind":"pod","namespace":"default","name":"p"})");
  EXPECT_NE(gateway->objects().claim("default/p-s"), nullptr) << "its workload may still run";
  device("n1");
  advance(2000);
  answer("n1", AnswerType::released);
  EXPECT_EQ(gateway->objects().claim("default/p-s"), nullptr);
  EXPECT_EQ(gateway->objects().volume("v")->phase, "Released");
}

TEST_F(ClaimsTest, APlanOfAPodWithAnEphemeralVolumeAssumesTheClaimThatWillBeMade) {
  device("n1");
  device("n2", "i2");
  add_class("later", "WaitForFirstConsumer");
  const auto planned = [this](const std::string& name, const std::string& spec) {
    const Json reply = api(R"({"op":"plan","manifest":)" + pod(name, "u1", "64Mi", spec) + "}");
    const Json* trial = reply.find("trial");
    return trial == nullptr ? reply.dump() : trial->string_at("node") + trial->string_at("message");
  };
  const std::string unbound = "0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims.";
  EXPECT_TRUE(planned("p", with_scratch()).starts_with(unbound)) << planned("p", with_scratch());
  add_volume("v", "1Gi", "n2");
  EXPECT_EQ(planned("p", with_scratch()), "n2");
  const std::string twice = with_scratch().insert(
      with_scratch().find(R"({"name":"s")"),
      R"({"name":"t","ephemeral":{"volumeClaimTemplate":{"spec":{"accessModes":["ReadWriteOnce"],)"
      R"("storageClassName":"now","resources":{"requests":{"storage":"1Gi"}}}}}},)");
  EXPECT_TRUE(planned("p", twice).starts_with(unbound)) << "there is one volume: " << planned("p", twice);
  std::string delayed = with_scratch();
  delayed.replace(delayed.find(R"("now")"), 5, R"("later")");
  EXPECT_TRUE(planned("p", delayed).contains("didn't find available persistent volumes to bind"));
  add_volume("w", "1Gi", "n1", R"(,"storageClassName":"later")");
  EXPECT_EQ(planned("p", delayed), "n1");
  apply(claim("q-s", "1Gi"));
  EXPECT_TRUE(planned("q", with_scratch()).contains("PVC default/q-s was not created for pod default/q"));
  EXPECT_EQ(gateway->objects().claim("default/p-s"), nullptr) << "nothing is made";
  EXPECT_EQ(gateway->objects().volume("w")->phase, "Available");
}

TEST_F(ClaimsTest, AForeignClaimOfThatNameIsNotUsedUntilItIsGone) {
  device("n1");
  add_volume("v", "1Gi", "n1");
  add_volume("w", "2Gi", "n1");
  apply(claim("p-s", "1Gi"));
  apply(pod("p", "u1", "64Mi", with_scratch()));
  EXPECT_NE(why("p").find("PVC default/p-s was not created for pod default/p (pod is not owner)"), std::string::npos)
      << why("p");
  EXPECT_FALSE(request("n1").has_value());
  api(R"({"op":"delete","kind":"pod","namespace":"default","name":"p"})");
  EXPECT_NE(gateway->objects().claim("default/p-s"), nullptr) << "it is not the pod's";
}

TEST_F(ClaimsTest, ARecreatedPodGetsAClaimOfItsOwn) {
  device("n1");
  add_volume("v", "1Gi", "n1");
  add_volume("w", "2Gi", "n1");
  apply(pod("p", "u1", "64Mi", with_scratch()));
  answer("n1", AnswerType::pre_bound);
  answer("n1", AnswerType::bound);
  ASSERT_EQ(volume_of("p-s"), "v");
  apply(pod("p", "u2", "64Mi", with_scratch()));
  answer("n1", AnswerType::released);
  EXPECT_EQ(volume_of("p-s"), "w");
  EXPECT_EQ(gateway->objects().claim("default/p-s")->metadata.controller_uid, "u2");
  EXPECT_EQ(phase("u2"), Phase::prebind) << why("p");
}

TEST_F(ClaimsTest, AClaimThatAStartFindsWithoutThePodThatItWasMadeForIsDeleted) {
  const auto owned_by = [](const std::string& name, const std::string& kind) {
    std::string owned = claim(name, "1Gi");
    return owned.insert(owned.find(R"("namespace")"), R"("ownerReferences":[{"apiVersion":"v1","kind":")" + kind +
                                                          R"(","name":"p","uid":"u1","controller":true}],)");
  };
  apply(owned_by("p-s", "Pod"));
  apply(owned_by("q-s", "Robot"));
  restart();
  EXPECT_EQ(gateway->objects().claim("default/p-s"), nullptr);
  EXPECT_NE(gateway->objects().claim("default/q-s"), nullptr);
}

TEST_F(ClaimsTest, AClaimLeftByAnEarlierPodMakesRoomForThatOfThePod) {
  std::string left = claim("p-s", "1Gi");
  left.insert(left.find(R"("namespace")"),
              R"("ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"p","uid":"u0","controller":true}],)");
  apply(left);
  apply(pod("p", "u1", "64Mi", with_scratch()));
  ASSERT_EQ(gateway->objects().claim("default/p-s")->metadata.controller_uid, "u0");
  restart();
  device("n1");
  add_volume("v", "1Gi", "n1");
  EXPECT_EQ(volume_of("p-s"), "v");
  EXPECT_EQ(gateway->objects().claim("default/p-s")->metadata.controller_uid, "u1");
  advance(2000);  // the rest of its backoff
  EXPECT_EQ(phase("u1"), Phase::prebind) << why("p");
}

TEST_F(ClaimsTest, ATemplateThatIsNoClaimIsRefusedWithItsField) {
  const Json reply = apply(pod("p", "u1", "64Mi", with_scratch("0")));
  ASSERT_NE(reply.find("error"), nullptr);
  EXPECT_NE(reply.dump().find("spec.volumes: s: ephemeral.volumeClaimTemplate: spec.resources.requests.storage: must "
                              "be greater than 0"),
            std::string::npos)
      << reply.dump();
  const Json missing = apply(pod("q", "u2", "64Mi", R"(,"volumes":[{"name":"s","ephemeral":{}}])"));
  EXPECT_NE(missing.dump().find("spec.volumes: s: ephemeral.volumeClaimTemplate: missing"), std::string::npos)
      << missing.dump();
}

}  // namespace
}  // namespace berth
