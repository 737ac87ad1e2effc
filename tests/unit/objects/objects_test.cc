// The kinds that the gateway keeps besides pods and nodes, and the events that waiting pods hear of them.
#include "core/objects/objects.h"

#include "core/api/service.h"
#include "core/bytes.h"
#include "core/objects/pod_record.h"

#include "tests/unit/gateway/gateway_fixture.h"

namespace berth {
namespace {

using Texts = std::vector<std::string>;

// Rejects pods labelled wait=yes, and writes down every event that comes by, with the objects it shows.
class Listener final : public PreFilterPlugin, public EnqueueExtensions {
 public:
  explicit Listener(Texts& heard) : heard_(heard) {}
  std::string_view name() const override { return "Listener"; }
  Status pre_filter(CycleState&, const Pod& pod, const Snapshot&, PreFilterResult&) override {
    return pod.metadata.labels.contains("wait") ? Status::unschedulable("listening") : Status::ok();
  }
  std::vector<EventWithHint> events_to_register() const override {
    const std::pair<std::uint32_t, std::string> actions[] = {
        {kAdd, "+"},
        {kDelete, "-"},
        {kUpdatePodLabel, "~label"},
        {kUpdatePodToleration, "~toleration"},
        {kUpdateNodeAllocatable, "~allocatable"},
        {kUpdateNodeLabel, "~label"},
        {kUpdateNodeTaint, "~taint"},
        {kUpdate, "~"},
    };
    std::vector<EventWithHint> events;
    for (EventResource resource :
         {EventResource::pod, EventResource::node, EventResource::persistent_volume,
          EventResource::persistent_volume_claim, EventResource::storage_class, EventResource::csi_node,
          EventResource::csi_driver, EventResource::csi_storage_capacity}) {
      for (const auto& [action, word] : actions) {
        if (resource == EventResource::node && action == kUpdate) continue;  // hears the others a second time
        events.push_back({{resource, action, "Test"}, [this, resource, word](const Pod&, const EventObjects& objects) {
                            heard_.push_back(std::string(to_string(resource)) + word + show(objects));
                            return Hint::skip;
                          }});
      }
    }
    return events;
  }

 private:
  static std::string show(const EventObjects& o) {
    std::string text;
    const auto add = [&](const auto& before, const auto& after) {
      if (before != nullptr) text += " old " + before->metadata.key();
      if (after != nullptr) text += " new " + after->metadata.key();
    };
    add(o.old_volume, o.new_volume);
    add(o.old_claim, o.new_claim);
    add(o.old_class, o.new_class);
    add(o.old_csi_node, o.new_csi_node);
    add(o.old_csi_driver, o.new_csi_driver);
    add(o.old_csi_capacity, o.new_csi_capacity);
    add(o.old_pod, o.new_pod);
    for (const auto& pod : {o.old_pod, o.new_pod}) {
      if (pod != nullptr && !pod->node_name.empty()) text += " on " + pod->node_name;
      if (pod != nullptr && !pod->nominated_node_name.empty()) text += " promised " + pod->nominated_node_name;
    }
    return text;
  }
  Texts& heard_;
};

class KeptObjects : public GatewayTest {
 protected:
  KeptObjects() {
    EXPECT_TRUE(registry
                    .add("Listener",
                         [this](const Json&, Handle&) -> Result<std::unique_ptr<Plugin>> {
                           return std::unique_ptr<Plugin>(std::make_unique<Listener>(heard));
                         })
                    .is_success());
    options.profiles[0].enable("Listener");
  }
  void listen() {
    start_connected();
    device("a");
    apply(pod("waiting", "w", "1Mi", "", R"({"wait":"yes"})"));
    heard.clear();
  }
  Texts take_heard() { return std::exchange(heard, {}); }
  Json remove(const std::string& kind, const std::string& name) {
    return api(R"({"op":"delete","kind":")" + kind + R"(","name":")" + name + R"("})");
  }
  const Lister& lister() const { return gateway->objects(); }
  void report_running(const std::string& node, const std::string& name) {
    Json status = Json::object();
    status.set("uid", name).set("epoch", to_text(gateway->bindings().at(name).row.epoch)).set("incarnation", "i1");
    status.set("slot", "running").set("phase", "Running");
    receive(topics.node_pod(node, "default/" + name), status.dump(), true);
  }

