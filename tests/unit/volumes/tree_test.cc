// Walks of directories: how much is in them, and to which group it belongs.
#include "firmware-host/agent/volumes/tree_usage.h"
#include "firmware-host/agent/volumes/volume_ownership.h"
#include "tests/unit/volumes/volume_fixture.h"

namespace berth {
namespace {

class TreeTest : public VolumeTest {
 protected:
  void SetUp() override {
    VolumeTest::SetUp();
    fs::create_directories(volume() + "/data/deep");
    fs::create_directories(folder_ + "/outside");
    write_file(folder_ + "/outside/large", 100'000);
  }
  std::string volume() const { return folder_ + "/volume"; }
  static void write_file(const std::string& path, std::size_t bytes) {
    std::ofstream(path) << std::string(bytes, 'x') << std::flush;
  }
  static std::int64_t blocks_of(const std::string& path) {
    struct stat found{};
    EXPECT_EQ(lstat(path.c_str(), &found), 0) << path;
    return found.st_blocks * 512;
  }
  TreeUsage usage(int entries_each = 1000) const {
    UsageMeter meter(volume());
    for (;;) {
      const Result<std::optional<TreeUsage>> step = meter.step(entries_each);
      EXPECT_TRUE(step) << (step ? "" : step.error().message());
      if (!step || *step) return step ? **step : TreeUsage{};
    }
  }
  std::int64_t bytes_of_directories() const {
    return blocks_of(volume()) + blocks_of(volume() + "/data") + blocks_of(volume() + "/data/deep");
  }
};

TEST_F(TreeTest, UsageIsThatOfAllBlocks) {
  write_file(volume() + "/a", 10);
  write_file(volume() + "/data/deep/b", 50'000);
  const std::int64_t files = blocks_of(volume() + "/a") + blocks_of(volume() + "/data/deep/b");
  EXPECT_EQ(usage().bytes, bytes_of_directories() + files);
  EXPECT_EQ(usage().inodes, 5);
  EXPECT_GE(files, 50'010);
}

TEST_F(TreeTest, UsageOfAFileWithHolesIsWhatItHas) {
  write_file(volume() + "/sparse", 1);
  fs::resize_file(volume() + "/sparse", 1 << 30);
  EXPECT_LT(usage().bytes, 1 << 20);
}

TEST_F(TreeTest, UsageCountsAFileWithTwoNamesOnceAndFollowsNoLink) {
  write_file(volume() + "/a", 64 * 1024);
  fs::create_hard_link(volume() + "/a", volume() + "/data/again");
  fs::create_symlink(folder_ + "/outside", volume() + "/link");
  fs::create_symlink(folder_ + "/outside/large", volume() + "/large");
  const std::int64_t links = blocks_of(volume() + "/link") + blocks_of(volume() + "/large");
  EXPECT_EQ(usage().bytes, bytes_of_directories() + blocks_of(volume() + "/a") + links);
}

TEST_F(TreeTest, UsageIsFoundInStepsWhileFilesGo) {
  for (int i = 0; i < 20; ++i) write_file(volume() + "/f" + std::to_string(i), 10);
  UsageMeter meter(volume());
  const Result<std::optional<TreeUsage>> first = meter.step(3);
  ASSERT_TRUE(first);
  EXPECT_FALSE(*first);
  fs::remove_all(volume() + "/data");
  Result<std::optional<TreeUsage>> last = meter.step(3);
  int steps = 2;
  for (; last && !*last; ++steps) last = meter.step(3);
  ASSERT_TRUE(last) << last.error().message();
  EXPECT_GE((*last)->inodes, 21);
  EXPECT_GE(steps, 7);
  EXPECT_EQ(usage(1).inodes, 21);
}

TEST_F(TreeTest, UsageLeavesOtherMountsOut) {
  if (getuid() != 0) GTEST_SKIP() << "needs root";
  const std::string before = std::to_string(usage().bytes - blocks_of(volume() + "/data/deep"));
  const auto look = [&](const char* source) {
    return with_own_mounts([&, source] {
      const bool is_bound = *source == '\0'
                                ? mount("tmpfs", (volume() + "/data/deep").c_str(), "tmpfs", 0, "") == 0
                                : mount(source, (volume() + "/data/deep").c_str(), nullptr, MS_BIND, nullptr) == 0;
      if (*source == '\0') write_file(volume() + "/data/deep/large", 1 << 20);
      return is_bound ? std::to_string(usage().bytes) : std::string("cannot mount");
    });
  };
  EXPECT_EQ(look(""), before);
  EXPECT_EQ(look((folder_ + "/outside").c_str()), before) << "of the same file system";
}

TEST_F(TreeTest, UsageOfAMissingOrTooDeepDirectoryIsAnError) {
  std::string deep = volume();
  for (std::size_t i = 0; i < TreeWalk::kDeepest; ++i) fs::create_directory(deep += "/d");
  EXPECT_EQ(UsageMeter(volume()).step(10'000).error().message(),
            volume() + ": has directories more than 128 levels deep: remove them");
  fs::remove_all(volume());
  EXPECT_EQ(UsageMeter(volume()).step(1).error().message(), volume() + ": cannot open it: No such file or directory");
}

TEST_F(TreeTest, AGroupGetsAllInAVolumeAndNothingElse) {
  if (getuid() != 0) GTEST_SKIP() << "needs root";
  write_file(volume() + "/data/file", 1);
  fs::create_symlink(folder_ + "/outside/large", volume() + "/link");
  ASSERT_EQ(chmod((volume() + "/data/file").c_str(), 04700), 0);
  ASSERT_EQ(chmod((folder_ + "/outside/large").c_str(), 0600), 0);
  ASSERT_EQ(chmod((volume() + "/data").c_str(), 0700), 0);
  ASSERT_TRUE(set_volume_group(volume(), {2000}).is_success());
  EXPECT_EQ(mode_of(volume()), "2775:2000");
  EXPECT_EQ(mode_of(volume() + "/data"), "2770:2000");
  EXPECT_EQ(mode_of(volume() + "/data/file"), "4760:2000");
  EXPECT_EQ(mode_of(volume() + "/link"), "0777:2000");
  EXPECT_EQ(mode_of(folder_ + "/outside/large"), "0600:0");
}

TEST_F(TreeTest, OnRootMismatchLooksAtTheVolumeItselfOnly) {
  if (getuid() != 0) GTEST_SKIP() << "needs root";
  ASSERT_TRUE(set_volume_group(volume(), {2000, true}).is_success());
  write_file(volume() + "/new", 1);
  ASSERT_EQ(chown((volume() + "/new").c_str(), 0, 0), 0);
  ASSERT_TRUE(set_volume_group(volume(), {2000, true}).is_success());
  EXPECT_EQ(mode_of(volume() + "/new"), "0644:0");
  ASSERT_TRUE(set_volume_group(volume(), {2000, false}).is_success());
  EXPECT_EQ(mode_of(volume() + "/new"), "0664:2000");
  ASSERT_EQ(chmod(volume().c_str(), 0755), 0);
  ASSERT_EQ(chown((volume() + "/new").c_str(), 0, 0), 0);
  ASSERT_TRUE(set_volume_group(volume(), {2000, true}).is_success());
  EXPECT_EQ(mode_of(volume() + "/new"), "0664:2000") << "the volume's own mode was another one";
}

}  // namespace
}  // namespace berth
