// Orders that do not come through the broker's retained set, and what that set still says when the link comes back.
#include <utility>

#include "tests/unit/gateway/gateway_fixture.h"

namespace berth {

class SupersededOrdersTest : public GatewayTest, public ::testing::WithParamInterface<bool> {
 protected:
  // True: the power is cut as well.
  bool restarts() const { return GetParam(); }

  static std::string label(const std::string& value, const std::string& uid = "u1") {
    return pod("p", uid, "64Mi", "", R"({"app":")" + value + R"("})");
  }
  static std::string without_uid(const std::string& manifest) {
    Json json = *Json::parse(manifest);
    json.find("metadata")->erase("uid");
    return json.dump();
  }
  // As `berthctl get -o json` gives it.
  static std::string with_status(const std::string& manifest) {
    Json json = *Json::parse(manifest);
    return json.set("status", Json::object()).dump();
  }
  static std::string claim(const std::string& label) {
    return R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"c","namespace":"default","uid":"c1",)"
           R"("labels":{"app":")" +
           label +
           R"("}},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}},)"
           R"("storageClassName":"s"}})";
  }
  // For that claim.
  static std::string volume() {
    return R"({"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"v","uid":"v1"},"spec":{)"
           R"("capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],"storageClassName":"s","local":{"path":"/d"},)"
           R"("claimRef":{"namespace":"default","name":"c"},"nodeAffinity":{"required":{"nodeSelectorTerms":[)"
           R"({"matchExpressions":[{"key":"kubernetes.io/hostname","operator":"In","values":["n1"]}]}]}}}})";
  }
  static std::string overlay(bool unschedulable) {
    return R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n1"},"spec":{"unschedulable":)" +
           std::string(unschedulable ? "true" : "false") + "}}";
  }
  static std::string priority(int value) {
    return R"({"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass","metadata":{"name":"c","uid":"c1"},"value":)" +
           std::to_string(value) + "}";
  }
  const std::string pod_topic = topics.desired(Kind::pod, "default/p");
  const std::string node_topic = topics.desired(Kind::node, "n1");
  const std::string claim_topic = topics.desired(Kind::persistent_volume_claim, "default/c");
  const std::string class_topic = topics.desired(Kind::priority_class, "c");

  bool apply_by_api(const std::string& object) {
    return *api(R"({"op":"apply","object":)" + object + "}").find("ok") == Json(true);
  }
  bool delete_by_api(const std::string& kind, const std::string& name) {
    return *api(R"({"op":"delete","kind":")" + kind + R"(","name":")" + name + R"("})").find("ok") == Json(true);
  }
  // What the gateway sent is lost with the link. Connects again, to a broker that retains these.
  void come_back(const std::vector<std::pair<std::string, std::string>>& retained) {
    gateway->on_link(false);
    turn();
    if (restarts()) {
      gateway.reset();
      store.crash();
      start();
    }
    transport.sent.clear();
    transport.up = true;
    gateway->on_link(true);
    turn();
    for (const auto& [topic, payload] : retained) receive(topic, payload, true);
    return_fences();
  }
  std::string app() const {
    const PodEntry* entry = gateway->objects().pods().find("default/p");
    if (entry == nullptr) return "no pod";
    const auto found = entry->pod->metadata.labels.find("app");
    return found == entry->pod->metadata.labels.end() ? "none" : std::string(found->second);
  }
  // The last payload on a topic since the link came back.
  std::string mirrored(const std::string& topic) const {
    std::string last = "none";
    for (const Message& message : transport.sent) {
      if (message.topic == topic) last = message.payload;
    }
    return last;
  }
  std::vector<SupersededOrders::Named> kept() const { return gateway->mirror().superseded().objects(); }
};

INSTANTIATE_TEST_SUITE_P(Links, SupersededOrdersTest, ::testing::Bool(),
                         [](const auto& test) { return test.param ? "PowerCut" : "LinkLost"; });

TEST_P(SupersededOrdersTest, AnUpdateByTheApiIsNotUndoneByTheOlderOrderThatTheBrokerRetains) {
  start_connected();
  receive(pod_topic, label("old"), true);
  ASSERT_TRUE(apply_by_api(label("new")));
  come_back({{pod_topic, label("old")}});
  EXPECT_EQ(app(), "new");
  EXPECT_NE(mirrored(pod_topic).find("new"), std::string::npos);
  settle();
  EXPECT_TRUE(kept().empty()) << "the broker has the mirror";
  receive(pod_topic, label("old"), true);
  EXPECT_EQ(app(), "old") << "from now on it is a new order";
}