  Texts heard;
};

std::string object(const std::string& kind, const std::string& name, const std::string& more) {
  return R"({"kind":")" + kind + R"(","metadata":{"name":")" + name + R"("})" + (more.empty() ? "" : "," + more) + "}";
}

TEST_F(KeptObjects, AreListedToPlugins) {
  start_connected();
  apply(object("Namespace", "shop", ""));
  apply(object("Service", "web", R"("spec":{"selector":{"app":"web"}})"));
  apply(object("CSINode", "a", R"("spec":{"drivers":[{"name":"d","nodeID":"a"}]})"));
  apply(object("CSIDriver", "d", R"("spec":{"storageCapacity":true})"));
  apply(object("CSIStorageCapacity", "c", R"("storageClassName":"fast")"));
  apply(object("PodDisruptionBudget", "b", R"("spec":{"minAvailable":1,"selector":{}})"));
  const auto check = [this] {
    ASSERT_NE(lister().name_space("shop"), nullptr);
    EXPECT_EQ(lister().name_space("other"), nullptr);
    ASSERT_EQ(lister().services("default").size(), 1u);
    EXPECT_EQ(lister().services("default")[0]->selector, (Labels{{"app", "web"}}));
    EXPECT_TRUE(lister().services("shop").empty());
    ASSERT_NE(lister().csi_node("a"), nullptr);
    EXPECT_EQ(lister().csi_node("a")->drivers.at(0).name, "d");
    ASSERT_NE(lister().csi_driver("d"), nullptr);
    EXPECT_TRUE(lister().csi_driver("d")->storage_capacity);
    ASSERT_EQ(lister().csi_storage_capacities().size(), 1u);
    EXPECT_EQ(lister().disruption_budgets().size(), 1u);
  };
  check();
  restart();
  check();
}

TEST_F(KeptObjects, AreAppliedShownAndDeletedByAnyNameOfTheirKind) {
  start_connected();
  const std::pair<std::string, std::string> kinds[] = {
      {"svc", object("Service", "x", "")},
      {"pdb", object("PodDisruptionBudget", "x", "")},
      {"csinode", object("CSINode", "x", "")},
      {"csidrivers", object("CSIDriver", "x", "")},
      {"CSIStorageCapacity", object("CSIStorageCapacity", "x", R"("storageClassName":"s")")},
  };
  for (const auto& [word, manifest] : kinds) {
    EXPECT_EQ(*apply(manifest).find("result"), Json("created")) << word;
    EXPECT_EQ(*apply(manifest).find("result"), Json("unchanged")) << word;
    const Json shown = api(R"({"op":"describe","kind":")" + word + R"(","name":"x"})");
    ASSERT_NE(shown.find("object"), nullptr) << shown.dump();
    EXPECT_EQ(shown.find("object")->find("metadata")->find("name")->as_string(), "x");
    const Json listed = api(R"({"op":"get","kind":")" + word + R"("})");
    EXPECT_EQ(listed.find("items")->as_array().size(), 1u) << word;
    EXPECT_EQ(*remove(word, "x").find("result"), Json("deleted")) << word;
    EXPECT_EQ(api(R"({"op":"get","kind":")" + word + R"("})").find("items")->as_array().size(), 0u) << word;
  }
}

TEST_F(KeptObjects, AreMirroredOnTheirTopic) {
  start_connected();
  apply(object("PodDisruptionBudget", "b", R"("spec":{"minAvailable":1})"));
  const std::string topic = topics.desired(Kind::pod_disruption_budget, "default/b");
  EXPECT_EQ(topic, "berth/v1/default/desired/poddisruptionbudgets/default/b");
  const auto mirrored = std::find_if(transport.sent.begin(), transport.sent.end(),
                                     [&](const Message& message) { return message.topic == topic; });
  ASSERT_NE(mirrored, transport.sent.end());
  EXPECT_TRUE(mirrored->retain);
  receive(topic, R"({"metadata":{"name":"b"},"spec":{"minAvailable":2}})", true);
  EXPECT_EQ(lister().disruption_budgets().at(0)->min_available, (IntOrPercent{2, false}));
}

TEST_F(KeptObjects, TellWaitingPodsThatTheyCameChangedAndWent) {
  listen();
  apply(object("StorageClass", "s", R"("provisioner":"p")"));
  apply(object("StorageClass", "s", R"("provisioner":"q")"));
  apply(object("StorageClass", "s", R"("provisioner":"q")"));
  remove("sc", "s");
  EXPECT_EQ(take_heard(), (Texts{"StorageClass+ new s", "StorageClass~ old s new s", "StorageClass- old s"}));
  apply(object("CSINode", "a", R"("spec":{"drivers":[]})"));
  apply(object("CSINode", "a", R"("spec":{"drivers":[{"name":"d"}]})"));
  remove("csinode", "a");
  EXPECT_EQ(take_heard(), (Texts{"CSINode+ new a", "CSINode~ old a new a", "CSINode- old a"}));
  apply(object("CSIDriver", "d", ""));
  apply(object("CSIDriver", "d", R"("spec":{"storageCapacity":true})"));
  remove("csidriver", "d");
  EXPECT_EQ(take_heard(), (Texts{"CSIDriver+ new d", "CSIDriver~ old d new d", "CSIDriver- old d"}));
  apply(object("CSIStorageCapacity", "c", R"("storageClassName":"s")"));
  apply(object("CSIStorageCapacity", "c", R"("storageClassName":"s","capacity":"1Gi")"));
  remove("csistoragecapacity", "c");
  EXPECT_EQ(take_heard(), (Texts{"CSIStorageCapacity+ new default/c", "CSIStorageCapacity~ old default/c new default/c",
                                 "CSIStorageCapacity- old default/c"}));
}

TEST_F(KeptObjects, ThatNoPluginWaitsForWakeNobody) {
  listen();
  apply(object("Namespace", "n", ""));
  apply(object("Service", "s", ""));
  apply(object("PodDisruptionBudget", "b", ""));
  apply(object("PriorityClass", "p", R"("value":1)"));
  remove("ns", "n");
  remove("svc", "s");
  remove("pdb", "b");
  remove("pc", "p");
  EXPECT_EQ(take_heard(), Texts{});
}

TEST_F(KeptObjects, TellOfVolumesAndClaimsAndOfTheirBinding) {
  listen();
  apply(object(
      "PersistentVolumeClaim", "c",
      R"("spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}},"volumeName":"v"})"));
  EXPECT_EQ(take_heard(), (Texts{"PersistentVolumeClaim+ new default/c"}));
  apply(object("PersistentVolume", "v",
               R"("spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],"local":{"path":"/d"},)"
               R"("nodeAffinity":{"required":{"nodeSelectorTerms":[{"matchExpressions":)"
               R"([{"key":"kubernetes.io/hostname","operator":"In","values":["a"]}]}]}}})"));
  EXPECT_EQ(take_heard(), (Texts{"PersistentVolume+ new v", "PersistentVolume~ old v new v",
                                 "PersistentVolumeClaim~ old default/c new default/c"}));
  remove("pvc", "c");
  EXPECT_EQ(take_heard(), (Texts{"PersistentVolume~ old v new v", "PersistentVolumeClaim- old default/c"}));
  remove("pv", "v");
  EXPECT_EQ(take_heard(), (Texts{"PersistentVolume- old v"}));
}

