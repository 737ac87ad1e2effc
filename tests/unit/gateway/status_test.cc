// What the gateway shows: statuses, events, and what it answers to those who ask.
#include "tests/unit/gateway/gateway_fixture.h"

namespace berth {
namespace {

TEST_F(GatewayTest, OneStatusTellsOfAPodThatIsBoundAtOnceAndTheTickOfOneThatIsNot) {
  start_connected();
  device("n1");
  const auto told = [this](const std::string& name) {
    std::vector<std::string> phases;
    for (const Message& message : transport.sent) {
      if (message.topic != topics.status(Kind::pod, "default/" + name)) continue;
      const Json status = *Json::parse(message.payload);
      const Json* scheduler = status.find("scheduler");
      phases.push_back(scheduler == nullptr ? status.find("nodeName")->as_string()
                                            : scheduler->find("phase")->as_string());
    }
    return phases;
  };
  bind_pod("quick", "u1", "n1");
  EXPECT_EQ(told("quick"), std::vector<std::string>{"n1"}) << "that it is scheduled says bound";
  apply(pod("slow", "u2"));
  EXPECT_EQ(told("slow"), std::vector<std::string>{});
  advance(1000);
  EXPECT_EQ(told("slow"), std::vector<std::string>{}) << "it may have begun a moment before the tick";
  advance(1000);
  EXPECT_EQ(told("slow"), std::vector<std::string>{"prebind"});
  advance(3000);
  EXPECT_EQ(told("slow").size(), 1u) << "nothing new to tell";
}

TEST_F(GatewayTest, EventsOfOneTurnAndNamespaceAreOneMessage) {
  start_connected();
  device("n1");
  for (const std::string name : {"a", "b"}) {
    Message message;
    message.topic = topics.desired(Kind::pod, "default/" + name);
    message.payload = pod(name, "u" + name, "900Gi");
    gateway->on_message(message);
  }
  transport.on_wire.clear();
  turn();
  std::vector<std::string> events;
  for (const Message& message : transport.on_wire) {
    if (message.topic == topics.events("default")) events.push_back(message.payload);
  }
  ASSERT_EQ(events.size(), 1u);
  const Json list = *Json::parse(events[0]);
  EXPECT_EQ(*list.find("reason"), Json("FailedScheduling"));
  ASSERT_EQ(list.find("items")->as_array().size(), 2u);
  EXPECT_EQ(*list.find("items")->as_array()[1].find("name"), Json("b"));
}

TEST_F(GatewayTest, WhatATurnSendsIsGathered) {
  start_connected();
  transport.ungathered = 0;
  apply(pod("p", "u1"));
  EXPECT_EQ(transport.ungathered, 0);
  EXPECT_FALSE(transport.gathering) << "what was gathered leaves with the turn";
}

TEST_F(GatewayTest, OneStatusTellsOfAPodThatWaitsItsTurnAtANode) {
  options.max_rows_per_node = 1;
  start_connected();
  device("n1");
  const auto told = [this] {
    std::vector<std::string> words;
    for (const Message& message : transport.sent) {
      if (message.topic != topics.status(Kind::pod, "default/second")) continue;
      EXPECT_EQ(message.qos, 0);
      EXPECT_TRUE(message.retain);
      words.push_back(message.payload);
    }
    return words;
  };
  apply(pod("first", "u1"));
  const Request first = *request("n1");
  apply(pod("second", "u2"));
  EXPECT_EQ(told().size(), 0u) << "its turn may come in a moment";
  advance(2000);
  ASSERT_EQ(told().size(), 1u);
  EXPECT_NE(told()[0].find("n1 is chosen"), std::string::npos) << told()[0];
  answer("n1", answer_to(first, AnswerType::pre_bound));
  answer("n1", answer_to(first, AnswerType::bound));
  answer("n1", AnswerType::pre_bound);
  EXPECT_EQ(told().size(), 1u);
  answer("n1", AnswerType::bound);
  ASSERT_EQ(phase("u2"), Phase::bound);
  EXPECT_EQ(told().size(), 2u) << "a bound pod is published at once";
}

TEST_F(GatewayTest, APodCreatedAgainIsReportedThoughItsPredecessorWasReportedTheSameLast) {
  start_connected();
  const auto told = [this] {
    return std::count_if(transport.sent.begin(), transport.sent.end(), [this](const auto& message) {
      return message.topic == topics.events("default") && message.payload.find("FailedScheduling") != std::string::npos;
    });
  };
  apply(pod("p", "u1", "64Mi"));
  ASSERT_EQ(told(), 1) << "there is no node";
  api(R"({"op":"delete","kind":"Pod","namespace":"default","name":"p"})");
  apply(pod("p", "u2", "64Mi"));
  EXPECT_EQ(told(), 2);
}

TEST_F(GatewayTest, OfAReportIsKeptWhatSomebodyReads) {
  start_connected();
  device("n1");
  bind_pod("web", "u1", "n1");
  const std::string epoch = to_text(gateway->bindings().at("u1").row.epoch);
  receive(topics.node_pod("n1", "default/web"),
          R"({"uid":"u1","epoch":")" + epoch + R"(","incarnation":"i1","slot":"running","phase":"Running"})", true);
  EXPECT_EQ(gateway->objects().pods().find("default/web")->observed.text(),
            R"({"epoch":")" + epoch + R"(","phase":"Running"})");
}

TEST_F(GatewayTest, APodsStatusHasItsContainersAndInitContainersAsTheDeviceSaysAlsoOnceItIsFinishedAndAfterARestart) {
  start_connected();
  device("n1");
  bind_pod("job", "u1", "n1");
  const std::string epoch = to_text(gateway->bindings().at("u1").row.epoch);
  const std::string ended = R"("restartCount":3,"state":{"terminated":{"exitCode":3}},"lastState":{}}])";
  receive(topics.node_pod("n1", "default/job"),
          R"({"uid":"u1","epoch":")" + epoch + R"(","phase":"Failed","startTime":"2026-01-01T00:00:00Z",)" +
              R"("initContainerStatuses":[{"name":"i",)" + ended + R"(,"containerStatuses":[{"name":"c",)" + ended +
              "}",
          true);
  const auto status = [this] { return *describe_pod("job").find("object")->find("status"); };
  const Json reported = status();
  EXPECT_EQ(reported.string_at("startTime"), "2026-01-01T00:00:00Z");
  for (const char* member : {"initContainerStatuses", "containerStatuses"}) {
    ASSERT_NE(reported.find(member), nullptr) << member;
    EXPECT_EQ(*reported.find(member)->as_array().at(0).find("restartCount"), Json(3));
  }
  answer("n1", AnswerType::released);
  ASSERT_EQ(phase("u1"), Phase::none);
  restart();
  for (const char* member : {"initContainerStatuses", "containerStatuses", "startTime", "phase", "nodeName"}) {
    ASSERT_NE(status().find(member), nullptr) << member;
    EXPECT_EQ(*status().find(member), *reported.find(member)) << member;
  }
}

TEST_F(GatewayTest, APodHasItsQosClassFromTheBeginning) {
  start_connected();
  const auto shown = [this](const std::string& name) {
    return describe_pod(name).find("object")->find("status")->string_at("qosClass");
  };
  apply(pod("web", "u1"));
  EXPECT_EQ(shown("web"), "Burstable") << "as it asks for memory; no device has seen it";
  apply(
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"idle"},"spec":{"containers":[{"name":"c","image":"i"}]}})");
  EXPECT_EQ(shown("idle"), "BestEffort");
  advance(5000);
  std::vector<std::string> published;
  for (const Message& message : transport.sent) {
    if (message.topic == topics.status(Kind::pod, "default/web")) published.push_back(message.payload);
  }
  ASSERT_FALSE(published.empty());
  EXPECT_EQ(published.back().find("qosClass"), std::string::npos) << "it follows from the manifest";
}

