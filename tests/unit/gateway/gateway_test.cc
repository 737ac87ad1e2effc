// Manifests, devices, comparison and clients at the gateway's door (core/handshake/rules.md P8).
#include "tests/unit/gateway/gateway_fixture.h"

namespace berth {
namespace {

const std::string kEmpty;

TEST_F(GatewayTest, PodsWaitUntilTheFenceCameBack) {
  start();
  transport.up = true;
  gateway->on_link(true);
  turn();
  device("n1");
  receive(topics.desired(Kind::pod, "default/web"), pod("web", "u1"), true);
  EXPECT_EQ(phase("u1"), Phase::none);
  EXPECT_NE(gateway->not_ready().find("retained state"), std::string::npos);
  return_fences();
  EXPECT_NE(gateway->not_ready().find("n1"), std::string::npos) << "the store is new: what does the node run already?";
  slots("n1", {});
  EXPECT_EQ(gateway->not_ready(), "");
  EXPECT_EQ(phase("u1"), Phase::prebind);
}

TEST_F(GatewayTest, AMirrorComingBackIsNotPublishedAgain) {
  start_connected();
  const std::string topic = topics.desired(Kind::pod, "default/web");
  receive(topic, pod("web", "u1"));
  std::string mirrored;
  for (const Message& message : transport.sent) {
    if (message.topic == topic) mirrored = message.payload;
  }
  ASSERT_FALSE(mirrored.empty());
  transport.sent.clear();
  receive(topic, mirrored);
  for (const Message& message : transport.sent) EXPECT_NE(message.topic, topic);
}

TEST_F(GatewayTest, DoesNotAskForItsMirrorsBack) {
  start();
  connect();
  EXPECT_EQ(transport.no_local, (std::set<std::string>{topics.root() + "desired/#", topics.root() + "status/#"}));
}

TEST_F(GatewayTest, AnEmptyPayloadDeletesNothingAndTheMirrorIsRestored) {
  start_connected();
  const std::string topic = topics.desired(Kind::pod, "default/web");
  receive(topic, pod("web", "u1"), true);
  transport.sent.clear();
  receive(topic, kEmpty);
  EXPECT_EQ(gateway->objects().pods().all().size(), 1u);
  ASSERT_FALSE(transport.sent.empty());
  EXPECT_EQ(transport.sent.front().topic, topic);
  EXPECT_FALSE(transport.sent.front().payload.empty());
}

TEST_F(GatewayTest, ATombstoneDeletesOnlyTheUidItNames) {
  start_connected();
  const std::string topic = topics.desired(Kind::pod, "default/web");
  receive(topic, pod("web", "u1"), true);
  receive(topic, R"({"deleted":true,"uid":"other"})", true);
  EXPECT_EQ(gateway->objects().pods().all().size(), 1u);
  receive(topic, R"({"deleted":true,"uid":"u1"})", true);
  EXPECT_TRUE(gateway->objects().pods().all().empty());
  EXPECT_EQ(transport.sent.back().payload, "") << "the inbox is cleared after the commit";
}

TEST_F(GatewayTest, ABrokerThatForgotIsSeededAgain) {
  start_connected();
  receive(topics.desired(Kind::pod, "default/web"), pod("web", "u1"), true);
  gateway->on_link(false);
  connect();
  bool mirrored = false;
  bool status = false;
  for (const Message& message : transport.sent) {
    mirrored |= message.topic == topics.desired(Kind::pod, "default/web") && message.retain;
    status |= message.topic == topics.status(Kind::pod, "default/web") && message.retain;
  }
  EXPECT_TRUE(mirrored);
  EXPECT_TRUE(status);
}

TEST_F(GatewayTest, AnAnswerThatNamesItsEpochAloneIsOfThatPodOnItsOwnNodeOnly) {
  start_connected();
  device("n1");
  apply(pod("p", "u1"));
  device("n2", "i2");
  Answer prepared = answer_to(*request("n1"), AnswerType::pre_bound);
  prepared.epoch_alone = true;
  answer("n2", prepared);
  EXPECT_EQ(phase("u1"), Phase::prebind);
  answer("n1", prepared);
  ASSERT_EQ(phase("u1"), Phase::bind);
  Answer started = answer_to(*request("n1"), AnswerType::bound);
  started.epoch_alone = true;
  answer("n1", started);
  EXPECT_EQ(phase("u1"), Phase::bound);
}

TEST_F(GatewayTest, OnlyWhatMayChangeChanges) {
  start_connected();
  apply(pod("web", "u1"));
  const Json refused = apply(pod("web", "u1", "128Mi"));
  EXPECT_EQ(*refused.find("ok"), Json(false));
  EXPECT_NE(refused.find("error")->as_string().find("--recreate"), std::string::npos);
  EXPECT_EQ(*apply(pod("web", "u1", "64Mi", "", R"({"a":"b"})")).find("result"), Json("updated"));
  EXPECT_EQ(*apply(pod("web", "u1", "64Mi", "", R"({"a":"b"})")).find("result"), Json("unchanged"));
  const std::string toleration = R"(,"tolerations":[{"key":"k","operator":"Exists"}])";
  EXPECT_EQ(*apply(pod("web", "u1", "64Mi", toleration)).find("result"), Json("updated"));
  EXPECT_EQ(*apply(pod("web", "u1", "64Mi")).find("ok"), Json(false)) << "tolerations are not taken away";
}

// validation.go ValidatePodUpdate, "validations specific to gated pods"
TEST_F(GatewayTest, WhereAGatedPodMayGoCanBecomeNarrower) {
  start_connected();
  const std::string gates = R"(,"schedulingGates":[{"name":"hold"}])";
  const auto result = [this](const std::string& spec) {
    const Json answer = apply(pod("web", "u1", "64Mi", spec));
    return *answer.find("ok") == Json(true) ? answer.find("result")->as_string() : answer.find("error")->as_string();
  };
  const auto required = [](const std::string& terms) {
    return R"(,"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[)" +
           terms + "]}}}";
  };
  const auto term = [](const std::string& keys) {
    std::string expressions;
    for (const char key : keys) {
      if (!expressions.empty()) expressions += ",";
      expressions += std::string(R"({"key":")") + key + R"(","operator":"Exists"})";
    }
    return R"({"matchExpressions":[)" + expressions + "]}";
  };
  const auto narrowed = [&](const std::string& selector, const std::string& terms) {
    return gates + R"(,"nodeSelector":{)" + selector + "}" + (terms.empty() ? "" : required(terms));
  };
  ASSERT_EQ(result(gates), "created");
  EXPECT_EQ(result(narrowed(R"("zone":"a")", "")), "updated");
  EXPECT_EQ(result(narrowed(R"("zone":"a","disk":"ssd")", "")), "updated");
  EXPECT_TRUE(result(narrowed(R"("zone":"b","disk":"ssd")", "")).starts_with("spec.nodeSelector: only additions"));
  EXPECT_TRUE(result(gates).starts_with("spec.nodeSelector: only additions"));
  const std::string both = R"("zone":"a","disk":"ssd")";
  EXPECT_EQ(result(narrowed(both, term("x"))), "updated");
  EXPECT_EQ(result(narrowed(both, term("xy"))), "updated");
  EXPECT_NE(result(narrowed(both, term("yx"))).find("nodeSelectorTerms[0]: only additions"), std::string::npos);
  EXPECT_NE(result(narrowed(both, term("xy") + "," + term("z"))).find("no additions or deletions"), std::string::npos);
  EXPECT_NE(result(narrowed(both, "")).find("no additions or deletions"), std::string::npos);
  EXPECT_TRUE(result(gates + R"(,"hostNetwork":true)").starts_with("immutable: ")) << "anything else stays";
  // With the gates goes the permission, in one update at the latest.
  const std::string open = R"(,"nodeSelector":{)" + both + R"(,"gpu":"yes"})" + required(term("xyz"));
  EXPECT_EQ(result(open), "updated");
  EXPECT_TRUE(result(open + gates).starts_with("spec.schedulingGates"));
  EXPECT_TRUE(result(R"(,"nodeSelector":{)" + both + R"(,"gpu":"yes","more":"x"})" + required(term("xyz")))
                  .starts_with("immutable: "));
}

TEST_F(GatewayTest, RecreateDeletesAndCreates) {
  start_connected();
  device("n1");
  bind_pod("web", "u1", "n1");
  std::string object = pod("web", "", "128Mi");
  object.replace(object.find(R"("uid":"",)"), 9, "");
  const Json reply = api(R"({"op":"apply","recreate":true,"object":)" + object + "}");
  EXPECT_EQ(*reply.find("result"), Json("waiting")) << reply.dump();
  answer("n1", AnswerType::released);
  ASSERT_EQ(gateway->bindings().size(), 1u);
  EXPECT_NE(gateway->bindings().begin()->first, "u1");
}

TEST_F(GatewayTest, AResponseTopicOutsideTheClientsIsIgnoredAndLogged) {
  start_connected();
  for (const char* topic : {"berth/v1/default/nodes/n1/requests", "berth/v1/default/clients", "x/clients/op/answers",
                            "berth/v1/default/clients/+/answers", ""}) {
    transport.sent.clear();
    log.warnings.clear();
    Message message;
    message.topic = topics.gateway_api("gateway");
    message.payload = R"({"op":"status"})";
    message.response_topic = topic;
    gateway->on_message(message);
    turn();
    EXPECT_TRUE(transport.sent.empty()) << topic;
    EXPECT_EQ(log.warnings.size(), 1u) << topic;
  }
}

TEST_F(GatewayTest, BadInputIsRefusedByNameAndChangesNothing) {
  start_connected();
  device("n1");
  const std::vector<std::pair<std::string, std::string>> inputs{
      {topics.desired(Kind::pod, "default/web"), "{"},
      {topics.desired(Kind::pod, "default/web"), R"({"a":1,"a":2})"},
      {topics.desired(Kind::pod, "default/other"), pod("web", "u1")},
      {topics.desired(Kind::pod, "default/web"), std::string(1'000'000, 'x')},
      {topics.desired(Kind::pod, "default/web"), std::string(5000, '[')},
      {"berth/v1/default/desired/gadgets/x", "{}"},
      {"berth/v1/default/desired/pods/web", "{}"},
      {"berth/v1/other/desired/pods/default/web", "{}"},
      {topics.node_state("n1"), R"({"name":"n2","incarnation":"i1"})"},
      {topics.node_state("n1"), R"({"incarnation":7})"},
      {topics.node_state("n1"), R"({"incarnation":"i1","allocatable":{"memory":"lots"}})"},
      {topics.node_presence("n1"), R"({"incarnation":"i1","online":"yes"})"},
      {topics.node_pod("n1", "default/web"), R"({"uid":"u1","epoch":"x"})"},
      {topics.answers("gateway", "n1"), R"({"type":"Perhaps"})"},
      {"berth/v1/default/nodes/N1/state", R"({"incarnation":"i1"})"},
      {"berth/v1/default/nodes/n1/secrets", "{}"},
  };
  for (const auto& [topic, payload] : inputs) {
    log.warnings.clear();
    receive(topic, payload);
    EXPECT_EQ(log.warnings.size(), 1u) << topic << " " << payload.substr(0, 60);
  }
  EXPECT_TRUE(gateway->objects().pods().all().empty());
  EXPECT_EQ(gateway->nodes().all().size(), 1u);
  EXPECT_NE(gateway->nodes().all().at("n1").node, nullptr);
}

// Most pods are bound, for months: a coroutine's frame for each would be the largest thing held of them.
TEST_F(GatewayTest, ABoundPodHoldsNoCoroutineAndCanBeDeletedAllTheSame) {
  start_connected();
  device("n1");
  bind_pod("web", "u1", "n1");
  const auto is_small = [](const Binding& binding) {
    return binding.is_at_rest() && binding.row.uid.get().data() == binding.pod->metadata.uid.get().data();
  };
  EXPECT_TRUE(is_small(gateway->bindings().at("u1")));
  restart();
  EXPECT_TRUE(is_small(gateway->bindings().at("u1")));
  api(R"({"op":"delete","kind":"pod","namespace":"default","name":"web"})");
  EXPECT_EQ(phase("u1"), Phase::release);
  EXPECT_TRUE(gateway->bindings().at("u1").progress().task.is_begun());
}

TEST_F(GatewayTest, ASilentNodeIsTaintedAndLosesNothing) {
  start_connected();
  device("n1");
  bind_pod("web", "u1", "n1");
  advance(20'000);
  const DeviceNode& device_node = gateway->nodes().all().at("n1");
  EXPECT_FALSE(device_node.reachable);
  ASSERT_EQ(device_node.node->taints.size(), 1u);
  EXPECT_EQ(device_node.node->taints[0].key, "node.kubernetes.io/unreachable");
  EXPECT_EQ(phase("u1"), Phase::bound);
  apply(pod("more", "u2"));
  EXPECT_EQ(phase("u2"), Phase::none);
  receive(topics.node_heartbeat("n1"), R"({"incarnation":"i1","sequence":"9"})");
  EXPECT_TRUE(gateway->nodes().all().at("n1").node->taints.empty());
  advance(15'000);
  EXPECT_EQ(phase("u2"), Phase::prebind) << "the node's return wakes it";
}

TEST_F(GatewayTest, AHeartbeatIsAnswered) {
  start_connected();
  device("n1");
  transport.sent.clear();
  receive(topics.node_heartbeat("n1"), R"({"incarnation":"i1","sequence":"41"})");
  ASSERT_FALSE(transport.sent.empty());
  const Request beat = *decode_request(transport.sent.back().payload);
  EXPECT_EQ(beat.type, RequestType::heartbeat);
  EXPECT_EQ(beat.sequence, 41u);
  EXPECT_EQ(transport.sent.back().qos, 0) << "the next one takes its place";
}

TEST_F(GatewayTest, AnAnswerToAHeartbeatHasTheQosOfTheListThatItGoesWith) {
  start_connected();
  device("n1");
  slots("n1", {});
  transport.sent.clear();
  receive(topics.node_heartbeat("n1"), R"({"incarnation":"another","sequence":"1"})");
  std::vector<RequestType> types;
  for (const Message& each : transport.sent) {
    if (each.topic != topics.node_requests("n1")) continue;
    types.push_back(decode_request(each.payload)->type);
    EXPECT_EQ(each.qos, 1);
  }
  EXPECT_EQ(types, (std::vector{RequestType::list, RequestType::heartbeat}));
}

TEST_F(GatewayTest, WhatIsAskedUntilItIsAnsweredNeedsNoAcknowledgementOfTheBroker) {
  start_connected();
  device("n1");
  slots("n1", {});
  bind_pod("web", "u1", "n1");
  api(R"({"op":"delete","kind":"pod","namespace":"default","name":"web"})");
  std::map<RequestType, int> qos;
  for (const Message& each : transport.sent) {
    if (each.topic == topics.node_requests("n1")) qos[decode_request(each.payload)->type] = each.qos;
  }
  EXPECT_EQ(
      qos, (std::map<RequestType, int>{
               {RequestType::pre_bind, 0}, {RequestType::bind, 0}, {RequestType::release, 0}, {RequestType::list, 1}}));
}

// The floor of a node without pods is the next epoch, and each that a device hears is a write to its flash.
TEST_F(GatewayTest, HeartbeatsAndComparisonsHaveAnIdleDeviceWriteNothingWhileOthersAreGivenPods) {
  start_connected();
  device("n1");
  device("n2", "i1", R"({"cpu":"0","memory":"0","pods":"0"})");
  slots("n1", {});
  slots("n2", {});
  Epoch highest;
  const auto note_floors = [&] {
    for (const Message& message : transport.sent) {
      const Result<Request> asked = decode_request(message.payload);
      if (message.topic == topics.node_requests("n2") && asked) highest = std::max(highest, asked->floor);
    }
  };
  note_floors();
  const Epoch before = highest;
  for (const std::string name : {"a", "b", "c"}) {
    apply(pod(name, name, "64Mi"));
    answer("n1", AnswerType::pre_bound);
    answer("n1", AnswerType::bound);
    receive(topics.node_heartbeat("n2"), R"({"incarnation":"i1","sequence":"41"})");
    note_floors();
  }
  EXPECT_EQ(decode_request(transport.sent.back().payload)->type, RequestType::heartbeat);
  transport.sent.clear();
  for (Millis passed = 0; passed <= GatewayOptions().compare_ms; passed += 5'000) {
    advance(5'000);
    for (const std::string node : {"n1", "n2"}) {
      receive(topics.node_heartbeat(node), R"({"incarnation":"i1","sequence":"42"})");
    }
  }
  const auto is_list = [&](const Message& message) {
    const Result<Request> asked = decode_request(message.payload);
    return message.topic == topics.node_requests("n2") && asked && asked->type == RequestType::list;
  };
  EXPECT_TRUE(std::any_of(transport.sent.begin(), transport.sent.end(), is_list));
  note_floors();
  EXPECT_EQ(highest, before);
}

TEST_F(GatewayTest, AnOlderPresenceNeverWins) {
  start_connected();
  device("n1");
  receive(topics.node_presence("n1"), R"({"incarnation":"i1","session":"7","online":true})");
  receive(topics.node_presence("n1"), R"({"incarnation":"i1","session":"6","online":false})");
  EXPECT_TRUE(gateway->nodes().all().at("n1").reachable);
  receive(topics.node_presence("n1"), R"({"incarnation":"i0","session":"9","online":false})");
  EXPECT_TRUE(gateway->nodes().all().at("n1").reachable);
  receive(topics.node_presence("n1"), R"({"incarnation":"i1","session":"7","online":false})");
  EXPECT_FALSE(gateway->nodes().all().at("n1").reachable);
}

TEST_F(GatewayTest, TheOperatorsOverlayWinsOverWhatTheDeviceReports) {
  start_connected();
  device("n1", "i1", R"({"cpu":"2","memory":"1Gi","pods":"10"})",
         R"(,"labels":{"zone":"a","operator.berth/tier":"gold"})");
  apply(
      R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n1","labels":{"zone":"b"}},"spec":{"unschedulable":true}})");
  const Node& node = *gateway->nodes().all().at("n1").node;
  EXPECT_EQ(node.metadata.labels.at("zone"), "b");
  EXPECT_FALSE(node.metadata.labels.contains("operator.berth/tier"));
  EXPECT_TRUE(node.unschedulable);
  apply(pod("web", "u1"));
  EXPECT_EQ(phase("u1"), Phase::none);
  EXPECT_NE(why("web").find("unschedulable"), std::string::npos) << why("web");
}

TEST_F(GatewayTest, AnUnchangedStateIsNotWrittenAgain) {
  start_connected();
  device("n1");
  const std::uint64_t commits = store.commits();
  receive(topics.node_state("n1"),
          R"({"incarnation":"i1","session":"1","sequence":"2","allocatable":{"cpu":"2","memory":"1Gi","pods":"10"}})");
  receive(topics.node_heartbeat("n1"), R"({"incarnation":"i1","sequence":"1"})");
  EXPECT_EQ(store.commits(), commits);
}

TEST_F(GatewayTest, OfferedDirectoriesBecomeLocalVolumesAndAClaimIsBoundInPhaseBind) {
  start_connected();
  const std::string volumes =
      R"(,"volumes":[{"name":"data","path":"/srv/data","capacity":"1Gi","storageClass":"local"}])";
  device("n1");
  device("n2", "i2", R"({"cpu":"2","memory":"1Gi","pods":"10"})", volumes);
  apply(
      R"({"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":"local"},"provisioner":"kubernetes.io/no-provisioner","volumeBindingMode":"WaitForFirstConsumer"})");
  apply(
      R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"log","namespace":"default"},"spec":{"storageClassName":"local","accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Mi"}}}})");
  apply(pod("web", "u1", "64Mi", R"(,"volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"log"}}])"));
  ASSERT_EQ(phase("u1"), Phase::prebind) << why("web");
  const Request pre_bind = *request("n2");
  ASSERT_EQ(pre_bind.volumes.size(), 1u);
  EXPECT_EQ(pre_bind.volumes[0], (BoundVolume{"default/log", "n2-data", "/srv/data"}));
  EXPECT_EQ(gateway->objects().claim("default/log")->phase, "Pending");
  answer("n2", answer_to(pre_bind, AnswerType::rejected, "i2"));
  EXPECT_EQ(gateway->objects().claim("default/log")->volume_name, "") << "a rejected pod's claim is not pinned";
  advance(options.refusal_ms + 2000);
  answer("n2", AnswerType::pre_bound, "i2");
  EXPECT_EQ(gateway->objects().claim("default/log")->phase, "Bound");
  EXPECT_EQ(gateway->objects().volume("n2-data")->claim_ref, "default/log");
  api(R"({"op":"delete","kind":"pvc","namespace":"default","name":"log"})");
  EXPECT_NE(gateway->objects().claim("default/log"), nullptr) << "in use";
  api(R"({"op":"delete","kind":"pod","namespace":"default","name":"web"})");
  answer("n2", AnswerType::released, "i2");
  EXPECT_EQ(gateway->objects().claim("default/log"), nullptr);
  EXPECT_EQ(gateway->objects().volume("n2-data")->phase, "Released");
  std::string mirrored;
  for (const Message& message : transport.sent) {
    if (message.topic == topics.desired(Kind::persistent_volume, "n2-data")) mirrored = message.payload;
  }
  EXPECT_NE(mirrored.find("Released"), std::string::npos) << "a lost store must not learn that it is still bound";
}

