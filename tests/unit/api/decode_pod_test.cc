#include <gtest/gtest.h>

#include "core/api/decode.h"
#include "core/api/pod.h"
#include "tests/unit/api/manifests.h"
#include "tests/unit/parsed_json.h"

namespace berth {
namespace {

using Texts = std::vector<std::string>;
using Op = Requirement::Operator;

// A minimal pod whose spec has the members `more` besides its container.
Json pod_with(const std::string& more) {
  return parsed_json(R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c"}])" +
                     (more.empty() ? "" : "," + more) + "}}");
}

Texts errors_of(const Json& json) {
  const Result<Pod> pod = decode_pod(json, nullptr);
  return pod ? Texts{} : pod.error().reasons();
}

Texts warnings_of(const Json& json) {
  Warnings warnings;
  const Result<Pod> pod = decode_pod(json, &warnings);
  EXPECT_TRUE(pod) << pod.error().message();
  return warnings;
}

TEST(DecodePod, ReadsEveryFieldOfAFullManifestWithoutAWarning) {
  Warnings warnings;
  const Json json = parsed_json(kPodManifest);
  const Result<Pod> decoded = decode_pod(json, &warnings);
  ASSERT_TRUE(decoded) << decoded.error().message();
  EXPECT_EQ(warnings, Texts{});
  const Pod& pod = *decoded;
  EXPECT_EQ(pod.metadata.key(), "shop/web-1");
  EXPECT_EQ(pod.uid(), "0b3c5a52-3f7e-4f0a-9b1d-0c1f2e3d4a5b");
  EXPECT_EQ(pod.metadata.labels.at("example.com/tier"), "front");
  EXPECT_EQ(pod.metadata.annotations.at("note"), "any text, even \xC3\xA9");
  EXPECT_EQ(pod.spec->scheduler_name, "edge");
  EXPECT_EQ(pod.priority, 100);
  EXPECT_TRUE(pod.spec->never_preempts);
  EXPECT_EQ(pod.node_name, "");
  EXPECT_EQ(pod.node_selector, (Labels{{"disk", "ssd"}}));
  ASSERT_TRUE(pod.affinity->required_node_affinity);
  ASSERT_EQ(pod.affinity->required_node_affinity->terms.size(), 1u);
  EXPECT_EQ(pod.affinity->required_node_affinity->terms[0].match_expressions,
            (std::vector<Requirement>{{"zone", Op::in, {"a", "b"}}, {"cores", Op::gt, {"2"}}}));
  EXPECT_EQ(pod.affinity->required_node_affinity->terms[0].match_fields,
            (std::vector<Requirement>{{"metadata.name", Op::not_in, {"n9"}}}));
  using T = Toleration::Operator;
  EXPECT_EQ(pod.spec->tolerations,
            (std::vector<Toleration>{{"dedicated", T::equal, "gpu", TaintEffect::no_schedule, std::nullopt},
                                     {"", T::exists, "", TaintEffect::no_execute, 300}}));
  EXPECT_EQ(pod.spec->scheduling_gates, Texts{"example.com/wait"});
  ASSERT_EQ(pod.spec->init_containers.size(), 2u);
  EXPECT_FALSE(pod.spec->init_containers[0].restart_always);
  EXPECT_TRUE(pod.spec->init_containers[1].restart_always);
  EXPECT_EQ(pod.spec->overhead.at("cpu").milli_value(), 10);
  ASSERT_EQ(pod.volumes.size(), 3u);
  EXPECT_EQ(pod.volumes[0].claim_name, "store-web-1");
  EXPECT_EQ(pod.volumes[1].claim_name, "");
  EXPECT_EQ(pod.spec->termination_grace_period_seconds, 5);
  EXPECT_EQ(pod.nominated_node_name, "n3");
  EXPECT_EQ(pod.manifest(), json);
}

TEST(DecodePod, LeavesLimitsWithoutRequestsUnchanged) {
  const Result<Pod> pod = decode_pod(parsed_json(kPodManifest), nullptr);
  ASSERT_TRUE(pod);
  const Container& main = pod->spec->containers.at(0);
  EXPECT_EQ(main.requests.at("memory").value(), 64 << 20);
  EXPECT_EQ(main.limits.at("memory").value(), 128 << 20);
  EXPECT_EQ(main.limits.at("ephemeral-storage").value(), 1 << 30);
  EXPECT_FALSE(main.requests.contains("ephemeral-storage"));
}

TEST(DecodePod, SeparatesHostPortsFromContainerPorts) {
  const Result<Pod> pod = decode_pod(parsed_json(kPodManifest), nullptr);
  ASSERT_TRUE(pod);
  EXPECT_EQ(pod->spec->containers.at(0).host_ports, (std::vector<HostPort>{{"10.0.0.1", "TCP", 8080}}));
  EXPECT_EQ(pod->spec->containers.at(0).own_ports, (std::vector<HostPort>{{"", "UDP", 53}}));
  EXPECT_FALSE(pod->spec->host_network);
}

TEST(DecodePod, ReadsPodLevelRequests) {
  const Result<Pod> pod = decode_pod(parsed_json(kPodManifest), nullptr);
  ASSERT_TRUE(pod);
  EXPECT_EQ(pod->spec->requests, (ResourceList{{"cpu", Quantity(1)}}));
  EXPECT_EQ(pod->spec->limits, (ResourceList{{"cpu", Quantity(2)}}));
  EXPECT_EQ(
      errors_of(pod_with(R"("resources":{"requests":{"ephemeral-storage":"1"}})")),
      Texts{"spec.resources.requests.ephemeral-storage: expected cpu, memory or hugepages-<size>; set others on the "
            "containers"});
}

TEST(DecodePod, ReadsItsStartTime) {
  const Result<Pod> pod = decode_pod(parsed_json(kPodManifest), nullptr);
  ASSERT_TRUE(pod);
  EXPECT_EQ(pod->start_time, OptionalTime(1'746'057'806'000));
  EXPECT_FALSE(decode_pod(pod_with(""), nullptr)->start_time.has_value());
  const Json bad =
      parsed_json(R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c"}]},"status":{"startTime":"now"}})");
  EXPECT_EQ(errors_of(bad), Texts{"status.startTime: expected a time such as 2025-05-01T00:03:26Z, got \"now\""});
}

TEST(DecodePod, ReadsDisksAndEphemeralVolumes) {
  const Result<Pod> decoded = decode_pod(
      pod_with(R"("volumes":[{"name":"g","gcePersistentDisk":{"pdName":"d1","readOnly":true}},)"
               R"({"name":"r","rbd":{"image":"i","pool":"p","monitors":["m1","m2"]}},)"
               R"({"name":"i","iscsi":{"iqn":"iqn.a","targetPortal":"x","lun":0}},{"name":"e","ephemeral":{}},)"
               R"({"name":"c","csi":{"driver":"csi.one"}}])"),
      nullptr);
  ASSERT_TRUE(decoded) << decoded.error().message();
  const std::vector<PodVolume>& volumes = decoded->volumes;
  EXPECT_EQ(volumes[0].disk.type, DiskSource::Type::gce_persistent_disk);
  EXPECT_EQ(volumes[0].disk.id, "d1");
  EXPECT_TRUE(volumes[0].disk.read_only);
  EXPECT_EQ(volumes[1].disk.type, DiskSource::Type::rbd);
  EXPECT_EQ(volumes[1].disk.pool, "p");
  EXPECT_EQ(volumes[1].disk.monitors, (Texts{"m1", "m2"}));
  EXPECT_EQ(volumes[2].disk.id, "iqn.a");
  EXPECT_TRUE(volumes[3].ephemeral);
  EXPECT_EQ(volumes[3].disk.type, DiskSource::Type::none);
  EXPECT_EQ(volumes[4].disk.type, DiskSource::Type::csi);
  EXPECT_EQ(volumes[4].disk.id, "csi.one");
}

TEST(DecodePod, SetsDefaultsOfAbsentFields) {
  const Result<Pod> pod = decode_pod(pod_with(""), nullptr);
  ASSERT_TRUE(pod);
  EXPECT_EQ(pod->metadata.key(), "default/p");
  EXPECT_EQ(pod->spec->scheduler_name, "default-scheduler");
  EXPECT_EQ(pod->spec->termination_grace_period_seconds, 30);
  EXPECT_EQ(pod->uid(), "");
  EXPECT_FALSE(pod->affinity->required_node_affinity);
}

TEST(DecodePod, NamesTheFieldOfEveryError) {
  struct Case {
    const char* spec;
    const char* error;  // how the one reason starts
  };
  const Case cases[] = {
      {R"("priority":3000000000)", "spec.priority: expected an integer from -2147483648 to 2147483647, got 3000000000"},
      {R"("priority":"high")", "spec.priority: expected an integer"},
      {R"("priority":1.5)", "spec.priority: expected an integer from -2147483648 to 2147483647, got 1.5"},
      {R"("restartPolicy":"Sometimes")", "spec.restartPolicy: expected one of Always, OnFailure, Never, got"},
      {R"("preemptionPolicy":"never")", "spec.preemptionPolicy: expected one of PreemptLowerPriority, Never"},
      {R"("terminationGracePeriodSeconds":-1)", "spec.terminationGracePeriodSeconds: expected an integer from 0"},
      {R"("nodeName":"N 1")", "spec.nodeName: expected a name of lower-case"},
      {R"("nodeSelector":{"disk":5})", "spec.nodeSelector.disk: expected a string, got 5; put it in quotes"},
      {R"("nodeSelector":{"a b":"c"})", "spec.nodeSelector[\"a b\"]: expected a label key"},
      {R"("nodeSelector":["disk"])", "spec.nodeSelector: expected an object, got a list"},
      {R"("overhead":{"cpu":"-1"})", "spec.overhead.cpu: must not be negative, got \"-1\""},
      {R"("volumes":[{"name":"v","persistentVolumeClaim":{}}])",
       "spec.volumes[0].persistentVolumeClaim.claimName: missing"},
      {R"("volumes":[{"emptyDir":{}}])", "spec.volumes[0].name: missing"},
      {R"("volumes":[{"name":"v"},{"name":"v"}])", "spec.volumes[1].name: another volume"},
      {R"("volumes":[{"name":"v","emptyDir":{},"secret":{}}])", "spec.volumes[0]: expected one volume source, got 2"},
      {R"("volumes":[5])", "spec.volumes[0]: expected an object, got 5"},
      {R"("volumes":[null])", "spec.volumes[0]: expected an object, got null"},
      {R"("schedulingGates":[{"name":"a"},{"name":"a"}])", "spec.schedulingGates[1].name: another gate"},
      {R"("schedulingGates":[{}])", "spec.schedulingGates[0].name: missing"},
      {R"("tolerations":[{"key":"a","operator":"Lt"}])", "spec.tolerations[0].operator: expected one of Equal, Exists"},
      {R"("tolerations":[{"value":"x"}])", "spec.tolerations[0].key: missing; required unless operator is Exists"},
      {R"("tolerations":[{"key":"a","operator":"Exists","value":"x"}])",
       "spec.tolerations[0].value: operator Exists takes"},
      {R"("tolerations":[{"key":"a","effect":"NoRun"}])", "spec.tolerations[0].effect: expected one of NoSchedule"},
      {R"("tolerations":[{"key":"a","effect":"NoSchedule","tolerationSeconds":1}])",
       "spec.tolerations[0].tolerationSeconds: only allowed with effect NoExecute"},
      {R"("affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{}}})",
       "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: expected at least "
       "one"},
      {R"("initContainers":[{"name":"c"}])", "spec.containers[0].name: another container of the pod is called c"},
  };
  for (const Case& c : cases) {
    const Texts errors = errors_of(pod_with(c.spec));
    ASSERT_EQ(errors.size(), 1u) << c.spec;
    EXPECT_EQ(errors[0].substr(0, std::string_view(c.error).size()), c.error);
  }
}

