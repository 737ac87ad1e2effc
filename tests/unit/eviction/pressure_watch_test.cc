// From what is free to what the node is short of.
#include "firmware-host/agent/eviction/pressure_watch.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace berth {
namespace {

using enum EvictionSignal;
using Names = std::vector<std::string>;

EvictionSettings settings_with(EvictionThresholds hard) {
  EvictionSettings settings;
  settings.hard = std::move(hard);
  return settings;
}

TEST(PressureWatch, AHardThresholdIsDueAtOnceAndItsConditionOutlastsIt) {
  PressureWatch watch(settings_with({{memory_available, {100, 0}}}));
  watch.observe({{memory_available, {100, 1000}}}, 0);
  EXPECT_FALSE(watch.due());
  EXPECT_EQ(watch.conditions(), Names());
  watch.observe({{memory_available, {99, 1000}}}, 1000);
  ASSERT_TRUE(watch.due());
  EXPECT_TRUE(watch.due()->is_hard);
  EXPECT_EQ(watch.due()->available, 99);
  EXPECT_EQ(watch.due()->threshold, 100);
  EXPECT_EQ(watch.conditions(), Names{"MemoryPressure"});
  watch.observe({{memory_available, {500, 1000}}}, 1000 + 299'999);
  EXPECT_FALSE(watch.due());
  EXPECT_EQ(watch.conditions(), Names{"MemoryPressure"});
  watch.observe({{memory_available, {500, 1000}}}, 1000 + 300'000);
  EXPECT_EQ(watch.conditions(), Names());
}

TEST(PressureWatch, ASoftThresholdIsDueOnceItHasLasted) {
  EvictionSettings settings = settings_with({});
  settings.soft = {{nodefs_available, {0, 20}}};
  settings.soft_grace_ms = {{nodefs_available, 30'000}};
  PressureWatch watch(settings);
  watch.observe({{nodefs_available, {199, 1000}}}, 0);
  EXPECT_FALSE(watch.due());
  EXPECT_TRUE(watch.is_disk_short());
  EXPECT_EQ(watch.conditions(), Names{"DiskPressure"});
  watch.observe({{nodefs_available, {250, 1000}}}, 20'000);
  watch.observe({{nodefs_available, {199, 1000}}}, 31'000);
  EXPECT_FALSE(watch.due()) << "it has begun again";
  watch.observe({{nodefs_available, {199, 1000}}}, 61'000);
  ASSERT_TRUE(watch.due());
  EXPECT_FALSE(watch.due()->is_hard);
}

TEST(PressureWatch, AMetThresholdStaysMetUntilAsMuchMoreIsFree) {
  EvictionSettings settings = settings_with({{nodefs_available, {100, 0}}});
  settings.minimum_reclaim = {{nodefs_available, {50, 0}}};
  PressureWatch watch(settings);
  watch.observe({{nodefs_available, {120, 1000}}}, 0);
  EXPECT_FALSE(watch.due());
  watch.observe({{nodefs_available, {90, 1000}}}, 1);
  watch.observe({{nodefs_available, {149, 1000}}}, 2);
  EXPECT_TRUE(watch.due());
  watch.observe({{nodefs_available, {150, 1000}}}, 3);
  EXPECT_FALSE(watch.due());
}

TEST(PressureWatch, MemoryComesBeforeTheDiskAndProcesses) {
  PressureWatch watch(
      settings_with({{memory_available, {10, 0}}, {nodefs_inodes_free, {0, 5}}, {pid_available, {10, 0}}}));
  watch.observe({{pid_available, {1, 100}}, {nodefs_inodes_free, {4, 100}}, {memory_available, {1, 100}}}, 0);
  EXPECT_EQ(watch.due()->signal, memory_available);
  EXPECT_EQ(watch.conditions(), (Names{"DiskPressure", "MemoryPressure", "PIDPressure"}));
  watch.observe({{pid_available, {1, 100}}, {nodefs_inodes_free, {4, 100}}}, 1);
  EXPECT_EQ(watch.due()->signal, nodefs_inodes_free) << "what cannot be told is not taken for short";
}

}  // namespace
}  // namespace berth
