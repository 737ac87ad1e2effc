#include <gtest/gtest.h>

#include <string>

#include "tests/unit/controllers/world_of.h"

namespace berth {
namespace {

// Ten replicas: one, then half of them, then all.
constexpr const char* kSharePlan = R"({"waves":[{"name":"one","upTo":1,"soakSeconds":100},
    {"name":"half","upTo":"50%","soakSeconds":20},{"name":"rest"}],"healthySeconds":3,"progressDeadlineSeconds":15})";

class DeploymentRolloutPlan : public ::testing::Test {
 protected:
  void start(const std::string& rolling = R"({"maxSurge":2,"maxUnavailable":2})") {
    world_.create("Deployment", R"({"metadata":{"name":"web","annotations":{"berth/rollout-plan":)" +
                                    Json(kSharePlan).dump() +
                                    R"(}},"spec":{"replicas":10,"progressDeadlineSeconds":30,
                  "selector":{"matchLabels":{"app":"web"}},"strategy":{"rollingUpdate":)" +
                                    rolling + R"(},"template":{"metadata":{"labels":{"app":"web"}},
                  "spec":{"containers":[{"name":"c","image":"v1"}]}}}})");
    advance(150);
    EXPECT_EQ(rollout("phase"), "Complete") << rollout("message");
  }
  void merge(const std::string& merge) {
    world_.run(R"({"op":"update","kind":"Deployment","name":"web","merge":)" + merge + "}");
  }
  void set_image(const std::string& image) {
    merge(R"({"spec":{"template":{"spec":{"containers":[{"name":"c","image":")" + image + R"("}]}}}})");
  }
  void advance(int seconds) { world_.run(R"({"op":"advance","seconds":)" + std::to_string(seconds) + "}"); }
  void operate(const std::string& op, const std::string& pod) {
    world_.run(R"({"op":")" + op + R"(","count":9,"pods":[")" + pod + "\"]}");
  }
  std::string rollout(const char* field) { return at(world_.status("Deployment", "web"), "rollout").string_at(field); }
  std::string reason(const char* condition) {
    return at(conditions_by_type(at(world_.status("Deployment", "web"), "conditions")), condition).string_at("reason");
  }
  // The first pod of the set.
  std::string pod_of(const std::string& set) {
    for (const std::string& pod : world_.names("Pod")) {
      if (pod.starts_with(set)) return pod;
    }
    return "";
  }

  WorldOf world_;
};

TEST_F(DeploymentRolloutPlan, TheFirstRevisionAlsoGoesInWaves) {
  world_.create("Deployment", R"({"metadata":{"name":"web","annotations":{"berth/rollout-plan":)" +
                                  Json(kSharePlan).dump() +
                                  R"(}},"spec":{"replicas":10,"selector":{"matchLabels":{"app":"web"}},
                  "template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"c"}]}}}})");
  advance(50);
  EXPECT_EQ(world_.replicas("web-h1"), 1);
  merge(R"({"spec":{"replicas":12}})");
  EXPECT_EQ(world_.replicas("web-h1"), 1);
  advance(100);
  EXPECT_EQ(world_.replicas("web-h1"), 12);
}

TEST_F(DeploymentRolloutPlan, TheNewReplicaSetGrowsNoFurtherThanTheWave) {
  start();
  set_image("v2");
  advance(20);
  EXPECT_EQ(world_.replicas("web-h2"), 1);
  EXPECT_EQ(world_.replicas("web-h1"), 9);
  EXPECT_EQ(rollout("message"), "wave one (1 of 3): 1 of 1 healthy; soaks until 2026-01-05T10:04:14Z");
  advance(60);
  EXPECT_NE(reason("Progressing"), "ProgressDeadlineExceeded");
  advance(40);
  EXPECT_EQ(world_.replicas("web-h2"), 5);
  EXPECT_EQ(world_.replicas("web-h1"), 5);
  advance(60);
  EXPECT_EQ(world_.replicas("web-h2"), 10);
  EXPECT_EQ(world_.replicas("web-h1"), 0);
  EXPECT_EQ(rollout("phase"), "Complete");
}