TEST_F(KeptObjects, TellOfAPodThatIsPlacedAndOfTheRoomItLeaves) {
  listen();
  bind_pod("p", "u", "a");
  EXPECT_EQ(take_heard(), Texts{"Pod+ new default/p on a"});
  remove("pod", "p");
  take_heard();  // it takes resources until the device has released it
  answer("a", AnswerType::released);
  EXPECT_EQ(take_heard(), Texts{"Pod- old default/p on a"});
}

TEST_F(KeptObjects, TellOfAPlacedPodWhoseLabelsChangeOrThatIsDeleted) {
  listen();
  bind_pod("p", "u", "a");
  take_heard();
  apply(pod("p", "u", "64Mi", "", R"({"app":"web"})"));
  EXPECT_EQ(take_heard(),
            (Texts{"Pod~label old default/p new default/p on a on a", "Pod~ old default/p new default/p on a on a"}));
  remove("pod", "p");
  EXPECT_EQ(take_heard(), (Texts{"Pod~ old default/p new default/p on a on a"}));
  const auto shown = [this] { return gateway->scheduler().cache().find("a")->pods[0]; };
  EXPECT_TRUE(shown()->metadata.deleting);
  EXPECT_EQ(shown()->metadata.labels.at("app"), "web");
  restart();
  EXPECT_TRUE(shown()->metadata.deleting);
}

