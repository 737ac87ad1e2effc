// Translating a pod's manifest to plain processes.
#include "firmware-host/agent/workload.h"

#include <gtest/gtest.h>

#include <map>

#include <algorithm>
#include <string>
#include <vector>

namespace berth {
namespace {

const Site kSite = {"plant", "n1", "0123456789abcdef", "/run/pod", "/usr/bin:/bin", "/home/pi"};
const Tag kTag = {"u-1", {1, 7}};

Result<Workload> plan(const std::string& spec, const std::vector<BoundVolume>& volumes = {}) {
  const std::string pod =
      R"({"metadata":{"name":"web","namespace":"default","labels":{"app":"w"}},"spec":)" + spec + "}";
  return plan_workload(Json::parse(pod).value(), kTag, volumes, kSite);
}

// The plan of the one container of a pod.
ContainerPlan plan_one(const std::string& container) {
  Result<Workload> workload = plan(R"({"containers":[)" + container + "]}");
  EXPECT_TRUE(workload.has_value()) << workload.error().message();
  return workload ? workload->containers.at(0) : ContainerPlan{};
}

std::string refusal(const std::string& spec, const std::vector<BoundVolume>& volumes = {}) {
  const Result<Workload> workload = plan(spec, volumes);
  return workload ? "" : workload.error().message();
}

bool has(const std::vector<std::string>& list, const std::string& text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

TEST(Workload, JoinsCommandAndArgsAndFindsTheProgramOnPath) {
  const ContainerPlan plan = plan_one(R"({"name":"c","image":"i","command":["sh"],"args":["-c","true"]})");
  ASSERT_EQ(plan.argv.size(), 3u);
  EXPECT_TRUE(plan.argv[0].ends_with("/sh")) << plan.argv[0];
  EXPECT_EQ(plan.argv[1], "-c");
}

TEST(Workload, RunsTheImageNameWithoutACommand) {
  EXPECT_TRUE(plan_one(R"({"name":"c","image":"/bin/sh","args":["-c","true"]})").argv[0].ends_with("/bin/sh"));
  EXPECT_EQ(refusal(R"({"containers":[{"name":"c","image":"nginx:1.27"}]})"),
            "container c: no command, and image 'nginx:1.27' is not an executable on this node; the process runtime "
            "pulls no images: set command");
}

TEST(Workload, ReportsACommandThatIsNotOnTheNode) {
  EXPECT_EQ(refusal(R"({"containers":[{"name":"reader","command":["foo"]}]})"),
            "container reader: command 'foo' not found on this node (PATH is /usr/bin:/bin)");
}

TEST(Workload, SetsExactlyThisEnvironment) {
  const ContainerPlan plan = plan_one(
      R"({"name":"c","command":["sh"],"env":[{"name":"A","value":"1"},{"name":"B","value":"$(A)-$(NO)-$$(A)."},
          {"name":"L","valueFrom":{"fieldRef":{"fieldPath":"metadata.labels['app']"}}},
          {"name":"U","valueFrom":{"fieldRef":{"fieldPath":"metadata.uid"}}}]
})");
  EXPECT_EQ(plan.env, (std::vector<std::string>{"BERTH_TAG=plant/n1/u-1/1.7", "BERTH_OWNER=0123456789abcdef",
                                                "BERTH_CONTAINER=c", "BERTH_POD_NAME=web",
                                                "BERTH_POD_NAMESPACE=default", "BERTH_NODE=n1", "PATH=/usr/bin:/bin",
                                                "HOME=/home/pi", "A=1", "B=1-$(NO)-$(A).", "L=w", "U=u-1"}));
}

TEST(Workload, RefusesUnsupportedSourcesOfEnvironmentVariables) {
  EXPECT_TRUE(refusal(R"({"containers":[{"name":"c","command":["sh"],"env":[{"name":"S","valueFrom":
      {"secretKeyRef":{"name":"s","key":"k"}}}]}]})")
                  .starts_with("spec.containers[0].env[0].valueFrom: only fieldRef"));
  EXPECT_TRUE(refusal(R"({"containers":[{"name":"c","command":["sh"],"env":[{"name":"BERTH_TAG","value":"x"}]}]})")
                  .starts_with("spec.containers[0].env[0].name: names that start with BERTH_"));
}

TEST(Workload, PassesVolumesAsDirectoriesInTheEnvironment) {
  const Result<Workload> workload = plan(
      R"({"volumes":[{"name":"my-data","persistentVolumeClaim":{"claimName":"d"}},{"name":"tmp","emptyDir":{}}],
          "containers":[{"name":"c","command":["sh","-c","ls $(BERTH_VOLUME_MY_DATA) x"],
          "volumeMounts":[{"name":"my-data","mountPath":"/d","readOnly":true},
                          {"name":"tmp","mountPath":"/t","subPath":"in"}]}]
})",
      {{"default/d", "pv1", "/data/one"}});
  ASSERT_TRUE(workload.has_value()) << workload.error().message();
  const ContainerPlan& container = workload->containers[0];
  EXPECT_EQ(container.argv[2], "ls /data/one x");
  EXPECT_TRUE(has(container.env, "BERTH_VOLUME_MY_DATA=/data/one"));
  EXPECT_TRUE(has(container.env, "BERTH_VOLUME_TMP=/run/pod/volumes/tmp/in"));
  EXPECT_EQ(workload->volumes, (std::vector<BoundVolume>{{"default/d", "pv1", "/data/one"}}));
  EXPECT_FALSE(has(workload->directories, "/data/one")) << "only its owner may create it";
  EXPECT_TRUE(has(workload->directories, "/run/pod/volumes/tmp/in"));
  EXPECT_EQ(workload->undone,
            (std::vector<Need>{{"processes/readOnlyMounts", "spec.containers[0].volumeMounts[0].readOnly"}}));
}

