// Manifests shared by the tests of core/api.
#pragma once

#include <string_view>

namespace berth {

inline constexpr std::string_view kPodManifest = R"({
  "apiVersion": "v1", "kind": "Pod",
  "metadata": {"name": "web-1", "namespace": "shop", "uid": "0b3c5a52-3f7e-4f0a-9b1d-0c1f2e3d4a5b",
    "labels": {"app": "web", "example.com/tier": "front"}, "annotations": {"note": "any text, even \u00e9"},
    "creationTimestamp": null},
  "spec": {
    "schedulerName": "edge", "priority": 100, "priorityClassName": "high", "preemptionPolicy": "Never",
    "nodeName": "", "nodeSelector": {"disk": "ssd"},
    "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
      {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a", "b"]},
                            {"key": "cores", "operator": "Gt", "values": ["2"]}],
       "matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["n9"]}]}]},
      "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 5, "preference": {"matchExpressions": [
        {"key": "disk", "operator": "Exists"}]}}]},
      "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone",
        "labelSelector": {"matchLabels": {"app": "db"}}, "namespaceSelector": {}, "matchLabelKeys": ["app"]}]},
      "podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1,
        "podAffinityTerm": {"topologyKey": "rack", "namespaces": ["shop"]}}]}},
    "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
      "labelSelector": {"matchLabels": {"app": "web"}}, "minDomains": 2}],
    "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}},
    "tolerations": [{"key": "dedicated", "operator": "Equal", "value": "gpu", "effect": "NoSchedule"},
                    {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}],
    "schedulingGates": [{"name": "example.com/wait"}],
    "initContainers": [{"name": "setup", "image": "setup:1"},
                       {"name": "proxy", "image": "proxy:1", "restartPolicy": "Always",
                        "resources": {"requests": {"cpu": "50m"}}}],
    "containers": [{"name": "main", "image": "web:1", "command": ["/bin/web"], "args": ["-v"],
      "env": [{"name": "A", "value": "b"}], "ports": [{"containerPort": 80, "hostPort": 8080, "hostIP": "10.0.0.1"}, {"containerPort": 53, "protocol": "UDP"}],
      "volumeMounts": [{"name": "store", "mountPath": "/data"}], "livenessProbe": {"httpGet": {"port": 80}},
      "securityContext": {"runAsUser": 1000},
      "resources": {"requests": {"cpu": 0.5, "memory": "64Mi", "example.com/gpu": 1},
                    "limits": {"memory": "128Mi", "ephemeral-storage": "1Gi"}}}],
    "overhead": {"cpu": "10m"},
    "volumes": [{"name": "store", "persistentVolumeClaim": {"claimName": "store-web-1"}},
                {"name": "tmp", "emptyDir": {}}, {"name": "conf", "configMap": {"name": "web"}}],
    "restartPolicy": "OnFailure", "terminationGracePeriodSeconds": 5, "securityContext": {}, "hostNetwork": false
  },
  "status": {"nominatedNodeName": "n3", "phase": "Pending", "startTime": "2025-05-01T00:03:26Z", "qosClass": "Burstable"}
})";

}  // namespace berth
