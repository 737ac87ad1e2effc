#include "core/controllers/disruption/disruption_controller.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "core/controllers/disruption/eviction.h"
#include "tests/conformance/running_world.h"
#include "tests/conformance/verdict.h"
#include "tests/unit/parsed_json.h"

namespace berth {
namespace {

class DisruptionTest : public ::testing::Test {
 protected:
  DisruptionTest()
      : world_(input_, [](NodeLifecycle&) {
          std::vector<std::unique_ptr<Controller>> made;
          made.push_back(std::make_unique<DisruptionController>());
          made.push_back(std::make_unique<StaleDisruptionController>());
          return made;
        }) {}
  void create(const std::string& kind, const std::string& object) {
    world_.run(parsed_json(R"({"op":"create","kind":")" + kind + R"(","obj":)" + object + "}"));
  }
  // A ReplicaSet of this size, and its pods a, b ..., all ready.
  void create_set(int replicas) {
    create("ReplicaSet", R"({"metadata":{"name":"web"},"spec":{"replicas":)" + std::to_string(replicas) +
                             R"(,"selector":{"matchLabels":{"app":"web"}},"template":{}}})");
    for (int i = 0; i < replicas; ++i) {
      const std::string name(1, static_cast<char>('a' + i));
      create("Pod", R"({"metadata":{"name":")" + name +
                        R"(","labels":{"app":"web"},"ownerReferences":[{"apiVersion":)" +
                        R"("apps/v1","kind":"ReplicaSet","name":"web","uid":"ReplicaSet.web","controller":true}]}})");
      world_.run(parsed_json(R"({"op":"ready","pods":[")" + name + R"("]})"));
    }
  }
  void create_budget(const std::string& spec) {
    create("PodDisruptionBudget",
           R"({"metadata":{"name":"p"},"spec":{"selector":{"matchLabels":{"app":"web"}},)" + spec + "}}");
  }
  int evict_pod(const std::string& name) {
    world_.run(parsed_json(R"({"op":"evict","name":")" + name + R"("})"));
    return static_cast<int>(number(at(world_.answer(), "code")));
  }
  std::int64_t budget(const char* field) { return number(at(status("PodDisruptionBudget", "p"), field)); }
  std::string condition(const char* kind, const char* name, const char* type) {
    const Json found = at(conditions_by_type(at(status(kind, name), "conditions")), type);
    return found.string_at("status") + " " + found.string_at("reason");
  }
  const Json& status(const char* kind, const char* name) {
    return at(*world_.world().store().find(kind, {"default", name}), "status");
  }
  void advance(int seconds) {
    world_.run(parsed_json(R"({"op":"advance","seconds":)" + std::to_string(seconds) + "}"));
  }

  Json input_ = parsed_json(R"({"start":"2026-01-05T10:00:00Z"})");
  RunningWorld world_;
};

TEST_F(DisruptionTest, MaxUnavailableIsRoundedUpOfTheScale) {
  create_set(5);
  create_budget(R"("maxUnavailable":"30%")");
  EXPECT_EQ(budget("expectedPods"), 5);
  EXPECT_EQ(budget("desiredHealthy"), 3);
  EXPECT_EQ(budget("disruptionsAllowed"), 2);
  EXPECT_EQ(condition("PodDisruptionBudget", "p", "DisruptionAllowed"), "True SufficientPods");
  world_.run(parsed_json(R"({"op":"unready","pods":["a","b"]})"));
  EXPECT_EQ(budget("disruptionsAllowed"), 0);
  EXPECT_EQ(condition("PodDisruptionBudget", "p", "DisruptionAllowed"), "False InsufficientPods");
}

TEST_F(DisruptionTest, WithoutASelectorNoPodCounts) {
  create_set(2);
  create("PodDisruptionBudget", R"({"metadata":{"name":"p"},"spec":{"minAvailable":0}})");
  EXPECT_EQ(budget("expectedPods"), 0);
  EXPECT_EQ(budget("disruptionsAllowed"), 0);
}

TEST_F(DisruptionTest, AControllerThatIsUnknownAllowsNothing) {
  create("Pod", R"({"metadata":{"name":"x","labels":{"app":"web"},"ownerReferences":[{"apiVersion":"example.com/v1",
    "kind":"Widget","name":"w","uid":"Widget.w","controller":true}]}})");
  create_budget(R"("maxUnavailable":1)");
  EXPECT_EQ(condition("PodDisruptionBudget", "p", "DisruptionAllowed"), "False SyncFailed");
}

