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

TEST(ReplicaSetController, OneSynchronisationMakesAndDeletesAsManyPodsAsItsBurstAtMost) {
  World world{0};
  std::string set(kWeb);
  set.replace(set.find(R"("replicas":2)"), 12, R"("replicas":7)");
  world.store().create("ReplicaSet", parsed_json(set));
  ReplicaSetController controller(ReplicaSet::kKind, 3);
  const auto pods_after_sync = [&] {
    EXPECT_TRUE(controller.sync({"default", "web"}, world).status.is_success());
    return world.list("Pod", "default").size();
  };
  EXPECT_EQ(pods_after_sync(), 3u);
  EXPECT_EQ(pods_after_sync(), 6u);
  EXPECT_EQ(pods_after_sync(), 7u);
}

TEST(ReplicaSetController, CountsPodsByTheirOwnLabelsWhicheverComeBefore) {
  WorldOf world;
  world.create("ReplicaSet",
               R"({"metadata":{"name":"web"},"spec":{"replicas":3,"selector":{"matchLabels":{"app":"web"}},
    "template":{"metadata":{"labels":{"app":"web","tier":"front"}},"spec":{"containers":[{"name":"c"}]}}}})");
  world.run(R"({"op":"update","kind":"Pod","name":"web-02","merge":{"metadata":{"labels":{"tier":"back"}}}})");
  EXPECT_EQ(number(at(world.status("ReplicaSet", "web"), "fullyLabeledReplicas")), 2);
  EXPECT_EQ(number(at(world.status("ReplicaSet", "web"), "replicas")), 3);
}

}  // namespace
}  // namespace berth
