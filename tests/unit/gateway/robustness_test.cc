// What a device or an operator may say, and the gateway must survive: now, and at its next start.
#include "tests/unit/gateway/gateway_fixture.h"

namespace berth {
namespace {

TEST_F(GatewayTest, AnAnswerAboutAnOrphanDoesNotEndTheGateway) {
  options.enrolled_nodes = {"n1"};
  start();
  transport.up = true;
  gateway->on_link(true);
  turn();
  device("n1");
  connect();
  SlotReport slot;
  slot.uid = "u9";
  slot.epoch = {3, 7};
  slot.state = SlotState::running;
  slots("n1", {slot});
  ASSERT_EQ(gateway->not_ready(), "");
  Request about(RequestType::release);
  about.uid = "u9";
  about.epoch = {3, 7};
  for (auto it = transport.sent.rbegin(); it != transport.sent.rend(); ++it) {
    if (it->topic == topics.node_requests("n1")) about.gateway_id = decode_request(it->payload)->gateway_id;
  }
  answer("n1", answer_to(about, AnswerType::released));
  apply(pod("web", "u9"));
  EXPECT_NE(phase("u9"), Phase::none) << "nothing holds the pod back any more";
  restart();
}

TEST_F(GatewayTest, AnIncarnationThatNoRowMayHoldIsRefusedAtTheDoor) {
  start_connected();
  device("n1", "not an id!");
  apply(pod("web", "u1"));
  restart();
}

TEST_F(GatewayTest, AVolumeWithoutADirectoryIsRefused) {
  start_connected();
  device("n1", "i1", R"({"cpu":"2","memory":"1Gi","pods":"10"})",
         R"(,"volumes":[{"name":"v","capacity":"1Gi","path":""}])");
  apply(
      R"({"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":"local"},"provisioner":"kubernetes.io/no-provisioner","volumeBindingMode":"WaitForFirstConsumer"})");
  const Json refused = apply(
      R"({"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"pv1"},"spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],"storageClassName":"local"}})");
  EXPECT_NE(refused.find("error")->as_string().find("spec.local.path"), std::string::npos);
  apply(
      R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"data","namespace":"default"},"spec":{"storageClassName":"local","accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}})");
  apply(pod("web", "u1", "64Mi", R"(,"volumes":[{"name":"d","persistentVolumeClaim":{"claimName":"data"}}])"));
  restart();
}

TEST_F(GatewayTest, AnUpdateOfAVolumeObjectWhosePartsAreNoObjectsIsRefused) {
  start_connected();
  device("n1", "i1", R"({"cpu":"2","memory":"1Gi","pods":"10"})",
         R"(,"volumes":[{"name":"v","capacity":"1Gi","path":"/v"}])");
  apply(
      R"({"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":"local"},"provisioner":"kubernetes.io/no-provisioner","volumeBindingMode":"WaitForFirstConsumer"})");
  apply(
      R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"data","namespace":"default"},"spec":{"storageClassName":"local","accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}})");
  apply(pod("web", "u1", "64Mi", R"(,"volumes":[{"name":"d","persistentVolumeClaim":{"claimName":"data"}}])"));
  answer("n1", AnswerType::pre_bound);
  answer("n1", AnswerType::bound);
  ASSERT_EQ(phase("u1"), Phase::bound) << why("web");
  for (const char* part : {"7", "[]", "\"x\"", "null", "true"}) {
    const std::string p(part);
    apply(R"({"kind":"PersistentVolumeClaim","metadata":{"name":"data","namespace":"default"},"spec":)" + p + "}");
    apply(R"({"kind":"PersistentVolume","metadata":{"name":"n1-v"},"spec":)" + p + "}");
    receive(topics.desired(Kind::persistent_volume_claim, "default/data"),
            R"({"kind":"PersistentVolumeClaim","spec":{},"metadata":)" + p + "}");
    receive(topics.desired(Kind::persistent_volume, "n1-v"),
            R"({"kind":"PersistentVolume","spec":{},"metadata":)" + p + "}");
    receive(topics.desired(Kind::storage_class, "local"), R"({"kind":"StorageClass","metadata":)" + p + "}");
    receive(topics.desired(Kind::pod, "default/web"), R"({"kind":"Pod","spec":{},"metadata":)" + p + "}");
    receive(topics.desired(Kind::pod, "default/web"), R"({"kind":"Pod","metadata":{"name":"web"},"spec":)" + p + "}");
    receive(topics.desired(Kind::node, "n1"), R"({"kind":"Node","metadata":)" + p + "}");
    receive(topics.desired(Kind::node, "n1"), R"({"kind":"Node","metadata":{"name":"n1"},"spec":)" + p + "}");
    receive(topics.desired(Kind::node, "n1"),
            R"({"kind":"Node","metadata":{"name":"n1"},"spec":{"taints":)" + p + "}}");
    receive(topics.desired(Kind::node, "n1"), R"({"kind":"Node","metadata":{"name":"n1","labels":)" + p + "}}");
    receive(topics.desired(Kind::namespace_, "n1"), R"({"kind":"Namespace","metadata":)" + p + "}");
    receive(topics.desired(Kind::priority_class, "n1"), R"({"kind":"PriorityClass","metadata":)" + p + "}");
    std::vector<std::string> values{"%", "[%]", "{\"a\":%}",
                                    "[{\"name\":%,\"capacity\":%,\"path\":%,\"key\":%,\"effect\":%,\"names\":%}]"};
    for (std::string& value : values) {
      for (std::size_t at; (at = value.find('%')) != std::string::npos;) value.replace(at, 1, p);
    }
    for (const char* field : {"labels", "taints", "allocatable", "images", "volumes", "heartbeatMs", "session",
                              "sequence", "incarnation", "name", "online", "bootId"}) {
      for (const std::string& value : values) {
        const std::string base = std::string(field) == "incarnation" ? "{" : R"({"incarnation":"i1",)";
        for (const char* what : {"state", "presence", "heartbeat"}) {
          receive("berth/v1/default/nodes/n1/" + std::string(what), base + "\"" + field + "\":" + value + "}");
        }
      }
    }
    for (const std::string& value : values) {
      for (const char* op : {"apply", "delete", "get", "describe", "status"}) {
        for (const char* api_field :
             {"op", "kind", "name", "namespace", "uid", "continue", "object", "recreate", "id"}) {
          std::string q = "{";
          if (std::string(api_field) != "op") q += "\"op\":\"" + std::string(op) + "\",";
          if (std::string(api_field) != "kind") q += "\"kind\":\"pod\",";
          api(q + "\"" + api_field + "\":" + value + "}");
        }
      }
    }
    receive(topics.node_pod("n1", "default/web"), R"({"uid":"u1","epoch":)" + p + "}");
    receive(topics.node_pod("n1", "default/web"), p);
    api(p);
  }
  restart();
}

TEST_F(GatewayTest, AWrongFieldOfAPodsStatusIsNamedWithItsNodeAndTheRestCounts) {
  start_connected();
  device("n1");
  bind_pod("web", "u1", "n1");
  const auto report = [this](const std::string& containers, const std::string& phase) {
    receive(topics.node_pod("n1", "default/web"),
            R"({"uid":"u1","epoch":")" + to_text(gateway->bindings().at("u1").row.epoch) + R"(","phase":")" + phase +
                R"(","containerStatuses":[)" + containers + "]}");
  };
  const auto node = [this] { return api(R"({"op":"get","kind":"node","name":"n1"})").dump(); };
  report(R"({"name":"a","ready":true},{"name":"b","restartCount":"many"})", "Running");
  EXPECT_NE(node().find(R"("type":"StatusInvalid")"), std::string::npos) << node();
  EXPECT_NE(node().find("status of pod default/web: containerStatuses[1].restartCount: expected"), std::string::npos)
      << node();
  const std::string shown = describe_pod("web").dump();
  EXPECT_NE(shown.find(R"("containerStatuses":[{"name":"a","ready":true}])"), std::string::npos) << shown;
  EXPECT_NE(shown.find(R"("phase":"Running")"), std::string::npos) << shown;
  report(R"({"name":"a"},{"name":"b","restartCount":3})", "Running");
  EXPECT_EQ(node().find("StatusInvalid"), std::string::npos) << node();
  report(R"({"name":7})", "Succeeded");
  EXPECT_EQ(phase("u1"), Phase::release) << "how it ended counts";
  EXPECT_NE(node().find("StatusInvalid"), std::string::npos) << node();
  answer("n1", AnswerType::released);
  EXPECT_EQ(node().find("StatusInvalid"), std::string::npos) << "the device reports it no longer";
}