TEST_P(SupersededOrdersTest, AnUpdateThatIsNotRetainedIsNotUndoneByTheOrderThatIs) {
  start_connected();
  receive(pod_topic, label("old"), true);
  receive(pod_topic, label("new"), false);
  come_back({{pod_topic, label("old")}});
  EXPECT_EQ(app(), "new");
}

TEST_P(SupersededOrdersTest, AnOrderWithoutAUidIsKnownAgainThoughItsMirrorNeverLeft) {
  start_connected();
  const std::string old = without_uid(label("old"));
  receive(pod_topic, old, true);
  ASSERT_TRUE(apply_by_api(without_uid(label("new"))));
  come_back({{pod_topic, old}});
  EXPECT_EQ(app(), "new");
}

TEST_P(SupersededOrdersTest, APodWithoutAUidThatIsDeletedBeforeItsMirrorLeavesStaysGone) {
  start_connected();
  const std::string word = without_uid(label("old"));
  receive(pod_topic, word, true);
  ASSERT_TRUE(delete_by_api("Pod", "p"));
  come_back({{pod_topic, word}});
  EXPECT_EQ(app(), "no pod");
  EXPECT_EQ(mirrored(pod_topic), "") << "cleared";
  settle();
  EXPECT_TRUE(kept().empty());
}

TEST_P(SupersededOrdersTest, ACordonByTheApiOutlivesTheOverlayThatTheBrokerRetains) {
  start_connected();
  device("n1");
  receive(node_topic, overlay(false), true);
  settle();
  receive(node_topic, overlay(false), true);
  ASSERT_TRUE(apply_by_api(overlay(true)));
  come_back({{node_topic, overlay(false)}});
  EXPECT_EQ(*gateway->objects().overlay("n1")->find("spec")->find("unschedulable"), Json(true));
}

TEST_P(SupersededOrdersTest, AClassDeletedByTheApiStaysGone) {
  start_connected();
  receive(class_topic, priority(1), true);
  ASSERT_TRUE(delete_by_api("PriorityClass", "c"));
  come_back({{class_topic, priority(1)}});
  EXPECT_FALSE(gateway->objects().has(Kind::priority_class, "c"));
  EXPECT_EQ(mirrored(class_topic), "");
}

TEST_P(SupersededOrdersTest, ATombstoneThatIsCarriedOutDoesNotDeleteWhatTheApiAppliesAfterIt) {
  start_connected();
  receive(class_topic, priority(1), true);
  receive(class_topic, R"({"deleted":true})", true);
  ASSERT_FALSE(gateway->objects().has(Kind::priority_class, "c"));
  EXPECT_TRUE(kept().empty()) << "a delete that comes again finds nothing";
  ASSERT_TRUE(apply_by_api(priority(2)));
  come_back({{class_topic, R"({"deleted":true})"}});
  EXPECT_TRUE(gateway->objects().has(Kind::priority_class, "c"));
}

TEST_P(SupersededOrdersTest, APodRecreatedByTheApiIsNotReplacedByItsPredecessorsOrder) {
  start_connected();
  receive(pod_topic, label("old", "u1"), true);
  const std::string request = R"({"op":"apply","recreate":true,"object":)" + label("new", "u2") + "}";
  ASSERT_EQ(*api(request).find("ok"), Json(true));
  come_back({{pod_topic, label("old", "u1")}});
  EXPECT_EQ(app(), "new");
}

TEST_P(SupersededOrdersTest, WhatAnOperatorSaysWhileTheGatewayIsAwayCounts) {
  start_connected();
  receive(pod_topic, label("old"), true);
  ASSERT_TRUE(apply_by_api(label("new")));
  come_back({{pod_topic, label("newest")}});
  EXPECT_EQ(app(), "newest");
  EXPECT_TRUE(kept().empty()) << "it stands in the place of the old one";
}

TEST_P(SupersededOrdersTest, AnOldOrderThatIsSentAgainCountsAndGoesOnCounting) {
  start_connected();
  receive(pod_topic, label("old"), true);
  ASSERT_TRUE(apply_by_api(label("new")));
  ASSERT_EQ(kept().size(), 1u);
  receive(pod_topic, label("old"), true);
  EXPECT_EQ(app(), "old");
  come_back({{pod_topic, label("old")}});
  EXPECT_EQ(app(), "old");
}

