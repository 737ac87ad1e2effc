#include "core/api/defaults.h"
#include "core/api/pod.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

Pod with_defaults(const std::string& spec, const std::string& labels = "{}") {
  const Result<Json> json =
      Json::parse(R"({"metadata":{"name":"p","labels":)" + labels + R"(},"spec":{)" + spec + "}}");
  EXPECT_TRUE(json) << spec;
  Result<Pod> pod = decode_accepted_pod(*json);
  EXPECT_TRUE(pod) << pod.error().message();
  return *pod;
}

std::map<std::string, std::string> show(const ResourceList& list) {
  std::map<std::string, std::string> texts;
  for (const auto& [name, quantity] : list) texts[name] = quantity.to_text();
  return texts;
}

using TextMap = std::map<std::string, std::string>;
using Op = Requirement::Operator;

TEST(Defaults, SetRequestsToLimits) {
  const Pod pod = with_defaults(
      R"("containers":[{"name":"c","resources":{"requests":{"cpu":"1"},"limits":{"cpu":"2","memory":"64"}}}],)"
      R"("initContainers":[{"name":"i","resources":{"limits":{"example.com/x":"3"}}}])");
  EXPECT_EQ(show(pod.spec->containers[0].requests), (TextMap{{"cpu", "1"}, {"memory", "64"}}));
  EXPECT_EQ(show(pod.spec->init_containers[0].requests), (TextMap{{"example.com/x", "3"}}));
}

TEST(Defaults, APodThatAsksForCpuOrMemoryToleratesANodeThatIsShortOfMemory) {
  const Toleration wanted{
      "node.kubernetes.io/memory-pressure", Toleration::Operator::exists, {}, TaintEffect::no_schedule, std::nullopt};
  for (const char* spec : {R"("containers":[{"name":"c"},{"name":"d","resources":{"limits":{"cpu":"1m"}}}])",
                           R"("containers":[{"name":"c"}],"resources":{"requests":{"memory":"1"}})"}) {
    Pod pod = with_defaults(spec);
    EXPECT_EQ(pod.spec->tolerations.get(), std::vector<Toleration>{wanted}) << spec;
    set_defaults(pod);
    EXPECT_EQ(pod.spec->tolerations->size(), 1u) << "once";
  }
  for (const char* spec : {R"("containers":[{"name":"c","resources":{"requests":{"cpu":"0","example.com/x":"1"},)"
                           R"("limits":{"example.com/x":"1"}}}])",
                           R"("containers":[{"name":"c","resources":{"requests":{"ephemeral-storage":"1"}}}])"}) {
    EXPECT_TRUE(with_defaults(spec).spec->tolerations.empty()) << spec;
  }
}

TEST(Defaults, SetPodLevelRequestsToTheContainersSumOrElseTheLimit) {
  const std::string containers =
      R"("containers":[{"name":"a","resources":{"requests":{"cpu":"1","example.com/x":"1"}}},)"
      R"({"name":"b","resources":{"limits":{"cpu":"500m"}}}],)";
  EXPECT_EQ(show(with_defaults(containers + R"("resources":{"limits":{"cpu":"4","memory":"64"}})").spec->requests),
            (TextMap{{"cpu", "1500m"}, {"memory", "64"}}));
  EXPECT_EQ(
      show(with_defaults(containers + R"("resources":{"requests":{"cpu":"3"},"limits":{"cpu":"4"}})").spec->requests),
      (TextMap{{"cpu", "3"}}));
  EXPECT_EQ(show(with_defaults(containers + R"("resources":{"requests":{"memory":"9"}})").spec->requests),
            (TextMap{{"memory", "9"}}));
}

