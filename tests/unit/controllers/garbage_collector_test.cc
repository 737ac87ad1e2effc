#include "core/controllers/garbage_collector.h"

#include <gtest/gtest.h>

#include "tests/conformance/world.h"
#include "tests/unit/parsed_json.h"

namespace berth {
namespace {

class GarbageCollectorTest : public ::testing::Test {
 protected:
  void create(std::string_view kind, const std::string& name, const std::string& owners = "[]") {
    world_.store().create(kind, parsed_json(R"({"metadata":{"name":")" + name + R"(","ownerReferences":)" + owners +
                                            R"(},"spec":{"nodeName":"n1"}})"));
  }
  void remove(std::string_view kind, const std::string& name, Propagation propagation) {
    DeleteOptions options;
    options.propagation = propagation;
    world_.store().remove(kind, {"default", name}, options);
  }
  const Json* find(std::string_view kind, const std::string& name) {
    return world_.store().find(kind, {"default", name});
  }
  bool is_going(std::string_view kind, const std::string& name) {
    return find(kind, name)->find("metadata")->find("deletionTimestamp") != nullptr;
  }
  void collect_all() {
    while (collect_garbage(world_)) {
    }
  }
  void finish_pod(const std::string& name) {
    DeleteOptions at_once;
    at_once.grace_seconds = 0;
    world_.store().remove("Pod", {"default", name}, at_once);
  }

  World world_{0};
};

std::string owned_by(const std::string& kind, const std::string& name) {
  return R"([{"apiVersion":"apps/v1","kind":")" + kind + R"(","name":")" + name + R"(","uid":")" + kind + "." + name +
         R"(","blockOwnerDeletion":true}])";
}

TEST_F(GarbageCollectorTest, WhatBelongedToADeletedOwnerIsDeleted) {
  create("ReplicaSet", "web");
  create("Pod", "a", owned_by("ReplicaSet", "web"));
  create("Pod", "free");
  EXPECT_FALSE(collect_garbage(world_));
  remove("ReplicaSet", "web", Propagation::background);
  EXPECT_TRUE(collect_garbage(world_));
  EXPECT_TRUE(is_going("Pod", "a"));
  EXPECT_FALSE(is_going("Pod", "free"));
  EXPECT_FALSE(collect_garbage(world_));
}

TEST_F(GarbageCollectorTest, AnOwnerOfTheSameNameThatIsAnotherOneCountsAsGone) {
  create("ReplicaSet", "web");
  create("Pod", "a", owned_by("ReplicaSet", "web"));
  remove("ReplicaSet", "web", Propagation::background);
  create("ReplicaSet", "web");
  collect_all();
  EXPECT_TRUE(is_going("Pod", "a"));
}

TEST_F(GarbageCollectorTest, AnOwnerOfAnUnknownKindCountsAsExisting) {
  create("Pod", "a", owned_by("Widget", "w"));
  EXPECT_FALSE(collect_garbage(world_));
}

TEST_F(GarbageCollectorTest, APodWithAnotherOwnerLeftStays) {
  create("ReplicaSet", "web");
  create("ReplicaSet", "db");
  const std::string web = owned_by("ReplicaSet", "web");
  create("Pod", "a", web.substr(0, web.size() - 1) + "," + owned_by("ReplicaSet", "db").substr(1));
  remove("ReplicaSet", "web", Propagation::background);
  collect_all();
  EXPECT_FALSE(is_going("Pod", "a"));
}

TEST_F(GarbageCollectorTest, InTheForegroundTheOwnerGoesLast) {
  create("Deployment", "web");
  create("ReplicaSet", "web-1", owned_by("Deployment", "web"));
  create("Pod", "a", owned_by("ReplicaSet", "web-1"));
  remove("Deployment", "web", Propagation::foreground);
  collect_all();
  EXPECT_TRUE(is_going("Pod", "a"));
  EXPECT_TRUE(is_going("ReplicaSet", "web-1"));
  ASSERT_NE(find("Deployment", "web"), nullptr);
  finish_pod("a");
  collect_all();
  EXPECT_EQ(find("ReplicaSet", "web-1"), nullptr);
  EXPECT_EQ(find("Deployment", "web"), nullptr);
}

TEST_F(GarbageCollectorTest, WithOrphanTheDependentsStayAndForgetTheOwner) {
  create("ReplicaSet", "web");
  create("Pod", "a", owned_by("ReplicaSet", "web"));
  remove("ReplicaSet", "web", Propagation::orphan);
  collect_all();
  EXPECT_EQ(find("ReplicaSet", "web"), nullptr);
  EXPECT_FALSE(is_going("Pod", "a"));
  EXPECT_EQ(find("Pod", "a")->find("metadata")->find("ownerReferences"), nullptr);
}

}  // namespace
}  // namespace berth