TEST_P(SupersededOrdersTest, ABarrierThatLeftBeforeTheMirrorSettlesNothing) {
  start_connected();
  receive(topics.desired(Kind::pod, "default/other"), pod("other", "u2"));
  receive(pod_topic, label("old"), true);
  advance(1000);  // the barrier for the mirror of the other
  ASSERT_TRUE(apply_by_api(label("new")));
  return_fences();
  EXPECT_EQ(kept().size(), 1u);
  come_back({{pod_topic, label("old")}});
  EXPECT_EQ(app(), "new");
}

TEST_P(SupersededOrdersTest, NothingIsKeptOfAnUpdateOfWhatTheBrokerHasTheMirrorOf) {
  start_connected();
  ASSERT_TRUE(apply_by_api(label("old")));
  settle();
  ASSERT_TRUE(apply_by_api(label("new")));
  EXPECT_TRUE(kept().empty());
}

TEST_P(SupersededOrdersTest, ASuccessorDeletedByTheApiStaysGone) {
  start_connected();
  device("n1");
  bind_pod("p", "u1", "n1");
  settle();
  receive(pod_topic, label("second", "u2"), true);
  ASSERT_EQ(gateway->objects().pods().names_awaited().size(), 1u);
  ASSERT_TRUE(delete_by_api("Pod", "p"));
  ASSERT_TRUE(gateway->objects().pods().names_awaited().empty());
  come_back({{pod_topic, label("second", "u2")}});
  EXPECT_TRUE(gateway->objects().pods().names_awaited().empty()) << "deleted by the api, and back";
}

TEST_P(SupersededOrdersTest, ATombstoneThatWaitsDoesNotUndoASuccessorByTheApi) {
  start_connected();
  device("n1");
  bind_pod("p", "u1", "n1");
  settle();
  receive(pod_topic, R"({"deleted":true})", true);
  ASSERT_TRUE(gateway->objects().pods().find("default/p")->deleting);
  const std::string request = R"({"op":"apply","recreate":true,"object":)" + label("new", "u2") + "}";
  ASSERT_EQ(*api(request).find("result"), Json("waiting"));
  ASSERT_EQ(gateway->objects().pods().names_awaited().size(), 1u);
  come_back({{pod_topic, R"({"deleted":true})"}});
  EXPECT_EQ(gateway->objects().pods().names_awaited().size(), 1u) << "the pod that the api accepted is lost";
}

TEST_P(SupersededOrdersTest, ALaterSuccessorByTheApiStands) {
  start_connected();
  device("n1");
  bind_pod("p", "u1", "n1");
  settle();
  receive(pod_topic, label("second", "u2"), true);
  ASSERT_EQ(*api(R"({"op":"apply","recreate":true,"object":)" + label("third", "u3") + "}").find("result"),
            Json("waiting"));
  come_back({{pod_topic, label("second", "u2")}});
  EXPECT_EQ(gateway->objects().pods().names_awaited().at("default/p"), "u3");
}

TEST_P(SupersededOrdersTest, TheOrderOfASuccessorIsKnownThoughThePredecessorsWasLeft) {
  start_connected();
  device("n1");
  receive(pod_topic, label("first", "u1"), true);
  answer("n1", AnswerType::pre_bound);
  answer("n1", AnswerType::bound);
  ASSERT_EQ(phase("u1"), Phase::bound);
  receive(pod_topic, label("second", "u2"), true);
  ASSERT_EQ(gateway->objects().pods().names_awaited().size(), 1u);
  ASSERT_TRUE(delete_by_api("Pod", "p"));
  answer("n1", AnswerType::released);
  ASSERT_EQ(app(), "no pod");
  come_back({{pod_topic, label("second", "u2")}});
  EXPECT_EQ(app(), "no pod");
}

TEST_P(SupersededOrdersTest, AClaimThatWasBoundSinceItsOrderStaysDeleted) {
  start_connected();
  receive(claim_topic, claim("old"), true);
  settle();
  receive(claim_topic, claim("old"), true);  // sent again: the broker retains the operator's order
  ASSERT_TRUE(apply_by_api(volume()));
  ASSERT_EQ(gateway->objects().claim("default/c")->phase, "Bound");
  ASSERT_TRUE(delete_by_api("PersistentVolumeClaim", "c"));
  ASSERT_FALSE(gateway->objects().has(Kind::persistent_volume_claim, "default/c"));
  come_back({{claim_topic, claim("old")}});
  EXPECT_FALSE(gateway->objects().has(Kind::persistent_volume_claim, "default/c"));
}

