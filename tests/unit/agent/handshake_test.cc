// The handshake as the agent carries it out: what is durable before each answer, and the calls of the runtime.
#include "tests/unit/agent/handshake_fixture.h"

namespace berth {
namespace {

TEST_F(AgentHandshake, APreBindIsPreparedAndThenAnswered) {
  deliver(RequestType::pre_bind);
  EXPECT_EQ(durable_slot(), "preparing");
  EXPECT_EQ(take_answer_texts(), Texts{});
  EXPECT_EQ(take_calls(), Texts{"prepare u1/1.5"});
  prepared(kTag);
  EXPECT_EQ(durable_slot(), "prepared");
  EXPECT_EQ(take_answer_texts(), Texts{"PreBound u1/1.5"});
}

TEST_F(AgentHandshake, ByTheNameOfItsLastListingItIsAskedAndAnswers) {
  const std::string name = listed_name();
  Request pre_bind = request_of(RequestType::pre_bind);
  pre_bind.via = name;
  deliver(pre_bind);
  prepared(kTag);
  EXPECT_EQ(take_texts_via(name), Texts{R"({"via":"NAME","preBound":"1.5")"});
  Request bind = request_of(RequestType::bind);
  bind.via = name;
  deliver(bind);
  EXPECT_EQ(take_texts_via(name), Texts{R"({"via":"NAME","bound":"1.5")"});
  EXPECT_EQ(durable_slot(), "running");
  deliver(RequestType::bind);  // in full it is answered in full
  EXPECT_EQ(take_answers().at(0).incarnation, agent->state().incarnation);
  EXPECT_EQ(listed_name(), name) << "the same as long as it means the same";
}

TEST_F(AgentHandshake, ANameOfAnotherTimeAsksForNothing) {
  const std::string name = listed_name();
  Request pre_bind = request_of(RequestType::pre_bind);
  pre_bind.via = name;
  restart();
  transport.sent.clear();
  deliver(pre_bind);
  EXPECT_EQ(take_calls(), Texts{});
  EXPECT_EQ(take_answer_texts(), Texts{}) << "the program has forgotten it";
  const std::string next = listed_name();
  EXPECT_NE(next, name);
  deliver(pre_bind);
  EXPECT_EQ(take_calls(), Texts{});
  EXPECT_EQ(take_answer_texts(), Texts{});
  EXPECT_EQ(durable_slot(), "none");
}

TEST_F(AgentHandshake, WhoIsNoLongerObeyedIsToldSoViaItsNameToo) {
  Request pre_bind = request_of(RequestType::pre_bind);
  pre_bind.via = listed_name();
  Request later = request_of(RequestType::bind, "u9", 9);
  later.gateway_id = {3, "other"};
  deliver(later);
  take_answers();
  deliver(pre_bind);
  const std::vector<Answer> answers = take_answers();
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].type, AnswerType::superseded);
  EXPECT_EQ(answers[0].gateway_id, later.gateway_id);
  EXPECT_EQ(durable_slot(), "none");
}

TEST_F(AgentHandshake, ABindViaANameIsOfTheOneSlotThatHasTheEpoch) {
  const std::string name = listed_name();
  Request bind = request_of(RequestType::bind);
  bind.via = name;
  deliver(bind);
  EXPECT_EQ(take_answer_texts(), Texts{}) << "no slot: in full it would be Stale";
  for (const std::string uid : {"u1", "u2"}) {  // two stores have given one epoch
    deliver(RequestType::pre_bind, uid);
    prepared({uid, {1, 5}});
  }
  take_answers();
  deliver(bind);
  EXPECT_EQ(take_answer_texts(), Texts{});
  EXPECT_EQ(durable_slot("u1"), "prepared");
  EXPECT_EQ(durable_slot("u2"), "prepared");
}

TEST_F(AgentHandshake, AListIsHandledItemByItemAndAnsweredInOneMessage) {
  run_pod("u1", 5);
  run_pod("u2", 6);
  transport.packets.clear();
  take_answer_texts();
  Request invalid = request_of(RequestType::bind, "u1", 5);
  invalid.gateway = "not a name";
  deliver_text(encode_all(std::vector<Request>{request_of(RequestType::bind, "u1", 5), invalid,
                                               request_of(RequestType::bind, "u2", 6),
                                               request_of(RequestType::release, "u3", 7)})
                   .front());
  EXPECT_EQ(take_answer_texts(), (Texts{"Bound u1/1.5", "Bound u2/1.6", "Released u3/1.7"}));
  ASSERT_EQ(transport.packets.size(), 1u);
  EXPECT_EQ(transport.packets[0].topic, kAnswers);
}

