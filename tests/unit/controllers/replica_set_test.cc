#include <gtest/gtest.h>

#include "tests/unit/controllers/world_of.h"

namespace berth {
namespace {

using Names = std::vector<std::string>;

constexpr std::string_view kWeb =
    R"({"metadata":{"name":"web"},"spec":{"replicas":2,"selector":{"matchLabels":{"app":"web"}},"template":
    {"metadata":{"labels":{"app":"web"},"annotations":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"v1"}]}}}})";

TEST(ReplicaSetController, MakesItsPodsFromTheTemplateAndReplacesThem) {
  WorldOf world;
  world.create("ReplicaSet", kWeb);
  EXPECT_EQ(world.names("Pod"), (Names{"web-01", "web-02"}));
  const Json& metadata = at(world.object("Pod", "web-01"), "metadata");
  EXPECT_EQ(at(metadata, "labels").dump(), R"({"app":"web"})");
  EXPECT_EQ(at(metadata, "annotations").dump(), R"({"a":"b"})");
  EXPECT_EQ(list(at(metadata, "ownerReferences")).front().string_at("uid"), "ReplicaSet.web");
  world.run(R"({"op":"fail","pods":["web-01"]})");
  EXPECT_EQ(world.names("Pod"), (Names{"web-01", "web-02", "web-03"}));
}

TEST(ReplicaSetController, AReplicationControllerDoesTheSame) {
  WorldOf world;
  world.create("ReplicationController",
               R"({"metadata":{"name":"web"},"spec":{"replicas":1,"selector":{"app":"web"},"template":
               {"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"c"}]}}}})");
  ASSERT_EQ(world.names("Pod"), Names{"web-01"});
  const Json& owner = list(at(at(world.object("Pod", "web-01"), "metadata"), "ownerReferences")).front();
  EXPECT_EQ(owner.string_at("kind"), "ReplicationController");
  EXPECT_EQ(owner.string_at("apiVersion"), "v1");
  EXPECT_EQ(number(at(world.status("ReplicationController", "web"), "replicas")), 1);
}

TEST(ReplicaSetController, TellsARefusedCreationAndTriesAgain) {
  WorldOf world;
  world.run(R"({"op":"podLimit","max":1})");
  world.create("ReplicaSet", kWeb);
  const Json condition = at(conditions_by_type(at(world.status("ReplicaSet", "web"), "conditions")), "ReplicaFailure");
  EXPECT_EQ(condition.string_at("reason"), "FailedCreate");
  EXPECT_TRUE(world.take_actions().contains(
      "event ReplicaSet web Warning FailedCreate: Error creating: pods \"web-\" is forbidden: exceeded quota"));
  world.run(R"({"op":"podLimit"})");
  world.run(R"({"op":"advance","seconds":1})");
  EXPECT_EQ(world.names("Pod").size(), 2u);
  EXPECT_TRUE(list(at(world.status("ReplicaSet", "web"), "conditions")).empty());
}

TEST(ReplicaSetController, CountsAPodAsAvailableWhenItHasBeenReadyLongEnough) {
  WorldOf world;
  world.create("ReplicaSet", kWeb);
  world.run(R"({"op":"update","kind":"ReplicaSet","name":"web","merge":{"spec":{"minReadySeconds":10}}})");
  world.run(R"({"op":"advance","seconds":10})");
  EXPECT_EQ(number(at(world.status("ReplicaSet", "web"), "readyReplicas")), 2);
  EXPECT_EQ(number(at(world.status("ReplicaSet", "web"), "availableReplicas")), 0);
  world.run(R"({"op":"advance","seconds":1})");
  EXPECT_EQ(number(at(world.status("ReplicaSet", "web"), "availableReplicas")), 2);
}

TEST(ReplicaSetController, CountsATerminatingPodApart) {
  WorldOf world;
  world.create("ReplicaSet", kWeb);
  world.run(R"({"op":"advance","seconds":1})");
  world.run(R"({"op":"delete","kind":"Pod","name":"web-01"})");
  EXPECT_EQ(number(at(world.status("ReplicaSet", "web"), "terminatingReplicas")), 1);
  EXPECT_EQ(number(at(world.status("ReplicaSet", "web"), "replicas")), 2);
  world.run(R"({"op":"advance","seconds":1})");
  EXPECT_EQ(number(at(world.status("ReplicaSet", "web"), "terminatingReplicas")), 0);
}

}  // namespace
}  // namespace berth