TEST(DecodePod, NamesTheErrorsOfASelector) {
  const auto errors = [](const std::string& requirement) {
    return errors_of(pod_with(R"("affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":)"
                              R"({"nodeSelectorTerms":[{)" +
                              requirement + "}]}}}"));
  };
  const std::string path =
      "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].";
  struct Case {
    const char* term;
    const char* error;
  };
  const Case cases[] = {
      {R"("matchExpressions":[{"key":"a","operator":"in","values":["x"]}])",
       "matchExpressions[0].operator: expected one of In, NotIn, Exists, DoesNotExist, Gt, Lt, got \"in\"; did you "
       "mean In?"},
      {R"("matchExpressions":[{"key":"a","values":["x"]}])", "matchExpressions[0].operator: missing"},
      {R"("matchExpressions":[{"operator":"Exists"}])", "matchExpressions[0].key: missing"},
      {R"("matchExpressions":[{"key":"a","operator":"In"}])", "matchExpressions[0].values: expected at least one"},
      {R"("matchExpressions":[{"key":"a","operator":"In","values":"x"}])",
       "matchExpressions[0].values: expected a list"},
      {R"("matchExpressions":[{"key":"a","operator":"In","values":["x",5]}])",
       "matchExpressions[0].values[1]: expected a string"},
      {R"("matchExpressions":[{"key":"a","operator":"In","values":["x y"]}])",
       "matchExpressions[0].values[0]: expected a label value"},
      {R"("matchExpressions":[{"key":"a","operator":"Exists","values":["x"]}])",
       "matchExpressions[0].values: must be empty with Exists"},
      {R"("matchExpressions":[{"key":"a","operator":"Gt","values":["x"]}])",
       "matchExpressions[0].values: expected exactly one integer"},
      {R"("matchFields":[{"key":"metadata.uid","operator":"In","values":["x"]}])",
       "matchFields[0].key: expected metadata.name"},
      {R"("matchFields":[{"key":"metadata.name","operator":"Gt","values":["1"]}])",
       "matchFields[0].operator: expected one of In, NotIn"},
      {R"("matchFields":[{"key":"metadata.name","operator":"In","values":["a","b"]}])",
       "matchFields[0].values: expected exactly one"},
  };
  for (const Case& c : cases) {
    const Texts found = errors(c.term);
    ASSERT_EQ(found.size(), 1u) << c.term;
    EXPECT_EQ(found[0].substr(0, path.size() + std::string_view(c.error).size()), path + c.error);
  }
}

