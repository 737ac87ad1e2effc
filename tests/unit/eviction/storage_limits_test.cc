// What a pod may have on the disk.
#include "firmware-host/agent/eviction/storage_limits.h"

#include <gtest/gtest.h>

#include <string>

namespace berth {
namespace {

Json parsed(const std::string& text) { return Json::parse(text).value(); }

const char* const kLimited = R"({
    "volumes":[{"name":"tmp","emptyDir":{"sizeLimit":"1Mi"}},{"name":"free","emptyDir":{}}],
    "initContainers":[{"name":"first","resources":{"limits":{"ephemeral-storage":"1Mi"}}}],
    "containers":[{"name":"main","resources":{"limits":{"ephemeral-storage":"2Mi"}}},
                  {"name":"other","resources":{"limits":{"ephemeral-storage":"3Mi"}}}]})";

constexpr std::int64_t kMi = 1 << 20;

PodDisk disk(std::map<std::string, std::int64_t> containers, std::map<std::string, std::int64_t> empty_dirs) {
  PodDisk used;
  used.containers = std::move(containers);
  used.empty_dirs = std::move(empty_dirs);
  return used;
}

TEST(StorageLimits, AreKeptAtTheirAmountAndExceededByAByte) {
  const Json spec = parsed(kLimited);
  EXPECT_EQ(exceeded_storage_limit(spec, disk({{"main", 2 * kMi}, {"other", 2 * kMi}}, {{"tmp", kMi}})), "");
  EXPECT_EQ(exceeded_storage_limit(spec, disk({}, {{"tmp", kMi + 1}})),
            R"(Usage of EmptyDir volume "tmp" exceeds the limit "1Mi". )");
  EXPECT_EQ(exceeded_storage_limit(spec, disk({{"main", 2 * kMi + 1}}, {})),
            R"(Container main exceeded its local ephemeral storage limit "2Mi". )");
  EXPECT_EQ(exceeded_storage_limit(spec, disk({{"first", kMi + 1}}, {})),
            R"(Container first exceeded its local ephemeral storage limit "1Mi". )");
}

TEST(StorageLimits, ThoseOfAllContainersTogetherAreThePods) {
  EXPECT_EQ(exceeded_storage_limit(parsed(kLimited), disk({{"main", 1}}, {{"free", 5 * kMi}})),
            "Pod ephemeral local storage usage exceeds the total limit of containers 5Mi. ");
  const Json one =
      parsed(R"({"containers":[{"name":"a"},{"name":"b","resources":{"limits":{"ephemeral-storage":9}}}]})");
  EXPECT_EQ(exceeded_storage_limit(one, disk({{"a", 10}}, {})),
            "Pod ephemeral local storage usage exceeds the total limit of containers 9. ");
}

TEST(StorageLimits, APodWithoutAnyMayHaveEverything) {
  const Json spec = parsed(R"({"volumes":[{"name":"tmp","emptyDir":{"sizeLimit":"0"}}],"containers":[{"name":"a"}]})");
  EXPECT_FALSE(has_storage_limits(spec));
  PodDisk used = disk({{"a", 1'000'000'000}}, {{"tmp", 1'000'000'000}});
  used.problem = "too deep";
  EXPECT_EQ(exceeded_storage_limit(spec, used), "");
  EXPECT_TRUE(has_storage_limits(parsed(kLimited)));
}

TEST(StorageLimits, WhatIsTooDeepToBeMeasuredExceedsThem) {
  PodDisk used;
  used.problem = "/x: has directories more than 128 levels deep: remove them";
  EXPECT_EQ(exceeded_storage_limit(parsed(kLimited), used),
            "Pod ephemeral local storage usage cannot be measured: /x: has directories more than 128 levels deep: "
            "remove them. ");
}

}  // namespace
}  // namespace berth
