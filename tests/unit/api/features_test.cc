// What a pod asks of the runtime, and by which field.
#include "core/api/features.h"

#include <gtest/gtest.h>

#include "core/api/decode.h"
#include "core/api/node.h"
#include "core/api/pod.h"
#include "tests/unit/parsed_json.h"

namespace berth {
namespace {

struct FeatureCase {
  std::string name;
  std::string spec;  // beside a container "c" with a command, unless it has containers
  std::string want;  // the needs, as text; empty: none
};

Json pod_of(const std::string& spec) {
  const bool has_containers = spec.contains("\"containers\"");
  return parsed_json(R"({"metadata":{"name":"p"},"spec":{)" + spec + (has_containers || spec.empty() ? "" : ",") +
                     (has_containers ? "" : R"("containers":[{"name":"c","command":["true"]}])") + "}}");
}

std::string container(const std::string& more) {
  return R"("containers":[{"name":"c","command":["true"],)" + more + "}]";
}

std::string image_of(int container) {
  return "spec.containers[" + std::to_string(container) +
         "].image (feature images: install crun or runc and skopeo there, or remove image to run the command as a "
         "process of the device)";
}

std::string texts_of(const std::vector<Need>& needs) {
  std::string text;
  for (const Need& need : needs) text += (text.empty() ? "" : ", ") + to_text(need);
  return text;
}

class FeatureTable : public ::testing::TestWithParam<FeatureCase> {};

TEST_P(FeatureTable, NamesTheFeatureAndTheFirstFieldThatAsksForIt) {
  const Json pod = pod_of(GetParam().spec);
  EXPECT_EQ(texts_of(needs_of(pod)), GetParam().want);
  const Result<Pod> decoded = decode_pod(pod, nullptr, Rules::off);
  ASSERT_TRUE(decoded) << decoded.error().message();
  EXPECT_EQ(texts_of(decoded->spec->needs), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, FeatureTable,
    ::testing::Values(
        FeatureCase{"Plain", "", ""},
        FeatureCase{"Deadline", R"("activeDeadlineSeconds":5)",
                    "spec.activeDeadlineSeconds (feature processes/activeDeadline)"},
        FeatureCase{"EmptySecurityContext", R"("securityContext":{},"hostAliases":[])", ""},
        FeatureCase{"RuntimeClass", R"("runtimeClassName":"crun")",
                    "spec.runtimeClassName (feature runtimeClass/crun)"},
        FeatureCase{"HostAliases", R"("hostAliases":[{"ip":"10.0.0.1"}])",
                    "spec.hostAliases (feature processes/hostAliases)"},
        FeatureCase{"Volumes",
                    R"("volumes":[{"name":"a","emptyDir":{}},{"name":"b","emptyDir":{}},{"name":"s","secret":{}}])",
                    "spec.volumes[0].emptyDir (feature processes/volumes/emptyDir), spec.volumes[2].secret (feature "
                    "processes/volumes/secret)"},
        FeatureCase{"AVolumeOfAnImage", R"("volumes":[{"name":"v","image":{"reference":"a:1"}}])",
                    "spec.volumes[0].image (feature processes/volumes/image)"},
        FeatureCase{"UserNamespaces", R"("hostUsers":false)", "spec.hostUsers (feature processes/userNamespaces)"},
        FeatureCase{"TheHostsUsers", R"("hostUsers":true)", ""},
        FeatureCase{"DnsPolicyNone", R"("dnsPolicy":"None","dnsConfig":{"nameservers":["10.0.0.1"]})",
                    "spec.dnsPolicy (feature processes/dnsConfig)"},
        FeatureCase{"DnsConfig", R"("dnsPolicy":"Default","dnsConfig":{"nameservers":["10.0.0.1"]})",
                    "spec.dnsConfig (feature processes/dnsConfig)"},
        FeatureCase{
            "EmptyDirInMemory", R"("volumes":[{"name":"a","emptyDir":{"medium":"Memory","sizeLimit":"1Mi"}}])",
            "spec.volumes[0].emptyDir (feature processes/volumes/emptyDir), spec.volumes[0].emptyDir.medium (feature "
            "processes/emptyDirMedium), spec.volumes[0].emptyDir.sizeLimit (feature processes/emptyDirSizeLimit)"},
        FeatureCase{"EmptyDirOnTheDisk", R"("volumes":[{"name":"a","emptyDir":{"medium":"","sizeLimit":null}}])",
                    "spec.volumes[0].emptyDir (feature processes/volumes/emptyDir)"},
        FeatureCase{"Sidecar", R"("initContainers":[{"name":"i","command":["x"],"restartPolicy":"Always"}])", ""},
        FeatureCase{"InitContainersRestartPolicy",
                    R"("initContainers":[{"name":"i","command":["x"],"restartPolicy":"Never"}])",
                    "spec.initContainers[0].restartPolicy (feature processes/containerRestartPolicies)"},
        FeatureCase{"ContainersRestartPolicy", container(R"("restartPolicy":"Always")"),
                    "spec.containers[0].restartPolicy (feature processes/containerRestartPolicies)"},
        FeatureCase{"RestartPolicyRules", container(R"("restartPolicyRules":[{"action":"Restart"}])"),
                    "spec.containers[0].restartPolicyRules (feature processes/containerRestartPolicies)"},
        FeatureCase{"AClaimThatForcesItsMountsToBeReadOnly",
                    R"("volumes":[{"name":"d","persistentVolumeClaim":{"claimName":"d","readOnly":true}}])",
                    "spec.volumes[0].persistentVolumeClaim (feature processes/volumes/persistentVolumeClaim), "
                    "spec.volumes[0].persistentVolumeClaim.readOnly (feature processes/readOnlyMounts)"},
        FeatureCase{"AClaimThatDoesNot",
                    R"("volumes":[{"name":"d","persistentVolumeClaim":{"claimName":"d","readOnly":false}}])",
                    "spec.volumes[0].persistentVolumeClaim (feature processes/volumes/persistentVolumeClaim)"},
        FeatureCase{"Probe", container(R"("readinessProbe":{"periodSeconds":1})"),
                    "spec.containers[0].readinessProbe (feature processes/probes)"},
        FeatureCase{"ProbesByAllThatNeedsNoNameOfItsOwn",
                    container(R"("startupProbe":{"exec":{"command":["x"]}},"readinessProbe":{"tcpSocket":{"port":1,
                        "host":"fe80::1"}},"livenessProbe":{"httpGet":{"port":1,"host":"10.0.0.1","scheme":"HTTP"}})"),
                    "spec.containers[0].livenessProbe (feature processes/probes)"},
        FeatureCase{"GrpcProbe", container(R"("livenessProbe":{"grpc":{"port":1}})"),
                    "spec.containers[0].livenessProbe (feature processes/probes), "
                    "spec.containers[0].livenessProbe.grpc (feature "
                    "processes/grpcProbes)"},
        FeatureCase{"HttpsProbe", container(R"("livenessProbe":{"httpGet":{"port":1,"scheme":"HTTPS"}})"),
                    "spec.containers[0].livenessProbe (feature processes/probes), "
                    "spec.containers[0].livenessProbe.httpGet.scheme "
                    "(feature processes/httpsHandlers)"},
        FeatureCase{"ProbeOfAHostName", container(R"("livenessProbe":{"tcpSocket":{"port":1,"host":"db.example"}})"),
                    "spec.containers[0].livenessProbe (feature processes/probes), "
                    "spec.containers[0].livenessProbe.tcpSocket.host "
                    "(feature processes/handlerHostNames)"},
        FeatureCase{
            "Hooks", container(R"("lifecycle":{"stopSignal":"SIGUSR1","preStop":{"httpGet":{"port":1,"scheme":"HTTPS",
                        "host":"example.org"}}})"),
            "spec.containers[0].lifecycle.preStop.httpGet.scheme (feature processes/httpsHandlers), "
            "spec.containers[0].lifecycle.preStop.httpGet.host (feature processes/handlerHostNames), "
            "spec.containers[0].lifecycle.stopSignal (feature processes/stopSignals), spec.containers[0].lifecycle "
            "(feature processes/lifecycle)"},
        FeatureCase{
            "SecondContainer",
            R"("containers":[{"name":"a","command":["x"]},{"name":"b","command":["x"],"lifecycle":{"preStop":{}}}])",
            "spec.containers[1].lifecycle (feature processes/lifecycle)"},
        FeatureCase{"InitContainer",
                    R"("initContainers":[{"name":"i","command":["x"],"securityContext":{"runAsUser":1}}])",
                    "spec.initContainers[0].securityContext (feature processes/securityContext)"},
        FeatureCase{"ConfinementOfProcesses",
                    R"("securityContext":{"sysctls":[{"name":"a","value":"1"}]},)" +
                        container(R"("securityContext":{"seccompProfile":{"type":"RuntimeDefault"},
                            "procMount":"Unmasked","allowPrivilegeEscalation":true})"),
                    "spec.securityContext (feature processes/securityContext), "
                    "spec.securityContext.sysctls (feature processes/sysctls), "
                    "spec.containers[0].securityContext.seccompProfile (feature processes/seccompProfile), "
                    "spec.containers[0].securityContext.procMount (feature processes/procMount), "
                    "spec.containers[0].securityContext.allowPrivilegeEscalation (feature "
                    "processes/allowPrivilegeEscalation)"},
        FeatureCase{"ConfinementThatAsksForNothing",
                    R"("securityContext":{"seccompProfile":{"type":"Unconfined"},"sysctls":[]},)" +
                        container(R"("securityContext":{"allowPrivilegeEscalation":false,"procMount":"Default"})"),
                    "spec.securityContext (feature processes/securityContext)"},
        FeatureCase{"ConfinementOfAnImage",
                    container(R"("image":"app:1","securityContext":{"seccompProfile":{"type":"RuntimeDefault"}})"),
                    "spec.containers[0].securityContext (feature securityContext), " + image_of(0)},
        FeatureCase{"ConfinementOfAnImageAsProcesses",
                    R"("runtimeClassName":"process",)" +
                        container(R"("image":"app:1","securityContext":{"seccompProfile":{"type":"RuntimeDefault"}})"),
                    "spec.runtimeClassName (feature runtimeClass/process), "
                    "spec.containers[0].securityContext (feature processes/securityContext), "
                    "spec.containers[0].securityContext.seccompProfile (feature processes/seccompProfile), "
                    "spec.containers[0].image (feature processes/image: remove image, or runtimeClassName: process to "
                    "run it in a container)"},
        FeatureCase{"ConfinementOfAContainerWithoutAnImage",
                    R"("runtimeClassName":"container","securityContext":{"seccompProfile":{"type":"RuntimeDefault"}})",
                    "spec.securityContext (feature securityContext), spec.runtimeClassName (feature "
                    "runtimeClass/container)"},
        FeatureCase{"Limits", container(R"("resources":{"limits":{"cpu":"1"}})"),
                    "spec.containers[0].resources.limits (feature processes/limits)"},
        FeatureCase{"LimitsOfAnExtendedResource", container(R"("resources":{"limits":{"example.com/gpu":"1"}})"), ""},
        FeatureCase{"PodLimits", R"("resources":{"limits":{"memory":"1Gi"}})",
                    "spec.resources.limits (feature processes/limits)"},
        FeatureCase{"Mounts", container(R"("volumeMounts":[{"name":"v","readOnly":true,"subPathExpr":"$A"}])"),
                    "spec.containers[0].volumeMounts[0].readOnly (feature processes/readOnlyMounts), "
                    "spec.containers[0].volumeMounts[0].subPathExpr (feature processes/subPathExprs)"},
        FeatureCase{"Secrets", container(R"("env":[{"name":"A","valueFrom":{"secretKeyRef":{"name":"s","key":"k"}}}])"),
                    "spec.containers[0].env[0].valueFrom.secretKeyRef (feature processes/secrets)"},
        FeatureCase{"ConfigMaps", container(R"("envFrom":[{"configMapRef":{"name":"m"}}])"),
                    "spec.containers[0].envFrom[0].configMapRef (feature processes/configMaps)"},
        FeatureCase{"EmptyReferenceToASecret", container(R"("env":[{"name":"A","valueFrom":{"secretKeyRef":{}}}])"),
                    "spec.containers[0].env[0].valueFrom.secretKeyRef (feature processes/secrets)"},
        FeatureCase{"AllOfAConfigMapWithoutAName", container(R"("envFrom":[{"configMapRef":{}}])"),
                    "spec.containers[0].envFrom[0].configMapRef (feature processes/configMaps)"},
        FeatureCase{"PlainField",
                    container(R"("env":[{"name":"A","valueFrom":{"fieldRef":{"fieldPath":"metadata.labels['a']"}}}])"),
                    ""},
        FeatureCase{"PodIp", container(R"("env":[{"name":"A","valueFrom":{"fieldRef":{"fieldPath":"status.podIP"}}}])"),
                    "spec.containers[0].env[0].valueFrom.fieldRef (feature processes/fieldRefs/status.podIP)"},
        FeatureCase{"Image", R"("containers":[{"name":"c","image":"registry.lan:5000/app:1.4"}])", image_of(0)},
        FeatureCase{"ImageWithACommand", container(R"("image":"app")"), image_of(0)},
        FeatureCase{"ImageOfTheSecondContainer",
                    R"("containers":[{"name":"a","command":["x"]},{"name":"b","image":"app","command":["x"]}])",
                    image_of(1)},
        FeatureCase{"NoImage", R"("containers":[{"name":"c"}])",
                    "spec.containers[0] without image and command (feature processes/image)"},
        FeatureCase{"Program", R"("containers":[{"name":"c","image":"/usr/bin/app"}])", ""},
        FeatureCase{"WrongTypes", R"("runtimeClassName":7)", ""}),
    [](const auto& each) { return each.param.name; });