TEST_P(SupersededOrdersTest, AnOrderThatWasRefusedIsSupersededToo) {
  start_connected();
  gateway->refuse_new("memory is full");
  receive(pod_topic, label("old"), true);
  ASSERT_EQ(app(), "no pod");
  gateway->refuse_new("");
  ASSERT_TRUE(apply_by_api(label("new")));
  ASSERT_EQ(app(), "new");
  come_back({{pod_topic, label("old")}});
  EXPECT_EQ(app(), "new");
}

TEST_P(SupersededOrdersTest, ARecreationThatWasRefusedIsReadAgain) {
  start_connected();
  receive(pod_topic, label("old", "u1"), true);
  gateway->refuse_new("memory is full");
  transport.sent.clear();
  receive(pod_topic, label("new", "u2"), true);
  EXPECT_EQ(mirrored(pod_topic), "none") << "the word that was turned away stays at the broker";
  gateway->refuse_new("");
  transport.filters.clear();
  advance(1000);
  EXPECT_EQ(transport.filters, std::vector<std::string>{"berth/v1/default/desired/#"});
  receive(pod_topic, label("new", "u2"), true);
  EXPECT_EQ(app(), "new");
}

TEST_P(SupersededOrdersTest, NothingIsKeptOfOtherKindsOfWhichTheBrokerHasTheMirror) {
  start_connected();
  device("n1");
  ASSERT_TRUE(apply_by_api(overlay(false)));
  ASSERT_TRUE(apply_by_api(priority(1)));
  settle();
  settle();
  ASSERT_TRUE(apply_by_api(overlay(true)));
  EXPECT_TRUE(kept().empty()) << "cordon";
  settle();
  ASSERT_TRUE(kept().empty());
  const std::uint64_t before = store.commits();
  ASSERT_TRUE(apply_by_api(overlay(false)));
  settle();
  EXPECT_EQ(store.commits() - before, 1u) << "commits of one uncordon";
  ASSERT_TRUE(delete_by_api("PriorityClass", "c"));
  EXPECT_TRUE(kept().empty()) << "delete";
}

TEST_P(SupersededOrdersTest, ManyUpdatesOfOneObjectKeepOneOrder) {
  start_connected();
  device("n1");
  receive(class_topic, priority(1), true);
  for (int i = 2; i < 500; ++i) ASSERT_TRUE(apply_by_api(priority(i)));
  EXPECT_LE(kept().size(), 2u);
}

TEST_P(SupersededOrdersTest, ABusyObjectSettlesThoughEachFenceMeetsANewMirror) {
  start_connected();
  receive(class_topic, priority(1), true);
  for (int i = 2; i < 100; ++i) {
    advance(1000);  // a barrier is sent
    ASSERT_TRUE(apply_by_api(priority(i)));
    return_fences();  // and comes back behind an update
  }
  EXPECT_LE(kept().size(), 2u);
}

TEST_P(SupersededOrdersTest, NoBarrierEachSecondWhileAMirrorIsPending) {
  start_connected();
  receive(class_topic, priority(1), true);
  ASSERT_TRUE(apply_by_api(priority(2)));
  transport.places = 0;
  receive(class_topic, R"({"garbage":1})", true);
  transport.sent.clear();
  for (int i = 0; i < 20; ++i) settle();
  std::size_t fences = 0;
  for (const Message& each : transport.sent) fences += each.topic == topics.gateway_fence("gateway");
  EXPECT_LE(fences, 2u);
}

TEST_P(SupersededOrdersTest, ARefusedOrderThatIsClearedIsForgotten) {
  start_connected();
  receive(class_topic,
          R"({"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass","metadata":{"name":"c"},"value":"x"})", true);
  ASSERT_FALSE(gateway->objects().has(Kind::priority_class, "c"));
  receive(class_topic, "", true);
  settle();
  ASSERT_TRUE(apply_by_api(priority(2)));
  EXPECT_TRUE(kept().empty()) << "a word that its operator has cleared is held in memory and written to flash";
}

