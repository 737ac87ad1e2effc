#include "core/controllers/deployment/deployment_numbers.h"

#include <gtest/gtest.h>

#include "core/controllers/deployment/deployment_annotations.h"
#include "core/controllers/percent.h"
#include "core/controllers/template_hash.h"
#include "tests/unit/parsed_json.h"

namespace berth {
namespace {

ReplicaSetPtr set_of(const std::string& name, std::int32_t replicas, Labels annotations = {}) {
  auto set = std::make_shared<ReplicaSet>();
  set->metadata.name = name;
  set->metadata.annotations = std::move(annotations);
  set->spec.replicas = replicas;
  return set;
}

Deployment deployment_of(std::int32_t replicas, IntOrPercent surge, IntOrPercent unavailable) {
  Deployment deployment;
  deployment.spec.replicas = replicas;
  deployment.spec.max_surge = surge;
  deployment.spec.max_unavailable = unavailable;
  return deployment;
}

TEST(Percent, IsRoundedUpOrDown) {
  EXPECT_EQ(scaled_up(IntOrPercent{25, true}, 3), 1);
  EXPECT_EQ(scaled_down(IntOrPercent{25, true}, 3), 0);
  EXPECT_EQ(scaled_up(IntOrPercent{100, true}, 7), 7);
  EXPECT_EQ(scaled_down(IntOrPercent{5, false}, 3), 5);
  EXPECT_EQ(scaled_up(std::nullopt, 10), 0);
  EXPECT_EQ(scaled_up(IntOrPercent{100, true}, 2147483647), 2147483647);
}

TEST(DeploymentNumbers, SurgeAndUnavailableAreNeverBothZero) {
  const Deployment both_zero = deployment_of(6, {0, true}, {1, true});
  EXPECT_EQ(max_surge(both_zero), 0);
  EXPECT_EQ(max_unavailable(both_zero), 1);
  Deployment deployment = deployment_of(3, {0, false}, {10, false});
  EXPECT_EQ(max_unavailable(deployment), 3);
  deployment.spec.replicas = 0;
  EXPECT_EQ(max_unavailable(deployment), 0);
  deployment = deployment_of(3, {2, false}, {1, false});
  deployment.spec.recreate = true;
  EXPECT_EQ(max_surge(deployment) + max_unavailable(deployment), 0);
}

TEST(DeploymentNumbers, TheNewSetGrowsAsFarAsTheSurgeAllows) {
  const Deployment deployment = deployment_of(4, {1, false}, {0, false});
  EXPECT_EQ(new_set_replicas(deployment, {set_of("old", 4)}, 0), 1);
  EXPECT_EQ(new_set_replicas(deployment, {set_of("old", 5)}, 0), 0);
  EXPECT_EQ(new_set_replicas(deployment, {set_of("old", 0)}, 0), 4);
}

TEST(DeploymentNumbers, AChangeOfSizeIsSharedInProportionAndTheLargestGetsTheRest) {
  const Labels was_ten{{std::string(kMaxReplicas), "10"}};
  const Deployment deployment = deployment_of(15, {0, false}, {1, false});
  const std::vector<Resize> sizes = proportional_sizes(deployment, {set_of("a", 3, was_ten), set_of("b", 7, was_ten)});
  ASSERT_EQ(sizes.size(), 2u);
  EXPECT_EQ(sizes[0].set->metadata.name, "b");
  EXPECT_EQ(sizes[0].replicas, 11);  // 10.5 rounded up takes four of five
  EXPECT_EQ(sizes[1].replicas, 4);
}

TEST(DeploymentNumbers, ToZeroEverythingGoes) {
  const Deployment deployment = deployment_of(0, {1, false}, {1, false});
  for (const Resize& each : proportional_sizes(deployment, {set_of("a", 3), set_of("b", 7)}))
    EXPECT_EQ(each.replicas, 0);
}

TEST(DeploymentAnnotations, ANewRevisionKeepsTheFormerOnesAsHistory) {
  Deployment deployment;
  deployment.metadata.annotations =
      Labels{{"team", "a"}, {std::string(kRevision), "9"}, {"kubectl.kubernetes.io/last-applied-configuration", "{}"}};
  const Labels first = new_set_annotations(deployment, {}, 1);
  EXPECT_EQ(first, (Labels{{"team", "a"}, {std::string(kRevision), "1"}}));
  const Labels third = new_set_annotations(deployment, first, 3);
  EXPECT_EQ(third.at(std::string(kRevision)), "3");
  EXPECT_EQ(third.at(std::string(kRevisionHistory)), "1");
  EXPECT_EQ(new_set_annotations(deployment, third, 5).at(std::string(kRevisionHistory)), "1,3");
  EXPECT_EQ(new_set_annotations(deployment, third, 2), third);
}

TEST(DeploymentAnnotations, ALongHistoryLosesItsOldestRevisions) {
  std::string history = "1";
  while (history.size() < 1999) history += ",2";
  const Labels had{{std::string(kRevision), "77"}, {std::string(kRevisionHistory), history}};
  const std::string longer = new_set_annotations(Deployment(), had, 78).at(std::string(kRevisionHistory));
  EXPECT_LE(longer.size(), 2000u);
  EXPECT_TRUE(longer.ends_with(",2,77"));
  EXPECT_TRUE(longer.starts_with("2,"));
}

TEST(DeploymentAnnotations, TheLastRevisionIsTheSecondHighest) {
  const auto with = [](const char* revision) { return set_of(revision, 0, {{std::string(kRevision), revision}}); };
  EXPECT_EQ(last_but_one_revision({with("3"), with("7"), with("5"), with("x")}), 5);
  EXPECT_EQ(last_but_one_revision({with("3")}), 0);
}

TEST(TemplateHash, IsTheSameForTheSameContentAndStaysTheSame) {
  const Json content = parsed_json(R"({"spec":{"a":1,"b":2}})");
  EXPECT_EQ(template_hash(content, std::nullopt),
            template_hash(parsed_json(R"({"spec":{"b":2,"a":1}})"), std::nullopt));
  EXPECT_NE(template_hash(content, std::nullopt),
            template_hash(parsed_json(R"({"spec":{"a":2,"b":1}})"), std::nullopt));
  EXPECT_NE(template_hash(content, std::nullopt), template_hash(content, 0));
  EXPECT_EQ(template_hash(content, std::nullopt), "ct542qnpwx");  // in the names of stored objects
}

}  // namespace
}  // namespace berth