TEST_F(GatewayTest, APodWhoseProfileIsGoneDoesNotEndTheGateway) {
  Profile other = default_profile();
  other.scheduler_name = "other";
  options.profiles.push_back(other);
  start_connected();
  device("n1");
  apply(pod("web", "u1", "64Mi", R"(,"schedulerName":"other")"));
  apply(pod("big", "u2", "64Gi", R"(,"schedulerName":"other")"));
  ASSERT_EQ(phase("u1"), Phase::prebind);
  options.profiles.pop_back();
  restart();
  device("n1");
  EXPECT_NE(why("big").find("no profile"), std::string::npos);
  answer("n1", AnswerType::pre_bound);
  turn();
  answer("n1", AnswerType::bound);
  EXPECT_EQ(phase("u1"), Phase::none);
  EXPECT_NE(why("web").find("no profile"), std::string::npos);
}

// Two rows that both said they were one pod's ended the gateway at each start.
TEST_F(GatewayTest, ARowThatIsStoredUnderAnotherUidIsToldAtTheStart) {
  Row row;
  row.uid = "u1";
  row.pod = "default/web";
  row.epoch = {4, 2};
  row.node = "n1";
  row.incarnation = "i1";
  row.phase = Phase::bound;
  for (const char* key : {"u1", "u3"}) {
    ASSERT_TRUE(store.begin(key, encode(row), static_cast<int>(row.phase)).is_success());
  }
  ASSERT_TRUE(store.commit().is_success());
  Gateway read(options, registry, clock, transport, store, timers, log);
  const Status started = read.start();
  ASSERT_FALSE(started.is_success());
  EXPECT_NE(started.message().find("stored row u3: is the row of pod u1"), std::string::npos) << started.message();
}