TEST(Features, MissesWhatTheNodeDoesNotName) {
  const std::vector<Need> needs{{"probes", "a"}, {"limits", "b"}};
  EXPECT_EQ(missing_of(needs, {"limits"}), (std::vector<Need>{{"probes", "a"}}));
  EXPECT_EQ(missing_of(needs, {"limits", "other", "probes"}), std::vector<Need>{});
  EXPECT_EQ(missing_of(needs, {}), needs);
}

TEST(Features, OfContainersAreNotThoseOfProcesses) {
  const Json limited = pod_of(container(R"("resources":{"limits":{"cpu":"1"}})"));
  const Json contained = pod_of(container(R"("image":"app","resources":{"limits":{"cpu":"1"}})"));
  const auto missing = [](const Json& pod, const std::vector<std::string>& features) {
    return texts_of(missing_of(needs_of(pod), features));
  };
  const std::vector<std::string> containers_alone{"images", "limits", "probes", "processes/probes"};
  EXPECT_EQ(missing(limited, containers_alone), "spec.containers[0].resources.limits (feature processes/limits)");
  EXPECT_EQ(missing(contained, containers_alone), "");
  EXPECT_EQ(missing(limited, {"limits", "processes/limits"}), "");
  EXPECT_EQ(missing(limited, {"limits"}), "") << "of a device that does not tell them apart";
  EXPECT_EQ(missing(pod_of(R"("runtimeClassName":"process")"), {"processes/probes", "runtimeClass/process"}), "");
  const Json both = pod_of(R"("runtimeClassName":"process",)" + container(R"("image":"app")"));
  EXPECT_NE(missing(both, {"images", "limits", "runtimeClass/process"}), "") << "no image as processes";
}

