// StatefulSets, DaemonSets, Jobs and CronJobs in the gateway: what each needs of it beyond what a Deployment does.
#include <set>

#include "tests/unit/gateway/workloads_fixture.h"

namespace berth {
namespace {

class WorkloadKindsTest : public WorkloadsFixture {
 protected:
  static std::string manifest(const std::string& kind, const std::string& name, const std::string& spec,
                              const std::string& policy = "Always") {
    const bool is_job = kind == "Job" || kind == "CronJob";
    const std::string pods = R"("template":{"metadata":{"labels":{"app":")" + name +
                             R"("}},"spec":{"restartPolicy":")" + policy +
                             R"(","containers":[{"name":"c","image":"app:1"}]}})";
    const std::string selector = is_job ? "" : R"(,"selector":{"matchLabels":{"app":")" + name + R"("}})";
    const std::string inner =
        kind == "CronJob" ? R"("jobTemplate":{"spec":{)" + pods + "}}," + spec : pods + selector + "," + spec;
    return R"({"apiVersion":")" + std::string(is_job ? "batch/v1" : "apps/v1") + R"(","kind":")" + kind +
           R"(","metadata":{"name":")" + name + R"("},"spec":{)" + inner + "}}";
  }
  std::set<std::string> names() const {
    std::set<std::string> found;
    for (const Pod* pod : pods()) found.insert(pod->metadata.name);
    return found;
  }
};

TEST_F(WorkloadKindsTest, AStatefulSetMakesItsPodsInOrderWithTheirNames) {
  start_with_device();
  reports_ready = false;
  EXPECT_EQ(apply(manifest("StatefulSet", "db", R"("replicas":3,"serviceName":"db")")).string_at("result"), "created");
  run_devices();
  EXPECT_EQ(names(), (std::set<std::string>{"db-0"})) << "the next waits until it is ready";
  reports_ready = true;
  end_pod(*pods().front(), "Running");
  run_devices();
  EXPECT_EQ(names(), (std::set<std::string>{"db-0", "db-1", "db-2"}));
  EXPECT_EQ(count_of("sts", "db", "readyReplicas"), 3);
  EXPECT_EQ(keys(Kind::controller_revision).size(), 1u);
}

TEST_F(WorkloadKindsTest, APodOfAStatefulSetComesBackOnlyOnceItsPredecessorHasEnded) {
  start_with_device();
  apply(manifest("StatefulSet", "db", R"("replicas":1,"serviceName":"db")"));
  run_devices();
  const std::string uid(pods().front()->uid());
  remove("pod", "db-0");
  EXPECT_EQ(pods().size(), 1u);
  EXPECT_EQ(std::string(pods().front()->uid()), uid) << "its device has not answered";
  run_devices();
  ASSERT_EQ(names(), std::set<std::string>{"db-0"});
  EXPECT_NE(std::string(pods().front()->uid()), uid);
}

TEST_F(WorkloadKindsTest, AStatefulSetMakesTheClaimsOfItsPods) {
  start_with_device();
  apply(manifest("StatefulSet", "db", R"("replicas":1,"serviceName":"db","volumeClaimTemplates":[{"metadata":
    {"name":"data"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}],
    "persistentVolumeClaimRetentionPolicy":{"whenDeleted":"Delete"})"));
  run_devices();
  EXPECT_EQ(keys(Kind::persistent_volume_claim), std::vector<std::string>{"default/data-db-0"});
  remove("sts", "db");
  run_devices();
  EXPECT_TRUE(pods().empty());
  EXPECT_TRUE(keys(Kind::persistent_volume_claim).empty());
}

TEST_F(WorkloadKindsTest, AnEphemeralClaimOfAPodWithoutControllerIsNoGarbage) {
  start_with_device();
  apply(pod("own", "u1", "64Mi", R"(,"volumes":[{"name":"s","ephemeral":{"volumeClaimTemplate":{"spec":{
    "accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}}}])"));
  apply(manifest("StatefulSet", "db", R"("replicas":1,"serviceName":"db")"));
  run_devices();
  remove("sts", "db");
  run_devices();
  EXPECT_EQ(keys(Kind::persistent_volume_claim), std::vector<std::string>{"default/own-s"});
}

TEST_F(WorkloadKindsTest, ADaemonSetHasAPodOnEachNodeThatItMayRunOn) {
  start_with_device();
  apply(manifest("DaemonSet", "agent", R"("minReadySeconds":0)"));
  run_devices();
  EXPECT_EQ(running(), 1u);
  EXPECT_EQ(count_of("ds", "agent", "numberReady"), 1);
  device("n2");
  run_devices();
  EXPECT_EQ(pods().size(), 2u) << "a node that comes gets one";
  apply(R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n3"},"spec":{"taints":[{"key":"a","value":"b",
    "effect":"NoSchedule"}]}})");
  device("n3");
  run_devices();
  EXPECT_EQ(pods().size(), 2u);
}

