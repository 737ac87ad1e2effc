#include "core/controllers/replica_set/replica_set_victims.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace berth {
namespace {

constexpr Millis kNow = 1'000'000'000;

// A pod on n1 that has been ready for 100 s and exists for 200 s, then changed.
ControlledPodPtr pod(const std::string& name, const std::function<void(ControlledPod&)>& change = [](auto&) {}) {
  auto made = std::make_shared<ControlledPod>();
  made->metadata.name = name;
  made->metadata.uid = "uid-" + name;
  made->metadata.created = kNow - 200'000;
  made->node_name = "n1";
  made->phase = PodPhase::running;
  made->ready = true;
  made->ready_since = kNow - 100'000;
  change(*made);
  return made;
}

ControlledPodPtr with_cost(const std::string& name, const std::string& cost) {
  return pod(name, [&](ControlledPod& made) {
    made.metadata.annotations = Labels{{"controller.kubernetes.io/pod-deletion-cost", cost}};
  });
}

std::string first_victim(const std::vector<ControlledPodPtr>& pods, const std::vector<ControlledPodPtr>& related = {}) {
  return victims(pods, related, 1, kNow).front()->metadata.name;
}

TEST(Victims, GoByWhatALossCostsLeast) {
  struct Rule {
    const char* what;
    ControlledPodPtr stays, goes;
  };
  const ControlledPodPtr plain = pod("a");
  for (const Rule& rule : {
           Rule{"no node", plain, pod("b", [](auto& p) { p.node_name = ""; })},
           Rule{"pending", plain, pod("b", [](auto& p) { p.phase = PodPhase::pending; })},
           Rule{"pending before unknown", pod("a", [](auto& p) { p.phase = PodPhase::unknown; }),
                pod("b", [](auto& p) { p.phase = PodPhase::pending; })},
           Rule{"not ready", plain, pod("b", [](auto& p) { p.ready = false; })},
           Rule{"a lower cost", plain, with_cost("b", "-1")},
           Rule{"an invalid cost is 0", with_cost("a", "1"), with_cost("b", "+2")},
           Rule{"ready for a shorter time", plain, pod("b", [](auto& p) { p.ready_since = kNow - 10'000; })},
           Rule{"more restarts", plain, pod("b", [](auto& p) { p.restarts = 1; })},
           Rule{"more restarts of sidecars", plain, pod("b", [](auto& p) { p.sidecar_restarts = 1; })},
           Rule{"younger", plain, pod("b", [](auto& p) { p.metadata.created = kNow - 20'000; })},
       }) {
    EXPECT_EQ(first_victim({rule.stays, rule.goes}), "b") << rule.what;
    EXPECT_EQ(first_victim({rule.goes, rule.stays}), "b") << rule.what;
  }
}

TEST(Victims, OfTimesWithinAPowerOfTwoTheUidDecides) {
  const auto longer = pod("b", [](auto& p) { p.ready_since = kNow - 101'000; });
  EXPECT_EQ(first_victim({longer, pod("a")}), "a");
  const auto other = pod("b", [](auto& p) {
    p.metadata.uid = "uid-0";
    p.ready_since = kNow - 101'000;
  });
  EXPECT_EQ(first_victim({pod("a"), other}), "b");
}

TEST(Victims, ThatAreEqualKeepTheirOrder) { EXPECT_EQ(first_victim({pod("b"), pod("a")}), "b"); }

TEST(Victims, BesideManyActiveRelatedPodsGoFirst) {
  const auto elsewhere = pod("b", [](auto& p) { p.node_name = "n2"; });
  const auto gone = pod("x", [](auto& p) { p.phase = PodPhase::failed; });
  EXPECT_EQ(first_victim({pod("a"), elsewhere}, {pod("a"), gone, gone, elsewhere, elsewhere}), "b");
}

TEST(Victims, AreAllPodsWhenAllHaveToGo) { EXPECT_EQ(victims({pod("a"), pod("b")}, {}, 2, kNow).size(), 2u); }

}  // namespace
}  // namespace berth