TEST_F(GatewayTest, WhoAsksLearnsTheAddressOfThePodsNodeAndTheDevicesThatSubscribeDoNot) {
  start_connected();
  device("n1");
  bind_pod("web", "u1", "n1");
  const std::string epoch = to_text(gateway->bindings().at("u1").row.epoch);
  receive(topics.node_pod("n1", "default/web"),
          R"({"uid":"u1","epoch":")" + epoch +
              R"(","phase":"Running","hostIP":"192.168.0.7","hostIPs":[{"ip":"192.168.0.7"}]})",
          true);
  advance(2000);
  const Json status = *describe_pod("web").find("object")->find("status");
  EXPECT_EQ(status.string_at("hostIP"), "192.168.0.7");
  EXPECT_EQ(status.find("hostIPs")->dump(), R"([{"ip":"192.168.0.7"}])");
  for (const Message& message : transport.sent) {
    if (message.topic != topics.status(Kind::pod, "default/web")) continue;
    EXPECT_EQ(message.payload.find("hostIP"), std::string::npos) << message.payload;
  }
}

TEST_F(GatewayTest, APodsStatusHasTheConditionsOfItsDeviceBehindTheGatewaysOwnAlsoOnceItIsFinished) {
  start_connected();
  device("n1");
  bind_pod("job", "u1", "n1");
  const std::string epoch = to_text(gateway->bindings().at("u1").row.epoch);
  receive(topics.node_pod("n1", "default/job"),
          R"({"uid":"u1","epoch":")" + epoch + R"(","phase":"Failed","conditions":[)" +
              R"({"type":"PodScheduled","status":"False","reason":"Lie"},{"type":"Ready","status":"Perhaps"},)" +
              R"({"type":"Ready","status":"False","reason":"PodFailed","lastTransitionTime":"2026-01-01T00:00:00Z"}]})",
          true);
  const auto conditions = [this] {
    return describe_pod("job").find("object")->find("status")->find("conditions")->dump();
  };
  const std::string wanted =
      R"([{"type":"PodScheduled","status":"True"},)"
      R"({"type":"Ready","status":"False","reason":"PodFailed","lastTransitionTime":"2026-01-01T00:00:00Z"}])";
  EXPECT_EQ(conditions(), wanted);
  answer("n1", AnswerType::released);
  restart();
  EXPECT_EQ(conditions(), wanted);
}