TEST_F(GatewayTest, ThousandsOfOrphansCanBeReadAgain) {
  options.enrolled_nodes = {"n1"};
  options.node_limits.slots = 10'000;
  start();
  transport.up = true;
  gateway->on_link(true);
  turn();
  device("n1");
  connect();
  std::vector<SlotReport> reports;
  for (int i = 0; i < 6000; ++i) {
    SlotReport slot;
    slot.uid = std::string(100, 'a') + std::to_string(i);
    slot.epoch = {1ull << 63, (1ull << 63) + i};
    slot.state = SlotState::running;
    reports.push_back(slot);
  }
  // pages
  for (std::size_t page = 0; page < 20; ++page) {
    for (auto it = transport.sent.rbegin(); it != transport.sent.rend(); ++it) {
      if (it->topic != topics.node_requests("n1")) continue;
      Result<Request> decoded = decode_request(it->payload);
      if (decoded->type != RequestType::list) continue;
      Answer listing(AnswerType::slots);
      listing.incarnation = "i1";
      listing.gateway_id = decoded->gateway_id;
      listing.list_id = decoded->list_id;
      listing.pages = 20;
      listing.page = decoded->page;
      for (int i = 0; i < 300; ++i) listing.slots.push_back(reports[listing.page * 300 + i]);
      answer("n1", listing);
      break;
    }
  }
  restart();
  EXPECT_EQ(gateway->not_ready(), "");
}

