// What an agent publishes on its own, and its listing of slots.
#include <gtest/gtest.h>

#include "tests/unit/agent/fakes.h"

namespace berth {
namespace {

class AgentReports : public AgentTest {
 protected:
  // A member of the last payload of the topic, as text.
  std::string member(const std::string& topic, const char* key) {
    std::string payload = last_payload(topic);
    if (payload.starts_with("retained ")) payload.erase(0, 9);
    const Result<Json> json = Json::parse(payload);
    const Json* found = json ? json->find(key) : nullptr;
    return found == nullptr ? "none" : found->is_string() ? found->as_string() : found->dump();
  }
};

TEST_F(AgentReports, AtLinkUpItSubscribesAndPublishesItsState) {
  config.labels = {{"zone", "a"}};
  config.taints = {{"gpu", "yes", TaintEffect::no_schedule}};
  boot();
  EXPECT_EQ(transport.subscriptions, (Texts{"berth/v1/f/nodes/n1/requests 1", "berth/v1/f/nodes/n1/pods/# 0"}));
  EXPECT_TRUE(last_payload("nodes/n1/state").starts_with("retained "));
  EXPECT_EQ(member("nodes/n1/state", "incarnation"), agent->state().incarnation);
  EXPECT_EQ(member("nodes/n1/state", "bootId"), "boot-1");
  EXPECT_EQ(member("nodes/n1/state", "sequence"), "1");
  EXPECT_EQ(member("nodes/n1/state", "heartbeatMs"), "5000");
  EXPECT_EQ(member("nodes/n1/state", "protocol"), "1.16");
  EXPECT_EQ(member("nodes/n1/state", "labels"), R"({"zone":"a"})");
  EXPECT_EQ(member("nodes/n1/state", "taints"), R"([{"key":"gpu","value":"yes","effect":"NoSchedule"}])");
  EXPECT_EQ(member("nodes/n1/state", "allocatable"), R"({"cpu":"2","memory":"134217728","pods":"600"})");
  EXPECT_EQ(member("nodes/n1/state", "volumes"),
            R"([{"name":"data","path":"/srv/data","capacity":"1Gi","storageClass":"local"},)"
            R"({"name":"fast","path":"/srv/fast","capacity":"1Gi","storageClass":"local"}])");
  EXPECT_EQ(member("nodes/n1/presence", "online"), "true");
  EXPECT_TRUE(last_payload("nodes/n1/presence").starts_with("retained "));
}

TEST_F(AgentReports, TheStateSaysWhatTheRuntimeCanDoIfThatIsKnown) {
  boot();
  EXPECT_EQ(member("nodes/n1/state", "features"), "none");
  config.features = {"probes", "volumes/emptyDir"};
  restart();
  EXPECT_EQ(member("nodes/n1/state", "features"), R"(["probes","volumes/emptyDir"])");
}

TEST_F(AgentReports, TheStateNamesTheContainerRuntimeIfThereIsOne) {
  boot();
  EXPECT_EQ(member("nodes/n1/state", "nodeInfo"), "none");
  config.container_runtime_version = "crun://1.8.1";
  restart();
  EXPECT_EQ(member("nodes/n1/state", "nodeInfo"), R"({"containerRuntimeVersion":"crun://1.8.1"})");
}

struct MadeImageList final : ImageList {
  std::vector<ContainerImage> images() const override { return listed; }
  void set_on_change(std::function<void()> on_change) override { changed = std::move(on_change); }
  std::vector<ContainerImage> listed;
  std::function<void()> changed;
};

TEST_F(AgentReports, TheStateNamesTheImagesAndIsPublishedAgainOnlyWhenTheyAreOthers) {
  MadeImageList images;
  images.listed = {{{"r.example/a:1"}, 10}};
  config.images = &images;
  boot();
  EXPECT_EQ(member("nodes/n1/state", "images"), R"([{"names":["r.example/a:1"],"sizeBytes":10}])");
  transport.sent.clear();
  images.changed();
  ASSERT_TRUE(agent->finish_turn().is_success());
  EXPECT_EQ(last_payload("nodes/n1/state"), "none");
  images.listed.clear();
  images.changed();
  ASSERT_TRUE(agent->finish_turn().is_success());
  EXPECT_EQ(member("nodes/n1/state", "sequence"), "2");
  EXPECT_EQ(member("nodes/n1/state", "images"), "none");
}

TEST_F(AgentReports, WhatTheNodeIsShortOfIsPublishedWhenItChanges) {
  boot();
  EXPECT_EQ(member("nodes/n1/state", "conditions"), "none");
  agent->set_pressures({{"DiskPressure", 1'700'000'000'000}});
  finish();
  EXPECT_EQ(member("nodes/n1/state", "sequence"), "2");
  EXPECT_EQ(member("nodes/n1/state", "conditions"),
            R"([{"type":"DiskPressure","status":"True","lastTransitionTime":"2023-11-14T22:13:20Z"}])");
  agent->set_pressures({{"DiskPressure", 1'700'000'000'000}});
  finish();
  EXPECT_EQ(member("nodes/n1/state", "sequence"), "2");
  agent->set_pressures({});
  finish();
  EXPECT_EQ(member("nodes/n1/state", "conditions"), "none");
}

TEST_F(AgentReports, TheStateNamesTheMachineWithoutItsId) {
  config.machine_id = "a-secret-id";
  boot();
  const std::string machine = member("nodes/n1/state", "machine");
  EXPECT_EQ(machine.size(), 16u);
  EXPECT_EQ(machine, machine_name("a-secret-id", ""));
  EXPECT_FALSE(last_payload("nodes/n1/state").contains("a-secret-id"));
  EXPECT_EQ(member("nodes/n1/state", "serial"), "none");
  EXPECT_EQ(member("nodes/n1/state", "address"), "10.0.0.7");
}

TEST_F(AgentReports, ASerialNumberDecidesWhichMachineItIs) {
  EXPECT_EQ(machine_name("id", "serial"), machine_name("another id", "serial"));
  EXPECT_NE(machine_name("id", "serial"), machine_name("id", "another serial"));
  EXPECT_NE(machine_name("id", ""), machine_name("another id", ""));
  EXPECT_NE(machine_name("x", ""), machine_name("", "x"));
  EXPECT_EQ(machine_name("", ""), "");
}

TEST_F(AgentReports, AGatewayThatDoesNotSupportThisAgentIsLoggedOnceAndAnswered) {
  boot();
  const auto logged = [this] {
    return std::count(log.events.begin(), log.events.end(),
                      "the gateway does not support this agent's protocol and places nothing here");
  };
  for (const ProtocolVersion version : {ProtocolVersion{1, 0}, {1, 7}, {2, 0}}) {
    Request list = request_of(RequestType::list);
    list.protocol = version;
    deliver(list);
    EXPECT_EQ(logged(), 0) << to_text(version);
  }
  take_answers();
  Request list = request_of(RequestType::list);
  list.protocol = {3, 0};
  deliver(list);
  deliver(list);
  EXPECT_EQ(logged(), 1);
  EXPECT_EQ(take_answers().size(), 2u);
}

TEST_F(AgentReports, RequestsOfAGatewayThatItIsNotEnrolledForAreDroppedAndLogged) {
  boot();
  take_answers();
  const auto logged = [this] {
    return std::count(log.events.begin(), log.events.end(),
                      "requests of another gateway are dropped: this device is enrolled for one");
  };
  Request foreign = request_of(RequestType::pre_bind);
  foreign.gateway = "gw2";
  foreign.gateway_id = {9, "other"};
  for (int times = 0; times < 3; ++times) deliver(foreign);
  EXPECT_EQ(logged(), 3) << "how much of it is written is up to the log";
  EXPECT_TRUE(take_answers().empty());
  EXPECT_EQ(agent->state().gateway.store_id, "") << "it does not obey it either";
  EXPECT_TRUE(agent->state().slots.empty());
}

TEST_F(AgentReports, TheWillHasTheNextSessionAndSessionsIncreaseDurably) {
  start();
  const auto session_of = [](const Message& message) {
    const Json json = *Json::parse(message.payload);
    EXPECT_EQ(json.find("online")->as_bool(), false);
    return json.find("session")->as_string();
  };
  EXPECT_EQ(session_of(agent->will()), "1");
  set_link(true);
  EXPECT_EQ(member("nodes/n1/presence", "session"), "1");
  EXPECT_EQ(session_of(agent->will()), "1");
  set_link(false);
  EXPECT_EQ(session_of(agent->will()), "2");
  set_link(true);
  EXPECT_EQ(member("nodes/n1/presence", "session"), "2");
  crash();
  start();
  EXPECT_EQ(session_of(agent->will()), "3");
  EXPECT_TRUE(agent->will().retain);
}

TEST_F(AgentReports, AGoodbyeIsPresenceOfflineAndStopsHeartbeats) {
  boot();
  agent->say_goodbye();
  finish();
  EXPECT_EQ(member("nodes/n1/presence", "online"), "false");
  transport.sent.clear();
  pass(60'000);
  EXPECT_TRUE(transport.sent.empty());
}

TEST_F(AgentReports, HeartbeatsAreSentWhileTheLinkIsUp) {
  boot();
  EXPECT_EQ(member("nodes/n1/heartbeat", "sequence"), "1");
  pass(4'999);
  EXPECT_EQ(member("nodes/n1/heartbeat", "sequence"), "1");
  pass(1);
  EXPECT_EQ(member("nodes/n1/heartbeat", "sequence"), "2");
  EXPECT_EQ(member("nodes/n1/heartbeat", "incarnation"), agent->state().incarnation);
  set_link(false);
  transport.sent.clear();
  pass(60'000);
  EXPECT_TRUE(transport.sent.empty());
  set_link(true);
  EXPECT_EQ(member("nodes/n1/heartbeat", "sequence"), "3");
}

// Each gateway that hears them answers, and one that is no longer obeyed learns that from what its answer meets.
TEST_F(AgentReports, HeartbeatsAskForAnAnswerFromAnotherGatewayOnUntilThatOneHasAnswered) {
  const std::string topic = "nodes/n1/heartbeat";
  const auto answer = [&](std::uint64_t term, const std::string& store_id, std::uint64_t sequence) {
    Request request(RequestType::heartbeat);
    request.gateway = "gw";
    request.gateway_id = {term, store_id};
    request.sequence = sequence;
    deliver(request);
    pass(5'000);
  };
  boot();
  EXPECT_EQ(member(topic, "answer"), "none");
  deliver(RequestType::list, {}, 0);  // of (2, store)
  pass(5'000);
  EXPECT_EQ(member(topic, "sequence"), "2");
  EXPECT_EQ(member(topic, "answer"), "true");
  answer(2, "store", 1);
  EXPECT_EQ(member(topic, "answer"), "true") << "that heartbeat was sent before";
  answer(1, "before", 3);
  EXPECT_EQ(member(topic, "answer"), "true") << "that gateway is not obeyed";
  answer(2, "store", 99);
  EXPECT_EQ(member(topic, "answer"), "true") << "there was no such heartbeat";
  answer(2, "store", 5);
  EXPECT_EQ(member(topic, "answer"), "none");
  answer(3, "after", 5);
  EXPECT_EQ(member(topic, "answer"), "true");
}

TEST_F(AgentReports, APodsStatusIsRetainedFromAdmissionToTheEnd) {
  const std::string topic = "nodes/n1/pods/default/web-u1";
  boot();
  deliver(RequestType::pre_bind);
  EXPECT_EQ(member(topic, "phase"), "Pending");
  EXPECT_EQ(member(topic, "epoch"), "1.5");
  EXPECT_EQ(member(topic, "uid"), "u1");
  EXPECT_TRUE(last_payload(topic).starts_with("retained "));
  prepared(kTag);
  deliver(RequestType::bind);
  observe(kTag, R"({"phase":"Running","containerStatuses":[{"name":"c","ready":true}]})", false);
  EXPECT_EQ(member(topic, "phase"), "Running");
  EXPECT_EQ(member(topic, "containerStatuses"), R"([{"name":"c","ready":true}])");
  EXPECT_EQ(member(topic, "slot"), "running");
  deliver(RequestType::release);
  stopped(kTag);
  EXPECT_EQ(last_payload(topic), "retained ");
}

TEST_F(AgentReports, AtLinkUpEverySlotIsPublished) {
  const std::string topic = "nodes/n1/pods/default/web-u1";
  boot();
  run_pod();
  observe(kTag, R"({"phase":"Failed"})", true);
  restart();
  EXPECT_EQ(member(topic, "phase"), "Failed");
  EXPECT_EQ(member(topic, "slot"), "finished");
}

TEST_F(AgentReports, AStatusThatTheBrokerRetainsWithoutASlotIsCleared) {
  boot();
  run_pod();
  transport.sent.clear();
  const auto hear = [this](const std::string& pod, const std::string& payload, bool retained) {
    Message message;
    message.topic = "berth/v1/f/nodes/n1/pods/" + pod;
    message.payload = payload;
    message.retain = retained;
    agent->on_message(message);
    finish();
    return last_payload("nodes/n1/pods/" + pod);
  };
  const std::string left = R"({"uid":"u9","epoch":"1.3","phase":"Running"})";
  EXPECT_EQ(hear("default/web-u9", left, true), "retained ");
  EXPECT_EQ(hear("not/a/pod", "?", true), "retained ") << "nor does a slot explain this";
  EXPECT_EQ(hear("default/web-u1", left, true), "none") << "the slot's own status has just been published";
  EXPECT_EQ(hear("default/web-u8", left, false), "none") << "published now, by whoever may";
  EXPECT_EQ(hear("default/web-u7", "", true), "none");
}

TEST_F(AgentReports, AStatusThatEndedWhileTheLinkWasDownIsClearedWhenItIsUp) {
  boot();
  deliver(RequestType::pre_bind);
  set_link(false);
  pass(30'000);
  transport.sent.clear();
  set_link(true);
  EXPECT_EQ(last_payload("nodes/n1/pods/default/web-u1"), "retained ");
}

TEST_F(AgentReports, AReplacementWithTheSameNameKeepsItsStatusWhenTheOlderPodGoes) {
  boot();
  run_pod("u1", 5);
  deliver(RequestType::release);
  Request replacement = request_of(RequestType::pre_bind, "u2", 6);
  replacement.pod = manifest("u1", "1Mi");
  replacement.pod.replace(replacement.pod.find(R"("uid":"u1")"), 10, R"("uid":"u2")");
  deliver(replacement);
  stopped(kTag);
  EXPECT_EQ(member("nodes/n1/pods/default/web-u1", "uid"), "u2");
}

TEST_F(AgentReports, AStatusThatIsNotAnObjectIsNotPassedOn) {
  boot();
  run_pod();
  observe(kTag, "{\"phase\":", false);
  EXPECT_EQ(member("nodes/n1/pods/default/web-u1", "phase"), "Pending");
}

TEST_F(AgentReports, OfAStatusThatIsTooLargeThePhaseIsPassedOnSoThatTheEndOfAPodIsNotLost) {
  boot();
  run_pod();
  observe(kTag, R"({"containerStatuses":")" + std::string(20'000, 'x') + R"(","phase":"Failed"})", true);
  EXPECT_EQ(durable_slot(), "finished");
  EXPECT_EQ(member("nodes/n1/pods/default/web-u1", "phase"), "Failed");
  EXPECT_LT(durable(Table::slot, "u1").size(), 2'000u);
}

class AgentListing : public AgentTest {
 protected:
  void SetUp() override { boot(); }
  void hold(int first, int last, std::size_t bytes) {
    for (int pod = first; pod <= last; ++pod) {
      const std::string uid = "u" + std::to_string(100 + pod);
      Request request = request_of(RequestType::pre_bind, uid, 10 + static_cast<std::uint64_t>(pod));
      request.pod = manifest(uid, "1", R"("image2":")" + std::string(bytes, 'x') + R"(",)");
      deliver(request);
    }
    take_answer_texts();
  }
  Answer page(std::uint32_t index, std::uint64_t list_id = 7) {
    Request list = request_of(RequestType::list);
    list.page = index;
    list.list_id = list_id;
    deliver(list);
    const std::vector<Answer> answers = take_answers();
    EXPECT_EQ(answers.size(), 1u);
    return answers.empty() ? Answer() : answers[0];
  }
  std::set<std::string> all(std::uint64_t list_id = 7) {
    std::set<std::string> uids;
    for (std::uint32_t index = 0; index < page(0, list_id).pages; ++index) {
      for (const SlotReport& slot : page(index, list_id).slots) EXPECT_TRUE(uids.insert(slot.uid).second) << slot.uid;
    }
    return uids;
  }
};

TEST_F(AgentListing, WithoutSlotsIsOneEmptyPage) {
  const Answer answer = page(0, 18446744073709551615u);
  EXPECT_EQ(answer.type, AnswerType::slots);
  EXPECT_EQ(answer.pages, 1u);
  EXPECT_EQ(answer.list_id, 18446744073709551615u);
  EXPECT_TRUE(answer.slots.empty());
}

TEST_F(AgentListing, HasEpochStateAndManifest) {
  run_pod();
  take_answer_texts();
  const Answer answer = page(0);
  ASSERT_EQ(answer.slots.size(), 1u);
  EXPECT_EQ(answer.slots[0].uid, "u1");
  EXPECT_EQ(answer.slots[0].epoch, (Epoch{1, 5}));
  EXPECT_EQ(answer.slots[0].state, SlotState::running);
  EXPECT_EQ(answer.slots[0].pod, manifest("u1"));
}

TEST_F(AgentListing, IsPagedBelow60KiBAndHasEverySlotOnce) {
  hold(1, 9, 20'000);
  hold(10, 10, 55'000);
  hold(11, 40, 200);
  EXPECT_EQ(all().size(), 40u);
  EXPECT_GE(page(0).pages, 5u);
}

TEST_F(AgentListing, MissesNoSlotWhenOthersGoBetweenTwoPages) {
  hold(1, 9, 20'000);
  const std::uint32_t pages = page(0).pages;
  deliver(RequestType::release, "u101", 11);  // without a fixed listing the others would move up
  take_answer_texts();
  std::set<std::string> uids;
  for (std::uint32_t index = 1; index < pages; ++index) {
    const Answer answer = page(index);
    EXPECT_EQ(answer.page, index);
    for (const SlotReport& slot : answer.slots) uids.insert(slot.uid);
  }
  for (int pod = 4; pod <= 9; ++pod) EXPECT_TRUE(uids.contains("u" + std::to_string(100 + pod))) << pod;
}

TEST_F(AgentListing, APageOfAnUnknownListingIsAnsweredByANewFirstPage) {
  hold(1, 9, 20'000);
  page(0);
  restart();
  transport.sent.clear();
  const Answer answer = page(1);
  EXPECT_EQ(answer.page, 0u);
  EXPECT_EQ(answer.list_id, 7u);
}

}  // namespace
}  // namespace berth
