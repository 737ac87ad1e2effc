#include <gtest/gtest.h>

#include "core/api/decode.h"
#include "core/api/pod.h"

namespace berth {
namespace {

using Texts = std::vector<std::string>;
using Op = Requirement::Operator;

Json pod_with_affinity(const std::string& more) {
  const Result<Json> json =
      Json::parse(R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c"}],)" + more + "}}");
  EXPECT_TRUE(json) << more << json.error().message();
  return json ? *json : Json();
}

Pod good_pod(const std::string& more) {
  Warnings warnings;
  Result<Pod> pod = decode_pod(pod_with_affinity(more), &warnings);
  EXPECT_TRUE(pod) << pod.error().message();
  EXPECT_EQ(warnings, Texts{});
  return pod ? *pod : Pod{};
}

Texts affinity_errors(const std::string& more) {
  const Result<Pod> pod = decode_pod(pod_with_affinity(more), nullptr);
  return pod ? Texts{} : pod.error().reasons();
}

// The first error, which must be the only one.
std::string affinity_error(const std::string& more) {
  const Texts errors = affinity_errors(more);
  EXPECT_EQ(errors.size(), 1u) << more;
  return errors.empty() ? "" : errors[0];
}

std::string in_pod_affinity(const std::string& term) {
  return R"("affinity":{"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[)" + term + "]}}";
}

TEST(DecodeAffinity, ReadsPodAffinityAndAntiAffinity) {
  const Pod pod = good_pod(
      R"("affinity":{"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"zone",)"
      R"("labelSelector":{"matchLabels":{"app":"db"}},"namespaces":["a","b"],"namespaceSelector":{},)"
      R"("matchLabelKeys":["hash"],"mismatchLabelKeys":["team"]}]},"podAntiAffinity":)"
      R"({"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":7,"podAffinityTerm":{"topologyKey":"rack"}}]}})");
  ASSERT_EQ(pod.affinity->pod_affinity.required.size(), 1u);
  const PodAffinityTerm& term = pod.affinity->pod_affinity.required[0];
  EXPECT_EQ(term.topology_key, "zone");
  EXPECT_EQ(term.label_selector, (LabelSelector{{{"app", Op::in, {"db"}}}}));
  EXPECT_EQ(term.namespaces, (Texts{"a", "b"}));
  EXPECT_EQ(term.namespace_selector, LabelSelector{});
  EXPECT_EQ(term.match_label_keys, Texts{"hash"});
  EXPECT_EQ(term.mismatch_label_keys, Texts{"team"});
  EXPECT_TRUE(pod.affinity->pod_affinity.preferred.empty());
  ASSERT_EQ(pod.affinity->pod_anti_affinity.preferred.size(), 1u);
  EXPECT_EQ(pod.affinity->pod_anti_affinity.preferred[0].weight, 7);
  EXPECT_EQ(pod.affinity->pod_anti_affinity.preferred[0].term.topology_key, "rack");
  EXPECT_EQ(pod.affinity->pod_anti_affinity.preferred[0].term.label_selector, std::nullopt);
  EXPECT_EQ(pod.affinity->pod_anti_affinity.preferred[0].term.namespace_selector, std::nullopt);
}

TEST(DecodeAffinity, LeavesLabelKeysUnmerged) {
  const Pod pod = good_pod(R"("priority":0,)" +
                           in_pod_affinity(R"({"topologyKey":"z","labelSelector":{},"matchLabelKeys":["h"]})"));
  EXPECT_EQ(pod.affinity->pod_affinity.required.at(0).label_selector, LabelSelector{});
}

TEST(DecodeAffinity, ReadsPreferredNodeAffinity) {
  const Pod pod = good_pod(
      R"("affinity":{"nodeAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":100,"preference":)"
      R"({"matchExpressions":[{"key":"disk","operator":"Exists"}],"matchFields":[{"key":"metadata.name",)"
      R"("operator":"In","values":["n1"]}]}}]}})");
  ASSERT_EQ(pod.affinity->preferred_node_affinity.size(), 1u);
  EXPECT_EQ(pod.affinity->preferred_node_affinity[0].weight, 100);
  EXPECT_EQ(pod.affinity->preferred_node_affinity[0].preference.match_expressions,
            (std::vector<Requirement>{{"disk", Op::exists, {}}}));
  EXPECT_EQ(pod.affinity->preferred_node_affinity[0].preference.match_fields,
            (std::vector<Requirement>{{"metadata.name", Op::in, {"n1"}}}));
  EXPECT_FALSE(pod.affinity->required_node_affinity);
}

TEST(DecodeAffinity, RefusesWeightsOutsideOneToHundred) {
  const std::string path = "spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: ";
  for (std::string_view weight : {"0", "101", "-1"}) {
    EXPECT_EQ(
        affinity_error(R"("affinity":{"podAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":)" +
                       std::string(weight) + R"(,"podAffinityTerm":{"topologyKey":"z"}}]}})"),
        path + "expected an integer from 1 to 100, got " + std::string(weight));
  }
  EXPECT_EQ(affinity_error(R"("affinity":{"nodeAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":)"
                           R"([{"weight":0,"preference":{}}]}})"),
            "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: expected an integer "
            "from 1 to 100, got 0");
}