TEST(Workload, RefusesAVolumeWithoutAClaimAndOneThatClimbs) {
  const std::string spec =
      R"({"volumes":[{"name":"d","persistentVolumeClaim":{"claimName":"d"}}],
          "containers":[{"name":"c","command":["sh"]}]})";
  EXPECT_EQ(refusal(spec), "volume d: no bound volume for claim default/d");
  EXPECT_EQ(refusal(spec, {{"default/d", "pv", "/data/../etc"}}),
            "volume pv: path '/data/../etc' must be absolute and without ..");
}

TEST(Workload, FindsTheClaimOfAnEphemeralVolumeByTheNamesOfPodAndVolume) {
  const std::string spec =
      R"({"volumes":[{"name":"s","ephemeral":{"volumeClaimTemplate":{}}}],
          "containers":[{"name":"c","command":["sh"],"volumeMounts":[{"name":"s","mountPath":"/s"}]}]})";
  const Result<Workload> workload = plan(spec, {{"default/web-s", "pv1", "/data/one"}});
  ASSERT_TRUE(workload.has_value()) << workload.error().message();
  EXPECT_TRUE(has(workload->containers[0].env, "BERTH_VOLUME_S=/data/one"));
  EXPECT_EQ(refusal(spec), "volume s: no bound volume for claim default/web-s");
}

TEST(Workload, RefusesUnsupportedVolumes) {
  EXPECT_TRUE(refusal(R"({"volumes":[{"name":"s","secret":{"secretName":"x"}}],"containers":[]})")
                  .starts_with("spec.volumes[0].secret: not supported by the process runtime of node n1"));
}

TEST(Workload, AVolumeWhoseSourceIsNullIsAnEmptyDir) {
  for (const char* source : {"", R"(,"emptyDir":null)", R"(,"hostPath":null)", R"(,"emptyDir":null,"secret":null)"}) {
    const Result<Workload> workload =
        plan(R"({"volumes":[{"name":"cache")" + std::string(source) +
             R"(}],"containers":[{"name":"c","command":["sh"],"volumeMounts":[{"name":"cache","mountPath":"/c"}]}]})");
    ASSERT_TRUE(workload.has_value()) << source << ": " << workload.error().message();
    EXPECT_TRUE(has(workload->containers[0].env, "BERTH_VOLUME_CACHE=/run/pod/volumes/cache")) << source;
  }
}

TEST(Workload, ListsWhatItCannotDo) {
  const Result<Workload> workload = plan(
      R"({"securityContext":{"runAsUser":1000},"hostAliases":[],"containers":[{"name":"c","command":["sh"],
          "securityContext":{},"livenessProbe":{"grpc":{"port":1}},"resources":{"limits":{"cpu":"1"}}}]})");
  EXPECT_EQ(workload->undone, (std::vector<Need>{{"processes/securityContext", "spec.securityContext"},
                                                 {"processes/grpcProbes", "spec.containers[0].livenessProbe.grpc"},
                                                 {"processes/limits", "spec.containers[0].resources.limits"}}));
}

// What asks for a feature that is no volume.
const std::map<std::string, std::string> kAsking{
    {"activeDeadline", R"({"activeDeadlineSeconds":5,"containers":[{"name":"c","command":["sh"]}]})"},
    {"lifecycle", R"({"containers":[{"name":"c","command":["sh"],"lifecycle":{"postStart":{"exec":{"command":["true"]}},
                      "preStop":{"sleep":{"seconds":1}}}}]})"},
    {"probes", R"({"containers":[{"name":"c","command":["sh"],"startupProbe":{"exec":{"command":["true"]}},
                   "readinessProbe":{"tcpSocket":{"port":1}},
                   "livenessProbe":{"httpGet":{"port":1,"host":"::1","scheme":"HTTP"}}}]})"},
    {"runtimeClass/process", R"({"runtimeClassName":"process","containers":[{"name":"c","command":["sh"]}]})"},
};

// The gateway places what the runtime says that it can do: then planning must not fail for what it is.
TEST(Workload, PlansWhateverAsksOnlyForFeaturesThatItNames) {
  const std::vector<BoundVolume> bound{{"default/d", "pv", "/data/d"}, {"default/web-v", "pv2", "/data/v"}};
  for (const std::string& feature : process_features()) {
    if (const auto asking = kAsking.find(feature); asking != kAsking.end()) {
      const Result<Workload> workload = plan(asking->second);
      ASSERT_TRUE(workload.has_value()) << feature << ": " << workload.error().message();
      EXPECT_EQ(workload->undone, std::vector<Need>{}) << feature;
      continue;
    }
    ASSERT_TRUE(feature.starts_with("volumes/")) << feature << ": add a pod that asks for it here";
    const std::string source = feature.substr(std::string("volumes/").size());
    const std::string value = source == "persistentVolumeClaim" ? R"({"claimName":"d"})" : R"({"path":"/srv"})";
    const Result<Workload> workload =
        plan(R"({"volumes":[{"name":"v",")" + source + R"(":)" + value +
                 R"(}],"containers":[{"name":"c","command":["sh"],"volumeMounts":[{"name":"v","mountPath":"/v"}]}]})",
             bound);
    ASSERT_TRUE(workload.has_value()) << feature << ": " << workload.error().message();
    EXPECT_EQ(workload->undone, std::vector<Need>{}) << feature;
  }
}

}  // namespace
}  // namespace berth