TEST(DecodePod, NamesTheErrorsOfAContainer) {
  struct Case {
    const char* container;
    const char* error;
  };
  const Case cases[] = {
      {R"({})", "spec.containers[0].name: missing"},
      {R"({"name":""})", "spec.containers[0].name: expected a name"},
      {R"({"name":"A"})", "spec.containers[0].name: expected a name"},
      {R"({"name":7})", "spec.containers[0].name: expected a string, got 7; put it in quotes"},
      {R"({"name":"c","image":[]})", "spec.containers[0].image: expected a string, got a list"},
      {R"({"name":"c","command":7})", "spec.containers[0].command: expected a list"},
      {R"({"name":"c","args":[7]})", "spec.containers[0].args[0]: expected a string, got 7"},
      {R"({"name":"c","resources":{"requests":{"memory":"64MB"}}})",
       "spec.containers[0].resources.requests.memory: expected a quantity such as 250m, 2 or 64Mi, got \"64MB\""},
      {R"({"name":"c","resources":{"requests":{"memory":null}}})",
       "spec.containers[0].resources.requests.memory: expected a quantity"},
      {R"({"name":"c","resources":{"requests":{"memry":"1"}}})",
       "spec.containers[0].resources.requests.memry: expected cpu, memory"},
      {R"({"name":"c","resources":{"requests":{"e.com/gpu":"0.5"}}})",
       "spec.containers[0].resources.requests[\"e.com/gpu\"]: expected a whole number, got 500m"},
      {R"({"name":"c","resources":{"requests":{"cpu":"2"},"limits":{"cpu":1}}})",
       "spec.containers[0].resources.requests.cpu: 2 is more than the limit of 1"},
      {R"({"name":"c","restartPolicy":"always"})", "spec.containers[0].restartPolicy: expected one of"},
      {R"({"name":"c","ports":[{"hostPort":70000}]})",
       "spec.containers[0].ports[0].hostPort: expected an integer from 0 to 65535"},
      {R"({"name":"c","ports":[{"hostPort":80,"protocol":"HTTP"}]})",
       "spec.containers[0].ports[0].protocol: expected one of TCP, UDP, SCTP, got \"HTTP\""},
      {R"({"name":"c","ports":[{"hostPort":80},{"hostPort":80}]})",
       "spec.containers[0].ports[1].hostPort: another port of the container has this hostPort"},
  };
  for (const Case& c : cases) {
    const Texts errors =
        errors_of(parsed_json(R"({"metadata":{"name":"p"},"spec":{"containers":[)" + std::string(c.container) + "]}}"));
    ASSERT_EQ(errors.size(), 1u) << c.container;
    EXPECT_EQ(errors[0].substr(0, std::string_view(c.error).size()), c.error);
  }
}