TEST_F(GatewayTest, StatusTellsWhichDamagedStoresStandAside) {
  options.set_aside = {"/s/gateway.db.aside-1", "/s/gateway.db.aside-2"};
  start_connected();
  const Json reply = api(R"({"op":"status"})");
  EXPECT_EQ(*reply.find("ready"), Json(true));
  EXPECT_EQ(*reply.find("setAside"), Json(Json::Array{"/s/gateway.db.aside-1", "/s/gateway.db.aside-2"}));
}

TEST_F(GatewayTest, APodThatFitsNowhereSaysWhy) {
  start_connected();
  device("n1");
  device("n2", "i2", R"({"cpu":"2","memory":"1Gi","pods":"10"})", R"(,"taints":[{"key":"k","effect":"NoSchedule"}])");
  apply(pod("big", "u1", "64Gi"));
  EXPECT_NE(why("big").find("0/2 nodes are available"), std::string::npos) << why("big");
  EXPECT_NE(why("big").find("Insufficient memory"), std::string::npos) << why("big");
}

TEST_F(GatewayTest, ListsArePagedBelowTheMessageLimit) {
  start_connected();
  for (int index = 0; index < 300; ++index) {
    const std::string name = "p" + std::to_string(1000 + index);
    apply(pod(name, name, "64Mi", R"(,"nodeSelector":{"x":"y"})"));
  }
  std::set<std::string> seen;
  std::string from;
  for (int page = 0; page < 100; ++page) {
    const Json reply = api(R"({"op":"get","kind":"pods","continue":")" + from + R"("})");
    EXPECT_LT(reply.dump().size(), 64u * 1024);
    for (const Json& item : reply.find("items")->as_array()) {
      seen.insert(item.find("metadata")->find("name")->as_string());
    }
    if (reply.find("continue") == nullptr) break;
    from = reply.find("continue")->as_string();
  }
  EXPECT_EQ(seen.size(), 300u);
}

