// The row's road, message by message (core/handshake/rules.md P1-P7).
#include "tests/unit/gateway/gateway_fixture.h"

namespace berth {
namespace {

TEST_F(GatewayTest, APodWalksFromAppliedToBound) {
  start_connected();
  device("n1");
  EXPECT_EQ(*apply(pod("web", "u1")).find("result"), Json("created"));
  ASSERT_EQ(phase("u1"), Phase::prebind);
  const Request pre_bind = *request("n1");
  EXPECT_EQ(pre_bind.type, RequestType::pre_bind);
  EXPECT_EQ(pre_bind.incarnation, "i1");
  answer("n1", AnswerType::pre_bound);
  EXPECT_EQ(phase("u1"), Phase::bind);
  EXPECT_EQ(request("n1")->type, RequestType::bind);
  answer("n1", AnswerType::bound);
  EXPECT_EQ(phase("u1"), Phase::bound);
  EXPECT_EQ(gateway->scheduler().cache().node_of("u1"), "n1");
  EXPECT_FALSE(gateway->scheduler().cache().is_assumed("u1"));
}

TEST_F(GatewayTest, NothingIsSentBeforeItsRowIsDurable) {
  start_connected();
  device("n1");
  transport.sent.clear();
  store.fail_next_commit(MemoryStore::Outcome::lost);
  Message message;
  message.topic = topics.gateway_api("gateway");
  message.payload = R"({"op":"apply","object":)" + pod("web", "u1") + "}";
  message.response_topic = "berth/v1/default/clients/op/answers";
  gateway->on_message(message);
  EXPECT_FALSE(gateway->finish_turn().is_success());
  EXPECT_TRUE(transport.sent.empty());
}

TEST_F(GatewayTest, ARestartResumesTheRowAtItsPhase) {
  start_connected();
  device("n1");
  apply(pod("web", "u1"));
  const Epoch epoch = request("n1")->epoch;
  restart();
  EXPECT_EQ(phase("u1"), Phase::prebind);
  EXPECT_EQ(request("n1")->type, RequestType::pre_bind);
  EXPECT_EQ(request("n1")->epoch, epoch);
  EXPECT_TRUE(gateway->scheduler().cache().is_assumed("u1"));
  answer("n1", AnswerType::pre_bound);
  restart();
  EXPECT_EQ(phase("u1"), Phase::bind);
  EXPECT_EQ(request("n1")->type, RequestType::bind);
  EXPECT_EQ(request("n1")->epoch, epoch);
  answer("n1", AnswerType::bound);
  transport.sent.clear();
  restart();
  EXPECT_EQ(phase("u1"), Phase::bound);
  EXPECT_FALSE(request("n1").has_value()) << "a bound row asks nothing";
  api(R"({"op":"delete","kind":"pod","namespace":"default","name":"web"})");
  restart();
  EXPECT_EQ(phase("u1"), Phase::release);
  EXPECT_EQ(request("n1")->type, RequestType::release);
  answer("n1", AnswerType::released);
  EXPECT_EQ(phase("u1"), Phase::none);
  EXPECT_TRUE(gateway->objects().pods().all().empty());
}

// Bound ones are taken up in the order of their pods, the others in that of their uids.
TEST_F(GatewayTest, ARestartFindsEachRowWithItsOwnPodAndNode) {
  start_connected();
  const std::vector<std::pair<std::string, std::string>> pods{{"a", "u9"}, {"b", "u3"}, {"c", "u5"}, {"d", "u1"}};
  for (const auto& [name, uid] : pods) {
    device("n-" + name);
    apply(pod(name, uid, "64Mi", R"(,"nodeSelector":{"kubernetes.io/hostname":"n-)" + name + R"("})"));
    if (name == "c") continue;
    answer("n-" + name, AnswerType::pre_bound);
    answer("n-" + name, AnswerType::bound);
  }
  apply(pod("waits", "u4", "2Gi"));
  restart();
  EXPECT_EQ(gateway->bindings().size(), pods.size());
  for (const auto& [name, uid] : pods) {
    const Binding& binding = gateway->bindings().at(uid);
    EXPECT_EQ(binding.row.uid, uid);
    EXPECT_EQ(binding.row.pod, "default/" + name);
    EXPECT_EQ(binding.row.phase, name == "c" ? Phase::prebind : Phase::bound);
    EXPECT_EQ(binding.pod, gateway->objects().pods().find("default/" + name)->pod);
    EXPECT_EQ(gateway->scheduler().cache().node_of(uid), "n-" + name);
    EXPECT_EQ(gateway->scheduler().cache().is_assumed(uid), name == "c");
    EXPECT_EQ(gateway->scheduler().cache().find("n-" + name)->requested.memory, 64 << 20);
  }
  EXPECT_EQ(gateway->scheduler().queue().uids(), std::vector<std::string>{"u4"});
}

TEST_F(GatewayTest, ABoundRowHearsItsDeviceAfterARestart) {
  start_connected();
  device("n1");
  bind_pod("web", "u1", "n1");
  const Request bind = *request("n1");
  restart();
  device("n1");
  EXPECT_EQ(gateway->bindings().at("u1").progress().framework, nullptr) << "it is over";
  answer("n1", answer_to(bind, AnswerType::released));
  EXPECT_NE(phase("u1"), Phase::bound);
  ASSERT_EQ(request("n1")->type, RequestType::pre_bind) << "placed again";
  EXPECT_GT(request("n1")->epoch, bind.epoch);
}

TEST_F(GatewayTest, ARejectedPodIsUndoneAndTriedAgainLater) {
  start_connected();
  device("n1");
  apply(pod("web", "u1"));
  const Epoch first = request("n1")->epoch;
  answer("n1", AnswerType::rejected);
  EXPECT_EQ(phase("u1"), Phase::none);
  EXPECT_EQ(gateway->scheduler().cache().pod_count(), 0u);
  EXPECT_NE(why("web").find("insufficient memory"), std::string::npos);
  advance(options.refusal_ms + 2000);
  EXPECT_EQ(phase("u1"), Phase::prebind);
  EXPECT_GT(request("n1")->epoch, first);
}

TEST_F(GatewayTest, ADuplicateOrForeignAnswerChangesNothing) {
  start_connected();
  device("n1");
  device("n2", "i2", R"({"cpu":"1","memory":"1Mi","pods":"10"})");
  apply(pod("web", "u1"));
  const Request pre_bind = *request("n1");
  answer("n2", answer_to(pre_bind, AnswerType::pre_bound, "i2"));  // S12
  EXPECT_EQ(phase("u1"), Phase::prebind);
  answer("n1", answer_to(pre_bind, AnswerType::bound));  // Bound counts only in bind
  EXPECT_EQ(phase("u1"), Phase::prebind);
  Answer old = answer_to(pre_bind, AnswerType::rejected);
  old.epoch.counter -= 1;
  answer("n1", old);
  EXPECT_EQ(phase("u1"), Phase::prebind);
  Answer stranger = answer_to(pre_bind, AnswerType::rejected);
  stranger.gateway_id.store_id = "another";
  answer("n1", stranger);
  EXPECT_EQ(phase("u1"), Phase::prebind);
}

TEST_F(GatewayTest, AnUnansweredPreBindIsGivenUpAndStillChargesTheNode) {
  start_connected();
  device("n1", "i1", R"({"cpu":"2","memory":"100Mi","pods":"10"})");
  apply(pod("web", "u1"));
  const Request pre_bind = *request("n1");
  receive(topics.node_heartbeat("n1"), R"({"incarnation":"i1","sequence":"1"})");
  for (int beat = 0; beat < 13; ++beat) {
    advance(5000);
    receive(topics.node_heartbeat("n1"), R"({"incarnation":"i1","sequence":"1"})");
  }
  ASSERT_EQ(gateway->releases().size(), 1u);
  EXPECT_EQ(phase("u1"), Phase::none) << "64Mi are still charged of 100Mi, so the pod fits nowhere";
  EXPECT_EQ(request("n1")->type, RequestType::release);
  EXPECT_EQ(request("n1")->epoch, pre_bind.epoch);
  restart();
  ASSERT_EQ(gateway->releases().size(), 1u) << "time and restarts end no entry";
  answer("n1", answer_to(pre_bind, AnswerType::pre_bound));
  EXPECT_EQ(gateway->releases().size(), 1u);
  answer("n1", answer_to(pre_bind, AnswerType::released));
  EXPECT_TRUE(gateway->releases().empty());
  advance(15000);
  EXPECT_EQ(phase("u1"), Phase::prebind);
}

TEST_F(GatewayTest, PreBoundAfterThePromiseLimitDoesNotEnterBind) {
  options.promise_ms = 2000;
  options.resend_ms = 60'000;
  options.resend_ms_max = 60'000;
  start_connected();
  device("n1");
  apply(pod("web", "u1"));
  const Request pre_bind = *request("n1");
  clock.now_ms += 2000;  // the timer has not run yet: the answer comes first
  answer("n1", answer_to(pre_bind, AnswerType::pre_bound));
  EXPECT_NE(phase("u1"), Phase::bind);
  EXPECT_EQ(gateway->releases().size(), 1u);
}

TEST_F(GatewayTest, DeleteInPrebindGoesThroughTheReleaseList) {
  start_connected();
  device("n1");
  apply(pod("web", "u1"));
  EXPECT_EQ(*api(R"({"op":"delete","kind":"pod","namespace":"default","name":"web"})").find("result"), Json("deleted"));
  EXPECT_EQ(gateway->releases().size(), 1u);
  answer("n1", AnswerType::released);
  EXPECT_TRUE(gateway->releases().empty());
}

TEST_F(GatewayTest, DeleteInBindAndBoundWaitsForReleased) {
  start_connected();
  device("n1");
  apply(pod("web", "u1"));
  answer("n1", AnswerType::pre_bound);
  EXPECT_EQ(*api(R"({"op":"delete","kind":"pod","namespace":"default","name":"web"})").find("result"),
            Json("deleting"));
  EXPECT_EQ(phase("u1"), Phase::release);
  const Request release = *request("n1");
  answer("n1", answer_to(release, AnswerType::bound));  // late
  EXPECT_EQ(phase("u1"), Phase::release);
  EXPECT_EQ(gateway->scheduler().cache().node_of("u1"), "n1") << "free only after proof";
  answer("n1", answer_to(release, AnswerType::released));
  EXPECT_TRUE(gateway->objects().pods().all().empty());
  EXPECT_EQ(gateway->scheduler().cache().pod_count(), 0u);
}

TEST_F(GatewayTest, AFinishedPodFreesItsResourcesKeepsItsStatusAndIsReleased) {
  start_connected();
  device("n1");
  bind_pod("job", "u1", "n1");
  const std::string epoch = to_text(gateway->bindings().at("u1").row.epoch);
  receive(topics.node_pod("n1", "default/job"), R"({"uid":"u1","epoch":")" + epoch + R"(","phase":"Succeeded"})", true);
  EXPECT_EQ(phase("u1"), Phase::release);
  EXPECT_EQ(gateway->scheduler().cache().pod_count(), 0u);
  answer("n1", AnswerType::released);
  EXPECT_EQ(phase("u1"), Phase::none);
  restart();
  const Json reply = describe_pod("job");
  EXPECT_EQ(*reply.find("object")->find("status")->find("phase"), Json("Succeeded"));
  EXPECT_EQ(phase("u1"), Phase::none) << "never scheduled again";
}

TEST_F(GatewayTest, AWipedDeviceGivesThePodBackOnlyOnTheExactEcho) {
  start_connected();
  device("n1");
  bind_pod("web", "u1", "n1");
  device("n1", "i9");
  EXPECT_EQ(phase("u1"), Phase::bound) << "presence alone changes no row";
  EXPECT_EQ(request("n1")->type, RequestType::bind) << "it triggers a resend";
  EXPECT_EQ(request("n1")->incarnation, "i1");
  answer("n1", AnswerType::hello, "i9");
  ASSERT_EQ(phase("u1"), Phase::prebind) << "placed again";
  EXPECT_EQ(request("n1")->incarnation, "i9");
}

TEST_F(GatewayTest, ANameTakenAgainWaitsForItsPredecessor) {
  start_connected();
  device("n1");
  bind_pod("web", "u1", "n1");
  EXPECT_EQ(*apply(pod("web", "u2")).find("result"), Json("waiting"));
  EXPECT_EQ(phase("u1"), Phase::release);
  EXPECT_EQ(phase("u2"), Phase::none);
  restart();
  answer("n1", AnswerType::released);
  EXPECT_EQ(phase("u2"), Phase::prebind);
}

TEST_F(GatewayTest, ThePopPausesAboveTheRowsInFlight) {
  options.max_rows_in_flight = 2;
  start_connected();
  device("n1");
  for (const char* uid : {"a", "b", "c"}) apply(pod(uid, uid));
  EXPECT_EQ(gateway->bindings().size(), 2u);
  answer("n1", AnswerType::rejected);
  EXPECT_EQ(gateway->bindings().size(), 2u) << "the third took the free place";
}

}  // namespace
}  // namespace berth