TEST(Features, OfANodeAreSortedOnceEachAndBounded) {
  const auto decoded = [](const std::string& features) {
    return decode_node(parsed_json(R"({"metadata":{"name":"n"},"status":{"declaredFeatures":)" + features + "}}"),
                       nullptr);
  };
  EXPECT_EQ(*decoded(R"(["probes","limits","probes"])")->declared_features,
            (std::vector<std::string>{"limits", "probes"}));
  EXPECT_EQ(*decoded("[]")->declared_features, std::vector<std::string>{});
  EXPECT_FALSE(decode_node(parsed_json(R"({"metadata":{"name":"n"}})"), nullptr)->declared_features.has_value());
  EXPECT_EQ(decoded(R"(["a b"])").error().message(),
            "status.declaredFeatures[0]: expected the name of a feature: letters, digits, '-', '.', '_' and '/', at "
            "most 128");
  std::string many = "[";
  for (int i = 0; i < 65; ++i) many += (i > 0 ? ",\"f" : "\"f") + std::to_string(i) + "\"";
  EXPECT_EQ(decoded(many + "]").error().message(), "status.declaredFeatures: expected at most 64 names, got 65");
}

struct RefusedCase {
  std::string name, spec, want;
};

class RefusedByEveryDevice : public ::testing::TestWithParam<RefusedCase> {};

