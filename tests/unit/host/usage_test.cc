// Usage: what is read from control groups of both versions, and from processes.
#include "firmware-host/agent/streams/usage.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace berth {
namespace {

namespace fs = std::filesystem;

class UsageTest : public testing::Test {
 protected:
  UsageTest() {
    std::string pattern = fs::temp_directory_path() / "berth-usage-XXXXXX";
    root_ = mkdtemp(pattern.data());
  }
  ~UsageTest() override { fs::remove_all(root_); }
  void put(const std::string& path, const std::string& text) const {
    fs::create_directories(fs::path(root_ + "/" + path).parent_path());
    std::ofstream(root_ + "/" + path) << text;
  }
  std::string root_;
};

TEST_F(UsageTest, OfAUnifiedHierarchyTheWorkingSetIsWithoutInactiveFiles) {
  put("cgroup.controllers", "cpu memory\n");
  put("pods/web/main/cpu.stat", "usage_usec 1234567\nuser_usec 1000000\n");
  put("pods/web/main/memory.current", "10000000\n");
  put("pods/web/main/memory.stat", "anon 1\nfile 2\ninactive_file_x 7\ninactive_file 4000000\nactive_file 5\n");
  const auto usage = usage_of_cgroup("/pods/web/main", root_);
  ASSERT_TRUE(usage);
  EXPECT_EQ(usage->cpu_ns, 1'234'567'000u);
  EXPECT_EQ(usage->memory_bytes, 6'000'000u);
}

TEST_F(UsageTest, OfHierarchiesOfVersionOneLikewise) {
  put("cpuacct/pods/web/main/cpuacct.usage", "1234567000\n");
  put("memory/pods/web/main/memory.usage_in_bytes", "10000000\n");
  put("memory/pods/web/main/memory.stat", "inactive_file 1\ntotal_inactive_file 4000000\n");
  const auto usage = usage_of_cgroup("/pods/web/main", root_);
  ASSERT_TRUE(usage);
  EXPECT_EQ(usage->cpu_ns, 1'234'567'000u);
  EXPECT_EQ(usage->memory_bytes, 6'000'000u);
}

TEST_F(UsageTest, MoreInactiveThanUsedIsNone) {
  put("cgroup.controllers", "cpu memory\n");
  put("g/cpu.stat", "usage_usec 1\n");
  put("g/memory.current", "100\n");
  put("g/memory.stat", "inactive_file 200\n");
  EXPECT_EQ(usage_of_cgroup("/g", root_)->memory_bytes, 0u);
}

TEST_F(UsageTest, AGroupThatIsNotThereHasNone) {
  put("cgroup.controllers", "cpu memory\n");
  EXPECT_FALSE(usage_of_cgroup("/gone", root_));
}

TEST_F(UsageTest, OfAUnifiedMachineAllMemoryThatIsNotFreeCounts) {
  put("cgroup.controllers", "cpu memory\n");
  put("cpu.stat", "usage_usec 5\n");
  put("memory.stat", "inactive_file 0\n");
  const auto usage = usage_of_cgroup("", root_);
  ASSERT_TRUE(usage);
  EXPECT_EQ(usage->cpu_ns, 5'000u);
  EXPECT_GT(usage->memory_bytes, 1u << 20);
}

TEST_F(UsageTest, OfProcessesTimesAndOwnPagesAreAdded) {
  const std::string stat = " S 1 2 3 4 5 6 7 8 9 10 100 20 3 4 0 0 0\n";
  put("7/stat", "7 (a ) name)" + stat);
  put("8/stat", "8 (b)" + stat);
  put("7/statm", "100 50 20 0 0 0 0\n");
  put("8/statm", "100 40 10 0 0 0 0\n");
  const Usage usage = usage_of_processes({7, 8, 9}, root_);
  EXPECT_EQ(usage.cpu_ns, 2 * 127 * (1'000'000'000 / static_cast<std::uint64_t>(sysconf(_SC_CLK_TCK))));
  EXPECT_EQ(usage.memory_bytes, 60u * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)));
}

}  // namespace
}  // namespace berth
