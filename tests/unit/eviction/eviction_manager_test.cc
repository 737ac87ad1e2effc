// A node that is short of something, in virtual time: who is ended, when, and what is told.
#include "firmware-host/agent/eviction/eviction_manager.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "tests/unit/hand_clock.h"

namespace berth {
namespace {

using enum EvictionSignal;

struct FakePod {
  std::string manifest;
  std::int64_t used = 0;
  bool is_ending = false;
};

class EvictionManagerTest : public testing::Test {
 protected:
  ~EvictionManagerTest() override { std::filesystem::remove_all(root_); }

  void add(const std::string& uid, std::int64_t used, int priority = 0) {
    const std::string text = R"({"spec":{"priority":)" + std::to_string(priority) +
                             R"(,"containers":[{"name":"main","resources":{"requests":{"memory":"1Mi"}}}]}})";
    pods_[Tag{uid, {1, 1}}] = {text, used};
  }
  void write(const std::string& uid, std::size_t bytes) {
    std::filesystem::create_directories(root_ + "/" + uid + "/containers/main/1");
    std::ofstream(root_ + "/" + uid + "/containers/main/1/file") << std::string(bytes, 'x');
  }
  void let_run(Millis ms) {
    const Millis end = clock_.now_ms + ms;
    for (auto next = timers_.next(); next && *next <= end; next = timers_.next()) {
      clock_.now_ms = std::max(clock_.now_ms, *next);
      timers_.run_due(clock_.now_ms);
    }
    clock_.now_ms = end;
  }
  void for_each_running(const StorageWatch::Visit& visit) {
    for (const auto& [tag, pod] : pods_) {
      if (!pod.is_ending) visit(tag, root_ + "/" + tag.uid, pod.manifest);
    }
  }
  Status evict(const Tag& tag, const Eviction& eviction) {
    if (cannot_evict_ == tag.uid) return Status::error("the disk is full");
    evicted_.push_back(tag.uid);
    grace_ms_ = eviction.grace_ms;
    message_ = eviction.message;
    pods_.at(tag).is_ending = true;
    return Status::ok();
  }
  // An evicted pod has ended.
  void end(const std::string& uid) { pods_.erase(Tag{uid, {1, 1}}); }

  EvictionManager::World world() {
    EvictionManager::World made;
    made.observe = [this] { return observed_; };
    made.for_each_running = [this](const StorageWatch::Visit& visit) { for_each_running(visit); };
    made.measure = [this](PodUse& pod, EvictionSignal) { pod.used = pods_.at(pod.tag).used; };
    made.evict = [this](const Tag& tag, const Eviction& eviction) { return evict(tag, eviction); };
    made.is_evicting = [this] {
      return std::any_of(pods_.begin(), pods_.end(), [](const auto& each) { return each.second.is_ending; });
    };
    made.is_removing = [this] { return is_removing_; };
    made.remove_unneeded = [this] { ++removals_; };
    made.tell = [this](const std::vector<NodePressure>& pressures) { told_.push_back(pressures); };
    return made;
  }