TEST_P(RefusedByEveryDevice, IsRefusedWithTheField) {
  const Json pod = pod_of(GetParam().spec);
  const Result<Pod> decoded = decode_pod(pod, nullptr);
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().message(), GetParam().want);
  EXPECT_TRUE(decode_pod(pod, nullptr, Rules::off)) << "a pod that is stored already stays readable";
}

INSTANTIATE_TEST_SUITE_P(
    Cases, RefusedByEveryDevice,
    ::testing::Values(
        RefusedCase{
            "Mount", container(R"("volumeMounts":[{"name":"data","mountPath":"/d"}])"),
            "spec.containers[0].volumeMounts[0].name: no volume of spec.volumes is called \"data\"; add it there"},
        RefusedCase{
            "SubPath",
            R"("volumes":[{"name":"v","emptyDir":{}}],)" +
                container(R"("volumeMounts":[{"name":"v","subPath":"../x"}])"),
            "spec.containers[0].volumeMounts[0].subPath: expected a relative path without \"..\", got \"../x\""},
        RefusedCase{"HostPath", R"("volumes":[{"name":"v","hostPath":{"path":"srv"}}])",
                    "spec.volumes[0].hostPath.path: expected an absolute path without \"..\", got \"srv\""},
        RefusedCase{"HostPathType", R"("volumes":[{"name":"v","hostPath":{"path":"/dev/null","type":"Device"}}])",
                    "spec.volumes[0].hostPath.type: expected DirectoryOrCreate, Directory, FileOrCreate, File, Socket, "
                    "CharDevice or BlockDevice, got \"Device\""},
        RefusedCase{
            "Source", R"("volumes":[{"name":"v","floppy":{}}])",
            "spec.volumes[0].floppy: not a volume source; expected one such as persistentVolumeClaim, hostPath or "
            "emptyDir"},
        RefusedCase{"Variable", container(R"("env":[{"name":"BERTH_TAG","value":"x"}])"),
                    "spec.containers[0].env[0].name: names that start with BERTH_ are the device's own"},
        RefusedCase{"VariableName", container(R"("env":[{"name":"A=B","value":"x"}])"),
                    "spec.containers[0].env[0].name: expected the name of a variable, not empty and without '='"},
        RefusedCase{
            "ValueAndValueFrom",
            container(R"("env":[{"name":"A","value":"x","valueFrom":{"secretKeyRef":{"name":"s","key":"k"}}}])"),
            "spec.containers[0].env[0].valueFrom: may not be given when value is not empty; keep one of them"},
        RefusedCase{"NodeNameAndGates", R"("nodeName":"n1","schedulingGates":[{"name":"g"}])",
                    "spec.nodeName: may not be given while the pod has schedulingGates; remove one of them"},
        RefusedCase{
            "ValueFrom", container(R"("env":[{"name":"A","valueFrom":{}}])"),
            "spec.containers[0].env[0].valueFrom: expected one of fieldRef, resourceFieldRef, configMapKeyRef and "
            "secretKeyRef"},
        RefusedCase{
            "ValueFromNothing", container(R"("env":[{"name":"A","valueFrom":{"secretKeyRef":null}}])"),
            "spec.containers[0].env[0].valueFrom: expected one of fieldRef, resourceFieldRef, configMapKeyRef and "
            "secretKeyRef"},
        RefusedCase{"EnvFromAPrefixAlone", container(R"("envFrom":[{"prefix":"X_"}])"),
                    "spec.containers[0].envFrom[0]: expected one of configMapRef and secretRef"},
        RefusedCase{
            "Field", container(R"("env":[{"name":"A","valueFrom":{"fieldRef":{"fieldPath":"metadata.foo"}}}])"),
            "spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: expected metadata.name, metadata.namespace, "
            "metadata.uid, metadata.labels['key'], metadata.annotations['key'], spec.nodeName, "
            "spec.serviceAccountName, status.hostIP or status.podIP, got \"metadata.foo\""}),
    [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace berth