TEST_F(DeploymentRolloutPlan, WithoutSurgeAnOldPodMakesWay) {
  start(R"({"maxSurge":0,"maxUnavailable":2})");
  set_image("v2");
  advance(20);
  EXPECT_EQ(world_.replicas("web-h2"), 1);
  EXPECT_EQ(world_.replicas("web-h1"), 9);
}

TEST_F(DeploymentRolloutPlan, AFailedWaveGoesBackToTheStableReplicaSet) {
  start();
  set_image("v2");
  advance(20);
  operate("restart", pod_of("web-h2"));
  operate("unready", pod_of("web-h2"));
  advance(10);
  EXPECT_EQ(rollout("phase"), "RolledBack");
  EXPECT_EQ(world_.replicas("web-h1"), 10);
  set_image("v3");
  EXPECT_EQ(rollout("waveName"), "one");
  advance(10);
  EXPECT_EQ(world_.replicas("web-h3"), 1);
}

TEST_F(DeploymentRolloutPlan, TheStableReplicaSetIsKeptBeyondTheHistoryLimit) {
  start();
  const Json plan = R"({"waves":[{"name":"all","soakSeconds":100}],"healthySeconds":3})";
  merge(R"({"spec":{"revisionHistoryLimit":0},"metadata":{"annotations":{"berth/rollout-plan":)" + plan.dump() + "}}}");
  set_image("v2");
  advance(30);
  EXPECT_EQ(world_.replicas("web-h2"), 10);
  EXPECT_EQ(world_.names("ReplicaSet"), (std::vector<std::string>{"web-h1", "web-h2"}));
  advance(120);
  EXPECT_EQ(rollout("phase"), "Complete");
  EXPECT_EQ(world_.names("ReplicaSet"), std::vector<std::string>{"web-h2"});
}

TEST_F(DeploymentRolloutPlan, PausesByItsAnnotation) {
  start();
  merge(R"({"metadata":{"annotations":{"berth/rollout-paused":"true"}}})");
  set_image("v2");
  advance(20);
  EXPECT_EQ(rollout("phase"), "Paused");
  EXPECT_EQ(world_.replicas("web-h1"), 10);
  merge(R"({"metadata":{"annotations":{"berth/rollout-paused":null}}})");
  advance(2);
  EXPECT_EQ(world_.replicas("web-h2"), 1);
}

TEST_F(DeploymentRolloutPlan, ADeploymentThatIsPausedWaitsToo) {
  start();
  merge(R"({"spec":{"paused":true}})");
  set_image("v2");
  EXPECT_EQ(rollout("phase"), "Paused");
}

TEST_F(DeploymentRolloutPlan, APodWhoseNodeFallsSilentIsWaitedFor) {
  world_.create("Node", R"({"metadata":{"name":"n1"}})");
  start();
  set_image("v2");
  advance(2);
  EXPECT_EQ(rollout("message"), "wave one (1 of 3): 0 of 1 healthy, 1 updating");
  world_.run(R"({"op":"status","kind":"Node","name":"n1","merge":{"conditions":[{"type":"Ready","status":"Unknown",
                 "lastTransitionTime":"2026-01-05T10:02:32Z"}]}})");
  EXPECT_EQ(rollout("message"), "wave one (1 of 3): 0 of 1 healthy, 1 not answering");
}

TEST_F(DeploymentRolloutPlan, ThePlanIsNotCopiedToReplicaSets) {
  start();
  const Json& annotations = at(at(world_.object("ReplicaSet", "web-h1"), "metadata"), "annotations");
  EXPECT_EQ(annotations.string_at("berth/rollout-plan"), "");
  EXPECT_EQ(annotations.string_at("deployment.kubernetes.io/revision"), "1");
}

TEST_F(DeploymentRolloutPlan, APlanThatIsTakenAwayEndsTheWaves) {
  start();
  set_image("v2");
  advance(20);
  merge(R"({"metadata":{"annotations":{"berth/rollout-plan":null}}})");
  advance(20);
  EXPECT_EQ(world_.replicas("web-h2"), 10);
  EXPECT_EQ(at(world_.status("Deployment", "web"), "rollout"), Json());
}

}  // namespace
}  // namespace berth