TEST_P(SupersededOrdersTest, AnUnretainedOrderThatChangesNothingDoesNotHideTheRetainedOne) {
  start_connected();
  receive(pod_topic, label("old"), true);
  receive(pod_topic, with_status(label("old")), false);
  ASSERT_TRUE(apply_by_api(label("new")));
  come_back({{pod_topic, label("old")}});
  EXPECT_EQ(app(), "new");
}

TEST_P(SupersededOrdersTest, AnUnretainedOrderThatChangesNothingDoesNotHideTheRetainedOneFromADelete) {
  start_connected();
  receive(pod_topic, label("old"), true);
  receive(pod_topic, with_status(label("old")), false);
  ASSERT_TRUE(delete_by_api("Pod", "p"));
  come_back({{pod_topic, label("old")}});
  EXPECT_EQ(app(), "no pod");
}

TEST_P(SupersededOrdersTest, AnUncordonSaidWhileTheGatewayIsAwayCounts) {
  start_connected();
  device("n1");
  ASSERT_TRUE(apply_by_api(overlay(false)));
  settle();
  settle();
  ASSERT_TRUE(apply_by_api(overlay(true)));
  come_back({{node_topic, overlay(false)}});  // the operator's, for the first time; what the broker had was a mirror
  EXPECT_EQ(*gateway->objects().overlay("n1")->find("spec")->find("unschedulable"), Json(false));
}

TEST_P(SupersededOrdersTest, AClassSentAgainWhileTheGatewayIsAwayCounts) {
  start_connected();
  ASSERT_TRUE(apply_by_api(priority(1)));
  settle();
  settle();
  ASSERT_TRUE(delete_by_api("PriorityClass", "c"));
  come_back({{class_topic, priority(1)}});
  EXPECT_TRUE(gateway->objects().has(Kind::priority_class, "c"));
}

TEST_P(SupersededOrdersTest, AnUpdateOfAClaimThatWasBoundSinceItsOrderStands) {
  start_connected();
  receive(claim_topic, claim("old"), true);
  ASSERT_TRUE(apply_by_api(volume()));  // at once: the claim's mirror is still on its way
  ASSERT_EQ(gateway->objects().claim("default/c")->phase, "Bound");
  ASSERT_TRUE(apply_by_api(claim("new")));
  come_back({{claim_topic, claim("old")}});
  EXPECT_EQ(gateway->objects().claim("default/c")->metadata.labels.find("app")->second, "new");
}

TEST_P(SupersededOrdersTest, AnOrderThatComesAgainIsHeldUntilItsMirrorArrivesHoweverOftenThatIsLost) {
  start_connected();
  receive(pod_topic, label("old"), true);
  ASSERT_TRUE(apply_by_api(label("new")));
  for (int times = 0; times < 3; ++times) {
    come_back({{pod_topic, label("old")}});
    EXPECT_EQ(app(), "new");
    EXPECT_EQ(kept().size(), 1u);
  }
  settle();
  EXPECT_TRUE(kept().empty());
}

TEST_P(SupersededOrdersTest, AnOrderThatIsNotRetainedAnyMoreIsForgottenBehindAMirror) {
  start_connected();
  receive(pod_topic, label("old"), true);
  ASSERT_TRUE(apply_by_api(label("new")));
  come_back({});  // the broker retains nothing
  settle();
  EXPECT_TRUE(kept().empty());
}

TEST_P(SupersededOrdersTest, TheOrderOfAPodThatIsReplacedInTheEndDoesNotComeBack) {
  start_connected();
  device("n1");
  receive(pod_topic, label("old", "u1"), true);
  answer("n1", AnswerType::pre_bound);
  answer("n1", AnswerType::bound);
  ASSERT_EQ(phase("u1"), Phase::bound);
  const std::string request = R"({"op":"apply","recreate":true,"object":)" + label("new", "u2") + "}";
  ASSERT_EQ(*api(request).find("result"), Json("waiting"));
  answer("n1", AnswerType::released);
  ASSERT_EQ(app(), "new");
  come_back({{pod_topic, label("old", "u1")}});
  EXPECT_EQ(app(), "new");
}

TEST_P(SupersededOrdersTest, AnOrderReadAgainForWantOfCapacityIsNoOrderWhenItWasSuperseded) {
  start_connected();
  receive(pod_topic, label("old"), true);
  gateway->refuse_new("memory is full");
  receive(topics.desired(Kind::pod, "default/q"), pod("q", "u9"), true);
  ASSERT_TRUE(apply_by_api(label("new")));
  gateway->refuse_new("");
  advance(1000);  // desired/ is read again
  receive(pod_topic, label("old"), true);
  EXPECT_EQ(app(), "new");
}