TEST(DecodePod, NamesTheErrorsOfTheHead) {
  struct Case {
    const char* json;
    const char* error;
  };
  const Case cases[] = {
      {R"([])", "expected an object, got a list"},
      {R"({"spec":{"containers":[{"name":"c"}]}})", "metadata: missing"},
      {R"({"metadata":{},"spec":{"containers":[{"name":"c"}]}})", "metadata.name: missing"},
      {R"({"metadata":{"name":"p"}})", "spec: missing"},
      {R"({"metadata":{"name":"p"},"spec":{}})", "spec.containers: expected at least one container"},
      {R"({"metadata":{"name":"p"},"spec":{"containers":[]}})", "spec.containers: expected at least one container"},
      {R"({"metadata":{"name":"p"},"spec":{"containers":{}}})", "spec.containers: expected a list"},
      {R"({"kind":"Deployment","metadata":{"name":"p"},"spec":{"containers":[{"name":"c"}]}})",
       "kind: expected Pod, got \"Deployment\""},
      {R"({"apiVersion":"v2","metadata":{"name":"p"},"spec":{"containers":[{"name":"c"}]}})",
       "apiVersion: expected v1, got \"v2\""},
      {R"({"metadata":{"name":"a/b"},"spec":{"containers":[{"name":"c"}]}})", "metadata.name: expected a name"},
      {R"({"metadata":{"name":"p","namespace":"#"},"spec":{"containers":[{"name":"c"}]}})",
       "metadata.namespace: expected a name"},
      {R"({"metadata":{"name":"p","uid":"../x"},"spec":{"containers":[{"name":"c"}]}})", "metadata.uid: expected"},
      {R"({"metadata":{"name":"p","labels":{"a":"x y"}},"spec":{"containers":[{"name":"c"}]}})",
       "metadata.labels.a: expected a label value"},
      {R"({"metadata":{"name":"p","labels":{"a":null}},"spec":{"containers":[{"name":"c"}]}})",
       "metadata.labels.a: expected a string, got null"},
      {R"({"metadata":{"name":"p","annotations":{"/":""}},"spec":{"containers":[{"name":"c"}]}})",
       "metadata.annotations[\"/\"]: expected a label key"},
      {R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c"}]},"status":{"nominatedNodeName":"A"}})",
       "status.nominatedNodeName: expected a name"},
  };
  for (const Case& c : cases) {
    const Texts errors = errors_of(parsed_json(c.json));
    ASSERT_FALSE(errors.empty()) << c.json;
    EXPECT_EQ(errors[0].substr(0, std::string_view(c.error).size()), c.error);
  }
}

