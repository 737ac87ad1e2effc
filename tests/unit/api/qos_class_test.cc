// The class of a pod that has been accepted, with what is set by default.
#include "core/api/qos_class.h"

#include <gtest/gtest.h>

#include <string>

#include "core/api/defaults.h"
#include "core/api/pod.h"

namespace berth {
namespace {

std::string qos_of(const std::string& spec) {
  const Result<Json> json = Json::parse(R"({"metadata":{"name":"p"},"spec":{)" + spec + "}}");
  EXPECT_TRUE(json) << spec;
  return std::string(to_string(qos_class_of(decode_accepted_pod(*json)->spec.get())));
}

std::string with_resources(const std::string& resources) { return R"({"name":"c","resources":)" + resources + "}"; }

const std::string kBoth = R"({"limits":{"cpu":"1","memory":"64Mi"}})";

TEST(QosClass, FollowsFromWhatAllContainersAskForAndMayHave) {
  const std::string some = R"({"requests":{"cpu":"1m"}})";
  EXPECT_EQ(qos_of(R"("containers":[)" + with_resources("{}") + "]"), "BestEffort");
  EXPECT_EQ(qos_of(R"("containers":[)" + with_resources(R"({"requests":{"cpu":"0"}})") + "]"), "BestEffort");
  EXPECT_EQ(qos_of(R"("containers":[)" + with_resources(R"({"requests":{"example.com/x":"1"}})") + "]"), "BestEffort");
  EXPECT_EQ(qos_of(R"("containers":[)" + with_resources(some) + "]"), "Burstable");
  EXPECT_EQ(qos_of(R"("containers":[)" + with_resources(kBoth) + "]"), "Guaranteed");
  EXPECT_EQ(qos_of(R"("containers":[)" + with_resources(R"({"limits":{"cpu":"1"}})") + "]"), "Burstable");
  EXPECT_EQ(qos_of(R"("containers":[)" +
                   with_resources(R"({"requests":{"cpu":"500m"},"limits":{"cpu":"1","memory":"64Mi"}})") + "]"),
            "Burstable");
}

TEST(QosClass, AnInitContainerCountsAsOthersDo) {
  const std::string own = R"("containers":[)" + with_resources(kBoth) + "]";
  EXPECT_EQ(qos_of(own + R"(,"initContainers":[)" + with_resources(kBoth) + "]"), "Guaranteed");
  EXPECT_EQ(qos_of(own + R"(,"initContainers":[)" + with_resources("{}") + "]"), "Burstable");
}

TEST(QosClass, WhatThePodItselfSaysCountsAlone) {
  EXPECT_EQ(qos_of(R"("resources":)" + kBoth + R"(,"containers":[)" + with_resources("{}") + "]"), "Guaranteed");
  EXPECT_EQ(qos_of(R"("resources":{"limits":{"cpu":"1"}},"containers":[)" +
                   with_resources(R"({"limits":{"cpu":"1"}})") + "]"),
            "Burstable");
}

}  // namespace
}  // namespace berth
