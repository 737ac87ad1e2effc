// Pod: k8s.io/api core/v1 types.go PodSpec, as far as scheduling reads it.
#include <limits>
#include <set>

#include "core/api/decode.h"

namespace berth {

namespace {

constexpr std::int64_t kInt32Max = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kInt32Min = std::numeric_limits<std::int32_t>::min();

void read_resources(FieldReader& reader, ResourceList& requests, ResourceList& limits) {
  reader.object("resources", [&](FieldReader& inner) {
    requests = inner.quantity_map("requests");
    limits = inner.quantity_map("limits");
    inner.accept({"claims"});
    for (const auto& [name, limit] : limits) {
      auto request = requests.find(name);
      if (request != requests.end() && request->second > limit) {
        inner.fail("requests." + name, "is more than the limit, " + limit.to_text());
      }
    }
  });
}

std::vector<Container> read_containers(FieldReader& reader, std::string_view key, bool init) {
  std::vector<Container> list;
  std::set<std::string> names;
  reader.each(key, [&](FieldReader& inner) {
    Container container;
    container.name = inner.required_text("name");
    if (!container.name.empty() && !names.insert(container.name).second) {
      inner.fail("name", "\"" + container.name + "\" stands twice");
    }
    if (!container.name.empty() && !is_valid_name(container.name)) {
      inner.fail("name", "\"" + container.name + "\" is not a name");
    }
    container.image = inner.text("image");
    read_resources(inner, container.requests, container.limits);
    const std::string restart = inner.text("restartPolicy");
    if (!restart.empty() && init && restart != "Always") inner.fail("restartPolicy", "only \"Always\" is known here");
    if (!restart.empty() && !init) inner.warn("restartPolicy", "not honoured yet; the pod's restartPolicy counts");
    container.restart_always = init && restart == "Always";
    inner.each("ports", [&](FieldReader& port) {
      port.accept({"name", "containerPort", "protocol", "hostIP"});
      port.not_honoured({"hostPort"});
    });
    inner.accept({"args",
                  "command",
                  "env",
                  "envFrom",
                  "imagePullPolicy",
                  "lifecycle",
                  "livenessProbe",
                  "readinessProbe",
                  "resizePolicy",
                  "securityContext",
                  "startupProbe",
                  "stdin",
                  "stdinOnce",
                  "terminationMessagePath",
                  "terminationMessagePolicy",
                  "tty",
                  "volumeDevices",
                  "volumeMounts",
                  "workingDir",
                  "restartPolicyRules"});
    list.push_back(std::move(container));
  });
  return list;
}

std::vector<Toleration> read_tolerations(FieldReader& reader) {
  std::vector<Toleration> list;
  reader.each("tolerations", [&](FieldReader& inner) {
    Toleration toleration;
    toleration.key = inner.text("key");
    toleration.value = inner.text("value");
    const std::string op = inner.word("operator", {"Equal", "Exists"});
    toleration.op = op == "Exists" ? Toleration::Operator::exists : Toleration::Operator::equal;
    if (toleration.key.empty() && toleration.op == Toleration::Operator::equal) {
      inner.fail("operator", "must be Exists when key is empty");
    }
    const std::string effect = inner.word("effect", {"", "NoSchedule", "PreferNoSchedule", "NoExecute"});
    if (effect == "NoSchedule") toleration.effect = TaintEffect::no_schedule;
    if (effect == "PreferNoSchedule") toleration.effect = TaintEffect::prefer_no_schedule;
    if (effect == "NoExecute") toleration.effect = TaintEffect::no_execute;
    if (inner.has("tolerationSeconds")) {
      toleration.toleration_seconds = inner.integer("tolerationSeconds", 0, -(1ll << 53), 1ll << 53);
    }
    list.push_back(std::move(toleration));
  });
  return list;
}

void read_affinity(FieldReader& reader, Pod& pod) {
  reader.object("affinity", [&](FieldReader& inner) {
    inner.object("nodeAffinity", [&](FieldReader& node) {
      node.object("requiredDuringSchedulingIgnoredDuringExecution",
                  [&](FieldReader& required) { pod.required_node_affinity = decode::node_selector(required); });
      node.not_honoured({"preferredDuringSchedulingIgnoredDuringExecution"});
    });
    inner.not_honoured({"podAffinity", "podAntiAffinity"});
  });
}

void read_volumes(FieldReader& reader, Pod& pod) {
  std::set<std::string> names;
  reader.each("volumes", [&](FieldReader& inner) {
    PodVolume volume;
    volume.name = inner.required_text("name");
    if (!volume.name.empty() && !names.insert(volume.name).second) {
      inner.fail("name", "\"" + volume.name + "\" stands twice");
    }
    inner.object("persistentVolumeClaim", [&](FieldReader& claim) {
      volume.claim_name = claim.required_text("claimName");
      if (!volume.claim_name.empty() && !is_valid_name(volume.claim_name)) {
        claim.fail("claimName", "\"" + volume.claim_name + "\" is not a name");
      }
      claim.accept({"readOnly"});
    });
    inner.accept({"emptyDir", "hostPath", "configMap", "secret", "downwardAPI", "projected"});
    inner.not_honoured({"ephemeral",
                        "csi",
                        "nfs",
                        "iscsi",
                        "rbd",
                        "fc",
                        "image",
                        "gcePersistentDisk",
                        "awsElasticBlockStore",
                        "azureDisk",
                        "azureFile",
                        "cephfs",
                        "cinder",
                        "flexVolume",
                        "flocker",
                        "gitRepo",
                        "glusterfs",
                        "photonPersistentDisk",
                        "portworxVolume",
                        "quobyte",
                        "scaleIO",
                        "storageos",
                        "vsphereVolume"});
    pod.volumes.push_back(std::move(volume));
  });
}

void read_spec(FieldReader& spec, Pod& pod) {
  pod.scheduler_name = spec.text("schedulerName", "default-scheduler");
  pod.priority = static_cast<std::int32_t>(spec.integer("priority", 0, kInt32Min, kInt32Max));
  pod.priority_class_name = spec.text("priorityClassName");
  pod.preemption_policy = spec.word("preemptionPolicy", {"", "PreemptLowerPriority", "Never"});
  pod.node_name = spec.text("nodeName");
  pod.node_selector = spec.text_map("nodeSelector");
  read_affinity(spec, pod);
  pod.tolerations = read_tolerations(spec);
  spec.each("schedulingGates", [&](FieldReader& gate) { pod.scheduling_gates.push_back(gate.required_text("name")); });
  pod.containers = read_containers(spec, "containers", false);
  if (pod.containers.empty()) spec.fail("containers", "at least one container is wanted");
  pod.init_containers = read_containers(spec, "initContainers", true);
  pod.overhead = spec.quantity_map("overhead");
  read_volumes(spec, pod);
  pod.restart_policy = spec.word("restartPolicy", {"Always", "OnFailure", "Never"});
  pod.termination_grace_period_seconds = spec.integer("terminationGracePeriodSeconds", 30, 0, 86'400);
  spec.accept({"activeDeadlineSeconds",
               "automountServiceAccountToken",
               "dnsConfig",
               "dnsPolicy",
               "enableServiceLinks",
               "ephemeralContainers",
               "hostAliases",
               "hostIPC",
               "hostNetwork",
               "hostPID",
               "hostUsers",
               "hostname",
               "hostnameOverride",
               "imagePullSecrets",
               "os",
               "readinessGates",
               "runtimeClassName",
               "securityContext",
               "serviceAccount",
               "serviceAccountName",
               "setHostnameAsFQDN",
               "shareProcessNamespace",
               "subdomain"});
  spec.not_honoured({"topologySpreadConstraints", "resourceClaims", "resources"});
}

}  // namespace

Result<Pod> decode_pod(const Json& json, Warnings* warnings) {
  Findings findings;
  FieldReader reader(json, {}, findings);
  Pod pod;
  decode::type_meta(reader, "v1", Kind::pod);
  pod.metadata = decode::metadata(reader, true);
  if (!reader.object("spec", [&](FieldReader& spec) { read_spec(spec, pod); }) && !reader.has("spec")) {
    reader.fail("spec", "is missing");
  }
  if (const Json* status = reader.value("status"); status != nullptr && status->is_object()) {
    const Json* nominated = status->find("nominatedNodeName");
    if (nominated != nullptr && nominated->is_string()) pod.nominated_node_name = nominated->as_string();
  }
  pod.manifest = json;
  return decode::finish(std::move(pod), reader, findings, warnings);
}

}  // namespace berth