TEST(DecodePod, ReportsAllErrorsAtOnce) {
  EXPECT_EQ(errors_of(pod_with(R"("priority":"x","restartPolicy":1,"volumes":[{"name":"V"}])")).size(), 3u);
}

TEST(DecodePod, ReadsResourceClaims) {
  const std::string claims = R"("resourceClaims":[{"name":"a","resourceClaimName":"c"},
    {"name":"b","resourceClaimTemplateName":"t"}])";
  const Result<Pod> pod = decode_pod(pod_with(claims), nullptr);
  ASSERT_TRUE(pod.has_value()) << pod.error().message();
  EXPECT_EQ(pod->spec->resource_claims, (std::vector<PodResourceClaim>{{"a", "c", ""}, {"b", "", "t"}}));
  EXPECT_EQ(errors_of(pod_with(R"("resourceClaims":[{"name":"a"},{"name":"a","resourceClaimName":"c"},
    {"name":"d","resourceClaimName":"c","resourceClaimTemplateName":"t"}],
    "resources":{"claims":[{"name":"a"}]})")),
            (Texts{"spec.resourceClaims[0]: expected one of resourceClaimName and resourceClaimTemplateName, got none",
                   "spec.resourceClaims[1].name: another resource claim of the pod is called a; give each its own name",
                   "spec.resourceClaims[2]: expected one of resourceClaimName and resourceClaimTemplateName, got both; "
                   "keep one",
                   "spec.resources.claims: not allowed at pod level; set them on the containers"}));
  EXPECT_EQ(
      errors_of(parsed_json(
          R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","resources":{"claims":[{"name":"x"}]}}]}})")),
      Texts{"spec.containers[0].resources.claims[0].name: no claim of spec.resourceClaims is called \"x\""});
}

