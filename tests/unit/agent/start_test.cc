// Starts: the first boot of a store, sweeps, and what happens to slots when the agent or the device restarts.
#include <gtest/gtest.h>

#include <map>

#include "core/agent/records.h"
#include "tests/unit/agent/fakes.h"

namespace berth {
namespace {

class AgentStart : public AgentTest {};

TEST_F(AgentStart, TheFirstBootStopsEverythingBeforeAnyAnswer) {
  runtime.tags = {{"u1", {1, 5}}, {"u2", {1, 6}}};
  boot();
  EXPECT_EQ(take_calls(), (Texts{"stop u1/1.5 30000", "stop u2/1.6 30000"}));
  EXPECT_EQ(transport.sent.size(), 0u);
  EXPECT_EQ(transport.subscriptions, Texts{});
  EXPECT_FALSE(agent->is_ready());
  Request list = request_of(RequestType::list);
  deliver(list);
  stopped({"u1", {1, 5}});
  deliver(list);
  EXPECT_EQ(take_answer_texts(), Texts{});
  EXPECT_EQ(durable(Table::meta, "incarnation"), "");
  stopped({"u2", {1, 6}});
  EXPECT_TRUE(agent->is_ready());
  EXPECT_NE(durable(Table::meta, "incarnation"), "");
  EXPECT_EQ(transport.subscriptions, (Texts{"berth/v1/f/nodes/n1/requests 1", "berth/v1/f/nodes/n1/pods/# 0"}));
  deliver(list);
  EXPECT_EQ(take_answer_texts().size(), 1u);
}

TEST_F(AgentStart, NothingIsSaidUnderNoIncarnation) {
  runtime.tags = {{"u1", {1, 5}}};
  boot();
  agent->say_goodbye();
  finish();
  EXPECT_EQ(transport.sent.size(), 0u);
  stopped({"u1", {1, 5}});
  const std::string incarnation = agent->state().incarnation;
  EXPECT_NE(incarnation, "");
  EXPECT_NE(agent->will().payload.find(incarnation), std::string::npos);
}

TEST_F(AgentStart, DoesNotStartWhenItCannotBeToldWhatRuns) {
  for (const bool has_store : {false, true}) {
    if (has_store) boot(), run_pod();
    crash();
    const auto before = store.durable().size();
    runtime.list_error = "cannot read /proc: Too many open files";
    Agent blind(config, clock, transport, store, runtime, timers, log, 1);
    EXPECT_EQ(blind.start().message(), runtime.list_error);
    runtime.list_error.clear();
    EXPECT_EQ(take_calls(), Texts{});
    store.crash();
    EXPECT_EQ(store.durable().size(), before) << "no incarnation, no session";
  }
}

TEST_F(AgentStart, AWorkloadThatCannotBeLookedForStaysRunning) {
  boot();
  runtime.start_handle = "";
  run_pod();
  EXPECT_EQ(durable_slot(), "running");
  EXPECT_EQ(take_calls(), (Texts{"prepare u1/1.5", "start u1/1.5", "go u1/1.5"}));
  EXPECT_EQ(take_answer_texts(), (Texts{"PreBound u1/1.5", "Bound u1/1.5"}));
}

TEST_F(AgentStart, AnInterruptedFirstBootStartsAgain) {
  runtime.tags = {{"u1", {1, 5}}, {"u2", {1, 6}}};
  boot();
  stopped({"u1", {1, 5}});
  restart();
  EXPECT_EQ(take_calls(), Texts{"stop u2/1.6 30000"});
  EXPECT_FALSE(agent->is_ready());
}

TEST_F(AgentStart, TheIncarnationStaysUntilTheStoreIsLost) {
  boot();
  const std::string first = agent->state().incarnation;
  EXPECT_EQ(first.size(), 32u);
  restart();
  EXPECT_EQ(agent->state().incarnation, first);
  crash();
  store.wipe();
  boot();
  EXPECT_NE(agent->state().incarnation, first);
}

TEST_F(AgentStart, ClonedMachinesDifferByTheirMachineId) {
  boot();
  const std::string first = agent->state().incarnation;
  crash();
  store.wipe();
  config.machine_id = "clone";
  seed = 0;
  boot();
  EXPECT_NE(agent->state().incarnation, first);
}

TEST_F(AgentStart, WorkloadsWithoutASlotAreStoppedAndTheOthersResume) {
  boot();
  run_pod("u1", 5);
  crash();
  runtime.tags.insert({"u1", {1, 4}});
  runtime.tags.insert({"u9", {1, 2}});
  boot();
  EXPECT_EQ(take_calls(), (Texts{"stop u1/1.4 30000", "stop u9/1.2 30000"}));
  stopped({"u9", {1, 2}});
  EXPECT_EQ(take_calls(), Texts{});  // the same pod must not run twice
  stopped({"u1", {1, 4}});
  EXPECT_EQ(take_calls(), (Texts{"start u1/1.5", "go u1/1.5"}));
  EXPECT_TRUE(agent->is_ready());
}

TEST_F(AgentStart, ARunningPodIsTakenOver) {
  boot();
  run_pod();
  const std::string before = durable(Table::slot, "u1");
  restart();
  EXPECT_EQ(take_calls(), (Texts{"start u1/1.5", "go u1/1.5"}));
  EXPECT_EQ(durable(Table::slot, "u1"), before);
  transport.sent.clear();
  deliver(RequestType::bind);
  EXPECT_EQ(take_answer_texts(), Texts{"Bound u1/1.5"});
}

TEST_F(AgentStart, ARunningPodIsStartedAgainAfterAReboot) {
  boot();
  run_pod();
  reboot();
  EXPECT_EQ(take_calls(), (Texts{"start u1/1.5", "go u1/1.5"}));
}

TEST_F(AgentStart, AfterARebootPodsOfTheHighestPriorityStartFirst) {
  boot();
  for (const auto& [uid, priority] : std::map<std::string, int>{{"u1", -10}, {"u2", 0}, {"u3", 2000}, {"u4", 0}}) {
    Request request = request_of(RequestType::pre_bind, uid, static_cast<std::uint64_t>(uid.back()));
    Json pod = Json::parse(manifest(uid, "1Mi")).value();
    pod.find("spec")->set("priority", priority);
    request.pod = pod.dump();
    deliver(request);
    prepared({uid, request.epoch});
    deliver(RequestType::bind, uid, request.epoch.counter);
  }
  reboot();
  Texts starts;
  for (const std::string& call : take_calls()) {
    if (call.starts_with("start ")) starts.push_back(call.substr(6, 2));
  }
  EXPECT_EQ(starts, (Texts{"u3", "u2", "u4", "u1"}));
}

TEST_F(AgentStart, AStopResumesAfterARestartAndAReboot) {
  boot();
  run_pod();
  deliver(RequestType::release);
  restart();
  EXPECT_EQ(take_calls(), Texts{"stop u1/1.5 7000"});
  reboot();
  EXPECT_EQ(take_calls(), Texts{"stop u1/1.5 7000"});
  transport.sent.clear();
  deliver(RequestType::release);
  EXPECT_EQ(take_answer_texts(), Texts{});
  stopped(kTag);
  EXPECT_EQ(take_answer_texts(), Texts{"Released u1/1.5"});
}

TEST_F(AgentStart, ARebootEndsPromises) {
  boot();
  deliver(RequestType::pre_bind, "u1", 5);
  deliver(RequestType::pre_bind, "u2", 6);
  prepared({"u2", {1, 6}});
  reboot();
  EXPECT_EQ(take_calls(), (Texts{"undo u1/1.5", "undo u2/1.6"}));
  EXPECT_EQ(durable_slot("u1"), "none");
  EXPECT_EQ(durable_slot("u2"), "none");
  transport.sent.clear();
  deliver(RequestType::pre_bind, "u1", 5);
  deliver(RequestType::bind, "u2", 6);
  EXPECT_EQ(take_answer_texts(), (Texts{"Stale u1/1.5", "Stale u2/1.6"}));
}

TEST_F(AgentStart, ARestartKeepsThePromiseButDoesNotExtendIt) {
  boot();
  deliver(RequestType::pre_bind);
  prepared(kTag);
  pass(20'000);
  restart();
  EXPECT_EQ(durable_slot(), "prepared");
  pass(9'000);
  EXPECT_EQ(durable_slot(), "prepared");
  pass(1'000);
  EXPECT_EQ(durable_slot(), "none");
}

TEST_F(AgentStart, AClockThatWentBackDoesNotExtendThePromiseBeyondItsLength) {
  boot();
  pass(1'000'000);
  deliver(RequestType::pre_bind);
  crash();
  clock.now_ms = 0;
  boot();
  pass(29'999);
  EXPECT_EQ(durable_slot(), "preparing");
  pass(1);
  EXPECT_EQ(durable_slot(), "none");
}

TEST_F(AgentStart, APreparationIsStartedAgainAfterARestart) {
  boot();
  deliver(RequestType::pre_bind);
  restart();
  EXPECT_EQ(take_calls(), Texts{"prepare u1/1.5"});
  prepared(kTag);
  transport.sent.clear();
  deliver(RequestType::pre_bind);
  EXPECT_EQ(take_answer_texts(), Texts{"PreBound u1/1.5"});
}

TEST_F(AgentStart, HeldResourcesAreCountedAfterARestart) {
  boot();
  run_pod();
  restart();
  Request second = request_of(RequestType::pre_bind, "u2", 6);
  second.pod = manifest("u2", "100Mi");
  take_answer_texts();
  deliver(second);
  EXPECT_EQ(take_answer_texts(), Texts{"Rejected u2/1.6"});
}

TEST_F(AgentStart, AnUnreadableRecordIsAnErrorThatNamesIt) {
  store.put(Table::meta, "incarnation", R"({"value":"i"})");
  store.put(Table::slot, "u1", R"({"epoch":"five"})");
  ASSERT_TRUE(store.commit().is_success());
  Agent broken(config, clock, transport, store, runtime, timers, log, 1);
  EXPECT_EQ(broken.start().message(), "slot u1: epoch: \"five\" is not an epoch; write \"<term>.<counter>\"");
}

// N7: the store is a copy, the node was renamed, or it was moved to another fleet.
class AgentOfAnotherDevice : public AgentTest {
 protected:
  void expect_sweep_and_new_incarnation() {
    const std::string before = agent->state().incarnation;
    crash();
    change();
    boot();
    EXPECT_EQ(take_calls(), Texts{"stop u1/1.5 30000"}) << "and u1 is not started";
    EXPECT_EQ(transport.sent.size(), 0u);
    EXPECT_FALSE(agent->is_ready());
    EXPECT_EQ(log.events.front(),
              "this store is another device's; stopping everything it started, then starting as a new one");
    // Dying half way, it begins again.
    EXPECT_NE(durable(Table::slot, "u1"), "");
    restart();
    EXPECT_EQ(take_calls(), Texts{"stop u1/1.5 30000"});
    stopped(kTag);
    EXPECT_TRUE(agent->is_ready());
    EXPECT_NE(agent->state().incarnation, before);
    EXPECT_EQ(durable_incarnation().state.incarnation, agent->state().incarnation);
    EXPECT_EQ(durable_incarnation().lost_before, "AnotherDevice");
    EXPECT_EQ(durable_slot(), "none");
    EXPECT_EQ(durable(Table::high, "u1"), "");
    EXPECT_EQ(durable(Table::meta, "gateway"), "");
    EXPECT_EQ(durable(Table::meta, "floor"), "");
    restart();
    EXPECT_TRUE(agent->is_ready()) << "it is this one's now";
    EXPECT_EQ(take_calls(), Texts{});
  }
  void run_with_floor() {
    config.hardware_serial = "serial";
    boot();
    run_pod();
    Request list = request_of(RequestType::list);
    list.floor = {1, 2};
    deliver(list);
    ASSERT_NE(durable(Table::meta, "floor"), "");
    log.events.clear();
  }
  std::function<void()> change;
};

TEST_F(AgentOfAnotherDevice, RenamedItSweepsEverythingBeforeTheFirstAnswer) {
  run_with_floor();
  change = [this] { config.node = "n2"; };
  expect_sweep_and_new_incarnation();
}

TEST_F(AgentOfAnotherDevice, MovedToAnotherFleetItSweepsEverything) {
  run_with_floor();
  change = [this] { config.fleet = "g"; };
  expect_sweep_and_new_incarnation();
}

TEST_F(AgentOfAnotherDevice, ItTellsWhatItDoesNotStopOfItsEarlierName) {
  run_with_floor();
  crash();
  config.node = "n2";
  runtime.others["f/n1"] = {"process 7 of f/n1/u9/1.1"};
  runtime.others["f/n2"] = {"never asked for"};
  boot();
  ASSERT_EQ(log.events.size(), 3u);
  EXPECT_EQ(log.events[1],
            "not stopped, since it was started from another state directory than this one, which may be a copy of it; "
            "stop it if no other agent has it");
}

TEST_F(AgentOfAnotherDevice, OnAnotherBoardItSweepsEverything) {
  run_with_floor();
  change = [this] { config.hardware_serial = "clone"; };
  expect_sweep_and_new_incarnation();
}

TEST_F(AgentOfAnotherDevice, AStoreOfAnEarlierVersionIsGivenAnIdentityWithoutASweep) {
  boot();
  run_pod();
  const std::string incarnation = agent->state().incarnation;
  crash();
  store.put(Table::meta, "incarnation", encode_text(incarnation));
  ASSERT_TRUE(store.commit().is_success());
  boot();
  EXPECT_EQ(take_calls(), (Texts{"start u1/1.5", "go u1/1.5"}));
  EXPECT_EQ(agent->state().incarnation, incarnation);
  EXPECT_EQ(durable_incarnation().identity, (DeviceIdentity{"f", "n1", "machine", ""}));
  config.hardware_serial = "serial";  // learned
  restart();
  EXPECT_EQ(agent->state().incarnation, incarnation);
  EXPECT_EQ(durable_incarnation().identity, (DeviceIdentity{"f", "n1", "machine", "serial"}));
}

TEST_F(AgentOfAnotherDevice, AnIdentityInARecordOfItsOwnIsRead) {
  boot();
  run_pod();
  const std::string incarnation = agent->state().incarnation;
  const auto keep_apart = [&](const char* node) {
    crash();
    store.put(Table::meta, "incarnation", encode_text(incarnation));
    store.put(Table::meta, "identity", R"({"fleet":"f","node":")" + std::string(node) + R"(","machineId":"machine"})");
    ASSERT_TRUE(store.commit().is_success());
    boot();
  };
  keep_apart("n1");
  EXPECT_EQ(take_calls(), (Texts{"start u1/1.5", "go u1/1.5"}));
  config.hardware_serial = "serial";
  restart();
  EXPECT_EQ(durable(Table::meta, "identity"), "");
  keep_apart("n7");
  EXPECT_FALSE(agent->is_ready());
}

}  // namespace
}  // namespace berth