TEST_F(GatewayTest, ADeletedVolumeThatItsDeviceStillOffersComesBackUnclaimed) {
  start_connected();
  device("n1", "i1", R"({"cpu":"2","memory":"1Gi","pods":"10"})",
         R"(,"volumes":[{"name":"data","path":"/srv/data","capacity":"1Gi","storageClass":"local"}])");
  const std::string before = gateway->objects().volume("n1-data")->metadata.uid;
  EXPECT_EQ(api(R"({"op":"delete","kind":"persistentvolume","name":"n1-data"})").find("ok")->as_bool(), true);
  ASSERT_NE(gateway->objects().volume("n1-data"), nullptr);
  EXPECT_NE(gateway->objects().volume("n1-data")->metadata.uid, before) << "another volume of the same name";
}

TEST_F(GatewayTest, APriorityClassSetsThePriorityAndMustExist) {
  start_connected();
  const std::string spec = R"(,"priorityClassName":"urgent")";
  EXPECT_NE(apply(pod("web", "u1", "64Mi", spec)).find("error")->as_string().find("urgent"), std::string::npos);
  apply(R"({"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass","metadata":{"name":"urgent"},"value":1000})");
  apply(pod("web", "u1", "64Mi", spec));
  EXPECT_EQ(gateway->objects().pods().find("default/web")->pod->priority, 1000);
}

