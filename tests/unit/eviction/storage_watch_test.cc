// Pods' files on a real disk, looked at in virtual time.
#include "firmware-host/agent/eviction/storage_watch.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/hand_clock.h"

namespace berth {
namespace {

namespace fs = std::filesystem;

class StorageWatchTest : public testing::Test {
 protected:
  StorageWatchTest() {
    std::string pattern = fs::temp_directory_path() / "berth-storage-XXXXXX";
    root_ = mkdtemp(pattern.data());
  }
  ~StorageWatchTest() override { fs::remove_all(root_); }

  void write(const std::string& path, std::size_t bytes) {
    fs::create_directories(fs::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << std::string(bytes, 'x');
  }
  void let_run(Millis ms) {
    const Millis end = clock_.now_ms + ms;
    for (auto next = timers_.next(); next && *next <= end; next = timers_.next()) {
      clock_.now_ms = std::max(clock_.now_ms, *next);
      timers_.run_due(clock_.now_ms);
    }
    clock_.now_ms = end;
  }
  static std::string limited(const std::string& amount) {
    return R"({"spec":{"volumes":[{"name":"tmp","emptyDir":{}}],"containers":[{"name":"main","resources":{"limits":{
               "ephemeral-storage":")" +
           amount + R"("}}}]}})";
  }

  std::string root_;
  HandClock clock_;
  Timers timers_;
  std::map<Tag, std::string> pods_;  // manifests; directories are named by uid
  std::vector<std::pair<std::string, std::string>> told_;
  StorageWatch watch_{{[this](const StorageWatch::Visit& visit) {
                         for (const auto& [tag, manifest] : pods_) visit(tag, root_ + "/" + tag.uid, manifest);
                       },
                       [this](const Tag& tag, const std::string& why) { told_.emplace_back(tag.uid, why); }},
                      clock_,
                      timers_};
};