TEST_P(SupersededOrdersTest, AManifestSentAgainJustAfterItsPodWasDeletedCounts) {
  start_connected();
  receive(pod_topic, label("old"), true);
  ASSERT_TRUE(delete_by_api("Pod", "p"));
  receive(pod_topic, label("old"), true);  // the operator says it now
  EXPECT_EQ(app(), "old");
  come_back({{pod_topic, label("old")}});
  EXPECT_EQ(app(), "old");
}

TEST_P(SupersededOrdersTest, AnEmptyUidInTheStoreSwallowsNoOrders) {
  start_connected();
  Json stored;
  ASSERT_TRUE(store
                  .read([&](const RecordView& record) {
                    if (record.key == "gateway") stored = *Json::parse(record.value);
                    return Status::ok();
                  })
                  .is_success());
  stored.set("withdrawn", Json(Json::Array{Json("")}));
  gateway.reset();
  store.put(Table::meta, "gateway", stored.dump());
  ASSERT_TRUE(store.commit().is_success());
  start();
  come_back({{class_topic, priority(1)}});
  EXPECT_TRUE(gateway->objects().has(Kind::priority_class, "c"));
}

// The class alone.
class SupersededOrdersRecord : public ::testing::Test {
 protected:
  SupersededOrdersRecord() { overtaken.note_retained(named, "{}"); }

  const SupersededOrders::Named named{Kind::pod, "default/p"};
  MemoryStore store;
  SupersededOrders overtaken{store};
};

TEST_F(SupersededOrdersRecord, AreStoredAsTheSameHashEverywhere) {
  EXPECT_TRUE(overtaken.supersede(named, "{ }"));
  ASSERT_TRUE(store.commit().is_success());
  std::vector<std::string> records;
  ASSERT_TRUE(store
                  .read([&](const RecordView& record) {
                    records.push_back(std::string(record.key) + "=" + std::string(record.value));
                    SupersededOrders other(store);
                    EXPECT_TRUE(other.load(record).is_success());
                    EXPECT_TRUE(other.is_superseded(named, "{}", false));
                    EXPECT_FALSE(other.is_superseded(named, "{ }", false));
                    return Status::ok();
                  })
                  .is_success());
  EXPECT_EQ(records, std::vector<std::string>{"overtaken/pods/default/p=08f44b07b5901a25"});
}

TEST_F(SupersededOrdersRecord, ThatMakeNoSenseAreRefused) {
  for (const auto& [key, value] :
       std::vector<std::pair<std::string, std::string>>{{"overtaken/pods", "00"},
                                                        {"overtaken/pods/", "00"},
                                                        {"overtaken/Pod/default/p", "00"},
                                                        {"overtaken/bones/p", "00"},
                                                        {"overtaken/pods/default/p", ""},
                                                        {"overtaken/pods/default/p", "0x"}}) {
    EXPECT_FALSE(overtaken.load({Table::meta, key, value, 0}).is_success()) << key << " = " << value;
  }
}

TEST_F(SupersededOrdersRecord, AreNotSupersededByWhatTheySay) { EXPECT_FALSE(overtaken.supersede(named, "{}")); }

TEST_F(SupersededOrdersRecord, AreNotCoveredByAMirrorThatLeftBeforeThem) {
  overtaken.mirrored(named, 1);
  overtaken.note_retained(named, "[]");
  EXPECT_FALSE(overtaken.waits_for_barrier());
  overtaken.settled(1);
  EXPECT_TRUE(overtaken.supersede(named, "{}"));
}

TEST_F(SupersededOrdersRecord, AreForgottenWithTheMirrorInTheirPlace) {
  overtaken.mirrored(named, 1);
  EXPECT_TRUE(overtaken.waits_for_barrier());
  overtaken.settled(1);
  EXPECT_FALSE(overtaken.waits_for_barrier());
  EXPECT_FALSE(overtaken.supersede(named, "[]")) << "the broker has the mirror";
}

TEST_F(SupersededOrdersRecord, OfAnEarlierSessionAreNotThoseOfThisOne) {
  overtaken.connected();
  EXPECT_FALSE(overtaken.supersede(named, "[]")) << "nothing was heard of it yet";
}

}  // namespace berth