TEST_F(GatewayTest, WhatTheDeviceSaysOfAPodIsShown) {
  start_connected();
  device("n1");
  bind_pod("job", "u1", "n1");
  const std::string epoch = to_text(gateway->bindings().at("u1").row.epoch);
  receive(topics.node_pod("n1", "default/job"),
          R"({"uid":"u1","epoch":")" + epoch + R"(","phase":"Failed","reason":"KeeperLost","message":"gone"})", true);
  EXPECT_EQ(why("job"), "gone");
}

TEST_F(GatewayTest, AVolumeNobodyClaimedIsShownAvailable) {
  start_connected();
  device("n1", "i1", R"({"cpu":"2","memory":"1Gi","pods":"10"})",
         R"(,"volumes":[{"name":"data","path":"/srv/data","capacity":"1Gi","storageClass":"local"}])");
  const Json reply = api(R"({"op":"get","kind":"pv","name":"n1-data"})");
  EXPECT_EQ(*reply.find("object")->find("status")->find("phase"), Json("Available"));
}

TEST_F(GatewayTest, ARetainedManifestWithAMisspeltFieldIsTakenAndSaidInItsStatus) {
  start_connected();
  receive(topics.desired(Kind::pod, "default/web"), pod("web", "u1", "64Mi", R"(,"restartPolcy":"Never")"), true);
  receive(topics.desired(Kind::pod, "default/good"), pod("good", "u2"), true);
  receive(topics.desired(Kind::storage_class, "local"),
          R"({"metadata":{"name":"local"},"provisioner":"p","reclaimPolcy":"Retain"})", true);
  const auto unknown = [this](Kind kind, const std::string& key) -> std::string {
    std::string found;
    for (const Message& message : transport.sent) {
      if (message.topic != topics.status(kind, key)) continue;
      found.clear();
      const Json status = *Json::parse(message.payload);
      const Json* conditions = status.find("conditions");
      if (conditions == nullptr) continue;
      for (const Json& condition : conditions->as_array()) {
        if (*condition.find("type") == Json("UnknownFields")) found = condition.find("message")->as_string();
      }
    }
    return found;
  };
  const std::string said = "spec.restartPolcy: unknown field; did you mean restartPolicy?";
  settle();
  EXPECT_EQ(unknown(Kind::pod, "default/web"), said);
  EXPECT_EQ(unknown(Kind::pod, "default/good"), "");
  EXPECT_EQ(unknown(Kind::storage_class, "local"), "reclaimPolcy: unknown field; did you mean reclaimPolicy?");
  transport.sent.clear();
  restart();
  settle();
  EXPECT_EQ(unknown(Kind::pod, "default/web"), said) << "read from the store";
}

TEST_F(GatewayTest, AnObjectIsCreatedOnce) {
  start_connected();
  const std::string request = R"({"op":"apply","create":true,"object":)" + pod("web", "u1") + "}";
  EXPECT_EQ(*api(request).find("result"), Json("created"));
  EXPECT_EQ(*api(request).find("error"), Json("Pod \"default/web\" already exists"));
}

TEST_F(GatewayTest, DeletingALiveNodeSaysWhatToDoInstead) {
  start_connected();
  device("n1");
  const std::string remove = R"({"op":"delete","kind":"node","name":"n1"})";
  const std::string refused = api(remove).find("error")->as_string();
  EXPECT_TRUE(refused.starts_with("Node \"n1\" cannot be deleted: its device is connected")) << refused;
  EXPECT_NE(refused.find("berthctl forget node n1"), std::string::npos) << refused;
  apply(R"({"kind":"Node","metadata":{"name":"n1"},"spec":{"unschedulable":true}})");
  const Json reply = api(remove);
  EXPECT_EQ(*reply.find("result"), Json("deleted"));
  EXPECT_TRUE(reply.find("warnings")->as_array().at(0).as_string().starts_with("only what was applied"));
  EXPECT_TRUE(gateway->nodes().all().contains("n1"));
  EXPECT_EQ(*api(R"({"op":"delete","kind":"node","name":"n2"})").find("error"), Json("Node \"n2\" not found"));
}

}  // namespace
}  // namespace berth