TEST_F(AgentHandshake, EachAnswerAndEffectFollowsTheCommitItDependsOn) {
  Texts order;
  transport.on_send = [&](const Message& message) {
    if (message.topic == kAnswers) {
      order.push_back(std::string(to_string(decode_answer(message.payload, "n1")->type)) + " on " + durable_slot());
    }
  };
  runtime.on_call = [&](const std::string& call) {
    const bool has_handle = durable(Table::slot, "u1").find("handle") != std::string::npos;
    order.push_back(call.substr(0, call.find(' ')) + " on " + durable_slot() + (has_handle ? " with handle" : ""));
  };
  run_pod();
  deliver(RequestType::release);
  stopped(kTag);
  EXPECT_EQ(order, (Texts{"prepare on none", "PreBound on prepared", "start on prepared", "go on running with handle",
                          "Bound on running", "stop on stopping with handle", "Released on none"}));
}

TEST_F(AgentHandshake, WhatTheGatewayAsksForAgainNeedsNoAcknowledgementOfTheBroker) {
  std::vector<std::pair<std::string, int>> said;
  transport.on_send = [&](const Message& message) {
    if (message.topic != kAnswers) return;
    said.emplace_back(to_string(decode_answer(message.payload, "n1")->type), message.qos);
  };
  run_pod();
  deliver(RequestType::release);
  stopped(kTag);
  deliver(RequestType::list);
  EXPECT_EQ(said,
            (std::vector<std::pair<std::string, int>>{{"PreBound", 0}, {"Bound", 0}, {"Released", 0}, {"Slots", 1}}));
}

TEST_F(AgentHandshake, APreBindThatIsPreparedAtOnceAndABindCostOneCommitEach) {
  runtime.prepares_at_once = Status::ok();
  const std::uint64_t before = store.commits();
  deliver(RequestType::pre_bind);
  EXPECT_EQ(take_answer_texts(), Texts{"PreBound u1/1.5"});
  EXPECT_EQ(durable_slot(), "prepared");
  EXPECT_EQ(store.commits(), before + 1);
  deliver(RequestType::bind);
  EXPECT_EQ(take_answer_texts(), Texts{"Bound u1/1.5"});
  EXPECT_EQ(durable_slot(), "running");
  EXPECT_NE(durable(Table::slot, "u1").find("handle"), std::string::npos);
  EXPECT_EQ(store.commits(), before + 2);
  EXPECT_EQ(take_calls(), (Texts{"prepare u1/1.5", "start u1/1.5", "go u1/1.5"}));
}

TEST_F(AgentHandshake, APreBindThatCannotBePreparedIsRejectedWithOneCommit) {
  runtime.prepares_at_once = Status::error("no space");
  const std::uint64_t before = store.commits();
  deliver(RequestType::pre_bind);
  EXPECT_EQ(take_answer_texts(), Texts{"Rejected u1/1.5"});
  EXPECT_NE(durable(Table::high, "u1"), "");
  EXPECT_EQ(durable_slot(), "none");
  EXPECT_EQ(store.commits(), before + 1);
}

TEST_F(AgentHandshake, AStatusThatChangesTwiceInATurnIsPublishedOnce) {
  runtime.prepares_at_once = Status::ok();
  deliver(RequestType::pre_bind);
  Texts slots;
  for (const Message& message : transport.sent) {
    if (message.topic != "berth/v1/f/nodes/n1/pods/default/web-u1") continue;
    slots.push_back(Json::parse(message.payload).value().string_at("slot"));
  }
  EXPECT_EQ(slots, Texts{"prepared"});
}

TEST_F(AgentHandshake, AStatusFollowsTheAnswersOfItsTurn) {
  runtime.prepares_at_once = Status::ok();
  transport.sent.clear();
  deliver(RequestType::pre_bind);
  ASSERT_EQ(transport.sent.size(), 2u);
  EXPECT_EQ(transport.sent.front().topic, kAnswers);
}

