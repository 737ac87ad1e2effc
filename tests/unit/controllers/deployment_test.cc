#include <gtest/gtest.h>

#include "tests/unit/controllers/world_of.h"

namespace berth {
namespace {

using Names = std::vector<std::string>;

class DeploymentTest : public ::testing::Test {
 protected:
  void create(const std::string& strategy = R"({"type":"RollingUpdate","rollingUpdate":{"maxSurge":1}})") {
    world_.create(
        "Deployment",
        R"({"metadata":{"name":"web"},"spec":{"replicas":2,"progressDeadlineSeconds":60,
                  "selector":{"matchLabels":{"app":"web"}},"strategy":)" +
            strategy +
            R"(,"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"c","image":"v1"}]}}}})");
    advance(2);
  }
  void merge(const std::string& merge) {
    world_.run(R"({"op":"update","kind":"Deployment","name":"web","merge":)" + merge + "}");
  }
  void set_image(const std::string& image) {
    merge(R"({"spec":{"template":{"spec":{"containers":[{"name":"c","image":")" + image + R"("}]}}}})");
  }
  void advance(int seconds) { world_.run(R"({"op":"advance","seconds":)" + std::to_string(seconds) + "}"); }
  std::string reason(const char* condition) {
    return at(conditions_by_type(at(world_.status("Deployment", "web"), "conditions")), condition).string_at("reason");
  }

  WorldOf world_;
};

TEST_F(DeploymentTest, RollsOutStepByStep) {
  create();
  EXPECT_EQ(reason("Progressing"), "NewReplicaSetAvailable");
  set_image("v2");
  EXPECT_EQ(world_.replicas("web-h1"), 2);
  EXPECT_EQ(world_.replicas("web-h2"), 1);
  advance(1);
  EXPECT_EQ(world_.replicas("web-h1"), 1);
  advance(5);
  EXPECT_EQ(world_.replicas("web-h1"), 0);
  EXPECT_EQ(world_.replicas("web-h2"), 2);
  EXPECT_EQ(number(at(world_.status("Deployment", "web"), "availableReplicas")), 2);
}

TEST_F(DeploymentTest, RecreateWaitsForTheLastOldPod) {
  create(R"({"type":"Recreate"})");
  set_image("v2");
  EXPECT_EQ(world_.replicas("web-h1"), 0);
  EXPECT_EQ(world_.names("ReplicaSet"), Names{"web-h1"});
  advance(1);
  EXPECT_EQ(world_.replicas("web-h2"), 2);
}

TEST_F(DeploymentTest, APausedOneIsResizedButNotRolledOut) {
  create();
  merge(R"({"spec":{"paused":true}})");
  EXPECT_EQ(reason("Progressing"), "DeploymentPaused");
  set_image("v2");
  merge(R"({"spec":{"replicas":5}})");
  EXPECT_EQ(world_.names("ReplicaSet"), Names{"web-h1"});
  EXPECT_EQ(world_.replicas("web-h1"), 5);
  merge(R"({"spec":{"paused":null}})");
  EXPECT_EQ(world_.replicas("web-h2"), 1);
}

TEST_F(DeploymentTest, SaysWhenItMakesNoProgress) {
  world_.run(R"({"op":"podLimit","max":0})");
  create();
  advance(58);
  EXPECT_EQ(reason("Progressing"), "NewReplicaSetCreated");
  EXPECT_EQ(reason("ReplicaFailure"), "FailedCreate");
  advance(4);
  EXPECT_EQ(reason("Progressing"), "ProgressDeadlineExceeded");
}

TEST_F(DeploymentTest, AnOldTemplateGetsItsReplicaSetBackWithANewRevision) {
  create();
  set_image("v2");
  advance(6);
  merge(R"({"metadata":{"annotations":{"deprecated.deployment.rollback.to":"0"}}})");
  EXPECT_TRUE(world_.take_actions().contains(
      "event Deployment web Normal DeploymentRollback: Rolled back deployment \"web\" to revision 1"));
  advance(6);
  EXPECT_EQ(world_.replicas("web-h1"), 2);
  const Json& annotations = at(at(world_.object("ReplicaSet", "web-h1"), "metadata"), "annotations");
  EXPECT_EQ(annotations.string_at("deployment.kubernetes.io/revision"), "3");
  EXPECT_EQ(annotations.string_at("deployment.kubernetes.io/revision-history"), "1");
}

TEST_F(DeploymentTest, DeletesOldReplicaSetsBeyondItsHistory) {
  create();
  merge(R"({"spec":{"revisionHistoryLimit":1}})");
  for (const char* image : {"v2", "v3"}) {
    set_image(image);
    advance(6);
  }
  EXPECT_EQ(world_.names("ReplicaSet"), (Names{"web-h2", "web-h3"}));
}

}  // namespace
}  // namespace berth