TEST_F(KeptObjects, TellOfEachPropertyOfANodeByItself) {
  listen();
  receive(topics.desired(Kind::node, "a"),
          R"({"metadata":{"name":"a","labels":{"x":"y"}},"spec":{"taints":[{"key":"k","effect":"NoSchedule"}]}})",
          true);
  EXPECT_EQ(take_heard(), (Texts{"Node~label", "Node~taint"}));
  receive(topics.desired(Kind::node, "a"), R"({"metadata":{"name":"a"},"spec":{"unschedulable":true}})", true);
  EXPECT_EQ(take_heard(), (Texts{"Node~label", "Node~taint"}));
  receive(topics.desired(Kind::node, "a"), R"({"metadata":{"name":"a"},"spec":{}})", true);
  // Both unschedulable and its taint; upstream hears of them one after the other.
  EXPECT_EQ(take_heard(), (Texts{"Node~taint", "Node~taint"}));
}

TEST_F(KeptObjects, ShowAClaimInUseAsBeingDeletedUntilItGoes) {
  start_connected();
  device("a");
  const std::string claim =
      object("PersistentVolumeClaim", "c",
             R"("spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1"}}})");
  apply(claim);
  EXPECT_FALSE(lister().claim("default/c")->metadata.deleting);
  apply(pod("p", "u", "1Mi", R"(,"nodeName":"a","volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"c"}}])"));
  EXPECT_EQ(*remove("pvc", "c").find("result"), Json("deleting"));
  EXPECT_TRUE(lister().claim("default/c")->metadata.deleting);
  restart();
  EXPECT_TRUE(lister().claim("default/c")->metadata.deleting);
  remove("pod", "p");
  EXPECT_EQ(lister().claim("default/c"), nullptr);
}

TEST_F(KeptObjects, AreNotDeletedByWhatAManifestSays) {
  start_connected();
  apply(R"({"kind":"Pod","metadata":{"name":"p","deletionTimestamp":"2025-05-20T00:00:00Z"},)"
        R"("spec":{"containers":[{"name":"c"}]}})");
  EXPECT_FALSE(gateway->objects().pods().find("default/p")->pod->metadata.deleting);
}

TEST_F(KeptObjects, SayNothingOfAWaitingPodThatGoes) {
  listen();
  apply(pod("other", "o", "1Mi", "", R"({"wait":"yes"})"));
  take_heard();
  remove("pod", "other");
  EXPECT_EQ(take_heard(), Texts{});
}

TEST_F(KeptObjects, CountWhatABudgetAllowsWhenAsked) {
  start_connected();
  device("a");
  apply(object("PodDisruptionBudget", "b", R"("spec":{"minAvailable":1,"selector":{"matchLabels":{"app":"web"}}})"));
  EXPECT_EQ(lister().disruption_budgets().at(0)->disruptions_allowed, 0);
  for (const std::string name : {"p", "q"}) {
    apply(pod(name, name, "1Mi", "", R"({"app":"web"})"));
    answer("a", AnswerType::pre_bound);
    EXPECT_EQ(lister().disruption_budgets().at(0)->disruptions_allowed, 0);
    answer("a", AnswerType::bound);
    report_running("a", name);
  }
  EXPECT_EQ(lister().disruption_budgets().at(0)->disruptions_allowed, 1);
  const Json shown = api(R"({"op":"get","kind":"pdb","name":"b"})");
  EXPECT_EQ(shown.find("object")->find("status")->dump(),
            R"({"disruptionsAllowed":1,"currentHealthy":2,"desiredHealthy":1,"expectedPods":2})");
  remove("pod", "p");  // on its way out
  EXPECT_EQ(lister().disruption_budgets().at(0)->disruptions_allowed, 0);
}

TEST_F(KeptObjects, TakeTheOperatorsOrderForWhatABudgetAllows) {
  start_connected();
  apply(object("PodDisruptionBudget", "b",
               R"("spec":{"minAvailable":1,"selector":{}},"status":{"disruptionsAllowed":5,"disruptedPods":{}})"));
  EXPECT_EQ(lister().disruption_budgets().at(0)->disruptions_allowed, 5);
  const Json shown = api(R"({"op":"get","kind":"pdb","name":"b"})");
  EXPECT_EQ(*shown.find("object")->find("status")->find("disruptionsAllowed"), Json(5));
}

