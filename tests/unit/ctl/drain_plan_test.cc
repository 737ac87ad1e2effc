#include "firmware-host/ctl/drain_plan.h"

#include <gtest/gtest.h>

#include "tests/unit/parsed_json.h"

namespace berth {
namespace {

Json pod_on(const std::string& node, const std::string& name, const std::string& controller,
            const std::string& phase = "Running", const std::string& spec = "{}") {
  const std::string owners =
      controller.empty() ? "[]" : R"([{"kind":")" + controller + R"(","name":"o","controller":true}])";
  return parsed_json(R"({"metadata":{"namespace":"shop","name":")" + name + R"(","uid":"u","ownerReferences":)" +
                     owners + R"(},"spec":)" + spec + R"(,"status":{"nodeName":")" + node + R"(","phase":")" + phase +
                     R"("}})");
}

std::string names(const DrainPlan& plan) {
  std::string text;
  for (const DrainedPod& pod : plan.pods) text += pod.name + " ";
  return text;
}

TEST(DrainPlan, TakesThePodsOfTheNodeThatHaveAController) {
  const DrainPlan plan = plan_drain(
      {pod_on("n1", "a", "ReplicaSet"), pod_on("n2", "b", "ReplicaSet"), pod_on("n1", "c", "Job")}, "n1", {});
  EXPECT_EQ(names(plan), "a c ");
  EXPECT_EQ(plan.error + plan.warning, "");
}

TEST(DrainPlan, RefusesWhatNobodyMakesAgainAndWhatComesBackAtOnce) {
  const std::vector<Json> pods = {pod_on("n1", "own", ""), pod_on("n1", "agent", "DaemonSet"),
                                  pod_on("n1", "cache", "ReplicaSet", "Running", R"({"volumes":[{"emptyDir":{}}]})"),
                                  pod_on("n1", "other", "")};
  EXPECT_EQ(plan_drain(pods, "n1", {}).error,
            "cannot delete Pods that declare no controller (use --force to override): shop/own, shop/other, "
            "cannot delete DaemonSet-managed Pods (use --ignore-daemonsets to ignore): shop/agent, "
            "cannot delete Pods with local storage (use --delete-emptydir-data to override): shop/cache");
  DrainOptions all;
  all.ignores_daemon_sets = all.forces = all.deletes_empty_dirs = true;
  const DrainPlan plan = plan_drain(pods, "n1", all);
  EXPECT_EQ(plan.error, "");
  EXPECT_EQ(plan.warning,
            "deleting Pods that declare no controller: shop/own, shop/other; ignoring DaemonSet-managed Pods: "
            "shop/agent");
  EXPECT_EQ(names(plan), "own cache other ");
}

TEST(DrainPlan, TakesPodsThatHaveEndedWithoutAsking) {
  EXPECT_EQ(names(plan_drain({pod_on("n1", "done", "", "Succeeded"), pod_on("n1", "broken", "DaemonSet", "Failed")},
                             "n1", {})),
            "done broken ");
}

TEST(DrainPlan, LeavesOrphansAlone) {
  const DrainPlan plan = plan_drain({pod_on("n1", "lost", "", "Orphan")}, "n1", {});
  EXPECT_EQ(names(plan), "");
  EXPECT_NE(plan.warning.find("ignoring orphans"), std::string::npos);
}

}  // namespace
}  // namespace berth
