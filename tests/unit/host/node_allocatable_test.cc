// What of a machine pods may ask for.
#include "firmware-host/agent/node_allocatable.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

const EvictionThresholds kHard = EvictionSettings().hard;

ResourceList amounts(std::int64_t milli_cpu, std::int64_t memory, std::int64_t disk) {
  return {{"cpu", Quantity::from_milli(milli_cpu)},
          {"memory", Quantity(memory)},
          {"ephemeral-storage", Quantity(disk)},
          {"pods", Quantity(110)}};
}

TEST(NodeAllocatable, IsWhatWasMeasuredWithoutWhatIsReservedAndTheThresholds) {
  const ResourceList machine = amounts(4000, 1 << 30, 1000);
  ResourceList reserved = amounts(500, 24 << 20, 50);
  reserved.erase("pods");
  EXPECT_EQ(allocatable_of(machine, machine, reserved, kHard), amounts(3500, (1000 << 20) - (1 << 30) / 20, 850));
}

TEST(NodeAllocatable, AnAmountThatWasConfiguredLosesWhatIsReservedAlone) {
  EXPECT_EQ(allocatable_of(amounts(2000, 512 << 20, 500), amounts(4000, 1 << 30, 1000),
                           {{"memory", Quantity(12 << 20)}}, kHard),
            amounts(2000, 500 << 20, 500));
}

TEST(NodeAllocatable, IsNeverBelowZero) {
  const ResourceList tiny = amounts(100, 64 << 20, 10);
  EXPECT_EQ(allocatable_of(tiny, tiny, {}, {{EvictionSignal::memory_available, {100 << 20, 0}}}).at("memory"),
            Quantity(0));
}

TEST(NodeAllocatable, ASmallMachineKeepsATwentiethOfItsMemoryFreeAndALargeOne100MiB) {
  const EvictionThreshold memory = kHard.at(EvictionSignal::memory_available);
  EXPECT_EQ(memory.of(200 << 20), 10 << 20);
  EXPECT_EQ(memory.of(std::int64_t{8} << 30), 100 << 20);
}

TEST(NodeAllocatable, MoreCannotBeReservedThanThereIs) {
  EXPECT_EQ(check_reserved(amounts(100, 50, 10), {{"memory", Quantity(51)}}).message(),
            "reserved.memory: must not be more than the node has, 50, got 51");
  EXPECT_EQ(check_reserved({}, {{"pods", Quantity(1)}}).message(),
            "reserved.pods: expected cpu, memory or ephemeral-storage");
  EXPECT_TRUE(check_reserved(amounts(100, 50, 10), {{"cpu", Quantity::from_milli(100)}}).is_success());
}

}  // namespace
}  // namespace berth
