#include <gtest/gtest.h>

#include "core/api/deployment.h"
#include "core/api/replica_set.h"
#include "tests/unit/parsed_json.h"

namespace berth {
namespace {

constexpr std::string_view kTemplate =
    R"("template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"c","image":"v1"}]}})";

std::string deployment_error(const Result<Deployment>& deployment) {
  return deployment ? "" : deployment.error().message();
}

Result<Deployment> deployment_with(std::string_view spec) {
  return decode_deployment(
      parsed_json(R"({"metadata":{"name":"web"},"spec":{"selector":{"matchLabels":{"app":"web"}},)" +
                  std::string(kTemplate) + std::string(spec) + "}}"),
      nullptr);
}

TEST(DecodeReplicaSet, ReadsOwnersTimesSpecAndStatus) {
  const Result<ReplicaSet> set = decode_replica_set(
      parsed_json(R"({"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"name":"web-1","uid":"u1","generation":3,
        "creationTimestamp":"2026-01-05T10:00:00Z","deletionTimestamp":"2026-01-05T10:00:30Z","finalizers":["orphan"],
        "ownerReferences":[{"apiVersion":"apps/v1","kind":"Deployment","name":"web","uid":"u0","controller":true}]},
        "spec":{"replicas":2,"minReadySeconds":5,"selector":{"matchLabels":{"app":"web"}},)" +
                  std::string(kTemplate) + R"(},
        "status":{"replicas":1,"terminatingReplicas":0,"observedGeneration":2,
        "conditions":[{"type":"ReplicaFailure","status":"True","lastTransitionTime":"2026-01-05T10:00:01Z"}]}})"),
      nullptr);
  ASSERT_TRUE(set) << set.error().message();
  EXPECT_EQ(set->metadata.namespace_, "default");
  EXPECT_EQ(set->metadata.controller_uid, "u0");
  ASSERT_NE(controller_of(set->metadata), nullptr);
  EXPECT_EQ(controller_of(set->metadata)->kind, "Deployment");
  EXPECT_EQ(*set->metadata.deletion - *set->metadata.created, 30'000);
  EXPECT_EQ(set->metadata.finalizers.get(), std::vector<std::string>{"orphan"});
  EXPECT_EQ(set->spec.replicas, 2);
  EXPECT_EQ(set->spec.min_ready_seconds, 5);
  EXPECT_EQ(set->spec.pod_template.labels.at("app"), "web");
  EXPECT_EQ(set->status.terminating_replicas, 0);
  EXPECT_EQ(to_json(set->status).dump(),
            R"({"replicas":1,"terminatingReplicas":0,"observedGeneration":2,"conditions":[{"type":"ReplicaFailure",)"
            R"("status":"True","lastTransitionTime":"2026-01-05T10:00:01Z"}]})");
}

TEST(DecodeReplicationController, HasAMapOfLabelsAsItsSelector) {
  const Result<ReplicaSet> set = decode_replication_controller(
      parsed_json(R"({"kind":"ReplicationController","metadata":{"name":"web"},"spec":{"selector":{"app":"web"},)" +
                  std::string(kTemplate) + "}}"),
      nullptr);
  ASSERT_TRUE(set) << set.error().message();
  EXPECT_EQ(set->kind, kReplicationController);
  EXPECT_EQ(set->spec.replicas, 1);
  EXPECT_TRUE(matches(set->spec.selector, {{"app", "web"}}));
  EXPECT_FALSE(matches(set->spec.selector, {{"app", "db"}}));
}

TEST(DecodeDeployment, ReadsItsStrategy) {
  const Result<Deployment> rolling = deployment_with(
      R"(,"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":"150%","maxUnavailable":0}},"paused":true)");
  ASSERT_TRUE(rolling) << rolling.error().message();
  EXPECT_EQ(rolling->spec.max_surge, (IntOrPercent{150, true}));
  EXPECT_EQ(rolling->spec.max_unavailable, (IntOrPercent{0, false}));
  EXPECT_TRUE(rolling->spec.paused);
  EXPECT_FALSE(rolling->spec.progress_deadline_seconds);
  const Result<Deployment> recreate = deployment_with(R"(,"strategy":{"type":"Recreate"},"revisionHistoryLimit":0)");
  ASSERT_TRUE(recreate) << recreate.error().message();
  EXPECT_TRUE(recreate->spec.recreate);
  EXPECT_EQ(recreate->spec.revision_history_limit, 0);
}

TEST(DecodeDeployment, NamesTheFieldThatIsWrong) {
  struct Wrong {
    std::string_view spec, error;
  };
  for (const Wrong& each : {
           Wrong{R"(,"replicas":"3")", "spec.replicas: expected"},
           Wrong{R"(,"replicas":-1)", "spec.replicas: "},
           Wrong{R"(,"strategy":{"type":"Rolling"})", "spec.strategy.type: expected"},
           Wrong{R"(,"strategy":{"rollingUpdate":{"maxSurge":"x"}})", "spec.strategy.rollingUpdate.maxSurge: expected"},
           Wrong{R"(,"strategy":{"type":"Recreate","rollingUpdate":{}})",
                 "spec.strategy.rollingUpdate: must be absent"},
           Wrong{R"(,"progressDeadlineSeconds":5,"minReadySeconds":5)",
                 "spec.progressDeadlineSeconds: must be greater"},
       }) {
    const std::string error = deployment_error(deployment_with(each.spec));
    EXPECT_TRUE(error.starts_with(each.error)) << each.spec << ": " << error;
  }
  EXPECT_TRUE(deployment_error(decode_deployment(parsed_json(R"({"metadata":{"name":"web"},"spec":{}})"), nullptr))
                  .starts_with("spec.selector: "));
}

TEST(DecodeWorkload, ReadsAnObjectThatWasAcceptedUnderOtherRules) {
  EXPECT_TRUE(decode_deployment(parsed_json(R"({"metadata":{"name":"web"},"spec":{}})"), nullptr, Rules::off));
}

}  // namespace
}  // namespace berth