TEST(DecodePod, WarnsAboutUnknownFields) {
  EXPECT_EQ(warnings_of(pod_with(R"("restartpolicy":"Never")")),
            Texts{"spec.restartpolicy: unknown field; did you mean restartPolicy?"});
  EXPECT_EQ(warnings_of(parsed_json(
                R"({"metadata":{"name":"p"},"extra":1,"spec":{"containers":[{"name":"c","imagee":"x"}]}})")),
            (Texts{"extra: unknown field", "spec.containers[0].imagee: unknown field; did you mean image?"}));
}

// It is a need, and a device that cannot do it is not asked: the pod's does not apply in its place.
TEST(DecodePod, DoesNotSayThatARestartPolicyOfAContainerIsIgnored) {
  const std::string manifest =
      R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","command":["x"],"restartPolicy":"Never"}]}})";
  EXPECT_EQ(warnings_of(parsed_json(manifest)), Texts{});
}

TEST(DecodePod, WarnsAboutUnsupportedFields) {
  const Texts warnings = warnings_of(pod_with(
      R"("resourceClaims":[{"name":"r","resourceClaimName":"c"}],"volumes":[{"name":"e","ephemeral":{}},{"name":"s","csi":{"driver":"d"}},)"
      R"({"name":"n","nfs":{}}])"));
  ASSERT_EQ(warnings.size(), 3u);
  EXPECT_EQ(
      warnings[0],
      "spec.resourceClaims: there are no ResourceClaims in Berth, so the pod will not be scheduled; ask for devices as "
      "extended resources instead");
  EXPECT_EQ(warnings[1],
            "spec.volumes[1].csi: berth-agent does not mount it; only devices that name the feature volumes/csi do");
  EXPECT_EQ(warnings[2],
            "spec.volumes[2].nfs: berth-agent does not mount it; only devices that name the feature volumes/nfs do");
  EXPECT_EQ(
      warnings_of(pod_with(R"("volumes":[{"name":"i","iscsi":{"iqn":"iqn.a","targetPortal":"x","lun":0}}])")),
      Texts{"spec.volumes[0].iscsi: berth-agent does not mount it; only devices that name the feature volumes/iscsi "
            "do"});
  EXPECT_EQ(
      warnings_of(
          pod_with(R"("volumes":[{"name":"i","image":{"reference":"a:1"}},{"name":"h","hostPath":{"path":"/x"}}])")),
      Texts{
          "spec.volumes[0].image: berth-agent does not mount it; only devices that name the feature volumes/image do"});
  EXPECT_EQ(warnings_of(pod_with(R"("topologySpreadConstraints":[],"affinity":{"podAffinity":{}})")), Texts{});
}

}  // namespace
}  // namespace berth
