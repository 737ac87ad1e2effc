// What is free on a machine, by files that look like /proc.
#include "firmware-host/agent/eviction/node_stats.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace berth {
namespace {

namespace fs = std::filesystem;
using enum EvictionSignal;

TEST(NodeStats, AreReadAsTheKubeletSeesThem) {
  std::string root = fs::temp_directory_path() / "berth-stats-XXXXXX";
  ASSERT_NE(mkdtemp(root.data()), nullptr);
  fs::create_directories(root + "/sys/kernel");
  std::ofstream(root + "/meminfo")
      << "MemTotal:  1000 kB\nMemFree:  100 kB\nActive(file): 7 kB\nInactive(file):  50 kB\n"
         "HugePages_Total:       0\n";
  std::ofstream(root + "/loadavg") << "0.20 0.18 0.12 1/80 11206\n";
  std::ofstream(root + "/sys/kernel/pid_max") << "4194304\n";
  std::ofstream(root + "/sys/kernel/threads-max") << "1000\n";
  const Observations observed = observe_node(root, true, root);
  EXPECT_EQ(observed.at(memory_available).available, 150 * 1024);
  EXPECT_EQ(observed.at(memory_available).capacity, 1000 * 1024);
  EXPECT_EQ(observed.at(pid_available).available, 920);
  EXPECT_EQ(observed.at(pid_available).capacity, 1000);
  EXPECT_GT(observed.at(nodefs_available).capacity, 0);
  EXPECT_LE(observed.at(nodefs_available).available, observed.at(nodefs_available).capacity);
  EXPECT_FALSE(observe_node(root, false, root).contains(pid_available));
  fs::remove_all(root);
}

TEST(NodeStats, OfThisMachineAreThere) {
  const Observations observed = observe_node("/tmp", true);
  EXPECT_TRUE(observed.contains(memory_available));
  EXPECT_TRUE(observed.contains(pid_available));
  EXPECT_FALSE(observe_node("/nowhere", true, "/nowhere").contains(memory_available));
}

}  // namespace
}  // namespace berth
