// From a pod's requests and limits to those of its control group.
#include "firmware-host/agent/oci/pod_limits.h"

#include <gtest/gtest.h>

#include <string>

namespace berth {
namespace {

PodLimits group_of(const std::string& spec) { return pod_limits_of(Json::parse(spec).value()).value(); }

TEST(PodLimits, AreTheSumOfTheContainersIfEachHasOne) {
  const PodLimits both = group_of(R"({"containers":[
      {"resources":{"limits":{"cpu":"500m","memory":"64Mi"},"requests":{"cpu":"100m"}}},
      {"resources":{"limits":{"cpu":"1","memory":"32Mi"}}}]})");
  EXPECT_EQ(both, (PodLimits{1126, 1500, 96 << 20}));
  const PodLimits one = group_of(R"({"containers":[{"resources":{"limits":{"cpu":"1","memory":"1Mi"}}},{}]})");
  EXPECT_EQ(one, (PodLimits{1024, std::nullopt, std::nullopt}));
  EXPECT_EQ(group_of(R"({"containers":[{}]})"), PodLimits());
}

TEST(PodLimits, AnInitContainerCountsBesideTheSidecarsBeforeIt) {
  const PodLimits read = group_of(R"({"initContainers":[
      {"restartPolicy":"Always","resources":{"limits":{"cpu":"100m","memory":"10Mi"}}},
      {"resources":{"limits":{"cpu":"2","memory":"20Mi"}}}],
      "containers":[{"resources":{"limits":{"cpu":"1","memory":"40Mi"}}}]})");
  EXPECT_EQ(read.milli_cpu, 2100);
  EXPECT_EQ(read.memory_bytes, 50 << 20);
}

TEST(PodLimits, WhatThePodSaysComesBeforeItsContainers) {
  const PodLimits read = group_of(R"({"resources":{"limits":{"cpu":"1","memory":"128Mi"},"requests":{"cpu":"250m"}},
      "containers":[{"resources":{"requests":{"cpu":"100m"}}},{}]})");
  EXPECT_EQ(read, (PodLimits{256, 1000, 128 << 20}));
}

TEST(PodLimits, ARequestOfThePodDefaultsToThoseOfItsContainersAndThenToItsLimit) {
  const Json spec = Json::parse(R"({"resources":{"limits":{"cpu":"1","memory":"128Mi"}},
      "overhead":{"memory":"2Mi"},"containers":[{"resources":{"requests":{"cpu":"100m"}}}]})")
                        .value();
  const Amounts requests = pod_requests_of(spec).value();
  EXPECT_EQ(requests.milli_cpu, 100);
  EXPECT_EQ(requests.memory_bytes, 130 << 20);
}

TEST(PodLimits, MemoryThatOnlyThePodAsksForIsSharedByItsContainers) {
  const auto spare = [](const std::string& spec) {
    return spare_memory_per_container(Json::parse(spec).value()).value();
  };
  EXPECT_EQ(spare(R"({"resources":{"requests":{"memory":"90Mi"}},
                      "containers":[{"resources":{"requests":{"memory":"30Mi"}}},{}]})"),
            30 << 20);
  EXPECT_EQ(spare(R"({"containers":[{"resources":{"requests":{"memory":"30Mi"}}}]})"), 0);
}

TEST(PodLimits, AnAmountThatIsNoneNamesItsField) {
  for (const auto& [spec, field] :
       {std::pair{R"({"resources":{"limits":{"memory":"1Mb"}}})", "spec.resources.limits.memory: "},
        {R"({"initContainers":[{"resources":{"requests":{"cpu":"x"}}}]})",
         "spec.initContainers[0].resources.requests.cpu: "}}) {
    const auto read = pod_limits_of(Json::parse(spec).value());
    ASSERT_FALSE(read);
    EXPECT_TRUE(read.error().message().starts_with(field)) << read.error().message();
  }
}

TEST(PodLimits, ThePodsResourcesDecideItsQosClass) {
  const auto class_of = [](const std::string& spec) { return qos_class_of(Json::parse(spec).value()); };
  EXPECT_EQ(class_of(R"({"resources":{"limits":{"cpu":"1","memory":"1Gi"}},"containers":[{}]})"), QosClass::guaranteed);
  EXPECT_EQ(class_of(R"({"resources":{"requests":{"cpu":"1"}},
                    "containers":[{"resources":{"limits":{"cpu":"1","memory":"1Gi"}}}]})"),
            QosClass::burstable);
}

}  // namespace
}  // namespace berth