TEST_F(GatewayTest, WhatAForgottenOrphanWasChargedWakesThePodsThatWait) {
  options.enrolled_nodes = {"n1"};
  start();
  transport.up = true;
  gateway->on_link(true);
  turn();
  device("n1");
  connect();
  SlotReport slot;
  slot.uid = "u9";
  slot.epoch = {3, 7};
  slot.state = SlotState::running;
  slot.pod = pod("old", "u9", "900Mi", R"(,"schedulerName":"gone")");
  slots("n1", {slot});
  apply(pod("web", "u1", "512Mi"));
  ASSERT_EQ(phase("u1"), Phase::none) << "the orphan is charged";
  gateway->on_link(false);
  connect();
  slots("n1", {});
  advance(15'000);
  EXPECT_EQ(phase("u1"), Phase::prebind) << why("web");
}

TEST_F(GatewayTest, ADeviceMayNotTakeOverAVolumeOfAnother) {
  start_connected();
  device("a", "i1", R"({"cpu":"2","memory":"1Gi","pods":"10"})",
         R"(,"volumes":[{"name":"b-c","capacity":"1Gi","path":"/a"}])");
  ASSERT_NE(gateway->objects().volume("a-b-c"), nullptr);
  device("a-b", "i2", R"({"cpu":"2","memory":"1Gi","pods":"10"})",
         R"(,"volumes":[{"name":"c","capacity":"1Gi","path":"/stolen"}])");
  EXPECT_EQ(gateway->objects().volume("a-b-c")->local_path, "/a");
}

TEST_F(GatewayTest, AClaimThatIsBeingDeletedIsNotAcceptedAgain) {
  start_connected();
  device("n1", "i1", R"({"cpu":"2","memory":"1Gi","pods":"10"})",
         R"(,"volumes":[{"name":"a","path":"/d","capacity":"1Gi","storageClass":"local"}])");
  apply(
      R"({"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":"local"},"provisioner":"kubernetes.io/no-provisioner","volumeBindingMode":"WaitForFirstConsumer"})");
  const std::string claim =
      R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"data","namespace":"default"},"spec":{"storageClassName":"local","accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}})";
  apply(claim);
  apply(pod("web", "u1", "64Mi", R"(,"volumes":[{"name":"d","persistentVolumeClaim":{"claimName":"data"}}])"));
  EXPECT_EQ(*api(R"({"op":"delete","kind":"pvc","name":"data"})").find("result"), Json("deleting"));
  const Json again = apply(claim);
  api(R"({"op":"delete","kind":"pod","name":"web"})");
  const bool ok = *again.find("ok") == Json(true);
  EXPECT_EQ(ok, gateway->objects().claim("default/data") != nullptr);
}

TEST_F(GatewayTest, TheUidOfAWaitingSuccessorIsTaken) {
  start_connected();
  device("n1");
  bind_pod("web", "u1", "n1");
  EXPECT_EQ(*apply(pod("web", "u2")).find("result"), Json("waiting"));
  const Json other = apply(pod("other", "u2"));
  answer("n1", AnswerType::released);
  const bool ok = *other.find("ok") == Json(true);
  EXPECT_NE(ok, gateway->objects().pods().find("default/web") != nullptr) << "one of the two was accepted";
}

TEST_F(GatewayTest, ADeleteByNameTakesTheSuccessorThatWaitsToo) {
  start_connected();
  device("n1");
  bind_pod("web", "u1", "n1");
  EXPECT_EQ(*apply(pod("web", "u2")).find("result"), Json("waiting"));
  api(R"({"op":"delete","kind":"pod","name":"web"})");
  answer("n1", AnswerType::released);
  EXPECT_EQ(gateway->objects().pods().find("default/web"), nullptr) << "deleted last";
}

TEST_F(GatewayTest, ALargePodAndItsStatusFitIntoAMessage) {
  start_connected();
  device("n1");
  std::string annotations = R"({"metadata":{"name":"web","namespace":"default","uid":"u1","annotations":{"a":")" +
                            std::string(55 * 1024, 'x') + R"("}},)";
  std::string object =
      annotations + R"("apiVersion":"v1","kind":"Pod","spec":{"containers":[{"name":"c","image":"app"}]}})";
  apply(object);
  answer("n1", AnswerType::pre_bound);
  answer("n1", AnswerType::bound);
  receive(topics.node_pod("n1", "default/web"),
          R"({"uid":"u1","epoch":")" + to_text(gateway->bindings().at("u1").row.epoch) +
              R"(","phase":"Running","containerStatuses":[{"x":")" + std::string(60 * 1024, 'y') + R"("}]})");
  describe_pod("web");
  api(R"({"op":"get","kind":"pod"})");
  for (const Message& message : transport.sent) EXPECT_LE(message.payload.size(), 65536u) << message.topic;
}

TEST_F(GatewayTest, ADeepManifestIsReadAgain) {
  start_connected();
  device("n1");
  for (int depth : {50, 55, 57, 58, 59, 60, 61, 62, 63, 64}) {
    std::string deep;
    for (int i = 0; i < depth; ++i) deep += "[";
    deep += "1";
    for (int i = 0; i < depth; ++i) deep += "]";
    const std::string name = "web" + std::to_string(depth);
    receive(topics.desired(Kind::pod, "default/" + name), pod(name, name, "1Mi", R"(,"strange":)" + deep), true);
    if (gateway->objects().pods().find("default/" + name) == nullptr) continue;
    ASSERT_TRUE(decode_request(encode(*request("n1"))).has_value());
    EXPECT_TRUE(Json::parse(request("n1")->pod).has_value()) << depth;
  }
  gateway->on_link(false);
  restart();
}