TEST_F(GatewayTest, TheSystemPriorityClassesAreThereWithoutBeingApplied) {
  start_connected();
  apply(pod("web", "u1", "64Mi", R"(,"priorityClassName":"system-cluster-critical")"));
  apply(pod("agent", "u2", "64Mi", R"(,"priorityClassName":"system-node-critical")"));
  EXPECT_EQ(gateway->objects().pods().find("default/web")->pod->priority, 2'000'000'000);
  EXPECT_EQ(gateway->objects().pods().find("default/agent")->pod->priority, 2'000'001'000);
}

TEST_F(GatewayTest, AnOfferedVolumeFollowsItsDevicesOrderOnCapacity) {
  start_connected();
  for (const char* capacity : {"1Gi", "2Gi"}) {
    device("n1", "i1", R"({"cpu":"2","memory":"1Gi","pods":"10"})",
           R"(,"volumes":[{"name":"data","path":"/srv/data","capacity":")" + std::string(capacity) + R"("}])");
    EXPECT_EQ(gateway->objects().volume("n1-data")->capacity, *Quantity::parse(capacity));
  }
}

TEST_F(GatewayTest, AsksAboutEveryNodeForTheFirstPodOfAClassAndAboutWhatChangedForTheNext) {
  start_connected();
  constexpr std::uint64_t kNodes = 40;
  for (std::uint64_t i = 0; i < kNodes; ++i) device("n" + std::to_string(i));
  const auto asked = [this] {
    return gateway->metrics().plugin_evaluations.at({"NodeResourcesFit", "Filter", "default-scheduler"}).value();
  };
  apply(pod("first", "u1"));
  const std::uint64_t for_one = asked();
  EXPECT_GE(for_one, kNodes);
  apply(pod("second", "u2"));
  EXPECT_EQ(phase("u2"), Phase::prebind);
  EXPECT_LT(asked() - for_one, 4u);
}

TEST_F(GatewayTest, CountsPreFilterOnceForAPodThatIsNotDecidedOverAllNodes) {
  start_connected();
  device("n1");
  device("n2");
  const auto asked = [this](const char* plugin) {
    return gateway->metrics().plugin_evaluations.at({plugin, "PreFilter", "default-scheduler"}).value();
  };
  apply(pod("anywhere", "u1"));
  EXPECT_EQ(asked("NodeResourcesFit"), 1u);
  apply(pod("named", "u2", "64Mi",
            R"(,"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[
               {"matchFields":[{"key":"metadata.name","operator":"In","values":["n2"]}]}]}}})"));
  EXPECT_EQ(phase("u2"), Phase::prebind);
  EXPECT_EQ(asked("NodeAffinity"), 1u) << "it narrows the nodes";
  EXPECT_EQ(asked("NodeResourcesFit"), 2u);
}

TEST_F(GatewayTest, AHeldGatewayAnswersAndBindsNothing) {
  options.hold = "the store is of a newer program";
  start_connected();
  device("n1");
  const Json refused = apply(pod("web", "u1"));
  EXPECT_EQ(*refused.find("ok"), Json(false)) << "it could not keep it";
  EXPECT_EQ(phase("u1"), Phase::none);
  const Json reply = api(R"({"op":"status"})");
  EXPECT_EQ(*reply.find("ready"), Json(false));
  EXPECT_EQ(*reply.find("reason"), Json("the store is of a newer program"));
}

}  // namespace
}  // namespace berth
