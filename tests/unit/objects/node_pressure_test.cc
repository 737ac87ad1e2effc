// What devices say that they are short of, and what becomes of it.
#include "core/objects/node_pressure.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace berth {
namespace {

Json pressures(const std::string& conditions) {
  const Json said = Json::parse(conditions).value();
  return pressures_of(&said);
}

TEST(NodePressure, OfWhatADeviceSaysOnlyKnownConditionsThatHoldCount) {
  EXPECT_EQ(pressures(R"([{"type":"Ready","status":"True"},{"type":"PIDPressure","status":"True","reason":"R",
                           "lastTransitionTime":"2026-01-02T03:04:05Z"},{"type":"DiskPressure","status":"False"},
                           {"type":"MemoryPressure","status":"True","lastTransitionTime":"yesterday"},7])")
                .dump(),
            R"([{"type":"MemoryPressure"},{"type":"PIDPressure","lastTransitionTime":"2026-01-02T03:04:05Z"}])");
  for (const char* none : {"[]", "{}", "7", R"([{"type":"DiskPressure","status":"Unknown"}])"}) {
    EXPECT_TRUE(pressures(none).is_null()) << none;
  }
  EXPECT_TRUE(pressures_of(nullptr).is_null());
}

TEST(NodePressure, EachHasItsTaint) {
  const Json all = pressures(R"([{"type":"MemoryPressure","status":"True"},{"type":"DiskPressure","status":"True"},
                                 {"type":"PIDPressure","status":"True"}])");
  EXPECT_EQ(pressure_taints(&all),
            (std::vector<std::string_view>{"node.kubernetes.io/memory-pressure", "node.kubernetes.io/disk-pressure",
                                           "node.kubernetes.io/pid-pressure"}));
  EXPECT_TRUE(pressure_taints(nullptr).empty());
}

TEST(NodePressure, ConditionsThatDoNotHoldAreShownToo) {
  const Json disk =
      pressures(R"([{"type":"DiskPressure","status":"True","lastTransitionTime":"2026-01-02T03:04:05Z"}])");
  const Json::Array conditions = pressure_conditions(&disk);
  ASSERT_EQ(conditions.size(), 3u);
  EXPECT_EQ(conditions[0].dump(), R"({"type":"MemoryPressure","status":"False","reason":"KubeletHasSufficientMemory",)"
                                  R"("message":"kubelet has sufficient memory available"})");
  EXPECT_EQ(conditions[1].dump(),
            R"({"type":"DiskPressure","status":"True","reason":"KubeletHasDiskPressure",)"
            R"("message":"kubelet has disk pressure","lastTransitionTime":"2026-01-02T03:04:05Z"})");
}

}  // namespace
}  // namespace berth