TEST_F(StorageWatchTest, LayersLogsAndEmptyDirsAreCountedTogether) {
  const Tag tag{"a", {1, 1}};
  pods_[tag] = limited("10Mi");
  write("/a/containers/main/1/upper/file", 300'000);
  write("/a/main.log", 100'000);
  write("/a/main.previous.log.1", 50'000);
  write("/a/volumes/tmp/deep/file", 200'000);
  write("/a/scratch/file", 30'000);
  write("/a/state.json", 1'000'000);
  watch_.begin();
  let_run(StorageWatch::kPeriodMs + 1000);
  const PodDisk* disk = watch_.of(tag);
  ASSERT_NE(disk, nullptr);
  EXPECT_GE(disk->containers.at("main"), 450'000);
  EXPECT_LT(disk->containers.at("main"), 500'000);
  EXPECT_GE(disk->empty_dirs.at("tmp"), 200'000);
  EXPECT_GE(disk->total(), 680'000);
  EXPECT_LT(disk->total(), 800'000);
  EXPECT_TRUE(told_.empty());
}

TEST_F(StorageWatchTest, APodThatExceedsItsLimitIsTold) {
  pods_[Tag{"a", {1, 1}}] = limited("100Ki");
  pods_[Tag{"b", {1, 2}}] = limited("1Mi");
  write("/b/volumes/tmp/file", 200'000);
  watch_.begin();
  let_run(2 * StorageWatch::kPeriodMs);
  EXPECT_TRUE(told_.empty());
  write("/a/volumes/tmp/file", 200'000);
  let_run(StorageWatch::kPeriodMs + 1000);
  ASSERT_FALSE(told_.empty());
  EXPECT_EQ(told_.front(),
            std::pair(std::string("a"), std::string("Pod ephemeral local storage usage exceeds the total "
                                                    "limit of containers 100Ki. ")));
}

TEST_F(StorageWatchTest, PodsWithoutALimitAreMeasuredOnlyWhenAllAre) {
  const Tag tag{"a", {1, 1}};
  pods_[tag] = R"({"spec":{"containers":[{"name":"main"}]}})";
  write("/a/containers/main/1/upper/file", 300'000);
  watch_.begin();
  let_run(2 * StorageWatch::kPeriodMs);
  EXPECT_EQ(watch_.of(tag), nullptr);
  watch_.measure_all(true);
  let_run(100);
  ASSERT_NE(watch_.of(tag), nullptr);
  EXPECT_EQ(watch_.full_rounds(), 1);
  pods_.clear();
  let_run(2 * StorageWatch::kPeriodMs);
  EXPECT_EQ(watch_.of(tag), nullptr) << "what has gone is forgotten";
}

TEST_F(StorageWatchTest, APodWithMoreFilesThanCanBeLookedAtDoesNotKeepOthersFromBeingMeasured) {
  const Tag large{"b", {1, 2}}, small{"a", {1, 1}};
  pods_[large] = pods_[small] = limited("1Gi");
  const int files = 4 * StorageWatch::kEntriesAtOnce;
  for (int i = 0; i < files; ++i) write("/b/volumes/tmp/" + std::to_string(i), 1);
  write("/a/volumes/tmp/file", 200'000);
  watch_.measure_all(true);
  let_run(3 * StorageWatch::kPauseMs);  // which is the first of its steps
  clock_.now_ms += StorageWatch::kMostMs;
  let_run(100);
  ASSERT_NE(watch_.of(large), nullptr);
  EXPECT_TRUE(watch_.of(large)->is_partial);
  EXPECT_GT(watch_.of(large)->inodes, 0);
  EXPECT_LT(watch_.of(large)->inodes, files);
  ASSERT_NE(watch_.of(small), nullptr);
  EXPECT_EQ(watch_.full_rounds(), 1) << "for a full disk pods can be ended";

  write("/a/volumes/tmp/more", 200'000);
  let_run(StorageWatch::kPeriodMs);
  EXPECT_GT(watch_.of(small)->total(), 400'000) << "what came to no end is the last of the next round";
  let_run(100);
  EXPECT_FALSE(watch_.of(large)->is_partial);
}

TEST_F(StorageWatchTest, ALargeTreeIsLookedAtInSteps) {
  const Tag tag{"a", {1, 1}};
  pods_[tag] = limited("1Gi");
  for (int i = 0; i < 3 * StorageWatch::kEntriesAtOnce; ++i) write("/a/volumes/tmp/" + std::to_string(i), 1);
  watch_.begin();
  let_run(StorageWatch::kPeriodMs);
  EXPECT_EQ(watch_.of(tag), nullptr) << "of one step a part of it is seen";
  let_run(10 * StorageWatch::kPauseMs);
  ASSERT_NE(watch_.of(tag), nullptr);
  EXPECT_EQ(watch_.of(tag)->inodes, 3 * StorageWatch::kEntriesAtOnce + 1);
}

// For as long as it exists no more files can be opened.
class NoDescriptors {
 public:
  NoDescriptors() {
    getrlimit(RLIMIT_NOFILE, &before_);
    const int next = open("/dev/null", O_RDONLY | O_CLOEXEC);
    close(next);
    const rlimit none{static_cast<rlim_t>(next), before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  }
  ~NoDescriptors() { EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &before_), 0); }

 private:
  rlimit before_{};
};

TEST_F(StorageWatchTest, APodThatCannotBeLookedAtNowKeepsItsLimitAndWhatWasMeasuredBefore) {
  const Tag tag{"a", {1, 1}};
  pods_[tag] = limited("1Gi");
  write("/a/volumes/tmp/file", 300'000);
  watch_.begin();
  let_run(StorageWatch::kPeriodMs + 1000);
  const std::int64_t before = watch_.of(tag)->total();
  {
    const NoDescriptors full;
    let_run(3 * StorageWatch::kPeriodMs);
  }
  EXPECT_TRUE(told_.empty()) << told_.front().second;
  EXPECT_EQ(watch_.of(tag)->total(), before);
}

TEST_F(StorageWatchTest, DirectoriesTooDeepToBeMeasuredExceedALimit) {
  pods_[Tag{"a", {1, 1}}] = limited("1Gi");
  std::string deep = "/a/volumes/tmp";
  for (int i = 0; i < 200; ++i) deep += "/d";
  write(deep + "/file", 1);
  watch_.begin();
  let_run(StorageWatch::kPeriodMs + 1000);
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_NE(told_.front().second.find("levels deep"), std::string::npos) << told_.front().second;
}

}  // namespace
}  // namespace berth
