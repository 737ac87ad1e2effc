// Volumes that the device makes below its pools (N11).
#include <gtest/gtest.h>

#include "tests/unit/agent/fakes.h"

namespace berth {
namespace {

// Survives the agent, as a disk does. `calls` are those of the runtime, in one order with them.
class FakeDirectories final : public PoolDirectories {
 public:
  explicit FakeDirectories(FakeRuntime& runtime) : runtime_(runtime) {}
  Status make(const std::string& root, const std::string& volume, std::int64_t) override {
    runtime_.calls.push_back("make " + root + "/" + volume);
    if (!error.empty()) return Status::error(error);
    if (full.contains(volume)) return Status::error(not_made_here(root + "/" + volume));
    there.insert(volume);
    return Status::ok();
  }
  Result<bool> is_free(const std::string&, const std::string& volume) override {
    if (!unreadable.empty()) return Status::error(unreadable);
    return !full.contains(volume);
  }
  Status limit(const std::string& root, const std::string& volume, std::int64_t bytes) override {
    limits.push_back(root + "/" + volume + " " + std::to_string(bytes >> 20) + "Mi");
    return error.empty() ? Status::ok() : Status::error(error);
  }
  Result<bool> remove(const std::string& root, const std::string& volume, int) override {
    runtime_.calls.push_back("remove " + root + "/" + volume);
    if (!error.empty()) return Status::error(error);
    if (steps-- > 0) return false;
    there.erase(volume);
    return true;
  }
  std::vector<std::string> list(const std::string&) override { return {there.begin(), there.end()}; }
  std::set<std::string> there;
  std::set<std::string> full;       // of them: somebody has put data there
  std::vector<std::string> limits;  // that a start has set again
  std::string error;
  std::string unreadable;
  int steps = 0;  // more than one that the next removal takes

 private:
  FakeRuntime& runtime_;
};

class AgentVolumes : public AgentTest {
 protected:
  AgentVolumes() {
    config.volume_pools = {{"fast", "/pool", *Quantity::parse("10Mi")}};
    config.pool_directories = &directories;
  }
  static BoundVolume volume(const std::string& name = "pvc-1", std::int64_t mebibytes = 4, bool make = true) {
    BoundVolume volume{"default/" + name, name, "/pool/" + name};
    if (make) volume.make = VolumeToMake{"fast", mebibytes << 20};
    return volume;
  }
  void pre_bind(const BoundVolume& wanted, const std::string& uid = "u1", std::uint64_t counter = 5) {
    Request request = request_of(RequestType::pre_bind, uid, counter);
    request.pod = manifest(uid, "1Mi");
    request.volumes = {wanted};
    deliver(request);
  }
  void delete_volume(const std::string& name = "pvc-1", std::uint64_t counter = 9, bool by_path = true) {
    Request request = request_of(RequestType::delete_volume, "", counter);
    request.volume = name;
    if (by_path) request.path = "/pool/" + name;
    deliver(request);
  }
  std::vector<std::string> unused() {
    deliver(request_of(RequestType::list, ""));
    for (const Answer& answer : take_answers()) {
      if (answer.type == AnswerType::slots) return answer.unused_volumes;
    }
    return {"no listing"};
  }
  std::vector<KeptVolume> kept() {
    Request list = request_of(RequestType::list, "");
    list.list_id = ++listings_;
    deliver(list);
    for (const Answer& answer : take_answers()) {
      if (answer.type == AnswerType::slots) return answer.kept_volumes;
    }
    return {{"no listing", ""}};
  }
  std::string reason() {
    const std::vector<Answer> answers = take_answers();
    return answers.size() == 1 && answers[0].type == AnswerType::rejected ? answers[0].reason : "not rejected";
  }
  std::string record(const std::string& name = "pvc-1") const { return durable(Table::meta, "volume/" + name); }
  void run_with_volume() {
    boot();
    pre_bind(volume());
    prepared(kTag);
    deliver(RequestType::bind);
    take_calls();
    take_answers();
  }

  FakeDirectories directories{runtime};