TEST_F(AgentHandshake, AfterBoundTheNextStatusIsTheOneOfTheRuntime) {
  runtime.prepares_at_once = Status::ok();
  deliver(RequestType::pre_bind);
  transport.sent.clear();
  deliver(RequestType::bind);
  ASSERT_EQ(transport.sent.size(), 1u);
  EXPECT_EQ(transport.sent.front().topic, kAnswers);
  runtime.observe(kTag, R"({"phase":"Running"})", false);
  ASSERT_TRUE(agent->finish_turn().is_success());
  ASSERT_EQ(transport.sent.size(), 2u);
  EXPECT_NE(transport.sent.back().payload.find(R"("Running")"), std::string::npos) << transport.sent.back().payload;
}

TEST_F(AgentHandshake, NoStatusFollowsTheEndOfItsSlot) {
  run_pod();
  runtime.on_call = [this](const std::string& call) {
    if (call.starts_with("stop")) runtime.finish_stop(kTag);  // before stop() returns
  };
  transport.sent.clear();
  deliver(RequestType::release);
  EXPECT_EQ(durable_slot(), "none");
  EXPECT_EQ(last_payload("nodes/n1/pods/default/web-u1"), "retained ");
}

TEST_F(AgentHandshake, WhatWasPreparedForALostCommitIsSweptByTheNextStart) {
  runtime.prepares_at_once = Status::ok();
  store.fail_next_commit(MemoryStore::Outcome::lost);
  EXPECT_FALSE(deliver_to_failing_store(RequestType::pre_bind));
  EXPECT_EQ(take_answer_texts(), Texts{});
  restart();
  EXPECT_EQ(durable_slot(), "none");
  EXPECT_EQ(take_calls(), Texts{"stop u1/1.5 30000"});
  deliver(RequestType::pre_bind);
  EXPECT_EQ(take_answer_texts(), Texts{}) << "answered before the sweep is over";
  stopped(kTag);
  deliver(RequestType::pre_bind);
  EXPECT_EQ(take_answer_texts(), Texts{"PreBound u1/1.5"});
}

TEST_F(AgentHandshake, AWorkloadThatIsHeldForALostCommitRunsOnlyAfterTheNextBind) {
  deliver(RequestType::pre_bind);
  prepared(kTag);
  take_answer_texts();
  take_calls();
  store.fail_next_commit(MemoryStore::Outcome::lost);
  EXPECT_FALSE(deliver_to_failing_store(RequestType::bind));
  EXPECT_EQ(take_calls(), Texts{"start u1/1.5"});
  EXPECT_EQ(take_answer_texts(), Texts{});
  restart();
  EXPECT_EQ(durable_slot(), "prepared");
  EXPECT_EQ(take_calls(), Texts{});
  deliver(RequestType::bind);
  EXPECT_EQ(take_calls(), (Texts{"start u1/1.5", "go u1/1.5"}));
  EXPECT_EQ(take_answer_texts(), Texts{"Bound u1/1.5"});
}

