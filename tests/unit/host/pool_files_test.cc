// PoolFiles: real directories.
#include "firmware-host/agent/pool_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "firmware-host/agent/mount_table.h"

namespace berth {
namespace {

namespace fs = std::filesystem;

class PoolFilesTest : public ::testing::Test {
 protected:
  PoolFilesTest() { fs::create_directories(root_); }
  ~PoolFilesTest() override { fs::remove_all(folder_); }
  // How many steps it took; 0: it failed.
  int remove_all(const std::string& volume, int entries = 256) {
    for (int steps = 1; steps < 10'000; ++steps) {
      const Result<bool> gone = pools_.remove(root_, volume, entries);
      if (!gone) return 0;
      if (*gone) return steps;
    }
    return 0;
  }

  const std::string folder_ =
      ::testing::TempDir() + "pool-" + ::testing::UnitTest::GetInstance()->current_test_info()->name();
  const std::string root_ = folder_ + "/root";
  class PoolLog final : public Log {
   public:
    void write(Level, std::string_view event, std::initializer_list<Field>) override { events.emplace_back(event); }
    std::vector<std::string> events;
  };
  PoolLog log_;
  KernelQuotas quotas_;
  PoolFiles pools_{quotas_, log_};
};

TEST_F(PoolFilesTest, AVolumeIsADirectoryThatOnlyTheAgentsUserMayEnter) {
  ASSERT_TRUE(pools_.make(root_, "pvc-1", 1).is_success());
  struct stat found{};
  ASSERT_EQ(stat((root_ + "/pvc-1").c_str(), &found), 0);
  EXPECT_TRUE(S_ISDIR(found.st_mode));
  EXPECT_EQ(found.st_mode & 0777, 0700u);
  EXPECT_TRUE(*pools_.is_free(root_, "pvc-1"));
  EXPECT_TRUE(pools_.make(root_, "pvc-1", 1).is_success()) << "an empty one will do";
  EXPECT_EQ(pools_.list(root_), std::vector<std::string>{"pvc-1"});
}

TEST_F(PoolFilesTest, APathIsFreeUnlessItCannotBeLookedAt) {
  EXPECT_TRUE(*pools_.is_free(root_, "pvc-1"));
  EXPECT_EQ(pools_.is_free(root_ + "/unmounted", "pvc-1").error().message(),
            "pool " + root_ + "/unmounted: No such file or directory");
}

TEST_F(PoolFilesTest, WhatIsThereAlreadyIsNotTaken) {
  fs::create_directories(root_ + "/full");
  std::ofstream(root_ + "/full/data") << "x";
  std::ofstream(root_ + "/file") << "x";
  fs::create_directories(folder_ + "/elsewhere");
  fs::create_symlink(folder_ + "/elsewhere", root_ + "/link");
  for (const char* name : {"full", "file", "link"}) {
    EXPECT_FALSE(*pools_.is_free(root_, name)) << name;
    const Status made = pools_.make(root_, name, 1);
    EXPECT_NE(made.message().find("is there already and not an empty directory"), std::string::npos) << made.message();
  }
}

TEST_F(PoolFilesTest, RemovingFollowsNoLink) {
  fs::create_directories(root_ + "/pvc-1/inner");
  fs::create_directories(folder_ + "/elsewhere");
  std::ofstream(folder_ + "/elsewhere/data") << "x";
  fs::create_symlink(folder_ + "/elsewhere", root_ + "/pvc-1/link");
  fs::create_symlink(folder_ + "/elsewhere", root_ + "/pvc-1/inner/link");
  EXPECT_GT(remove_all("pvc-1"), 0);
  EXPECT_FALSE(fs::exists(root_ + "/pvc-1"));
  EXPECT_TRUE(fs::exists(folder_ + "/elsewhere/data"));
  fs::create_symlink(folder_ + "/elsewhere", root_ + "/pvc-2");
  EXPECT_GT(remove_all("pvc-2"), 0) << "in place of the volume";
  EXPECT_TRUE(fs::exists(folder_ + "/elsewhere/data"));
}

TEST_F(PoolFilesTest, RemovingTakesSteps) {
  fs::create_directories(root_ + "/pvc-1");
  for (int i = 0; i < 25; ++i) std::ofstream(root_ + "/pvc-1/" + std::to_string(i)) << "x";
  const Result<bool> gone = pools_.remove(root_, "pvc-1", 10);
  ASSERT_TRUE(gone.has_value());
  EXPECT_FALSE(*gone);
  EXPECT_GE(remove_all("pvc-1", 10), 2);
  EXPECT_TRUE(*pools_.remove(root_, "pvc-1", 10)) << "it is gone";
}

TEST_F(PoolFilesTest, RemovingHasNoLimitOfDepth) {
  fs::path deep = root_ + "/pvc-1";
  fs::create_directories(deep);
  const fs::path here = fs::current_path();
  fs::current_path(deep);
  for (int i = 0; i < 3000; ++i) {  // longer than a path may be
    fs::create_directory("directory");
    fs::current_path("directory");
  }
  fs::current_path(here);
  EXPECT_GT(remove_all("pvc-1"), 1);
  EXPECT_EQ(pools_.list(root_), std::vector<std::string>());
}

TEST_F(PoolFilesTest, RemovesWhatItsOwnerMayNotRead) {
  fs::create_directories(root_ + "/pvc-1/closed/inner");
  fs::permissions(root_ + "/pvc-1/closed", fs::perms::none);
  EXPECT_GT(remove_all("pvc-1"), 0);
  EXPECT_FALSE(fs::exists(root_ + "/pvc-1"));
}

TEST_F(PoolFilesTest, ARootThatIsMissingIsToldByItsSetting) {
  std::vector<VolumePool> pools = {{"a", root_, Quantity(1)}};
  EXPECT_TRUE(pools_.open(pools, {PoolQuota::automatic}).is_success());
  std::ofstream(folder_ + "/file") << "x";
  pools.push_back({"b", folder_ + "/file", Quantity(1)});
  EXPECT_EQ(
      pools_.open(pools, {PoolQuota::off, PoolQuota::off}).message(),
      "volume_pools[1].root: " + folder_ + "/file: Not a directory; make the directory, or mount the disk that has it");
}

// The folder of tests is on a disk or in memory without quotas.
TEST_F(PoolFilesTest, WhereNothingCanBeLimitedThePoolSaysSo) {
  std::vector<VolumePool> pools = {{"a", root_, Quantity(1)}};
  ASSERT_TRUE(pools_.open(pools, {PoolQuota::off}).is_success());
  EXPECT_EQ(log_.events, std::vector<std::string>());
  ASSERT_TRUE(pools_.open(pools, {PoolQuota::automatic}).is_success());
  EXPECT_EQ(log_.events, std::vector<std::string>{"what pods write to this pool is not limited"});
  EXPECT_FALSE(pools[0].is_limited);
  ASSERT_TRUE(pools_.make(root_, "pvc-1", 1 << 20).is_success());
  EXPECT_TRUE(pools_.limit(root_, "pvc-1", 1 << 20).is_success());
  const std::string error = pools_.open(pools, {PoolQuota::required}).message();
  EXPECT_TRUE(error.starts_with("volume_pools[0].quota: required, but what pods write to " + root_ +
                                " cannot be limited: its file system holds projects to no limits; mount it with"))
      << error;
}

TEST_F(PoolFilesTest, NothingIsMadeFoundOrRemovedBelowAMountPointWithoutItsDisk) {
  std::vector<VolumePool> pools = {{"a", root_, Quantity(1)}};
  ASSERT_TRUE(pools_.open(pools, {PoolQuota::automatic}, {root_}).is_success());
  EXPECT_EQ(log_.events, std::vector<std::string>{"no volume is made in this pool now"});
  const std::string why =
      "pool " + root_ + ": nothing is mounted there, which its mount_point: true demands: mount the disk";
  EXPECT_EQ(pools_.make(root_, "pvc-1", 1).message(), why);
  EXPECT_FALSE(fs::exists(root_ + "/pvc-1"));
  EXPECT_EQ(pools_.is_free(root_, "pvc-1").error().message(), why);
  EXPECT_EQ(pools_.limit(root_, "pvc-1", 1).message(), why);
  EXPECT_EQ(pools_.remove(root_, "pvc-1", 10).error().message(), why) << "it is on the disk";
  fs::create_directory(root_ + "/pvc-2");
  EXPECT_EQ(pools_.list(root_), std::vector<std::string>());
}

// A link to what is mounted is a disk that can be taken away.
TEST_F(PoolFilesTest, APoolIsUsedOnceItsDiskIsMountedAndNotWhenItIsGone) {
  // Something is mounted at one of them everywhere: a container has the first, a small machine's init mounts the
  // second.
  const std::string shared = is_mount_point("/dev/shm").value_or(false) ? "/dev/shm" : "/run";
  ASSERT_TRUE(is_mount_point(shared).value_or(false)) << "mount a tmpfs at /dev/shm or /run";
  const std::string volume = "berth-" + std::to_string(getpid());
  std::vector<VolumePool> pools = {{"a", root_, Quantity(1)}};
  ASSERT_TRUE(pools_.open(pools, {PoolQuota::automatic}, {root_}).is_success());
  fs::remove(root_);
  fs::create_directory_symlink(shared, root_);
  EXPECT_TRUE(pools_.make(root_, volume, 1).is_success());
  EXPECT_EQ(log_.events.back(), "what pods write to this pool is not limited") << "found out when it was used first";
  const std::vector<std::string> found = pools_.list(root_);
  EXPECT_EQ(std::count(found.begin(), found.end(), volume), 1);
  fs::remove(root_);
  fs::create_directory(root_);
  EXPECT_FALSE(pools_.remove(root_, volume, 10).has_value());
  fs::remove(root_);
  fs::create_directory_symlink(shared, root_);
  EXPECT_TRUE(*pools_.remove(root_, volume, 10));
  EXPECT_FALSE(fs::exists(shared + "/" + volume));
}

TEST_F(PoolFilesTest, ADiskThatIsMountedLaterMustHaveTheQuotaThatIsRequired) {
  std::vector<VolumePool> pools = {{"a", root_, Quantity(1)}};
  ASSERT_TRUE(pools_.open(pools, {PoolQuota::required}, {root_}).is_success());
  fs::remove(root_);
  fs::create_directory_symlink("/proc", root_);
  const std::string error = pools_.make(root_, "pvc-1", 1).message();
  EXPECT_TRUE(error.starts_with("quota: required, but what pods write to " + root_ + " cannot be limited: ")) << error;
}

}  // namespace
}  // namespace berth
