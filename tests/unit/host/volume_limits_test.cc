// Limits of volumes by projects. Those that need a file system with project quotas run where BERTH_QUOTA_ROOT names a
// directory of one: in the machines of tests/qemu.
#include "firmware-host/agent/volume_limits.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "core/hash.h"
#include "firmware-host/agent/pool_files.h"

namespace berth {
namespace {

namespace fs = std::filesystem;

class EventLog final : public Log {
 public:
  void write(Level, std::string_view event, std::initializer_list<Field>) override { events.emplace_back(event); }
  std::vector<std::string> events;
};

std::uint32_t first_project_of(std::string_view volume) {
  return kFirstProject + static_cast<std::uint32_t>(hash_of(volume) % kProjects);
}

// Counts as a kernel does, without a file system: a directory is a number.
class CountedQuotas final : public ProjectQuotas {
 public:
  Status check(int) override { return Status::ok(); }
  Result<std::uint32_t> project(int directory) override { return projects[directory]; }
  Status set_project(int directory, std::uint32_t project) override {
    projects[directory] = project;
    given.push_back(project);
    if (given.size() == 1 && rival != 0) projects[rival] = project;
    return Status::ok();
  }
  Result<Use> use(int, std::uint32_t project) override {
    Use use{limits[project], 0};
    for (const auto& [directory, each] : projects) use.inodes += each == project ? 1 : 0;
    return use;
  }
  Status set_limit(int, std::uint32_t project, std::uint64_t bytes) override {
    limits[project] = bytes;
    return Status::ok();
  }
  std::map<int, std::uint32_t> projects;
  std::map<std::uint32_t, std::uint64_t> limits;
  std::vector<std::uint32_t> given;
  int rival = 0;  // a directory that gets the first project at the same moment
};

TEST(VolumeLimits, AProjectThatAnotherDirectoryOrALimitHasIsPassedOver) {
  CountedQuotas quotas;
  const std::uint32_t first = first_project_of("pvc-1");
  quotas.projects[2] = first;
  quotas.limits[first + 1] = 1024;
  ASSERT_TRUE(give_project(quotas, 1, "pvc-1").is_success());
  EXPECT_EQ(quotas.projects[1], first + 2);
  ASSERT_TRUE(give_project(quotas, 1, "pvc-1").is_success());
  EXPECT_EQ(quotas.given.size(), 1u) << "it has one";
}

TEST(VolumeLimits, OfTwoAgentsThatTakeOneProjectAtOnceEachTakesTheNext) {
  CountedQuotas quotas;
  quotas.rival = 2;
  ASSERT_TRUE(give_project(quotas, 1, "pvc-1").is_success());
  EXPECT_EQ(quotas.projects[1], first_project_of("pvc-1") + 1);
}

TEST(VolumeLimits, ProjectsOfOthersAreLeftAlone) {
  CountedQuotas quotas;
  quotas.projects[1] = 7;
  quotas.limits[7] = 4096;
  EXPECT_FALSE(*has_project(quotas, 1));
  EXPECT_FALSE(*end_limit(quotas, 1));
  EXPECT_EQ(quotas.limits[7], 4096u);
}

TEST(VolumeLimits, ALimitIsRoundedUpToWhatTheKernelCounts) {
  CountedQuotas quotas;
  ASSERT_TRUE(give_project(quotas, 1, "pvc-1").is_success());
  for (const auto& [bytes, want] : std::map<std::int64_t, std::uint64_t>{{1, 1024}, {1024, 1024}, {1025, 2048}}) {
    ASSERT_TRUE(limit_project(quotas, 1, bytes).is_success());
    EXPECT_EQ(quotas.limits[quotas.projects[1]], want);
  }
}

// A pool in a folder of its own, on a file system with project quotas if `needs_quotas`.
class LimitedPool : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* root = std::getenv("BERTH_QUOTA_ROOT");
    if (root == nullptr) GTEST_SKIP() << "BERTH_QUOTA_ROOT names no file system with project quotas";
    std::string pattern = std::string(root) + "/pool-XXXXXX";
    root_ = mkdtemp(pattern.data());
    pools_ = {{"a", root_, Quantity(1 << 26)}};
    const Status opened = files_.open(pools_, {PoolQuota::required});
    ASSERT_TRUE(opened.is_success()) << opened.message();
  }
  void TearDown() override {
    if (!root_.empty()) fs::remove_all(root_);
  }
  std::uint32_t project_of(const std::string& volume) {
    const int directory = open_of(volume);
    const Result<std::uint32_t> project = quotas_.project(directory);
    close(directory);
    return project ? *project : 0;
  }
  ProjectQuotas::Use use_of(std::uint32_t project) {
    const int directory = ::open(root_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const Result<ProjectQuotas::Use> use = quotas_.use(directory, project);
    close(directory);
    EXPECT_TRUE(use) << use.error().message();
    return use ? *use : ProjectQuotas::Use{};
  }
  int open_of(const std::string& volume) const {
    return ::open((root_ + "/" + volume).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  }
  // As a container does, which runs without CAP_SYS_RESOURCE; returns how much of it there is.
  std::uintmax_t write(const std::string& file, int kibibytes) const {
    const std::string path = root_ + "/" + file;
    const std::string command = "dd if=/dev/zero of=" + path + " bs=1k count=" + std::to_string(kibibytes) + " 2>&1";
    const pid_t child = fork();
    if (child == 0) {
      prctl(PR_CAPBSET_DROP, CAP_SYS_RESOURCE);
      execlp("sh", "sh", "-c", (command + " >/dev/null").c_str(), nullptr);
      _exit(127);
    }
    waitpid(child, nullptr, 0);
    return fs::file_size(path);
  }

  std::string root_;
  std::vector<VolumePool> pools_;
  EventLog log_;
  KernelQuotas quotas_;
  PoolFiles files_{quotas_, log_};
};

TEST_F(LimitedPool, APodCanWriteWhatTheClaimAsksForAndNoMore) {
  EXPECT_TRUE(pools_[0].is_limited);
  ASSERT_TRUE(files_.make(root_, "pvc-1", 1 << 20).is_success());
  ASSERT_TRUE(files_.make(root_, "pvc-2", 1 << 20).is_success());
  EXPECT_EQ(write("pvc-1/half", 512), 512u << 10);
  fs::create_directory(root_ + "/pvc-1/inner");
  const std::uintmax_t rest = write("pvc-1/inner/rest", 4096);
  EXPECT_LE(rest, 512u << 10);
  EXPECT_GE(rest, 400u << 10) << "but for directories";
  EXPECT_EQ(write("pvc-2/other", 900), 900u << 10) << "each volume has its own";
  EXPECT_NE(project_of("pvc-1"), project_of("pvc-2"));
}

TEST_F(LimitedPool, TheLimitGoesWithTheVolume) {
  ASSERT_TRUE(files_.make(root_, "pvc-1", 1 << 20).is_success());
  const std::uint32_t project = project_of("pvc-1");
  EXPECT_EQ(use_of(project).limit, 1u << 20);
  EXPECT_EQ(use_of(project).inodes, 1u);
  EXPECT_EQ(write("pvc-1/file", 64), 64u << 10);
  EXPECT_TRUE(*files_.remove(root_, "pvc-1", 256));
  EXPECT_EQ(use_of(project).limit, 0u);
  ASSERT_TRUE(files_.make(root_, "pvc-1", 2 << 20).is_success());
  EXPECT_EQ(use_of(project_of("pvc-1")).limit, 2u << 20);
}

TEST_F(LimitedPool, AStartSetsALimitThatIsMissing) {
  ASSERT_TRUE(files_.make(root_, "pvc-1", 1 << 20).is_success());
  const int directory = open_of("pvc-1");
  ASSERT_TRUE(*end_limit(quotas_, directory));
  close(directory);
  EXPECT_EQ(write("pvc-1/file", 2048), 2048u << 10);
  ASSERT_TRUE(files_.limit(root_, "pvc-1", 1 << 20).is_success());
  EXPECT_LE(write("pvc-1/file", 2048), 1u << 20);
  EXPECT_TRUE(files_.limit(root_, "pvc-gone", 1 << 20).is_success());
}

TEST_F(LimitedPool, AVolumeFromBeforeItsPoolWasLimitedIsLimitedIfItIsEmpty) {
  fs::create_directory(root_ + "/pvc-1");
  fs::create_directory(root_ + "/pvc-2");
  EXPECT_EQ(write("pvc-2/file", 1), 1u << 10);
  EXPECT_TRUE(files_.limit(root_, "pvc-1", 1 << 20).is_success());
  EXPECT_EQ(use_of(project_of("pvc-1")).limit, 1u << 20);
  EXPECT_EQ(files_.limit(root_, "pvc-2", 1 << 20).message(),
            root_ + "/pvc-2 has data from before its pool was limited");
  EXPECT_EQ(project_of("pvc-2"), 0u);
}

TEST_F(LimitedPool, APoolThatIsInAProjectStaysInIt) {
  const int root = ::open(root_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_TRUE(quotas_.set_project(root, 7).is_success());
  close(root);
  PoolFiles again(quotas_, log_);
  ASSERT_TRUE(again.open(pools_, {PoolQuota::automatic}).is_success());
  EXPECT_FALSE(pools_[0].is_limited);
  ASSERT_TRUE(again.make(root_, "pvc-1", 1 << 20).is_success());
  EXPECT_EQ(project_of("pvc-1"), 7u) << "inherited";
}

// Before Linux 5.14 there is no quotactl_fd.
TEST_F(LimitedPool, AnOlderKernelIsAskedByTheDevice) {
  const pid_t child = fork();
  if (child == 0) {
    std::array<sock_filter, 4> rules{{{BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
                                      {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_quotactl_fd},
                                      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | ENOSYS},
                                      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW}}};
    const sock_fprog program{rules.size(), rules.data()};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
      _exit(1);
    }
    if (syscall(SYS_quotactl_fd, 0, 0, 0, nullptr) != -1 || errno != ENOSYS) _exit(2);
    PoolFiles older(quotas_, log_);
    const bool is_made =
        older.open(pools_, {PoolQuota::required}).is_success() && older.make(root_, "pvc-1", 1 << 20).is_success();
    _exit(is_made ? 0 : 3);
  }
  int status = -1;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(use_of(project_of("pvc-1")).limit, 1u << 20);
}

}  // namespace
}  // namespace berth
