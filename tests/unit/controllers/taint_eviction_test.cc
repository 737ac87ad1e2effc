#include "core/controllers/nodes/taint_eviction_controller.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <string>
#include <vector>

#include "core/controllers/nodes/taint_eviction_rules.h"
#include "tests/unit/controllers/world_of.h"

namespace berth {
namespace {

NodeTaint taint(const std::string& key) {
  NodeTaint made;
  made.key = key;
  made.effect = TaintEffect::no_execute;
  return made;
}

Toleration toleration(const std::string& key, std::optional<std::int64_t> seconds) {
  Toleration made;
  made.key = key;
  made.op = Toleration::Operator::exists;
  made.toleration_seconds = seconds;
  return made;
}

std::optional<Millis> limit_of(std::int64_t seconds) {
  return tolerance_of({taint("x")}, {toleration("x", seconds)}).limit;
}

TEST(TaintTolerance, OneTaintThatNothingToleratesIsEnough) {
  EXPECT_FALSE(tolerance_of({taint("x"), taint("y")}, {toleration("x", std::nullopt)}).tolerates_all);
  EXPECT_FALSE(tolerance_of({taint("x")}, {}).tolerates_all);
}

TEST(TaintTolerance, TheShortestCountsOfTheFirstThatMatchEachTaint) {
  const std::vector<Toleration> tolerations{toleration("x", 30), toleration("x", 5), toleration("y", 20)};
  EXPECT_EQ(tolerance_of({taint("x")}, tolerations).limit, 30'000);
  EXPECT_EQ(tolerance_of({taint("x"), taint("y")}, tolerations).limit, 20'000);
  EXPECT_EQ(tolerance_of({taint("x")}, {toleration("x", std::nullopt), toleration("x", 5)}).limit, std::nullopt);
}

TEST(TaintTolerance, NegativeSecondsAreNone) { EXPECT_EQ(limit_of(-5), 0); }

TEST(TaintTolerance, SecondsBeyondADurationOfGoWrapAround) {
  EXPECT_EQ(limit_of(9'223'372'036), 9'223'372'036'000);
  EXPECT_EQ(limit_of(9'223'372'037), std::nullopt);
  EXPECT_EQ(limit_of(18'446'744'074), 291);  // 290,448,384 ns
  EXPECT_EQ(limit_of(std::numeric_limits<std::int64_t>::max()), std::nullopt);
}

// A node n1 and pods on it, which nobody removes.
class TaintEvictionTest : public ::testing::Test {
 protected:
  TaintEvictionTest() : world_(make, R"({"start":"2026-01-05T10:00:00Z"})") {
    world_.create("Node", R"({"metadata":{"name":"n1"}})");
  }
  static std::vector<std::unique_ptr<Controller>> make(NodeLifecycle&) {
    std::vector<std::unique_ptr<Controller>> made;
    made.push_back(std::make_unique<TaintEvictionController>());
    return made;
  }

  void add_pod(const std::string& tolerations) {
    world_.create("Pod", R"({"metadata":{"name":"a"},"spec":{"nodeName":"n1","tolerations":)" + tolerations + "}}");
  }
  void taint_node(const std::string& taints) {
    world_.run(R"({"op":"update","kind":"Node","name":"n1","merge":{"spec":{"taints":)" + taints + "}}}");
  }
  void advance(int seconds) { world_.run(R"({"op":"advance","seconds":)" + std::to_string(seconds) + "}"); }
  std::multiset<std::string> take() { return world_.take_actions(); }

  WorldOf world_;
};

using Actions = std::multiset<std::string>;

const char* const kMarked = "event Pod a Normal TaintManagerEviction: Marking for deletion Pod default/a";
const char* const kCancelled = "event Pod a Normal TaintManagerEviction: Cancelling deletion of Pod default/a";
const Actions kEvicted{"delete Pod a", kMarked};
const char* const kX = R"([{"key":"x","effect":"NoExecute"}])";
const char* const kXForTen = R"([{"key":"x","operator":"Exists","tolerationSeconds":10}])";

TEST_F(TaintEvictionTest, APodGoesWhenItsTimeIsUp) {
  add_pod(kXForTen);
  taint_node(kX);
  advance(9);
  EXPECT_EQ(take(), Actions{});
  advance(1);
  EXPECT_EQ(take(), kEvicted);
  const Json condition = at(conditions_by_type(at(world_.status("Pod", "a"), "conditions")), "DisruptionTarget");
  EXPECT_EQ(condition.string_at("reason"), "DeletionByTaintManager");
}

TEST_F(TaintEvictionTest, AWaitGoesOnWhateverIsToleratedForAShorterTime) {
  add_pod(R"([{"key":"x","operator":"Exists","tolerationSeconds":10},
              {"key":"y","operator":"Exists","tolerationSeconds":2}])");
  taint_node(kX);
  advance(5);
  taint_node(R"([{"key":"x","effect":"NoExecute"},{"key":"y","effect":"NoExecute"}])");
  advance(4);
  EXPECT_EQ(take(), Actions{});
  advance(1);
  EXPECT_EQ(take(), kEvicted);
}

TEST_F(TaintEvictionTest, AWaitThatBeganAtThisInstantBeginsAgain) {
  add_pod(kXForTen);
  taint_node(kX);
  world_.run(R"({"op":"update","kind":"Pod","name":"a","merge":{"spec":{"tolerations":[
      {"key":"x","operator":"Exists","tolerationSeconds":3}]}}})");
  EXPECT_EQ(take(), Actions{kCancelled});
  advance(3);
  EXPECT_EQ(take(), kEvicted);
}

TEST_F(TaintEvictionTest, ATaintThatIsNotToleratedEndsTheWaitAndItsTimeEvictsNobodyAgain) {
  add_pod(kXForTen);
  taint_node(kX);
  advance(5);
  taint_node(R"([{"key":"y","effect":"NoExecute"}])");
  EXPECT_EQ(take(), (Actions{"delete Pod a", kCancelled, kMarked}));
  advance(10);
  EXPECT_EQ(take(), Actions{});
}

TEST_F(TaintEvictionTest, AWaitThatWasCancelledDoesNotShortenTheNext) {
  add_pod(kXForTen);
  taint_node(kX);
  advance(5);
  taint_node("null");
  EXPECT_EQ(take(), Actions{kCancelled});
  taint_node(kX);
  advance(9);
  EXPECT_EQ(take(), Actions{});
  advance(1);
  EXPECT_EQ(take(), kEvicted);
}

TEST_F(TaintEvictionTest, TheWaitOutlivesTheNodeButNotThePod) {
  add_pod(kXForTen);
  taint_node(kX);
  world_.run(R"({"op":"delete","kind":"Node","name":"n1"})");
  advance(9);
  EXPECT_EQ(take(), Actions{});
  world_.run(R"({"op":"delete","kind":"Pod","name":"a","grace":0})");
  EXPECT_EQ(take(), Actions{kCancelled});
  advance(5);
  EXPECT_EQ(take(), Actions{});
}

TEST_F(TaintEvictionTest, APodThatIsBeingDeletedIsEvictedAgainWithoutAnotherCondition) {
  add_pod("[]");
  taint_node(kX);
  EXPECT_EQ(take(), kEvicted);
  taint_node(R"([{"key":"x","effect":"NoExecute","timeAdded":"2026-01-05T10:00:00Z"}])");
  EXPECT_EQ(take(), kEvicted);
  const Json condition = at(conditions_by_type(at(world_.status("Pod", "a"), "conditions")), "DisruptionTarget");
  EXPECT_EQ(number(at(condition, "observedGeneration")), 1);
}

TEST_F(TaintEvictionTest, ANodeWithTheSameTaintsEvictsNobodyAgain) {
  add_pod("[]");
  taint_node(kX);
  take();
  taint_node(R"([{"key":"x","effect":"NoExecute"},{"key":"y","effect":"NoSchedule"}])");
  EXPECT_EQ(take(), Actions{});
}

}  // namespace
}  // namespace berth
