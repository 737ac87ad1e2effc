// From requests and limits to what an OCI runtime is told.
#include "firmware-host/agent/oci/limits.h"

#include <gtest/gtest.h>

#include <string>

namespace berth {
namespace {

ContainerLimits limits(const std::string& resources) {
  return limits_of(Json::parse(resources).value(), "spec.containers[0].resources").value();
}

QosClass qos(const std::string& containers) {
  return qos_class_of(Json::parse(R"({"containers":)" + containers + "}").value());
}

TEST(Limits, WhatIsLimitedAndNotAskedForIsAskedForInFull) {
  const ContainerLimits read = limits(R"({"limits":{"cpu":"500m","memory":"64Mi"},"requests":{"cpu":0.1}})");
  EXPECT_EQ(read.requests.milli_cpu, 100);
  EXPECT_EQ(read.requests.memory_bytes, 64 << 20);
  EXPECT_EQ(read.limits.milli_cpu, 500);
}

TEST(Limits, AnAmountThatIsNoneNamesItsField) {
  const auto read = limits_of(Json::parse(R"({"limits":{"memory":"64Mb"}})").value(), "spec.containers[0].resources");
  ASSERT_FALSE(read);
  EXPECT_TRUE(read.error().message().starts_with("spec.containers[0].resources.limits.memory: "))
      << read.error().message();
}

TEST(Limits, SharesAndQuotaAreTheKubelets) {
  EXPECT_EQ(cpu_shares(0), 2);
  EXPECT_EQ(cpu_shares(1), 2);
  EXPECT_EQ(cpu_shares(100), 102);
  EXPECT_EQ(cpu_shares(1000), 1024);
  EXPECT_EQ(cpu_shares(1'000'000'000'000'000), 262'144);
  EXPECT_EQ(cpu_quota_us(500, 100'000), 50'000);
  EXPECT_EQ(cpu_quota_us(1, 100'000), 1000);
}

TEST(Limits, AreWrittenForTheRuntime) {
  const std::string all =
      resources_json(limits(R"({"limits":{"cpu":"1500m","memory":"32Mi"},"requests":{"cpu":"250m"}})"), 64).dump();
  EXPECT_EQ(all, R"({"cpu":{"shares":256,"quota":150000,"period":100000},"memory":{"limit":33554432,"swap":33554432},)"
                 R"("pids":{"limit":64}})");
  EXPECT_EQ(resources_json({}, 0).dump(), R"({"cpu":{"shares":2}})");
}

TEST(QosClasses, FollowFromAllContainers) {
  const std::string equal = R"({"resources":{"limits":{"cpu":"1","memory":"1Gi"}}})";
  EXPECT_EQ(qos("[" + equal + "," + equal + "]"), QosClass::guaranteed);
  EXPECT_EQ(qos("[" + equal + R"(,{"resources":{"requests":{"cpu":"1"}}}])"), QosClass::burstable);
  EXPECT_EQ(qos("[" + equal + ",{}]"), QosClass::burstable);
  EXPECT_EQ(qos(R"([{"resources":{"limits":{"cpu":"1"}}}])"), QosClass::burstable);
  EXPECT_EQ(qos(R"([{},{"resources":{"requests":{"cpu":"0"}}}])"), QosClass::best_effort);
  EXPECT_EQ(qos(R"([{"resources":{"requests":{"cpu":"one"}}}])"), QosClass::burstable);
  EXPECT_EQ(qos("[" + equal + R"(],"initContainers":[{}])"), QosClass::burstable);
  EXPECT_EQ(qos(R"([{}],"resources":{"limits":{"cpu":"1","memory":"1Gi"}})"), QosClass::guaranteed);
}

TEST(OomScores, AreTheKubelets) {
  constexpr std::int64_t kNode = 1'000'000'000;
  EXPECT_EQ(oom_score_adj(QosClass::guaranteed, kNode / 2, kNode, false), -997);
  EXPECT_EQ(oom_score_adj(QosClass::burstable, kNode / 2, kNode, true), -997);
  EXPECT_EQ(oom_score_adj(QosClass::best_effort, 0, kNode, false), 1000);
  EXPECT_EQ(oom_score_adj(QosClass::burstable, kNode / 2, kNode, false), 500);
  EXPECT_EQ(oom_score_adj(QosClass::burstable, 0, kNode, false), 999);
  EXPECT_EQ(oom_score_adj(QosClass::burstable, kNode, kNode, false), 3);
}

}  // namespace
}  // namespace berth