TEST(Defaults, MakeContainerPortsHostPortsWithHostNetwork) {
  const std::string containers =
      R"("containers":[{"name":"c","ports":[{"containerPort":80},{"containerPort":53,"protocol":"UDP"},)"
      R"({"containerPort":8080,"hostPort":8080}]}])";
  const Pod inside = with_defaults(containers);
  EXPECT_EQ(inside.spec->containers[0].host_ports, (std::vector<HostPort>{{"", "TCP", 8080}}));
  const Pod outside = with_defaults(containers + R"(,"hostNetwork":true)");
  EXPECT_EQ(outside.spec->containers[0].host_ports,
            (std::vector<HostPort>{{"", "TCP", 8080}, {"", "TCP", 80}, {"", "UDP", 53}}));
}

TEST(Defaults, SetThePoolOfAnRbdVolume) {
  const Pod pod = with_defaults(R"("containers":[{"name":"c"}],"volumes":[{"name":"a","rbd":{"image":"i"}},)"
                                R"({"name":"b","rbd":{"image":"i","pool":"p"}}])");
  EXPECT_EQ(pod.volumes[0].disk.pool, "rbd");
  EXPECT_EQ(pod.volumes[1].disk.pool, "p");
}

TEST(Defaults, NarrowAffinityToTheValuesOfThePodsOwnLabels) {
  const std::string term =
      R"({"topologyKey":"zone","labelSelector":{"matchLabels":{"app":"web"}},"matchLabelKeys":["hash","absent"],)"
      R"("mismatchLabelKeys":["team"]})";
  const Pod pod = with_defaults(
      R"("containers":[{"name":"c"}],"affinity":{"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[)" +
          term + R"(]},"podAntiAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":5,)" +
          R"("podAffinityTerm":)" + term + "}]}}",
      R"({"hash":"h1","team":"a"})");
  const std::vector<Requirement> want{{"app", Op::in, {"web"}}, {"hash", Op::in, {"h1"}}, {"team", Op::not_in, {"a"}}};
  EXPECT_EQ(pod.affinity->pod_affinity.required.at(0).label_selector->requirements, want);
  EXPECT_EQ(pod.affinity->pod_anti_affinity.preferred.at(0).term.label_selector->requirements, want);
}

TEST(Defaults, LeaveATermWithoutASelectorAlone) {
  const Pod pod = with_defaults(
      R"("containers":[{"name":"c"}],"affinity":{"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":)"
      R"([{"topologyKey":"zone","matchLabelKeys":["hash"]}]}})",
      R"({"hash":"h1"})");
  EXPECT_FALSE(pod.affinity->pod_affinity.required.at(0).label_selector);
}

TEST(Defaults, AreIdempotent) {
  Pod pod = with_defaults(
      R"("hostNetwork":true,"containers":[{"name":"c","ports":[{"containerPort":80}],)"
      R"("resources":{"limits":{"cpu":"1"}}}],"resources":{"limits":{"cpu":"2"}},"affinity":{"podAffinity":)"
      R"({"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"zone","labelSelector":{},)"
      R"("matchLabelKeys":["hash"]}]}})",
      R"({"hash":"h1"})");
  const Pod once = pod;
  set_defaults(pod);
  EXPECT_EQ(pod.spec->requests, once.spec->requests);
  EXPECT_EQ(pod.spec->containers[0].requests, once.spec->containers[0].requests);
  EXPECT_EQ(pod.spec->containers[0].host_ports, once.spec->containers[0].host_ports);
  EXPECT_EQ(pod.affinity->pod_affinity, once.affinity->pod_affinity);
  EXPECT_EQ(pod.affinity->pod_affinity.required[0].label_selector->requirements.size(), 1u);
}

TEST(Defaults, LeaveTheManifestUnchanged) {
  const Pod pod = with_defaults(R"("containers":[{"name":"c","resources":{"limits":{"cpu":"2"}}}])");
  EXPECT_EQ(
      pod.manifest().text(),
      R"({"metadata":{"name":"p","labels":{}},"spec":{"containers":[{"name":"c","resources":{"limits":{"cpu":"2"}}}]}})");
}

}  // namespace
}  // namespace berth
