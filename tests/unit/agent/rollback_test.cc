// A store that is an older copy of itself (N8): noticed by the mark beside it, before anything runs.
#include "core/agent/records.h"
#include "tests/unit/agent/fakes.h"

namespace berth {
namespace {

class AgentRollback : public AgentTest {
 protected:
  AgentRollback() { config.marks = &marks; }
  void restart_from(const MemoryStore& copy) {
    agent.reset();
    store = copy;
    transport.up = false;
    transport.sent.clear();
    runtime.calls.clear();
    boot();
  }
  FakeMarks marks;
};

TEST_F(AgentRollback, AnOlderCopyIsSweptBeforeItRunsOrAnswersAnything) {
  boot();
  run_pod("deleted", 5);
  const std::string before = agent->state().incarnation;
  const MemoryStore copy = store;
  deliver(RequestType::release, "deleted", 5);
  stopped({"deleted", {1, 5}});
  restart();
  run_pod("u2", 6);
  log.events.clear();

  restart_from(copy);
  EXPECT_EQ(take_calls(), Texts{"stop u2/1.6 30000"}) << "and the deleted pod is not started";
  EXPECT_EQ(transport.sent.size(), 0u);
  EXPECT_FALSE(agent->is_ready());
  EXPECT_EQ(log.events.front(),
            "this store is an older copy of itself; stopping everything it started, then starting as a new device");
  stopped({"u2", {1, 6}});
  EXPECT_TRUE(agent->is_ready());
  EXPECT_NE(agent->state().incarnation, before);
  EXPECT_EQ(durable_slot("deleted"), "none");
  EXPECT_EQ(durable(Table::meta, "gateway"), "");
  EXPECT_EQ(durable(Table::high, "deleted"), "");
  EXPECT_NE(last_payload("nodes/n1/state").find(R"("storeLost":"StoreRolledBack")"), std::string::npos);

  restart();
  EXPECT_TRUE(agent->is_ready()) << "it is a new one now";
  EXPECT_NE(last_payload("nodes/n1/state").find(R"("storeLost":"StoreRolledBack")"), std::string::npos);
}

TEST_F(AgentRollback, ANewStoreInPlaceOfADamagedOneSaysSoForAsLongAsItsIncarnationLives) {
  ASSERT_TRUE(note_damage(store, config.boot_id).is_success());
  boot();
  EXPECT_NE(last_payload("nodes/n1/state").find(R"("storeLost":"StoreDamaged")"), std::string::npos);
  EXPECT_EQ(durable(Table::meta, "boot").find("lost"), std::string::npos) << "this incarnation itself counts";
  restart();
  EXPECT_TRUE(agent->is_ready());
  EXPECT_NE(last_payload("nodes/n1/state").find(R"("storeLost":"StoreDamaged")"), std::string::npos);
}

TEST_F(AgentRollback, AnAgentThatDiesWhileItSweepsAfterADamagedStoreStillSaysSo) {
  runtime.tags = {kTag};
  ASSERT_TRUE(note_damage(store, config.boot_id).is_success());
  for (int start = 0; start < 3; ++start) {
    restart();
    EXPECT_EQ(take_calls(), Texts{"stop u1/1.5 30000"});
    EXPECT_FALSE(agent->is_ready());
  }
  reboot();
  EXPECT_FALSE(agent->is_ready());
  stopped(kTag);
  EXPECT_TRUE(agent->is_ready());
  EXPECT_NE(last_payload("nodes/n1/state").find(R"("storeLost":"StoreDamaged")"), std::string::npos);
}

TEST_F(AgentRollback, AnAgentThatDiesWhileItSweepsAnOlderCopyStillSaysSo) {
  boot();
  run_pod();
  const MemoryStore copy = store;
  restart();
  restart_from(copy);
  restart();
  stopped(kTag);
  EXPECT_TRUE(agent->is_ready());
  EXPECT_NE(last_payload("nodes/n1/state").find(R"("storeLost":"StoreRolledBack")"), std::string::npos);
}

TEST_F(AgentRollback, AnAgentThatDiesInTheSweepBeginsItAgainHoweverFarItsStoreHasCome) {
  boot();
  run_pod();
  const MemoryStore copy = store;
  restart();
  restart_from(copy);
  for (int start = 0; start < 20; ++start) {
    restart();
    EXPECT_EQ(take_calls(), Texts{"stop u1/1.5 30000"});
    EXPECT_FALSE(agent->is_ready());
  }
}

TEST_F(AgentRollback, ALogThatWasCutShortIsNoticed) {
  boot();
  const MemoryStore copy = store;
  run_pod();
  agent->say_goodbye();
  finish();
  restart_from(copy);
  EXPECT_FALSE(agent->is_ready()) << "the mark of the clean end is ahead";
}

TEST_F(AgentRollback, ACopyOfAnEarlierIncarnationIsNoticed) {
  boot();
  run_pod();
  const MemoryStore copy = store;
  crash();
  store.wipe();
  boot();
  stopped(kTag);
  runtime.tags = {kTag};
  restart_from(copy);
  EXPECT_FALSE(agent->is_ready());
}

TEST_F(AgentRollback, ACrashIsNoRollback) {
  boot();
  run_pod();
  const std::string before = agent->state().incarnation;
  for (int start = 0; start < 40; ++start) restart();  // more than the history keeps
  marks.fails = true;
  restart();
  marks.fails = false;
  reboot();
  EXPECT_TRUE(agent->is_ready());
  EXPECT_EQ(agent->state().incarnation, before);
  EXPECT_EQ(durable_slot(), "running");
}

TEST_F(AgentRollback, AStoreOfAnEarlierVersionIsMarkedFromNowOn) {
  boot();
  const std::string before = agent->state().incarnation;
  crash();
  store.put(Table::meta, "incarnation", encode_text(before));
  store.put(Table::meta, "boot", encode_text("boot-1"));
  ASSERT_TRUE(store.commit().is_success());
  marks.mark.reset();
  boot();
  EXPECT_EQ(agent->state().incarnation, before);
  ASSERT_TRUE(marks.mark);
  EXPECT_EQ(marks.mark->store_id, before);
}

TEST_F(AgentRollback, NoIncarnationBeginsThatTheMarkDoesNotName) {
  marks.fails = true;
  boot();
  EXPECT_FALSE(agent->is_ready());
  deliver(RequestType::list);
  EXPECT_EQ(transport.sent.size(), 0u);
  EXPECT_EQ(durable(Table::meta, "incarnation"), "");
  marks.fails = false;
  pass(10'000);
  EXPECT_TRUE(agent->is_ready());
  EXPECT_EQ(marks.mark->store_id, agent->state().incarnation);
  EXPECT_NE(last_payload("nodes/n1/presence"), "none");
}

TEST_F(AgentRollback, MarksAtEachStartOnceAnHourAndAtACleanEnd) {
  boot();
  restart();
  const int before = marks.writes;
  run_pod();
  set_link(false);
  set_link(true);
  pass(3'599'000);
  EXPECT_EQ(marks.writes, before);
  pass(1'000);
  EXPECT_EQ(marks.writes, before + 1);
  EXPECT_EQ(marks.mark->position, store.next_position());
  set_link(false);
  agent->say_goodbye();
  finish();
  EXPECT_EQ(marks.writes, before + 2);
  restart();
  EXPECT_EQ(marks.writes, before + 3);
}

// Without a mark, or with one that was restored as well: the gateway tells what it has heard.
class AgentRollbackToldByTheGateway : public AgentTest {
 protected:
  // As the gateway has heard last.
  Epoch heard() {
    deliver(RequestType::list);
    return take_answers().back().at;
  }
  // The agent on the copy, connected.
  void restart_on(const MemoryStore& copy) {
    agent.reset();
    store = copy;
    transport.up = false;
    transport.sent.clear();
    runtime.calls.clear();
    boot();
  }
  Request list_with(const Epoch& seen) {
    Request list = request_of(RequestType::list);
    list.incarnation.clear();
    list.seen_incarnation = agent->state().incarnation;
    list.seen = seen;
    return list;
  }
  bool is_lost_after(const Request& list) {
    Message message;
    message.topic = kRequests;
    message.payload = encode(list);
    agent->on_message(message);
    return !agent->finish_turn().is_success();
  }
};

TEST_F(AgentRollbackToldByTheGateway, AnOlderCopyAnswersNothingMoreAndTheNextStartSweeps) {
  boot();
  run_pod("deleted", 5);
  const std::string before = agent->state().incarnation;
  const MemoryStore copy = store;
  restart();
  deliver(RequestType::release, "deleted", 5);
  stopped({"deleted", {1, 5}});
  const Epoch seen = heard();
  restart_on(copy);
  EXPECT_EQ(take_calls(), (Texts{"start deleted/1.5", "go deleted/1.5"})) << "it cannot know";
  transport.sent.clear();
  EXPECT_TRUE(is_lost_after(list_with(seen)));
  EXPECT_TRUE(agent->is_lost());
  EXPECT_FALSE(agent->is_ready());
  EXPECT_EQ(take_answer_texts(), Texts{});
  EXPECT_EQ(durable_incarnation().lost, "StoreRolledBack");
  restart();
  EXPECT_EQ(take_calls(), Texts{"stop deleted/1.5 30000"});
  stopped({"deleted", {1, 5}});
  EXPECT_TRUE(agent->is_ready());
  EXPECT_NE(agent->state().incarnation, before);
  EXPECT_EQ(durable_incarnation().lost, "");
  EXPECT_FALSE(is_lost_after(list_with(heard())));
}

TEST_F(AgentRollbackToldByTheGateway, ACopyOfTheLastRunItselfIsNoticedByItsPosition) {
  boot();
  const MemoryStore copy = store;
  run_pod();
  const Epoch seen = heard();
  runtime.tags.clear();
  restart_on(copy);
  for (int start = 0; start < 5; ++start) restart();  // its own position goes beyond
  EXPECT_TRUE(is_lost_after(list_with(seen)));
}

TEST_F(AgentRollbackToldByTheGateway, ACrashIsNoRollback) {
  boot();
  std::vector<Epoch> said;
  transport.on_send = [&](const Message& message) {
    for (const Result<Answer>& answer : decode_answers(message.payload, "n1")) {
      if (message.topic == kAnswers && answer) said.push_back(answer->at);
    }
    if (message.payload.empty()) return;
    const Json json = *Json::parse(message.payload);
    if (const Json* at = json.find("at"); at != nullptr) said.push_back(*parse_epoch(at->as_string()));
  };
  for (std::uint64_t counter = 5; counter < 50; ++counter) {
    run_pod("u1", counter);
    if (counter % 3 == 0) restart();
    if (counter % 7 == 0) set_link(false), set_link(true);
    deliver(RequestType::release, "u1", counter);
    stopped({"u1", {1, counter}});
  }
  transport.on_send = {};
  ASSERT_GT(said.size(), 100u);
  for (const Epoch& at : said) {
    ASSERT_FALSE(at.is_zero());
    EXPECT_FALSE(is_lost_after(list_with(at))) << to_text(at);
  }
}

TEST_F(AgentRollbackToldByTheGateway, OnlyTheGatewayItObeysCanTellItAndOnlyOfItsOwnIncarnation) {
  boot();
  run_pod();
  const Epoch never{~std::uint64_t{0}, 1};
  Request another = list_with(never);
  another.gateway_id = {1, "lower"};
  EXPECT_FALSE(is_lost_after(another));
  Request earlier = list_with(never);
  earlier.seen_incarnation = "another";
  EXPECT_FALSE(is_lost_after(earlier));
  EXPECT_FALSE(is_lost_after(list_with({0, 7}))) << "before what the history keeps: no proof";
  EXPECT_TRUE(agent->is_ready());
  EXPECT_TRUE(is_lost_after(list_with(never)));
}

}  // namespace
}  // namespace berth