TEST_F(KeptObjects, OfEarlierRulesAreStillRead) {
  MemoryStore old_store;
  Objects objects(old_store);
  const Status loaded = objects.load(
      {Table::object, "pods/default/p",
       R"({"manifest":{"metadata":{"name":"p","uid":"u"},"spec":{"containers":[{"name":"c","resources":{"limits":)"
       R"({"cpu":"1"}}}],"affinity":{"podAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":)"
       R"([{"weight":500}]}}}}})"});
  ASSERT_TRUE(loaded.is_success()) << loaded.message();
  EXPECT_EQ(objects.pods().find("default/p")->pod->spec->containers.at(0).requests.at("cpu"), Quantity(1));
}

// The record of a pod as schema version 2 had it: the manifest itself, then what was packed in another form.
TEST_F(KeptObjects, OfSchemaVersion2AreReadAndSavedInTheFormOfToday) {
  const std::string manifest =
      R"({"metadata":{"name":"p","uid":"7c9e6679-7425-40de-944b-e07fc1f90ae7"},"spec":{"containers":[{"name":"c"}]}})";
  ByteWriter old;
  old.byte(1);
  old.number(0);
  old.integer(77);
  for (std::string_view text : {std::string_view(manifest), {}, {}, {}, {}}) old.text(text);
  old.number(9999);  // no form that pods were ever packed in
  MemoryStore other;
  Objects objects(other);
  const Status loaded = objects.load({Table::object, "pods/default/p", old.bytes()});
  ASSERT_TRUE(loaded.is_success()) << loaded.message();
  EXPECT_EQ(objects.pods().find("default/p")->pod->manifest().text(), manifest);
  objects.pods().save("default/p");
  ASSERT_TRUE(other.commit().is_success());
  const std::vector<Record> saved = other.load().value();
  ASSERT_EQ(saved.size(), 1u);
  EXPECT_EQ(saved[0].value[0], 2);
  EXPECT_EQ(saved[0].value.find("7c9e6679"), std::string::npos) << "a uid takes 17 bytes";
  Objects again(other);
  // Once as it was packed, and once as a later program reads it that packs otherwise: from the shape alone.
  std::string repacked = saved[0].value;
  const Result<PodRecord> record = decode_pod_record(saved[0].value);
  repacked[repacked.size() - record->packed.size()] = 0x7f;
  for (const std::string& value : {saved[0].value, repacked}) {
    const Status read = again.load({Table::object, "pods/default/p", value});
    ASSERT_TRUE(read.is_success()) << read.message();
    const Pod& pod = *again.pods().find("default/p")->pod;
    EXPECT_EQ(pod.manifest().text(), manifest);
    EXPECT_EQ(pod.uid(), "7c9e6679-7425-40de-944b-e07fc1f90ae7");
    EXPECT_EQ(again.pods().find("default/p")->arrived, 77);
  }
}

TEST_F(KeptObjects, GiveAnAcceptedPodTheDefaultsOfTheApiServer) {
  start_connected();
  apply(
      R"({"kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[{"name":"c","resources":{"limits":{"cpu":"3"}}}]}})");
  const auto pod = gateway->objects().pods().find("default/p")->pod;
  EXPECT_EQ(pod->spec->containers.at(0).requests.at("cpu"), Quantity(3));
  EXPECT_EQ(pod->manifest().text().find("requests"), std::string::npos);
}

TEST_F(KeptObjects, FindPodsByTheirUidsWhoeverComesAndGoes) {
  MemoryStore other;
  Objects objects(other);
  const auto put = [&objects](const std::string& name, const std::string& uid) {
    auto pod = make_counted<Pod>();
    pod->metadata.name = name;
    pod->metadata.namespace_ = "default";
    pod->metadata.uid = uid;
    objects.pods().put(pod);
  };
  for (const char* name : {"a", "b", "c"}) put(name, std::string("u-") + name);
  EXPECT_LT(objects.pods().index_of_uid("u-a"), objects.pods().index_of_uid("u-b"));
  objects.pods().erase("default/b");
  EXPECT_EQ(objects.pods().find_by_uid("u-b"), nullptr);
  put("d", "u-d");
  for (const std::string name : {"a", "c", "d"}) {
    ASSERT_NE(objects.pods().find_by_uid("u-" + name), nullptr) << name;
    EXPECT_EQ(objects.pods().find_by_uid("u-" + name)->pod->metadata.name, name);
  }
  put("e", "u-d");  // a uid under two names is the newer's
  EXPECT_EQ(objects.pods().find_by_uid("u-d")->pod->metadata.name, "e");
  objects.pods().erase("default/d");
  EXPECT_EQ(objects.pods().find_by_uid("u-d")->pod->metadata.name, "e");
}

}  // namespace
}  // namespace berth