TEST_F(DisruptionTest, EvictionsAreAllowedUntilTheBudgetIsUsedUp) {
  create_set(3);
  create_budget(R"("minAvailable":2)");
  EXPECT_EQ(evict_pod("a"), 201);
  EXPECT_EQ(condition("Pod", "a", "DisruptionTarget"), "True EvictionByEvictionAPI");
  EXPECT_EQ(evict_pod("b"), 429);
  EXPECT_EQ(strings(at(world_.answer(), "causes")),
            std::vector<std::string>{"The disruption budget p needs 2 healthy pods and has 2 currently"});
  EXPECT_EQ(evict_pod("a"), 201);  // being deleted already
  EXPECT_EQ(evict_pod("z"), 404);
}

TEST_F(DisruptionTest, AnUnhealthyPodMayGoWhileTheOthersAreEnough) {
  create_set(3);
  create_budget(R"("minAvailable":2)");
  world_.run(parsed_json(R"({"op":"unready","pods":["a"]})"));
  EXPECT_EQ(budget("disruptionsAllowed"), 0);
  EXPECT_EQ(evict_pod("a"), 201);
  world_.run(parsed_json(R"({"op":"unready","pods":["b"]})"));
  EXPECT_EQ(evict_pod("b"), 429);
  world_.run(parsed_json(R"({"op":"update","kind":"PodDisruptionBudget","name":"p",
    "merge":{"spec":{"unhealthyPodEvictionPolicy":"AlwaysAllow"}}})"));
  EXPECT_EQ(evict_pod("b"), 201);
}

TEST_F(DisruptionTest, OfTwoBudgetsNoneDecides) {
  create_set(3);
  create_budget(R"("minAvailable":1)");
  create("PodDisruptionBudget", R"({"metadata":{"name":"q"},"spec":{"minAvailable":1,"selector":{}}})");
  EXPECT_EQ(evict_pod("a"), 500);
}

TEST_F(DisruptionTest, APodThatWasToGoAndStaysCountsAgainAfterTwoMinutes) {
  create_set(3);
  create_budget(R"("minAvailable":2)");
  world_.run(parsed_json(R"({"op":"status","kind":"PodDisruptionBudget","name":"p",
    "merge":{"disruptedPods":{"a":"2026-01-05T10:00:00Z","gone":"2026-01-05T10:00:00Z"}}})"));
  EXPECT_EQ(budget("currentHealthy"), 2);
  advance(120);
  EXPECT_EQ(budget("currentHealthy"), 2);
  advance(1);
  EXPECT_EQ(budget("currentHealthy"), 3);
  EXPECT_TRUE(world_.world().take_actions().contains(
      "event Pod a Warning NotDeleted: Pod was expected by PDB default/default to be deleted but it wasn't"));
}

TEST_F(DisruptionTest, ADisruptionTargetThatStaysIsTakenBackAfterTwoMinutes) {
  create_set(1);
  world_.run(parsed_json(R"({"op":"status","kind":"Pod","name":"a","merge":{"conditions":[{"type":"DisruptionTarget",
    "status":"True","reason":"PreemptionByScheduler","lastTransitionTime":"2026-01-05T10:00:00Z"}]}})"));
  advance(119);
  EXPECT_EQ(condition("Pod", "a", "DisruptionTarget"), "True PreemptionByScheduler");
  advance(1);
  EXPECT_EQ(condition("Pod", "a", "DisruptionTarget"), "False ");
}

}  // namespace
}  // namespace berth