 private:
  std::uint64_t listings_ = 100;
};

TEST_F(AgentVolumes, TheDirectoryIsMadeOnceItsRecordIsDurableAndBeforeThePodIsPrepared) {
  boot();
  std::string at_make;
  runtime.on_call = [&](const std::string&) { at_make = record(); };
  pre_bind(volume());
  EXPECT_EQ(take_calls(), (Texts{"make /pool/pvc-1", "prepare u1/1.5"}));
  EXPECT_EQ(at_make,
            R"({"path":"/pool/pvc-1","claim":"default/pvc-1","bytes":"4194304","epoch":"1.5","state":"made"})");
  prepared(kTag);
  EXPECT_EQ(take_answer_texts(), Texts{"PreBound u1/1.5"});
  deliver(RequestType::bind);
  EXPECT_EQ(record(),
            R"({"path":"/pool/pvc-1","claim":"default/pvc-1","bytes":"4194304","epoch":"1.5","state":"kept"})");
}

TEST_F(AgentVolumes, ACrashBeforeTheDirectoryIsMadeMakesItAtTheNextStart) {
  boot();
  directories.error = "the power was cut";
  Request request = request_of(RequestType::pre_bind);
  request.volumes = {volume()};
  request.pod = manifest("u1", "1Mi");
  Message message;
  message.topic = kRequests;
  message.payload = encode(request);
  agent->on_message(message);
  ASSERT_TRUE(store.commit().is_success());
  directories.error.clear();
  restart();
  EXPECT_EQ(take_calls(), (Texts{"make /pool/pvc-1", "prepare u1/1.5"}));
}

TEST_F(AgentVolumes, OneThatCannotBeMadeIsRefusedAndMayBeAskedForAgain) {
  boot();
  directories.error = "Read-only file system";
  pre_bind(volume());
  const std::vector<Answer> answers = take_answers();
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].reason, "cannot prepare: volume pvc-1: Read-only file system");
  EXPECT_EQ(answers[0].refusals, "");
  EXPECT_EQ(durable_slot(), "none");
}

TEST_F(AgentVolumes, SomebodysDataAtThePathOfAVolumeIsRefusedWithoutAWriteAndTold) {
  boot();
  directories.there = directories.full = {"pvc-1"};
  pre_bind(volume());
  EXPECT_EQ(reason(),
            "volume pvc-1: /pool/pvc-1 is there already and not an empty directory, and this device has not made it: "
            "move it away");
  EXPECT_EQ(record(), "");
  EXPECT_EQ(kept(), (std::vector<KeptVolume>{{"pvc-1", "/pool/pvc-1"}})) << "found since the start";
  delete_volume("pvc-1", 9, false);
  EXPECT_EQ(take_calls(), Texts{});
  directories.there = directories.full = {};
  EXPECT_EQ(kept(), std::vector<KeptVolume>{}) << "somebody has moved it away";
  pre_bind(volume(), "u2", 10);
  EXPECT_EQ(take_calls(), (Texts{"make /pool/pvc-1", "prepare u2/1.10"}));
}

TEST_F(AgentVolumes, APoolWhoseDiskIsNotMountedRefusesForAsLongAsThatLasts) {
  boot();
  directories.error = directories.unreadable = "pool /pool: nothing is mounted there";
  runtime.refuses[manifest("u1", "1Mi")] = Status::error("volume pvc-1: nothing is mounted at /pool");
  pre_bind(volume());
  const std::vector<Answer> answers = take_answers();
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].reason, "cannot prepare: volume pvc-1: pool /pool: nothing is mounted there");
  EXPECT_NE(answers[0].refusals, "") << "D6";
  delete_volume("pvc-1", 9, false);
  EXPECT_EQ(take_answers().size(), 0u) << "who can tell what lies there";
  EXPECT_NE(record(), "");
}

