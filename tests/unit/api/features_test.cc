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
        FeatureCase{"Deadline", R"("activeDeadlineSeconds":5)", "spec.activeDeadlineSeconds (feature activeDeadline)"},
        FeatureCase{"EmptySecurityContext", R"("securityContext":{},"hostAliases":[])", ""},
        FeatureCase{"RuntimeClass", R"("runtimeClassName":"crun")",
                    "spec.runtimeClassName (feature runtimeClass/crun)"},
        FeatureCase{"HostAliases", R"("hostAliases":[{"ip":"10.0.0.1"}])", "spec.hostAliases (feature hostAliases)"},
        FeatureCase{"Volumes",
                    R"("volumes":[{"name":"a","emptyDir":{}},{"name":"b","emptyDir":{}},{"name":"s","secret":{}}])",
                    "spec.volumes[0].emptyDir (feature volumes/emptyDir), spec.volumes[2].secret (feature "
                    "volumes/secret)"},
        FeatureCase{"UserNamespaces", R"("hostUsers":false)", "spec.hostUsers (feature userNamespaces)"},
        FeatureCase{"TheHostsUsers", R"("hostUsers":true)", ""},
        FeatureCase{"DnsPolicyNone", R"("dnsPolicy":"None","dnsConfig":{"nameservers":["10.0.0.1"]})",
                    "spec.dnsPolicy (feature dnsConfig)"},
        FeatureCase{"DnsConfig", R"("dnsPolicy":"Default","dnsConfig":{"nameservers":["10.0.0.1"]})",
                    "spec.dnsConfig (feature dnsConfig)"},
        FeatureCase{"EmptyDirInMemory", R"("volumes":[{"name":"a","emptyDir":{"medium":"Memory","sizeLimit":"1Mi"}}])",
                    "spec.volumes[0].emptyDir (feature volumes/emptyDir), spec.volumes[0].emptyDir.medium (feature "
                    "emptyDirMedium), spec.volumes[0].emptyDir.sizeLimit (feature emptyDirSizeLimit)"},
        FeatureCase{"EmptyDirOnTheDisk", R"("volumes":[{"name":"a","emptyDir":{"medium":"","sizeLimit":null}}])",
                    "spec.volumes[0].emptyDir (feature volumes/emptyDir)"},
        FeatureCase{"Sidecar", R"("initContainers":[{"name":"i","command":["x"],"restartPolicy":"Always"}])", ""},
        FeatureCase{"InitContainersRestartPolicy",
                    R"("initContainers":[{"name":"i","command":["x"],"restartPolicy":"Never"}])",
                    "spec.initContainers[0].restartPolicy (feature containerRestartPolicies)"},
        FeatureCase{"ContainersRestartPolicy", container(R"("restartPolicy":"Always")"),
                    "spec.containers[0].restartPolicy (feature containerRestartPolicies)"},
        FeatureCase{"RestartPolicyRules", container(R"("restartPolicyRules":[{"action":"Restart"}])"),
                    "spec.containers[0].restartPolicyRules (feature containerRestartPolicies)"},
        FeatureCase{"AClaimThatForcesItsMountsToBeReadOnly",
                    R"("volumes":[{"name":"d","persistentVolumeClaim":{"claimName":"d","readOnly":true}}])",
                    "spec.volumes[0].persistentVolumeClaim (feature volumes/persistentVolumeClaim), "
                    "spec.volumes[0].persistentVolumeClaim.readOnly (feature readOnlyMounts)"},
        FeatureCase{"AClaimThatDoesNot",
                    R"("volumes":[{"name":"d","persistentVolumeClaim":{"claimName":"d","readOnly":false}}])",
                    "spec.volumes[0].persistentVolumeClaim (feature volumes/persistentVolumeClaim)"},
        FeatureCase{"Probe", container(R"("readinessProbe":{"periodSeconds":1})"),
                    "spec.containers[0].readinessProbe (feature probes)"},
        FeatureCase{"ProbesByAllThatNeedsNoNameOfItsOwn",
                    container(R"("startupProbe":{"exec":{"command":["x"]}},"readinessProbe":{"tcpSocket":{"port":1,
                        "host":"fe80::1"}},"livenessProbe":{"httpGet":{"port":1,"host":"10.0.0.1","scheme":"HTTP"}})"),
                    "spec.containers[0].livenessProbe (feature probes)"},
        FeatureCase{"GrpcProbe", container(R"("livenessProbe":{"grpc":{"port":1}})"),
                    "spec.containers[0].livenessProbe (feature probes), spec.containers[0].livenessProbe.grpc (feature "
                    "grpcProbes)"},
        FeatureCase{
            "HttpsProbe", container(R"("livenessProbe":{"httpGet":{"port":1,"scheme":"HTTPS"}})"),
            "spec.containers[0].livenessProbe (feature probes), spec.containers[0].livenessProbe.httpGet.scheme "
            "(feature httpsHandlers)"},
        FeatureCase{
            "ProbeOfAHostName", container(R"("livenessProbe":{"tcpSocket":{"port":1,"host":"db.example"}})"),
            "spec.containers[0].livenessProbe (feature probes), spec.containers[0].livenessProbe.tcpSocket.host "
            "(feature handlerHostNames)"},
        FeatureCase{"Hooks",
                    container(R"("lifecycle":{"stopSignal":"SIGUSR1","preStop":{"httpGet":{"port":1,"scheme":"HTTPS",
                        "host":"example.org"}}})"),
                    "spec.containers[0].lifecycle.preStop.httpGet.scheme (feature httpsHandlers), "
                    "spec.containers[0].lifecycle.preStop.httpGet.host (feature handlerHostNames), "
                    "spec.containers[0].lifecycle.stopSignal (feature stopSignals), spec.containers[0].lifecycle "
                    "(feature lifecycle)"},
        FeatureCase{
            "SecondContainer",
            R"("containers":[{"name":"a","command":["x"]},{"name":"b","command":["x"],"lifecycle":{"preStop":{}}}])",
            "spec.containers[1].lifecycle (feature lifecycle)"},
        FeatureCase{"InitContainer",
                    R"("initContainers":[{"name":"i","command":["x"],"securityContext":{"runAsUser":1}}])",
                    "spec.initContainers[0].securityContext (feature securityContext)"},
        FeatureCase{"ConfinementOfProcesses",
                    R"("securityContext":{"sysctls":[{"name":"a","value":"1"}]},)" +
                        container(R"("securityContext":{"seccompProfile":{"type":"RuntimeDefault"},
                            "procMount":"Unmasked","allowPrivilegeEscalation":true})"),
                    "spec.securityContext (feature securityContext), "
                    "spec.securityContext.sysctls (feature processes/sysctls), "
                    "spec.containers[0].securityContext.seccompProfile (feature processes/seccompProfile), "
                    "spec.containers[0].securityContext.procMount (feature processes/procMount), "
                    "spec.containers[0].securityContext.allowPrivilegeEscalation (feature "
                    "processes/allowPrivilegeEscalation)"},
        FeatureCase{"ConfinementThatAsksForNothing",
                    R"("securityContext":{"seccompProfile":{"type":"Unconfined"},"sysctls":[]},)" +
                        container(R"("securityContext":{"allowPrivilegeEscalation":false,"procMount":"Default"})"),
                    "spec.securityContext (feature securityContext)"},
        FeatureCase{"ConfinementOfAnImageWithACommand",
                    container(R"("image":"app:1","securityContext":{"seccompProfile":{"type":"RuntimeDefault"}})"),
                    "spec.containers[0].securityContext (feature securityContext), "
                    "spec.containers[0].securityContext.seccompProfile (feature images)"},
        FeatureCase{"ConfinementOfAnImageAsProcesses",
                    R"("runtimeClassName":"process",)" +
                        container(R"("image":"app:1","securityContext":{"seccompProfile":{"type":"RuntimeDefault"}})"),
                    "spec.runtimeClassName (feature runtimeClass/process), "
                    "spec.containers[0].securityContext (feature securityContext), "
                    "spec.containers[0].securityContext.seccompProfile (feature processes/seccompProfile)"},
        FeatureCase{"ConfinementOfAContainerWithoutAnImage",
                    R"("runtimeClassName":"container","securityContext":{"seccompProfile":{"type":"RuntimeDefault"}})",
                    "spec.securityContext (feature securityContext), spec.securityContext.seccompProfile (feature "
                    "images), spec.runtimeClassName (feature runtimeClass/container)"},
        FeatureCase{"Limits", container(R"("resources":{"limits":{"cpu":"1"}})"),
                    "spec.containers[0].resources.limits (feature limits)"},
        FeatureCase{"LimitsOfAnExtendedResource", container(R"("resources":{"limits":{"example.com/gpu":"1"}})"), ""},
        FeatureCase{"PodLimits", R"("resources":{"limits":{"memory":"1Gi"}})",
                    "spec.resources.limits (feature limits)"},
        FeatureCase{"Mounts", container(R"("volumeMounts":[{"name":"v","readOnly":true,"subPathExpr":"$A"}])"),
                    "spec.containers[0].volumeMounts[0].readOnly (feature readOnlyMounts), "
                    "spec.containers[0].volumeMounts[0].subPathExpr (feature subPathExprs)"},
        FeatureCase{"Secrets", container(R"("env":[{"name":"A","valueFrom":{"secretKeyRef":{"name":"s","key":"k"}}}])"),
                    "spec.containers[0].env[0].valueFrom.secretKeyRef (feature secrets)"},
        FeatureCase{"ConfigMaps", container(R"("envFrom":[{"configMapRef":{"name":"m"}}])"),
                    "spec.containers[0].envFrom[0].configMapRef (feature configMaps)"},
        FeatureCase{"EmptyReferenceToASecret", container(R"("env":[{"name":"A","valueFrom":{"secretKeyRef":{}}}])"),
                    "spec.containers[0].env[0].valueFrom.secretKeyRef (feature secrets)"},
        FeatureCase{"AllOfAConfigMapWithoutAName", container(R"("envFrom":[{"configMapRef":{}}])"),
                    "spec.containers[0].envFrom[0].configMapRef (feature configMaps)"},
        FeatureCase{"PlainField",
                    container(R"("env":[{"name":"A","valueFrom":{"fieldRef":{"fieldPath":"metadata.labels['a']"}}}])"),
                    ""},
        FeatureCase{"PodIp", container(R"("env":[{"name":"A","valueFrom":{"fieldRef":{"fieldPath":"status.podIP"}}}])"),
                    "spec.containers[0].env[0].valueFrom.fieldRef (feature fieldRefs/status.podIP)"},
        FeatureCase{"Image", R"("containers":[{"name":"c","image":"registry.lan:5000/app:1.4"}])",
                    "spec.containers[0].image without command (feature images)"},
        FeatureCase{"Digest", R"("containers":[{"name":"c","image":"app@sha256:0123"}])",
                    "spec.containers[0].image without command (feature images)"},
        FeatureCase{"NoImage", R"("containers":[{"name":"c"}])",
                    "spec.containers[0].image without command (feature images)"},
        FeatureCase{"Program", R"("containers":[{"name":"c","image":"/usr/bin/app"}])", ""},
        FeatureCase{"RegistryWithoutTag", R"("containers":[{"name":"c","image":"registry.lan:5000/app"}])", ""},
        FeatureCase{"WrongTypes", R"("runtimeClassName":7)", ""}),
    [](const auto& each) { return each.param.name; });

TEST(Features, MissesWhatTheNodeDoesNotName) {
  const std::vector<Need> needs{{"probes", "a"}, {"limits", "b"}};
  EXPECT_EQ(missing_of(needs, {"limits"}), (std::vector<Need>{{"probes", "a"}}));
  EXPECT_EQ(missing_of(needs, {"limits", "other", "probes"}), std::vector<Need>{});
  EXPECT_EQ(missing_of(needs, {}), needs);
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
