// What the agent refuses in the handshake: what it cannot prepare, and what does not fit.
#include "tests/unit/agent/handshake_fixture.h"

namespace berth {
namespace {

TEST_F(AgentHandshake, AFailedPreparationIsRejectedForGood) {
  deliver(RequestType::pre_bind);
  take_calls();
  prepared(kTag, Status::error("/srv/data: no space"));
  const std::vector<Answer> answers = take_answers();
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].type, AnswerType::rejected);
  EXPECT_EQ(answers[0].reason, "cannot prepare: /srv/data: no space");
  EXPECT_EQ(take_calls(), Texts{"undo u1/1.5"});
  EXPECT_EQ(durable_slot(), "none");
  deliver(RequestType::pre_bind);
  EXPECT_EQ(take_answer_texts(), Texts{"Stale u1/1.5"});
}

TEST_F(AgentHandshake, ARefusalThatLastsHasTheIdOfTheStateAndTheStateAnotherOneOnceItDoesNot) {
  const auto refusals = [this] {
    return Json::parse(last_payload("nodes/n1/state").substr(9)).value().string_at("refusals");
  };
  restart();
  const std::string id = refusals();
  const std::string pod = manifest("u1");
  runtime.refuses[pod] = Status::error("/srv/data: no directory");
  deliver(RequestType::pre_bind);
  prepared(kTag, runtime.refuses[pod]);
  const std::vector<Answer> answers = take_answers();
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].refusals, id);
  const std::uint64_t commits = store.commits();
  pass(RefusedPods::kLookEveryMs);
  EXPECT_EQ(last_payload("nodes/n1/state"), "none");
  runtime.refuses.clear();
  runtime.refuses[pod] = Status::ok();
  pass(RefusedPods::kLookEveryMs);
  EXPECT_NE(refusals(), id);
  EXPECT_NE(refusals(), "");
  EXPECT_EQ(store.commits(), commits) << "looking and telling writes nothing";
}

TEST_F(AgentHandshake, ARefusalForWhatMayEndHereDoesNotLast) {
  run_pod("u1", 5);
  Request second = request_of(RequestType::pre_bind, "u2", 6);
  second.pod = manifest("u2", "128Mi");
  take_answers();
  deliver(second);
  const std::vector<Answer> answers = take_answers();
  ASSERT_EQ(answers.size(), 1u);
  ASSERT_EQ(answers[0].type, AnswerType::rejected);
  EXPECT_EQ(answers[0].refusals, "");
}

TEST_F(AgentHandshake, ARefusalOfAVolumeThatTheDeviceDoesNotOfferLasts) {
  Request request = request_of(RequestType::pre_bind);
  request.volumes = {{"default/d", "pv", "/srv/elsewhere"}};
  deliver(request);
  const std::vector<Answer> answers = take_answers();
  ASSERT_EQ(answers.size(), 1u);
  ASSERT_EQ(answers[0].type, AnswerType::rejected);
  EXPECT_NE(answers[0].refusals, "");
}

TEST_F(AgentHandshake, ARejectionNamesWhatIsInsufficient) {
  run_pod("u1", 5);
  Request second = request_of(RequestType::pre_bind, "u2", 6);
  second.pod = manifest("u2", "100Mi");
  take_answer_texts();
  deliver(second);
  std::vector<Answer> answers = take_answers();
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].type, AnswerType::rejected);
  EXPECT_EQ(answers[0].reason, "insufficient memory: 100Mi asked, 64Mi free");
  EXPECT_NE(durable(Table::high, "u2"), "");
}

TEST_F(AgentHandshake, AFinishedPodsResourcesAreFree) {
  run_pod("u1", 5);
  observe(kTag, R"({"phase":"Succeeded"})", true);
  Request second = request_of(RequestType::pre_bind, "u2", 6);
  second.pod = manifest("u2", "128Mi");
  take_answer_texts();
  deliver(RequestType::release);  // stopping, but it had finished: S8
  deliver(second);
  EXPECT_EQ(take_answer_texts(), Texts{});
  EXPECT_EQ(durable_slot("u2"), "preparing");
}

TEST_F(AgentHandshake, AStoppingPodsResourcesAreNotFree) {
  run_pod("u1", 5);
  deliver(RequestType::release);
  Request second = request_of(RequestType::pre_bind, "u2", 6);
  second.pod = manifest("u2", "128Mi");
  take_answer_texts();
  deliver(second);
  EXPECT_EQ(take_answer_texts(), Texts{"Rejected u2/1.6"});
}

TEST_F(AgentHandshake, AHostPortIsGivenToOnePodOnly) {
  Request first = request_of(RequestType::pre_bind, "u1", 5);
  first.pod = manifest("u1", "1", R"("ports":[{"containerPort":80}],)");
  first.pod.insert(first.pod.find("\"terminationGrace"), R"("hostNetwork":true,)");
  deliver(first);
  Request second = request_of(RequestType::pre_bind, "u2", 6);
  second.pod = manifest("u2", "1");
  second.pod.insert(second.pod.find("\"terminationGrace"),
                    R"("initContainers":[{"name":"s","image":"i","restartPolicy":"Always",
                        "ports":[{"containerPort":8080,"hostPort":80}]}],)");
  deliver(second);
  const std::vector<Answer> answers = take_answers();
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].type, AnswerType::rejected);
  EXPECT_EQ(answers[0].reason, "host port TCP/80 is taken");
}

TEST_F(AgentHandshake, AnInvalidPodIsRejectedWithTheField) {
  Request request = request_of(RequestType::pre_bind);
  request.pod = R"({"metadata":{"name":"web","namespace":"default"},"spec":{"containers":3}})";
  deliver(request);
  const std::vector<Answer> answers = take_answers();
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].type, AnswerType::rejected);
  EXPECT_NE(answers[0].reason.find("spec.containers"), std::string::npos) << answers[0].reason;
}

TEST_F(AgentHandshake, SlotsAreBounded) {
  for (std::size_t pod = 0; pod < Agent::kMaxSlots; ++pod) {
    Request request = request_of(RequestType::pre_bind, "u" + std::to_string(pod), 10 + pod);
    request.pod = manifest(request.uid, "1");
    deliver(request);
  }
  ASSERT_EQ(agent->state().slots.size(), Agent::kMaxSlots);
  take_answer_texts();
  deliver(RequestType::pre_bind, "one-more", 9999);
  const std::vector<Answer> answers = take_answers();
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].reason, "too many pods: this agent holds at most 512");
}

}  // namespace
}  // namespace berth