TEST(DecodeAffinity, NamesTheFieldOfEachError) {
  const std::string path = "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].";
  const std::pair<std::string, std::string> cases[] = {
      {R"({})", "topologyKey: missing; "},
      {R"({"topologyKey":""})", "topologyKey: expected the key "},
      {R"({"topologyKey":"a b"})", "topologyKey: expected the key "},
      {R"({"topologyKey":"z","namespaces":["A"]})", "namespaces[0]: expected a name "},
      {R"({"topologyKey":"z","matchLabelKeys":["h"]})", "matchLabelKeys: requires labelSelector"},
      {R"({"topologyKey":"z","labelSelector":{},"matchLabelKeys":["h","h"]})", "matchLabelKeys[1]: duplicate"},
      {R"({"topologyKey":"z","labelSelector":{},"mismatchLabelKeys":["!"]})",
       "mismatchLabelKeys[0]: expected a label key"},
      {R"({"topologyKey":"z","labelSelector":{},"matchLabelKeys":["h"],"mismatchLabelKeys":["h"]})",
       "mismatchLabelKeys[0]: also in matchLabelKeys"},
      {R"({"topologyKey":"z","labelSelector":{"matchExpressions":[{"key":"h","operator":"Exists"}]},"matchLabelKeys":["h"]})",
       "matchLabelKeys[0]: also in labelSelector"},
      {R"({"topologyKey":"z","labelSelector":{"matchExpressions":[{"key":"a","operator":"Gt","values":["1"]}]}})",
       "labelSelector.matchExpressions[0].operator: expected one of In, NotIn, Exists, DoesNotExist, got \"Gt\""},
      {R"({"topologyKey":"z","namespaceSelector":{"matchExpressions":[{"key":"a","operator":"In"}]}})",
       "namespaceSelector.matchExpressions[0].values: expected at least one value"},
  };
  for (const auto& [term, error] : cases) {
    EXPECT_EQ(affinity_error(in_pod_affinity(term)).substr(0, path.size() + error.size()), path + error);
  }
}

TEST(DecodeAffinity, AcceptsALabelKeyThatIsMergedAlready) {
  EXPECT_EQ(
      affinity_errors(in_pod_affinity(
          R"({"topologyKey":"z","labelSelector":{"matchExpressions":[{"key":"h","operator":"In","values":["1"]}]},)"
          R"("matchLabelKeys":["h"]})")),
      Texts{});
}

TEST(DecodeSpread, ReadsAConstraint) {
  const Pod pod =
      good_pod(R"("topologySpreadConstraints":[{"maxSkew":2,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule",)"
               R"("labelSelector":{"matchLabels":{"app":"web"}},"minDomains":3,"nodeAffinityPolicy":"Ignore",)"
               R"("nodeTaintsPolicy":"Honor","matchLabelKeys":["hash"]},)"
               R"({"maxSkew":1,"topologyKey":"zone","whenUnsatisfiable":"ScheduleAnyway"}])");
  ASSERT_EQ(pod.spec->topology_spread_constraints.size(), 2u);
  const TopologySpreadConstraint& full = pod.spec->topology_spread_constraints[0];
  EXPECT_EQ(full.max_skew, 2);
  EXPECT_EQ(full.topology_key, "zone");
  EXPECT_FALSE(full.schedule_anyway);
  EXPECT_EQ(full.label_selector, (LabelSelector{{{"app", Op::in, {"web"}}}}));
  EXPECT_EQ(full.min_domains, 3);
  EXPECT_FALSE(full.honor_node_affinity);
  EXPECT_TRUE(full.honor_node_taints);
  EXPECT_EQ(full.match_label_keys, Texts{"hash"});
  const TopologySpreadConstraint& bare = pod.spec->topology_spread_constraints[1];
  EXPECT_TRUE(bare.schedule_anyway);
  EXPECT_EQ(bare.label_selector, std::nullopt);
  EXPECT_EQ(bare.min_domains, std::nullopt);
  EXPECT_TRUE(bare.honor_node_affinity);
  EXPECT_FALSE(bare.honor_node_taints);
}

TEST(DecodeSpread, NamesTheFieldOfEachError) {
  const std::string path = "spec.topologySpreadConstraints[0].";
  const std::string good_part = R"("maxSkew":1,"topologyKey":"z","whenUnsatisfiable":)";
  const std::pair<std::string, std::string> cases[] = {
      {R"("topologyKey":"z","whenUnsatisfiable":"DoNotSchedule")", "maxSkew: missing; "},
      {R"("maxSkew":0,"topologyKey":"z","whenUnsatisfiable":"DoNotSchedule")", "maxSkew: expected an integer from 1 "},
      {R"("maxSkew":1,"whenUnsatisfiable":"DoNotSchedule")", "topologyKey: missing; "},
      {R"("maxSkew":1,"topologyKey":"z")", "whenUnsatisfiable: missing; "},
      {good_part + R"("Never")", "whenUnsatisfiable: expected one of DoNotSchedule, ScheduleAnyway, got \"Never\""},
      {good_part + R"("DoNotSchedule","minDomains":0)", "minDomains: expected an integer from 1 "},
      {good_part + R"("ScheduleAnyway","minDomains":2)",
       "minDomains: only allowed with whenUnsatisfiable DoNotSchedule"},
      {good_part + R"("DoNotSchedule","nodeTaintsPolicy":"Obey")", "nodeTaintsPolicy: expected one of Honor, Ignore"},
      {good_part + R"("DoNotSchedule","matchLabelKeys":["h"])", "matchLabelKeys: requires labelSelector"},
  };
  for (const auto& [constraint, error] : cases) {
    EXPECT_EQ(
        affinity_error(R"("topologySpreadConstraints":[{)" + constraint + "}]").substr(0, path.size() + error.size()),
        path + error);
  }
  const std::string twice = "{" + good_part + R"("DoNotSchedule"})";
  EXPECT_EQ(affinity_error(R"("topologySpreadConstraints":[)" + twice + "," + twice + "]"),
            "spec.topologySpreadConstraints[1].topologyKey: another constraint has this topologyKey and "
            "whenUnsatisfiable; keep one");
}

}  // namespace
}  // namespace berth
