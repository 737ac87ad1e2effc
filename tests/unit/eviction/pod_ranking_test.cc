// Which pod is ended first, what is said of it, and which may come.
#include "firmware-host/agent/eviction/pod_ranking.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace berth {
namespace {

using enum EvictionSignal;

Json spec_of(const std::string& text) { return Json::parse(text).value(); }

PodUse use(const std::string& uid, std::int64_t priority, std::optional<std::int64_t> used, std::int64_t asked) {
  PodUse pod;
  pod.tag.uid = uid;
  pod.priority = priority;
  pod.used = used;
  pod.asked = asked;
  return pod;
}

std::vector<std::string> order(std::vector<PodUse> pods, EvictionSignal signal) {
  std::vector<std::string> names;
  for (const PodUse& pod : rank_pods(std::move(pods), signal)) names.push_back(pod.tag.uid);
  return names;
}

TEST(PodRanking, GoesByExcessThenPriorityThenAmount) {
  const std::vector<PodUse> pods = {use("within", -10, 90, 100), use("little", 0, 110, 100), use("much", 0, 300, 100),
                                    use("important", 5, 900, 0), use("unknown", 7, std::nullopt, 0)};
  EXPECT_EQ(order(pods, memory_available),
            (std::vector<std::string>{"much", "little", "important", "unknown", "within"}));
  EXPECT_EQ(order(pods, pid_available), (std::vector<std::string>{"within", "much", "little", "important", "unknown"}))
      << "nobody asks for processes";
}

TEST(PodRanking, CriticalPodsAreNeverEndedForOthers) {
  const PodUse critical = pod_use_of({"a", {}}, spec_of(R"({"priority":2000000000})"), memory_available);
  EXPECT_EQ(order({critical, use("b", 0, 1, 1)}, memory_available), std::vector<std::string>{"b"});
}

TEST(PodRanking, AsksAreThoseOfTheManifest) {
  const Json spec = spec_of(R"({"priority":7,"containers":[
      {"name":"a","resources":{"requests":{"memory":"10Mi","ephemeral-storage":"1Mi"}}},
      {"name":"b","resources":{"limits":{"memory":"20Mi","ephemeral-storage":"2Mi"}}}]})");
  const PodUse memory = pod_use_of({"u", {}}, spec, memory_available);
  EXPECT_EQ(memory.asked, 30 << 20);
  EXPECT_EQ(memory.priority, 7);
  EXPECT_EQ(memory.containers_asked.at("b"), 20 << 20);
  EXPECT_EQ(pod_use_of({"u", {}}, spec, nodefs_available).asked, 3 << 20);
  EXPECT_EQ(pod_use_of({"u", {}}, spec, nodefs_inodes_free).asked, 0);
}

TEST(PodRanking, MessagesAreTheKubelets) {
  PodUse pod = use("u", 0, 0, 0);
  pod.containers = {{"main", 50 << 20}, {"small", 1 << 20}};
  pod.containers_asked = {{"main", 10 << 20}, {"small", 2 << 20}};
  EXPECT_EQ(
      eviction_message({memory_available, true, 60 << 20, 100 << 20}, pod),
      "The node was low on resource: memory. Threshold quantity: 100Mi, available: 60Mi. Container main was using "
      "50Mi, request is 10Mi, has larger consumption of memory. ");
  EXPECT_EQ(eviction_message({nodefs_inodes_free, true, 7, 9}, {}),
            "The node was low on resource: inodes. Threshold quantity: 9, available: 7. ");
}

TEST(PressureAdmission, IsTheKubelets) {
  const Json best_effort = spec_of(R"({"containers":[{"name":"a"}]})");
  const Json burstable = spec_of(R"({"containers":[{"name":"a","resources":{"requests":{"cpu":"1m"}}}]})");
  const Json critical = spec_of(R"({"priority":2000000000,"containers":[{"name":"a"}]})");
  const Json tolerant =
      spec_of(R"({"tolerations":[{"key":"node.kubernetes.io/memory-pressure","operator":"Exists"}]})");
  EXPECT_TRUE(admit_under_pressure({}, best_effort).is_success());
  EXPECT_EQ(admit_under_pressure({kMemoryPressure}, best_effort).message(),
            "The node had condition: [MemoryPressure]. ");
  EXPECT_TRUE(admit_under_pressure({kMemoryPressure}, burstable).is_success());
  EXPECT_TRUE(admit_under_pressure({kMemoryPressure}, tolerant).is_success());
  EXPECT_EQ(admit_under_pressure({kDiskPressure, kMemoryPressure}, burstable).message(),
            "The node had condition: [DiskPressure MemoryPressure]. ");
  EXPECT_TRUE(admit_under_pressure({kDiskPressure}, critical).is_success());
}

}  // namespace
}  // namespace berth