TEST_F(GatewayTest, TermsAndEpochsAtTheirEndAreBorne) {
  options.first_boot = FirstBoot::lost;
  options.known_nodes = {"n1"};
  start_connected();
  device("n1");
  apply(pod("web", "u1"));
  for (const std::uint64_t term : {0ull, 1ull << 61, (1ull << 62) - 1, 1ull << 62, ~0ull}) {
    answer("n1", superseded({term, "other"}));
    answer("nobody", superseded({term, "other"}));
    answer("n1", proven_superseded("n1", {std::min<std::uint64_t>(term, 1ull << 61), "other"}));
    slots("n1", {});
    restart();
    SlotReport slot;
    slot.uid = "u1";
    slot.epoch = {~0ull, ~0ull};
    slot.state = SlotState::running;
    slots("n1", {slot, slot, slot});
    SlotReport twice = slot;
    twice.epoch = {~0ull, 5};
    slots("n1", {twice, slot, twice});
    EXPECT_LE(gateway->identity().id.term, (1ull << 62) + (6ull << 16)) << "each start raises it by 65,536 at most";
    // With the first there is no news. Then another store of this machine has served: its promise is given up (P12).
    EXPECT_EQ(phase("u1"), term == 0 ? Phase::prebind : Phase::none) << term;
    EXPECT_NE(gateway->objects().pods().find("default/web"), nullptr);
  }
}

TEST_F(GatewayTest, AWaitingSuccessorOutlivesItsPriorityClass) {
  start_connected();
  device("n1");
  apply(R"({"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass","metadata":{"name":"high"},"value":7})");
  bind_pod("web", "u1", "n1");
  EXPECT_EQ(*apply(pod("web", "u2", "64Mi", R"(,"priorityClassName":"high")")).find("result"), Json("waiting"));
  api(R"({"op":"delete","kind":"priorityclass","name":"high"})");
  answer("n1", AnswerType::released);
  ASSERT_NE(gateway->objects().pods().find("default/web"), nullptr) << "accepted is accepted";
}

}  // namespace
class LostObjectTest : public GatewayTest {
 protected:
  // Pod "p" has a row in this phase on n1, and the store that the gateway starts with has lost its object.
  void lose_object_of_row(Phase phase_of_row) {
    store = MemoryStore();
    start_connected();
    device("n1");
    apply(pod("p", "u1"));
    if (phase_of_row == Phase::bind) answer("n1", AnswerType::pre_bound);
    ASSERT_EQ(phase("u1"), phase_of_row);
    gateway.reset();
    store.erase(Table::object, "pods/default/p");
    ASSERT_TRUE(store.commit().is_success());
    start_connected();
    device("n1");
  }
};

TEST_F(LostObjectTest, ARowWhoseObjectTheStoreLostIsCarriedToAnEndAndCrashesNothing) {
  for (const Phase from : {Phase::prebind, Phase::bind}) {
    lose_object_of_row(from);
    answer("n1", from == Phase::prebind ? AnswerType::pre_bound : AnswerType::bound);
    EXPECT_EQ(phase("u1"), from == Phase::prebind ? Phase::none : Phase::bound);
    EXPECT_EQ(gateway->releases().size(), from == Phase::prebind ? 1u : 0u);
  }
}

TEST_F(LostObjectTest, ARowWhoseLostObjectIsAppliedAgainBeforeItEndsCrashesNothing) {
  for (const Phase from : {Phase::prebind, Phase::bind}) {
    lose_object_of_row(from);
    apply(pod("p", "u1"));
    const Epoch first = gateway->bindings().at("u1").row.epoch;
    answer("n1", AnswerType::stale);
    advance(2'000);
    ASSERT_EQ(phase("u1"), Phase::prebind) << "placed again";
    EXPECT_GT(gateway->bindings().at("u1").row.epoch, first);
  }
}

}  // namespace berth