// The record is durable before the directory is made, so that it proves nothing of what lies there.
TEST_F(AgentVolumes, SomebodysDataIsNotRemovedWithAVolumeThatWasRecordedAndNeverUsed) {
  boot();
  pre_bind(volume());
  pass(30'000);
  ASSERT_EQ(durable_slot(), "none") << "N5";
  directories.full = {"pvc-1"};
  take_calls();
  delete_volume("pvc-1", 9, false);
  EXPECT_EQ(take_calls(), Texts{});
  EXPECT_EQ(record(), "");
  EXPECT_EQ(unused(), Texts{});
  EXPECT_EQ(kept(), (std::vector<KeptVolume>{{"pvc-1", "/pool/pvc-1"}}));
  delete_volume("pvc-1", 10);
  EXPECT_EQ(take_calls(), Texts{"remove /pool/pvc-1"}) << "the operator says so";
}

TEST_F(AgentVolumes, AListingTellsAtOnceOfAnUnusedVolumeThatSomebodyHasPutDataInto) {
  boot();
  pre_bind(volume());
  pass(30'000);
  directories.there = directories.full = {"pvc-1"};
  EXPECT_EQ(kept(), (std::vector<KeptVolume>{{"pvc-1", "/pool/pvc-1"}})) << "in the same listing, not the next one";
  EXPECT_EQ(record(), "");
  EXPECT_EQ(unused(), Texts{});
}

TEST_F(AgentVolumes, AnUnusedVolumeThatCannotBeLookedAtStaysRecorded) {
  boot();
  pre_bind(volume());
  pass(30'000);
  directories.unreadable = "pool /pool: No such file or directory";
  take_calls();
  delete_volume("pvc-1", 9, false);
  EXPECT_EQ(take_calls(), Texts{});
  EXPECT_EQ(unused(), Texts{"pvc-1"});
}

TEST_F(AgentVolumes, TheEndOfASlotRemovesNothingButIsTold) {
  boot();
  pre_bind(volume());
  prepared(kTag);
  EXPECT_EQ(unused(), Texts{}) << "a slot has it";
  pass(30'000);
  EXPECT_EQ(durable_slot(), "none") << "N5";
  EXPECT_TRUE(directories.there.contains("pvc-1"));
  EXPECT_EQ(unused(), Texts{"pvc-1"});
  restart();
  EXPECT_EQ(unused(), Texts{"pvc-1"});
  take_calls();
  delete_volume("pvc-1", 9, false);
  EXPECT_EQ(take_calls(), Texts{"remove /pool/pvc-1"});
  EXPECT_EQ(take_answer_texts(), Texts{"VolumeDeleted /1.9"});
  EXPECT_EQ(record(), "");
  EXPECT_EQ(unused(), Texts{});
}

TEST_F(AgentVolumes, WhatAPodHasUsedIsNoUnusedOne) {
  run_with_volume();
  deliver(RequestType::release, "u1", 5);
  stopped(kTag);
  EXPECT_EQ(unused(), Texts{});
  take_calls();
  delete_volume("pvc-1", 9, false);
  EXPECT_EQ(take_calls(), Texts{});
  EXPECT_EQ(take_answers().size(), 0u);
  EXPECT_TRUE(directories.there.contains("pvc-1"));
}

TEST_F(AgentVolumes, ADeleteIsMetWithSilenceWhileASlotHasTheVolume) {
  run_with_volume();
  delete_volume();
  EXPECT_EQ(take_answers().size(), 0u);
  deliver(RequestType::release, "u1", 5);
  stopped(kTag);
  take_answers();
  delete_volume();
  EXPECT_EQ(take_answer_texts(), Texts{"VolumeDeleted /1.9"});
  delete_volume("pvc-1", 10);
  EXPECT_EQ(take_answer_texts(), Texts{"VolumeDeleted /1.10"}) << "asked again, the answer was lost";
}

TEST_F(AgentVolumes, ADeleteThatComesLateDeletesNothingThatWasGivenSince) {
  run_with_volume();
  deliver(RequestType::release, "u1", 5);
  stopped(kTag);
  pre_bind(volume("pvc-1", 4, false), "u2", 12);
  prepared({"u2", {1, 12}});
  deliver(RequestType::release, "u2", 12);
  take_calls();
  take_answers();
  delete_volume("pvc-1", 9);
  EXPECT_EQ(take_calls(), Texts{});
  EXPECT_EQ(take_answers().size(), 0u);
}

TEST_F(AgentVolumes, ARemovalTakesStepsAndGoesOnAfterARestart) {
  run_with_volume();
  deliver(RequestType::release, "u1", 5);
  stopped(kTag);
  take_calls();
  take_answers();
  directories.steps = 2;
  delete_volume();
  EXPECT_EQ(take_calls(), Texts{"remove /pool/pvc-1"});
  pre_bind(volume("pvc-1", 4, false), "u2", 12);
  EXPECT_EQ(reason(), "volume pvc-1: it is still being removed");
  restart();
  pass(0);
  pass(10);
  EXPECT_EQ(take_calls(), (Texts{"remove /pool/pvc-1", "remove /pool/pvc-1"}));
  EXPECT_EQ(record(), "");
}

TEST_F(AgentVolumes, ARemovalThatFailsIsTriedAgain) {
  run_with_volume();
  deliver(RequestType::release, "u1", 5);
  stopped(kTag);
  take_answers();
  directories.error = "Input/output error";
  delete_volume();
  EXPECT_EQ(take_answers().size(), 0u);
  directories.error.clear();
  pass(10'000);
  EXPECT_EQ(take_answer_texts(), Texts{"VolumeDeleted /1.9"});
}

TEST_F(AgentVolumes, APoolThatIsGoneOrTooSmallIsRefusedWithTheReason) {
  boot();
  pre_bind(volume("pvc-1", 11));
  EXPECT_EQ(reason(), "volume pvc-1: insufficient storage in pool /pool: 11Mi asked, 10Mi free");
  pre_bind(volume("pvc-1", 6), "u1", 6);
  pre_bind(volume("pvc-2", 6), "u2", 7);
  EXPECT_EQ(reason(), "volume pvc-2: insufficient storage in pool /pool: 6Mi asked, 4Mi free");
  BoundVolume elsewhere = volume("pvc-3");
  elsewhere.make->storage_class = "slow";
  pre_bind(elsewhere, "u3", 8);
  EXPECT_EQ(reason(), "volume pvc-3: this node has no pool of class slow at /pool/pvc-3");
  BoundVolume climbing = volume("..");
  pre_bind(climbing, "u4", 10);
  EXPECT_EQ(reason(), "volume ..: this node has no pool of class fast at /pool/..");
}

TEST_F(AgentVolumes, AStoreThatIsLostLeavesTheDirectoriesAndKeepsWhatAPodIsGivenAgain) {
  run_with_volume();
  crash();
  store = MemoryStore();
  config.machine_id = "another";
  runtime.tags.clear();
  boot();
  take_calls();
  EXPECT_TRUE(directories.there.contains("pvc-1"));
  const std::string told = "this device has no record of what lies in its pool; it is left alone";
  EXPECT_EQ(std::count(log.events.begin(), log.events.end(), told), 1);
  EXPECT_EQ(unused(), Texts{});
  pre_bind(volume("pvc-1", 4, false), "u2", 12);
  EXPECT_EQ(take_calls(), Texts{"prepare u2/1.12"}) << "it is there, and is not made";
  EXPECT_EQ(record(), R"({"path":"/pool/pvc-1","claim":"default/pvc-1","epoch":"1.12","state":"kept"})");
}

TEST_F(AgentVolumes, AUsedVolumeThatNoSlotHasIsListedUntilItIsDeleted) {
  run_with_volume();
  EXPECT_EQ(kept(), std::vector<KeptVolume>{}) << "a slot has it";
  deliver(RequestType::release, "u1", 5);
  stopped(kTag);
  take_answers();
  EXPECT_EQ(kept(), (std::vector<KeptVolume>{{"pvc-1", "/pool/pvc-1", "default/pvc-1", 4 << 20}}));
  restart();
  EXPECT_EQ(kept().size(), 1u);
  delete_volume();
  EXPECT_EQ(kept(), std::vector<KeptVolume>{});
}

TEST_F(AgentVolumes, AStartLimitsEachVolumeWhoseSizeIsRecordedAgain) {
  run_with_volume();
  directories.there.insert("pvc-of-another");
  pre_bind(volume("pvc-2", 2), "u2", 6);
  EXPECT_EQ(directories.limits, Texts{}) << "making one limits it";
  restart();
  EXPECT_EQ(directories.limits, (Texts{"/pool/pvc-1 4Mi", "/pool/pvc-2 2Mi"}));
  EXPECT_EQ(std::count(log.events.begin(), log.events.end(), "a volume is not limited"), 0);
  directories.error = "it has data from before its pool was limited";
  restart();
  EXPECT_EQ(std::count(log.events.begin(), log.events.end(), "a volume is not limited"), 2);
}

TEST_F(AgentVolumes, AVolumeThatIsBeingRemovedIsNotLimitedAgain) {
  run_with_volume();
  deliver(RequestType::release, "u1", 5);
  stopped(kTag);
  directories.steps = 1;
  delete_volume();
  restart();
  EXPECT_EQ(directories.limits, Texts{});
}

TEST_F(AgentVolumes, WhatHasNoRecordIsListedUntilAPodIsGivenItOrItIsDeleted) {
  directories.there = {"pvc-1", "pvc-2", "Not a name"};
  boot();
  EXPECT_EQ(kept(), (std::vector<KeptVolume>{{"pvc-1", "/pool/pvc-1"}, {"pvc-2", "/pool/pvc-2"}}));
  pre_bind(volume("pvc-1", 4, false));
  delete_volume("pvc-2");
  take_answers();
  EXPECT_EQ(kept(), std::vector<KeptVolume>{});
}

TEST_F(AgentVolumes, ManyKeptVolumesTakeMorePages) {
  for (int i = 0; i < 2000; ++i) directories.there.insert("pvc-" + std::to_string(i) + std::string(40, 'x'));
  boot();
  std::size_t listed = 0;
  Request list = request_of(RequestType::list, "");
  for (std::uint32_t pages = 1; list.page < pages; ++list.page) {
    deliver(list);
    const std::vector<Answer> answers = take_answers();
    ASSERT_EQ(answers.size(), 1u);
    pages = answers[0].pages;
    listed += answers[0].kept_volumes.size();
  }
  EXPECT_GT(list.page, 1u);
  EXPECT_EQ(listed, 2000u);
}

TEST_F(AgentVolumes, WhatLiesOutsideOfThePoolsIsNeverDeleted) {
  boot();
  Request request = request_of(RequestType::delete_volume, "", 9);
  request.volume = "data";
  request.path = "/srv/data";
  deliver(request);
  EXPECT_EQ(take_calls(), Texts{});
  EXPECT_EQ(take_answers().size(), 0u);
}

}  // namespace
}  // namespace berth
