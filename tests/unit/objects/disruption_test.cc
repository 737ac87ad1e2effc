#include "core/objects/disruption.h"

#include <gtest/gtest.h>

#include <list>

namespace berth {
namespace {

// `healthy` of `all` pods labelled app=web in namespace "shop", and others that no budget here covers.
std::vector<BudgetedPod> pods_of(int healthy, int all) {
  static std::list<Pod> kept;
  std::vector<BudgetedPod> pods;
  const auto add = [&](const std::string& name_space, const std::string& app, bool well) {
    Pod& pod = kept.emplace_back();
    pod.metadata.name = "p" + std::to_string(kept.size());
    pod.metadata.namespace_ = name_space;
    pod.metadata.labels["app"] = app;
    pods.push_back({&pod, well});
  };
  for (int i = 0; i < all; ++i) add("shop", "web", i < healthy);
  add("shop", "db", true);
  add("default", "web", true);
  return pods;
}

PodDisruptionBudget budget_with(std::optional<IntOrPercent> min, std::optional<IntOrPercent> max) {
  PodDisruptionBudget budget;
  budget.metadata.namespace_ = "shop";
  budget.selector = LabelSelector{{{"app", Requirement::Operator::in, {"web"}}}};
  budget.min_available = min;
  budget.max_unavailable = max;
  return budget;
}

struct Case {
  std::string name;
  std::optional<IntOrPercent> min, max;
  int healthy, all;
  Disruption want;
};

bool operator==(const Disruption& a, const Disruption& b) {
  return a.expected_pods == b.expected_pods && a.current_healthy == b.current_healthy &&
         a.desired_healthy == b.desired_healthy && a.allowed == b.allowed;
}

TEST(Disruption, IsCountedAsTheDisruptionControllerDoes) {
  const IntOrPercent half{50, true};
  const IntOrPercent third{33, true};
  const std::optional<IntOrPercent> none;
  const Case cases[] = {
      {"min as a number", IntOrPercent{2}, none, 3, 4, {4, 3, 2, 1}},
      {"min beyond what is healthy", IntOrPercent{4}, none, 3, 4, {4, 3, 4, 0}},
      {"min beyond all pods", IntOrPercent{9}, none, 4, 4, {4, 4, 9, 0}},
      {"min 0", IntOrPercent{0}, none, 2, 4, {4, 2, 0, 2}},
      {"min as a share rounds up", half, none, 5, 5, {5, 5, 3, 2}},
      {"min 100%", IntOrPercent{100, true}, none, 5, 5, {5, 5, 5, 0}},
      {"max as a number", none, IntOrPercent{1}, 4, 4, {4, 4, 3, 1}},
      {"max that is used up", none, IntOrPercent{1}, 3, 4, {4, 3, 3, 0}},
      {"max beyond all pods", none, IntOrPercent{9}, 4, 4, {4, 4, 0, 4}},
      {"max 0", none, IntOrPercent{0}, 4, 4, {4, 4, 4, 0}},
      {"max as a share rounds up too", none, third, 4, 4, {4, 4, 2, 2}},
      {"no pods yet", IntOrPercent{0}, none, 0, 0, {0, 0, 0, 0}},
      {"no bound", none, none, 4, 4, {4, 4, 0, 0}},
  };
  for (const Case& c : cases) {
    EXPECT_TRUE(count_disruption(budget_with(c.min, c.max), pods_of(c.healthy, c.all)) == c.want) << c.name;
  }
}

TEST(Disruption, OfABudgetWithoutASelectorCoversNothing) {
  PodDisruptionBudget budget = budget_with(IntOrPercent{0}, std::nullopt);
  budget.selector.reset();
  EXPECT_EQ(count_disruption(budget, pods_of(2, 2)).expected_pods, 0);
}

TEST(Disruption, OfABudgetWithAnEmptySelectorCoversItsNamespace) {
  PodDisruptionBudget budget = budget_with(IntOrPercent{0}, std::nullopt);
  budget.selector.emplace();
  EXPECT_EQ(count_disruption(budget, pods_of(2, 2)).expected_pods, 3);
}

}  // namespace
}  // namespace berth