TEST_F(WorkloadKindsTest, AJobEndsWhenItsPodsHaveSucceededEachCountedOnce) {
  start_with_device();
  EXPECT_EQ(apply(manifest("Job", "sum", R"("completions":2,"parallelism":2)", "Never")).string_at("result"),
            "created");
  run_devices_for(3'000);
  ASSERT_EQ(running(), 2u);
  EXPECT_EQ(apply(manifest("Job", "sum", R"("completions":2,"parallelism":2)", "Never")).string_at("result"),
            "unchanged");
  for (const Pod* pod : pods()) end_pod(*pod, "Succeeded");
  run_devices_for(5'000);
  EXPECT_EQ(count_of("job", "sum", "succeeded"), 2);
  EXPECT_EQ(member(get("job", "sum"), "status").string_at("completionTime").empty(), false);
  EXPECT_EQ(pods().size(), 2u) << "they stay until the Job goes";
  remove("job", "sum");
  run_devices_for(3'000);
  EXPECT_TRUE(pods().empty());
}

TEST_F(WorkloadKindsTest, APodOfAJobThatIsDeletedIsCountedBeforeItGoes) {
  start_with_device();
  apply(manifest("Job", "sum", R"("completions":1)", "Never"));
  run_devices_for(3'000);
  const std::string first = pods().front()->metadata.name;
  remove("pod", first);
  run_devices();
  EXPECT_TRUE(names().contains(first)) << "the Job has not looked at it yet";
  run_devices_for(60'000);
  EXPECT_FALSE(names().contains(first));
  EXPECT_EQ(count_of("job", "sum", "failed"), 1);
  EXPECT_EQ(running(), 1u);
}

TEST_F(WorkloadKindsTest, AJobCountsThePodsThatEndedWhileTheGatewayRestarted) {
  start_with_device();
  apply(manifest("Job", "sum", R"("completions":1)", "Never"));
  run_devices_for(3'000);
  end_pod(*pods().front(), "Succeeded");
  restart();
  connect_device();
  run_devices_for(5'000);
  EXPECT_EQ(count_of("job", "sum", "succeeded"), 1);
  EXPECT_EQ(pods().size(), 1u);
}

TEST_F(WorkloadKindsTest, ATimeToLiveEndsAJobThatHasFinished) {
  start_with_device();
  apply(manifest("Job", "sum", R"("completions":1,"ttlSecondsAfterFinished":30)", "Never"));
  run_devices_for(3'000);
  end_pod(*pods().front(), "Succeeded");
  run_devices_for(10'000);
  EXPECT_EQ(keys(Kind::job).size(), 1u);
  run_devices_for(30'000);
  EXPECT_TRUE(keys(Kind::job).empty());
  EXPECT_TRUE(pods().empty());
}

TEST_F(WorkloadKindsTest, ACronJobStartsAJobAtItsTime) {
  start_with_device();
  EXPECT_EQ(apply(manifest("CronJob", "tick", R"("schedule":"* * * * *")", "Never")).string_at("result"), "created");
  run_devices();
  EXPECT_TRUE(keys(Kind::job).empty());
  run_devices_for(65'000);
  EXPECT_EQ(keys(Kind::job).size(), 1u);
  EXPECT_EQ(pods().size(), 1u);
}

TEST_F(WorkloadKindsTest, ManifestsThatCannotWorkAreRefusedByField) {
  start_with_device();
  const auto error_of = [this](const std::string& text) { return apply(text).string_at("error"); };
  EXPECT_NE(error_of(manifest("CronJob", "t", R"("schedule":"* * * *")", "Never")).find("spec.schedule: "),
            std::string::npos);
  EXPECT_NE(error_of(manifest("CronJob", "t", R"("schedule":"@hourly","timeZone":"Mars/Base")", "Never"))
                .find("spec.timeZone: "),
            std::string::npos);
  EXPECT_NE(error_of(manifest("CronJob", "t", R"("schedule":"@hourly")"))
                .find("spec.jobTemplate.spec.template.spec.restartPolicy: must be Never or OnFailure"),
            std::string::npos);
  EXPECT_NE(error_of(manifest("Job", "t", R"("completions":1)")).find("spec.template.spec.restartPolicy"),
            std::string::npos);
  EXPECT_NE(error_of(manifest("DaemonSet", "t", R"("updateStrategy":{"rollingUpdate":{"maxUnavailable":0}})"))
                .find("spec.updateStrategy.rollingUpdate.maxUnavailable: must not be 0"),
            std::string::npos);
}

TEST_F(WorkloadKindsTest, WhatIsFixedCannotBeChanged) {
  start_with_device();
  apply(manifest("StatefulSet", "db", R"("replicas":0,"serviceName":"db")"));
  EXPECT_NE(apply(manifest("StatefulSet", "db", R"("replicas":0,"serviceName":"other")"))
                .string_at("error")
                .find("spec.serviceName: is immutable"),
            std::string::npos);
  apply(manifest("Job", "sum", R"("completions":1)", "Never"));
  EXPECT_NE(apply(manifest("Job", "sum", R"("completions":2)", "Never"))
                .string_at("error")
                .find("spec.completions: is immutable"),
            std::string::npos);
}

}  // namespace
}  // namespace berth