TEST_F(AgentHandshake, AWorkloadThatIsHeldForALostCommitIsRemovedWithItsPromise) {
  deliver(RequestType::pre_bind);
  prepared(kTag);
  store.fail_next_commit(MemoryStore::Outcome::lost);
  EXPECT_FALSE(deliver_to_failing_store(RequestType::bind));
  restart();
  pass(30'000);
  EXPECT_EQ(take_calls(), Texts{"undo u1/1.5"});
}

TEST_F(AgentHandshake, NothingIsSentAfterAFailedCommit) {
  store.fail_next_commit(MemoryStore::Outcome::lost);
  EXPECT_FALSE(deliver_to_failing_store(RequestType::release));
  EXPECT_EQ(take_answer_texts(), Texts{});
}

TEST_F(AgentHandshake, DuplicatesChangeNothingAndAreAnsweredAgain) {
  run_pod();
  take_answer_texts();
  take_calls();
  const std::uint64_t commits = store.commits();
  deliver(RequestType::pre_bind);
  deliver(RequestType::bind);
  deliver(RequestType::bind);
  EXPECT_EQ(take_answer_texts(), (Texts{"PreBound u1/1.5", "Bound u1/1.5", "Bound u1/1.5"}));
  EXPECT_EQ(take_calls(), Texts{});
  EXPECT_EQ(store.commits(), commits);
}

TEST_F(AgentHandshake, ADuplicateWhilePreparingIsNotAnsweredAndPreparedOnce) {
  deliver(RequestType::pre_bind);
  deliver(RequestType::pre_bind);
  EXPECT_EQ(take_answer_texts(), Texts{});
  prepared(kTag);
  EXPECT_EQ(take_answer_texts(), Texts{"PreBound u1/1.5"});
  EXPECT_EQ(take_calls(), Texts{"prepare u1/1.5"});
}

TEST_F(AgentHandshake, ReleasedWaitsForTheStopAndIsSentForEachRequestedEpoch) {
  run_pod();
  take_answer_texts();
  take_calls();
  deliver(RequestType::release);
  deliver(RequestType::release);
  deliver(RequestType::release, "u1", 6);
  EXPECT_EQ(take_calls(), Texts{"stop u1/1.5 7000"});
  EXPECT_EQ(take_answer_texts(), Texts{});
  stopped(kTag);
  EXPECT_EQ(take_answer_texts(), (Texts{"Released u1/1.5", "Released u1/1.6"}));
  deliver(RequestType::release);
  EXPECT_EQ(take_answer_texts(), Texts{"Released u1/1.5"});
  deliver(RequestType::bind);
  deliver(RequestType::pre_bind, "u1", 6);
  EXPECT_EQ(take_answer_texts(), (Texts{"Stale u1/1.5", "Stale u1/1.6"}));
}

TEST_F(AgentHandshake, AReleaseOfAPreparedPodUndoesItAtOnce) {
  deliver(RequestType::pre_bind);
  prepared(kTag);
  take_answer_texts();
  take_calls();
  deliver(RequestType::release);
  EXPECT_EQ(take_calls(), Texts{"undo u1/1.5"});
  EXPECT_EQ(take_answer_texts(), Texts{"Released u1/1.5"});
  EXPECT_EQ(durable_slot(), "none");
}

TEST_F(AgentHandshake, RequestsOfOneTurnHaveNoObsoleteEffects) {
  const auto give = [&](RequestType type) {
    Message message;
    message.topic = kRequests;
    message.payload = encode(request_of(type));
    agent->on_message(message);
  };
  give(RequestType::pre_bind);
  give(RequestType::release);
  finish();
  EXPECT_EQ(take_calls(), Texts{"undo u1/1.5"});
  EXPECT_EQ(take_answer_texts(), Texts{"Released u1/1.5"});
  deliver(RequestType::pre_bind, "u1", 8);
  prepared({"u1", {1, 8}});
  take_calls();
  Message bind;
  bind.topic = kRequests;
  bind.payload = encode(request_of(RequestType::bind, "u1", 8));
  agent->on_message(bind);
  bind.payload = encode(request_of(RequestType::release, "u1", 8));
  agent->on_message(bind);
  finish();
  EXPECT_EQ(take_calls(), Texts{"stop u1/1.8 7000"});
}

TEST_F(AgentHandshake, AWorkloadThatCannotStartIsAFinishedFailure) {
  deliver(RequestType::pre_bind);
  prepared(kTag);
  take_answer_texts();
  runtime.start_error = "exec /bin/web: no such file";
  deliver(RequestType::bind);
  EXPECT_EQ(durable_slot(), "finished");
  const std::string status = last_payload("nodes/n1/pods/default/web-u1");
  EXPECT_NE(status.find("\"phase\":\"Failed\""), std::string::npos) << status;
  EXPECT_NE(status.find("exec /bin/web: no such file"), std::string::npos);
  EXPECT_EQ(take_answer_texts(), Texts{"Bound u1/1.5"});
}

TEST_F(AgentHandshake, AFinishedPodKeepsItsSlotUntilReleased) {
  run_pod();
  observe(kTag, R"({"phase":"Succeeded"})", true);
  EXPECT_EQ(durable_slot(), "finished");
  take_answer_texts();
  deliver(RequestType::bind);
  EXPECT_EQ(take_answer_texts(), Texts{"Bound u1/1.5"});
  deliver(RequestType::release);
  stopped(kTag);
  EXPECT_EQ(take_answer_texts(), Texts{"Released u1/1.5"});
  EXPECT_EQ(durable_slot(), "none");
}

TEST_F(AgentHandshake, ThePromiseEndsAtItsLimitDespiteDuplicates) {
  deliver(RequestType::pre_bind);
  prepared(kTag);
  pass(29'000);
  deliver(RequestType::pre_bind);  // does not renew it
  take_answer_texts();
  take_calls();
  EXPECT_EQ(durable_slot(), "prepared");
  pass(1'000);
  EXPECT_EQ(durable_slot(), "none");
  EXPECT_EQ(take_calls(), Texts{"undo u1/1.5"});
  EXPECT_NE(durable(Table::high, "u1"), "");
  deliver(RequestType::bind);
  EXPECT_EQ(take_answer_texts(), Texts{"Stale u1/1.5"});
}

TEST_F(AgentHandshake, ABoundPodOutlivesThePromise) {
  run_pod();
  pass(60'000);
  EXPECT_EQ(durable_slot(), "running");
}

TEST_F(AgentHandshake, ANewEpochReplacesAPreparedOne) {
  deliver(RequestType::pre_bind);
  prepared(kTag);
  take_calls();
  deliver(RequestType::pre_bind, "u1", 6);
  EXPECT_EQ(take_calls(), (Texts{"undo u1/1.5", "prepare u1/1.6"}));
  prepared(kTag);  // a late notification of the old epoch is ignored
  EXPECT_EQ(durable_slot(), "preparing");
}

TEST_F(AgentHandshake, AHigherTermIsObeyedDurablyAndTheOldGatewayIsSuperseded) {
  run_pod();
  Request request = request_of(RequestType::bind);
  request.gateway_id = {3, "new"};
  deliver(request);
  EXPECT_NE(durable(Table::meta, "gateway").find("\"3\""), std::string::npos);
  take_answer_texts();
  deliver(RequestType::release);
  std::vector<Answer> answers = take_answers();
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].type, AnswerType::superseded);
  EXPECT_EQ(answers[0].gateway_id, (GatewayId{3, "new"}));
  restart();
  transport.sent.clear();
  deliver(RequestType::release);
  EXPECT_EQ(take_answer_texts(), Texts{"Superseded u1/1.5"});
  EXPECT_EQ(durable_slot(), "running");
}

TEST_F(AgentHandshake, TheFloorIsDurableAndDropsWhatItCovers) {
  deliver(RequestType::release, "u1", 3);
  deliver(RequestType::release, "u2", 4);
  run_pod("u3", 5);
  take_answer_texts();
  Request list = request_of(RequestType::list);
  list.floor = {1, 6};
  deliver(list);
  EXPECT_EQ(durable(Table::high, "u1"), "");
  EXPECT_EQ(durable(Table::high, "u2"), "");
  EXPECT_NE(durable(Table::high, "u3"), "");
  restart();
  take_answer_texts();
  deliver(RequestType::pre_bind, "u1", 3);
  EXPECT_EQ(take_answer_texts(), Texts{"Stale u1/1.3"});
  deliver(RequestType::release, "u3", 5);
  stopped({"u3", {1, 5}});
  EXPECT_EQ(durable(Table::high, "u3"), "");
}

TEST_F(AgentHandshake, MalformedOrForeignRequestsAreDropped) {
  const std::uint64_t commits = store.commits();
  Request foreign = request_of(RequestType::pre_bind);
  foreign.gateway = "another";
  deliver(foreign);
  for (const char* payload : {"", "{", "[]", R"({"type":"PreBind"})", "\xff\xff"}) deliver_text(payload);
  Message elsewhere;
  elsewhere.topic = "berth/v1/f/nodes/n2/requests";
  elsewhere.payload = encode(request_of(RequestType::pre_bind));
  agent->on_message(elsewhere);
  finish();
  EXPECT_EQ(take_answer_texts(), Texts{});
  EXPECT_EQ(take_calls(), Texts{});
  EXPECT_EQ(store.commits(), commits);
}

TEST_F(AgentHandshake, AnAnswerHasTheUidWhenTwoPodsHaveTheSameEpoch) {
  const auto has_uid = [this](const std::string& uid) {
    const std::string answer = last_payload("gateways/gw/answers/n1");
    return answer.find("\"uid\":\"" + uid + "\"") != std::string::npos;
  };
  deliver(RequestType::pre_bind, "u1", 5);
  prepared({"u1", {1, 5}});
  EXPECT_FALSE(has_uid("u1")) << "the epoch identifies the pod";
  deliver(RequestType::pre_bind, "u2", 5);
  prepared({"u2", {1, 5}});
  EXPECT_TRUE(has_uid("u2"));
}

}  // namespace
}  // namespace berth
