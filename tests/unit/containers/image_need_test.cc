#include "firmware-host/agent/containers/image_need.h"

#include <gtest/gtest.h>

#include "tests/unit/parsed_json.h"

namespace berth {
namespace {

PullPolicy policy_of(const std::string& container) {
  return image_needs_of(parsed_json(R"({"spec":{"containers":[)" + container + "]}}")).value().front().policy;
}

TEST(ImageNeed, WhatNamesNoVersionIsPulledEachTimeAndOthersOnce) {
  EXPECT_EQ(policy_of(R"({"image":"nginx"})"), PullPolicy::always);
  EXPECT_EQ(policy_of(R"({"image":"nginx:latest"})"), PullPolicy::always);
  EXPECT_EQ(policy_of(R"({"image":"nginx:1.27"})"), PullPolicy::if_not_present);
  EXPECT_EQ(policy_of(R"({"image":"nginx@sha256:)" + std::string(64, 'a') + R"("})"), PullPolicy::if_not_present);
}

TEST(ImageNeed, ThePolicyOfTheManifestGoesFirst) {
  EXPECT_EQ(policy_of(R"({"image":"nginx","imagePullPolicy":"Never"})"), PullPolicy::never);
  EXPECT_EQ(policy_of(R"({"image":"nginx","imagePullPolicy":"IfNotPresent"})"), PullPolicy::if_not_present);
  EXPECT_EQ(policy_of(R"({"image":"nginx:1","imagePullPolicy":"Always"})"), PullPolicy::always);
}

TEST(ImageNeed, AnImageOfSeveralContainersIsNeededOnceByTheStrictestOfThem) {
  const auto needs = image_needs_of(parsed_json(R"({"spec":{"initContainers":[{"image":"a:1"}],
      "containers":[{"image":"b:1"},{"image":"a:1","imagePullPolicy":"Always"}]}})"));
  ASSERT_TRUE(needs);
  ASSERT_EQ(needs->size(), 2u);
  EXPECT_EQ(needs->front().name, "a:1");
  EXPECT_EQ(needs->front().policy, PullPolicy::always);
}

TEST(ImageNeed, AnImageThatIsNoneIsNamedByItsField) {
  const auto needs =
      image_needs_of(parsed_json(R"({"spec":{"containers":[{"image":"a:1"},{"image":"Not An Image"}]}})"));
  ASSERT_FALSE(needs);
  EXPECT_TRUE(needs.error().message().starts_with("spec.containers[1].image: ")) << needs.error().message();
}

}  // namespace
}  // namespace berth