  std::string root_ = std::filesystem::temp_directory_path() / ("berth-evictions-" + std::to_string(getpid()));
  HandClock clock_;
  Timers timers_;
  std::map<Tag, FakePod> pods_;
  Observations observed_ = {{memory_available, {500 << 20, 1 << 30}}, {nodefs_available, {50, 100}}};
  std::vector<std::string> evicted_;
  Millis grace_ms_ = -1;
  std::string message_;
  std::string cannot_evict_;
  int removals_ = 0;
  bool is_removing_ = false;
  std::vector<std::vector<NodePressure>> told_;
  StorageWatch storage_{
      {[this](const StorageWatch::Visit& visit) { for_each_running(visit); }, [](const Tag&, const std::string&) {}},
      clock_,
      timers_};
  EvictionManager manager_{world(), EvictionSettings(), storage_, clock_, timers_};
};

TEST_F(EvictionManagerTest, OnePodAfterTheOtherIsEndedUntilThereIsEnoughMemory) {
  add("small", 10 << 20);
  add("large", 90 << 20);
  add("important", 200 << 20, 1000);
  manager_.look();
  EXPECT_TRUE(told_.empty());
  observed_[memory_available].available = 50 << 20;
  let_run(EvictionManager::kPeriodMs);
  EXPECT_EQ(evicted_, std::vector<std::string>{"large"});
  EXPECT_EQ(grace_ms_, Eviction::kAtOnceMs);
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_EQ(told_[0], (std::vector<NodePressure>{{kMemoryPressure, clock_.wall()}}));
  let_run(5000);
  EXPECT_EQ(evicted_.size(), 1u) << "its memory may be free soon";
  end("large");
  let_run(1000);
  EXPECT_EQ(evicted_, (std::vector<std::string>{"large", "small"}));
  end("small");
  observed_[memory_available].available = 500 << 20;
  let_run(100'000);
  EXPECT_EQ(evicted_.size(), 2u);
  EXPECT_EQ(told_.size(), 1u);
  let_run(300'000);
  ASSERT_EQ(told_.size(), 2u);
  EXPECT_TRUE(told_[1].empty());
}

TEST_F(EvictionManagerTest, APodThatDoesNotEndHoldsUpOthersForHalfAMinute) {
  add("a", 90 << 20);
  add("b", 80 << 20);
  observed_[memory_available].available = 0;
  manager_.look();
  let_run(EvictionManager::kCleanupMs - 1);
  EXPECT_EQ(evicted_, std::vector<std::string>{"a"});
  let_run(1000);
  EXPECT_EQ(evicted_, (std::vector<std::string>{"a", "b"}));
}

TEST_F(EvictionManagerTest, APodThatCannotBeEndedIsPassedOver) {
  add("a", 90 << 20);
  add("b", 80 << 20);
  cannot_evict_ = "a";
  observed_[memory_available].available = 0;
  manager_.look();
  EXPECT_EQ(evicted_, std::vector<std::string>{"b"});
}

TEST_F(EvictionManagerTest, OfAFullDiskFirstGoesWhatNobodyNeedsAndThenThePodThatHasMost) {
  add("a", 0);
  add("b", 0);
  write("a", 1000);
  write("b", 300'000);
  observed_[nodefs_available].available = 9;
  manager_.look();
  EXPECT_EQ(removals_, 1);
  EXPECT_TRUE(evicted_.empty());
  let_run(EvictionManager::kPeriodMs);
  EXPECT_EQ(removals_, 1);
  EXPECT_EQ(evicted_, std::vector<std::string>{"b"});
  EXPECT_EQ(manager_.admit(R"({"spec":{}})").message(), "The node had condition: [DiskPressure]. ");
}

TEST_F(EvictionManagerTest, TheNextPodIsEndedForTheDiskOnceFilesOfTheLastHaveGoneAndAllAreMeasuredAgain) {
  for (const char* uid : {"a", "b", "c"}) add(uid, 0);
  write("a", 300'000);
  write("b", 200'000);
  write("c", 1000);
  observed_[nodefs_available].available = 9;
  manager_.look();
  let_run(EvictionManager::kPeriodMs);
  EXPECT_EQ(evicted_, std::vector<std::string>{"a"});
  end("a");
  is_removing_ = true;
  let_run(EvictionManager::kCleanupMs / 2);
  EXPECT_EQ(evicted_.size(), 1u);
  write("b", 1000);
  write("c", 300'000);
  is_removing_ = false;
  let_run(EvictionManager::kSoonMs + EvictionManager::kPeriodMs);
  EXPECT_EQ(removals_, 2) << "before each pod that is ended";
  EXPECT_EQ(evicted_, (std::vector<std::string>{"a", "c"})) << "by what they have now";
}

TEST_F(EvictionManagerTest, FilesThatAreDeletedDoNotHoldUpAnEvictionForMemory) {
  add("a", 90 << 20);
  is_removing_ = true;
  observed_[memory_available].available = 0;
  manager_.look();
  EXPECT_EQ(evicted_, std::vector<std::string>{"a"});
}

TEST_F(EvictionManagerTest, PodsWithNextToNothingOnAFullDiskRunOnAndUnneededFilesAreRemovedAgainAndAgain) {
  add("none", 0);
  add("little", 0);
  write("little", 1);
  observed_[nodefs_available] = {0, 1'000'000'000};
  manager_.look();
  let_run(10 * EvictionManager::kPeriodMs);
  EXPECT_TRUE(evicted_.empty());
  EXPECT_GT(removals_, 3);
  write("little", 300'000);
  let_run(4 * EvictionManager::kPeriodMs);
  EXPECT_EQ(evicted_, std::vector<std::string>{"little"});
}

TEST_F(EvictionManagerTest, NothingIsEndedIfThatWasEnough) {
  add("a", 0);
  observed_[nodefs_available].available = 9;
  manager_.look();
  observed_[nodefs_available].available = 11;
  let_run(60'000);
  EXPECT_EQ(removals_, 1);
  EXPECT_TRUE(evicted_.empty());
}

// rankPIDPressure: nobody asks for processes, so that the priority counts, and then how many there are.
TEST_F(EvictionManagerTest, TooFewProcessesLeftEndPodsByPriorityAndThenByHowManyTheyHave) {
  EvictionSettings settings;
  settings.hard = {{pid_available, {100, 0}}};
  EvictionManager manager(world(), settings, storage_, clock_, timers_);
  add("few", 10);
  add("many", 300);
  add("important", 900, 1000);
  add("least", 1, -1);
  observed_ = {{pid_available, {100, 1000}}};
  manager.look();
  EXPECT_TRUE(told_.empty()) << "as many as the threshold are enough";
  observed_[pid_available].available = 99;
  let_run(EvictionManager::kPeriodMs);
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_EQ(told_[0], (std::vector<NodePressure>{{kPidPressure, clock_.wall()}}));
  EXPECT_EQ(manager.admit(R"({"spec":{}})").message(), "The node had condition: [PIDPressure]. ");
  EXPECT_EQ(message_, "The node was low on resource: pids. Threshold quantity: 100, available: 99. ");
  for (const char* uid : {"least", "many", "few"}) {
    ASSERT_EQ(evicted_.back(), uid);
    end(uid);
    let_run(EvictionManager::kSoonMs);
  }
  EXPECT_EQ(evicted_, (std::vector<std::string>{"least", "many", "few", "important"}));
  EXPECT_EQ(removals_, 0) << "files are of no use";
}

}  // namespace
}  // namespace berth
