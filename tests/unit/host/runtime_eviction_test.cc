// Pods that the device ends by itself, by the real keeper: what has become of them is known whatever dies meanwhile.
#include <sys/mount.h>

#include <csignal>

#include "firmware-host/agent/keeper_runtime_evict.h"
#include "tests/unit/host/runtime_fixture.h"

namespace berth {
namespace {

class RuntimeEvictionTest : public RuntimeTest {
 protected:
  static constexpr const char* kWhy = "The node was low on resource: memory. ";

  void evict() { ASSERT_TRUE(runtime_->evictions().evict(tag_, {kWhy, 0}).is_success()); }
  static void expect_evicted(const Event& end) {
    EXPECT_EQ(phase(end), "Failed");
    EXPECT_EQ(end.pod_status.string_at("reason"), "Evicted");
    EXPECT_EQ(end.pod_status.string_at("message"), kWhy);
    EXPECT_NE(end.pod_status.dump().find("TerminationByKubelet"), std::string::npos) << end.pod_status.dump();
  }
  std::vector<Tag> running() {
    std::vector<Tag> tags;
    runtime_->evictions().for_each_running(
        [&](const Tag& tag, const std::string&, const std::string&) { tags.push_back(tag); });
    return tags;
  }
};

TEST_F(RuntimeEvictionTest, AnEvictedPodHasFailedAndIsNotRestarted) {
  run(tag_, pod("exec sleep 1000", "Always"));
  wait_running();
  EXPECT_EQ(running(), std::vector<Tag>{tag_});
  evict();
  EXPECT_EQ(running(), std::vector<Tag>());
  expect_evicted(wait_finished());
  run_while([&] { return alive(tag_) > 0; });
}

TEST_F(RuntimeEvictionTest, WhatAnEvictedPodHasWrittenGoesAndItsOutputStays) {
  run(tag_, pod("echo said; echo much > much; exec sleep 1000", "Always"));
  wait_running();
  run_while([&] { return output(tag_) != "said\n"; });
  run_while([&] { return !fs::exists(directory(tag_) + "/scratch/much"); });
  evict();
  wait_finished();
  run_while([&] { return fs::exists(directory(tag_) + "/scratch"); });
  EXPECT_EQ(output(tag_), "said\n");
}

TEST_F(RuntimeEvictionTest, AnEvictionGoesOnUnderTheNextAgent) {
  run(tag_, pod("exec sleep 1000", "Always"));
  wait_running();
  // An agent that was killed between its decision and the signal.
  ASSERT_TRUE(record_eviction(directory(tag_), {kWhy, 0}).is_success());
  runtime_.reset();
  open_runtime();
  start(tag_, pod("exec sleep 1000", "Always"));
  runtime_->go(tag_);
  expect_evicted(wait_finished());
}

TEST_F(RuntimeEvictionTest, AnEvictedPodWhoseKeeperDiesIsNotRunAgain) {
  run(tag_, pod("trap '' TERM; while :; do sleep 0.1; done", "Always"));
  wait_running();
  ASSERT_TRUE(runtime_->evictions().evict(tag_, {kWhy, 600'000}).is_success());
  kill(keeper(), SIGKILL);
  expect_evicted(wait_finished());
  EXPECT_EQ(alive(tag_), 0u);
}

TEST_F(RuntimeEvictionTest, AnEvictedPodIsNotRunAgainAfterAReboot) {
  run(tag_, pod("exec sleep 1000", "Always"));
  wait_running();
  runtime_.reset();
  kill(keeper(), SIGKILL);
  run_while([&] { return alive(tag_) > 0; });
  ASSERT_TRUE(record_eviction(directory(tag_), {kWhy, 0}).is_success());
  fs::remove(directory(tag_) + "/" + PodState::kFile);  // it need not be on the disk
  open_runtime();
  start(tag_, pod("exec sleep 1000", "Always"));
  runtime_->go(tag_);
  expect_evicted(wait_finished());
  EXPECT_EQ(alive(tag_), 0u);
}

TEST_F(RuntimeEvictionTest, APodThatCannotBeRecordedAsEvictedRunsOn) {
  run(tag_, pod("exec sleep 1000", "Always"));
  wait_running();
  fs::create_directory(directory(tag_) + "/" + Eviction::kFile);
  EXPECT_FALSE(runtime_->evictions().evict(tag_, {kWhy, 0}).is_success());
  EXPECT_EQ(running(), std::vector<Tag>{tag_});
  fs::remove(directory(tag_) + "/" + Eviction::kFile);
}

// The pods' directories are on a disk of their own, of 1 MiB.
class FullDiskEvictionTest : public RuntimeEvictionTest {
 protected:
  void SetUp() override {
    runtime_.reset();
    const std::string pods = root_ + "/pods";
    fs::create_directories(pods);
    is_mounted_ = mount("berth-test", pods.c_str(), "tmpfs", 0, "size=1m") == 0;
    if (!is_mounted_) GTEST_SKIP() << "a tmpfs cannot be mounted here";
    open_runtime();
  }
  void TearDown() override {
    if (!is_mounted_) return;
    stop_all();
    runtime_.reset();
    EXPECT_EQ(umount2((root_ + "/pods").c_str(), MNT_DETACH), 0);
  }
  bool is_full() const {
    std::error_code error;
    return fs::space(root_ + "/pods", error).available == 0 && !error;
  }
  // Once the pod is reported as running, for which the disk must have space.
  void fill() {
    wait_running();
    std::ofstream(directory(tag_) + "/scratch/fill") << "now";
    run_while([&] { return !is_full(); });
  }

 private:
  bool is_mounted_ = false;
};

TEST_F(FullDiskEvictionTest, APodIsEvictedThoughTheDiskHasNoSpaceForTheRecord) {
  run(tag_, pod("until [ -e fill ]; do sleep 0.01; done; cat /dev/zero > much; exec sleep 1000", "Always"));
  fill();
  evict();
  const Event end = wait_finished();
  EXPECT_EQ(end.pod_status.string_at("phase"), "Failed");
  EXPECT_EQ(end.pod_status.string_at("reason"), "Evicted");
  EXPECT_EQ(end.pod_status.string_at("message"), Eviction().message);
  run_while([&] { return is_full(); });
  EXPECT_FALSE(fs::exists(directory(tag_) + "/scratch"));
}

TEST_F(FullDiskEvictionTest, AnEvictedPodThatFillsTheDiskAsItEndsDoesNotHoldUpItsOwnEnd) {
  run(tag_, pod("trap 'cat /dev/zero > much; exit 1' TERM; echo ready; while :; do sleep 0.01; done", "Always"));
  wait_running();
  run_while([&] { return output(tag_) != "ready\n"; });
  ASSERT_TRUE(runtime_->evictions().evict(tag_, {kWhy, 600'000}).is_success());
  expect_evicted(wait_finished());
  run_while([&] { return is_full() || runtime_->evictions().is_removing(); });
  EXPECT_FALSE(fs::exists(directory(tag_) + "/scratch"));
}

TEST_F(FullDiskEvictionTest, OfAnEvictedPodWhoseKeeperDiedFilesGoBeforeItsEndIsWritten) {
  run(tag_,
      pod("trap '' TERM; until [ -e fill ]; do sleep 0.01; done; cat /dev/zero > much; while :; do sleep 0.1; done",
          "Always"));
  fill();
  ASSERT_TRUE(runtime_->evictions().evict(tag_, {kWhy, 600'000}).is_success());
  kill(keeper(), SIGKILL);
  EXPECT_EQ(wait_finished().pod_status.string_at("reason"), "Evicted");
}

TEST_F(RuntimeEvictionTest, FilesOfAnEvictedPodAreBeingRemovedUntilTheyHaveGone) {
  run(tag_, pod("mkdir much; cd much; for i in 1 2 3 4 5 6 7 8; do mkdir $i; done; cd ..; echo; exec sleep 1000"));
  wait_running();
  run_while([&] { return output(tag_).empty(); });
  EXPECT_FALSE(runtime_->evictions().is_removing());
  evict();
  wait_finished();
  EXPECT_TRUE(runtime_->evictions().is_removing()) << "its sweeper has not been reaped before the end was told";
  run_while([&] { return runtime_->evictions().is_removing(); });
  EXPECT_TRUE(fs::is_empty(root_ + "/pods/.trash"));
}

TEST_F(RuntimeEvictionTest, APodIsRefusedWhileTheGateIsClosed) {
  runtime_->evictions().set_gate(
      [](const std::string&) { return Status::error("The node had condition: [DiskPressure]. "); });
  EXPECT_FALSE(runtime_->check(pod("exec sleep 1"), {}).is_success());
  runtime_->prepare(tag_, pod("exec sleep 1"), {});
  EXPECT_EQ(wait_kind("prepared").status.message(), "The node had condition: [DiskPressure]. ");
  runtime_->evictions().set_gate([](const std::string&) { return Status::ok(); });
  EXPECT_TRUE(runtime_->check(pod("exec sleep 1"), {}).is_success());
}

}  // namespace
}  // namespace berth
