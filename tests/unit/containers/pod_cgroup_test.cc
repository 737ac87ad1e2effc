// On directories that look like control groups; the real ones are used by container_runtime_test.cc.
#include "firmware-host/agent/containers/pod_cgroup.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

namespace berth {
namespace {

namespace fs = std::filesystem;

class PodCgroupFiles : public testing::Test {
 protected:
  PodCgroupFiles() {
    std::string pattern = fs::temp_directory_path() / "berth-cgroup-XXXXXX";
    root_ = mkdtemp(pattern.data());
  }
  ~PodCgroupFiles() override { fs::remove_all(root_); }

  void write(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }

  std::string read(const std::string& path) {
    std::ifstream file(root_ + path);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::string root_;
};

TEST_F(PodCgroupFiles, OutOfMemoryIsReadFromEitherVersion) {
  write("/memory/berth/pod/main/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
  EXPECT_EQ(PodCgroup("/berth/pod", root_).out_of_memory("main"), 2);
  EXPECT_EQ(PodCgroup("/berth/pod", root_).out_of_memory("other"), 0);
  write("/cgroup.controllers", "memory\n");
  write("/berth/pod/main/memory.events", "low 0\nhigh 0\nmax 3\noom 1\noom_kill 1\n");
  EXPECT_EQ(PodCgroup("/berth/pod", root_).out_of_memory("main"), 1);
}

TEST_F(PodCgroupFiles, GroupsOfAllHierarchiesAreListedOnce) {
  for (const char* path : {"/pids/berth/f.n/a@1.1", "/memory/berth/f.n/a@1.1", "/memory/berth/f.n/b@1.2"}) {
    fs::create_directories(root_ + path);
  }
  EXPECT_EQ(PodCgroup::names_below(cgroup_of_node("f", "n"), root_), (std::vector<std::string>{"a@1.1", "b@1.2"}));
  EXPECT_EQ(PodCgroup::names_below(cgroup_of_node("f", "other"), root_), std::vector<std::string>());
}

TEST_F(PodCgroupFiles, NothingIsKilledWhereThereIsNoGroup) {
  EXPECT_EQ(PodCgroup("/berth/none", root_).kill().value(), 0);
  PodCgroup("/berth/none", root_).remove();
}

TEST_F(PodCgroupFiles, EmptyGroupsAreRemovedFromTheInnermostOut) {
  fs::create_directories(root_ + "/pids/berth/pod/main/deeper");
  PodCgroup("/berth/pod", root_).remove();
  EXPECT_FALSE(fs::exists(root_ + "/pids/berth/pod"));
  EXPECT_TRUE(fs::exists(root_ + "/pids/berth"));
}

TEST_F(PodCgroupFiles, APodIsLimitedInAHierarchyOfEachController) {
  const PodCgroup group("/berth/f.n/a@1.1", root_);
  for (const char* file : {"/cpu/berth/f.n/a@1.1/cpu.shares", "/cpu/berth/f.n/a@1.1/cpu.cfs_period_us",
                           "/cpu/berth/f.n/a@1.1/cpu.cfs_quota_us", "/memory/berth/f.n/a@1.1/memory.limit_in_bytes",
                           "/memory/berth/f.n/a@1.1/memory.memsw.limit_in_bytes"}) {
    write(file, "");
  }
  write("/pids/berth/f.n/a@1.1/pids.max", "");
  ASSERT_TRUE(group.make({256, 1500, 64 << 20, 100}).is_success());
  EXPECT_EQ(read("/pids/berth/f.n/a@1.1/pids.max"), "100");
  EXPECT_EQ(read("/cpu/berth/f.n/a@1.1/cpu.shares"), "256");
  EXPECT_EQ(read("/cpu/berth/f.n/a@1.1/cpu.cfs_quota_us"), "150000");
  EXPECT_EQ(read("/memory/berth/f.n/a@1.1/memory.limit_in_bytes"), "67108864");
  EXPECT_EQ(read("/memory/berth/f.n/a@1.1/memory.memsw.limit_in_bytes"), "67108864");
}

TEST_F(PodCgroupFiles, APodIsLimitedInTheUnifiedHierarchyOnceItsControllersArePassedOn) {
  write("/cgroup.controllers", "cpuset cpu memory\n");
  const std::string pod = "/berth/f.n/a@1.1";
  for (const std::string& group : {std::string(), std::string("/berth"), std::string("/berth/f.n")}) {
    write(group + "/cgroup.subtree_control", "");
    write(group + "/cgroup.controllers", "cpuset cpu memory\n");
  }
  for (const char* file :
       {"/cpu.weight", "/cpu.max", "/memory.max", "/memory.swap.max", "/pids.max", "/memory.oom.group"})
    write(pod + file, "");
  ASSERT_TRUE(PodCgroup(pod, root_).make({1024, 1500, 64 << 20, 100, true}).is_success());
  EXPECT_EQ(read(pod + "/pids.max"), "100");
  EXPECT_EQ(read(pod + "/memory.oom.group"), "1");
  EXPECT_EQ(read("/berth/f.n/cgroup.subtree_control"), "+memory") << "each is written by itself; a file keeps the last";
  EXPECT_EQ(read(pod + "/cpu.weight"), "39");
  EXPECT_EQ(read(pod + "/cpu.max"), "150000 100000");
  EXPECT_EQ(read(pod + "/memory.max"), "67108864");
  EXPECT_EQ(read(pod + "/memory.swap.max"), "0");
}

TEST_F(PodCgroupFiles, AMemoryLimitHoldsForGroupsBelowWhereTheKernelHasToBeAskedForIt) {
  const std::string pod = "/memory/berth/f.n/a@1.1";
  for (const std::string& group : {std::string("/memory/berth"), std::string("/memory/berth/f.n"), pod}) {
    write(group + "/memory.use_hierarchy", "0\n");
  }
  write(pod + "/memory.limit_in_bytes", "");
  ASSERT_TRUE(PodCgroup("/berth/f.n/a@1.1", root_).make({2, std::nullopt, 1 << 20}).is_success());
  EXPECT_EQ(read(pod + "/memory.use_hierarchy").substr(0, 1), "1");
  EXPECT_EQ(read("/memory/berth/memory.use_hierarchy").substr(0, 1), "1");
}

TEST_F(PodCgroupFiles, AMemoryLimitThatWouldNotHoldForGroupsBelowIsRefused) {
  // As far as write(2) is concerned, a kernel that refuses; it reads as 0.
  const std::string file = "/memory/berth/pod/memory.use_hierarchy";
  write(file, "0\n");
  write("/memory/berth/pod/memory.limit_in_bytes", "");
  const int fd = open((root_ + file).c_str(), O_RDONLY | O_CLOEXEC);
  int flags = 0;
  const bool has_flags = ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0;
  flags |= FS_IMMUTABLE_FL;
  if (!has_flags || ioctl(fd, FS_IOC_SETFLAGS, &flags) != 0) {
    close(fd);
    GTEST_SKIP() << "no file can be made immutable here: needs root, and a file system that knows it";
  }
  const Status limited = PodCgroup("/berth/pod", root_).make({2, std::nullopt, 1 << 20});
  const Status unlimited = PodCgroup("/berth/pod", root_).make({2, std::nullopt, std::nullopt});
  EXPECT_EQ(ioctl(fd, FS_IOC_SETFLAGS, &(flags &= ~FS_IMMUTABLE_FL)), 0);
  close(fd);
  EXPECT_TRUE(limited.message().starts_with("cannot write 1 to " + root_ + file)) << limited.message();
  EXPECT_TRUE(unlimited.is_success()) << unlimited.message();
}

TEST_F(PodCgroupFiles, AMemoryLimitIsLiftedInEitherVersion) {
  const PodCgroup group("/berth/f.n", root_);
  EXPECT_TRUE(group.lift_memory_limit().is_success()) << "there is none";
  EXPECT_FALSE(fs::exists(root_ + "/memory")) << "and none is made";
  const std::string memory = "/memory/berth/f.n/memory.";
  write(memory + "limit_in_bytes", "");
  write(memory + "memsw.limit_in_bytes", "");
  ASSERT_TRUE(group.lift_memory_limit().is_success());
  EXPECT_EQ(read(memory + "limit_in_bytes"), "-1");
  EXPECT_EQ(read(memory + "memsw.limit_in_bytes"), "-1");
  write("/cgroup.controllers", "memory\n");
  for (const char* file : {"/memory.max", "/memory.swap.max"}) write(std::string("/berth/f.n") + file, "");
  ASSERT_TRUE(group.lift_memory_limit().is_success());
  EXPECT_EQ(read("/berth/f.n/memory.max"), "max");
  EXPECT_EQ(read("/berth/f.n/memory.swap.max"), "max");
}

TEST_F(PodCgroupFiles, ALimitThatCannotBeSetNamesItsFile) {
  fs::create_directories(root_ + "/memory");
  const Status made = PodCgroup("/berth/pod", root_).make({2, std::nullopt, 1 << 20});
  EXPECT_TRUE(made.message().starts_with("cannot write 1048576 to " + root_ + "/memory/berth/pod/memory.limit_in"))
      << made.message();
}

TEST_F(PodCgroupFiles, TheWorkingSetLeavesOutWhatTheKernelCanDrop) {
  write("/memory/berth/pod/memory.usage_in_bytes", "1000\n");
  write("/memory/berth/pod/memory.stat", "cache 900\ntotal_inactive_file 400\n");
  write("/pids/berth/pod/pids.current", "7\n");
  EXPECT_EQ(PodCgroup("/berth/pod", root_).working_set(), 600);
  EXPECT_EQ(PodCgroup("/berth/pod", root_).tasks(), 7);
  EXPECT_EQ(PodCgroup("/berth/other", root_).working_set(), std::nullopt);
}

}  // namespace
}  // namespace berth
