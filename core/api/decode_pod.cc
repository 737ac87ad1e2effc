#include <algorithm>
#include <set>

#include "core/api/decode.h"

namespace berth {
namespace {

using decode::kDnsLabelForm;
using decode::kLabelKeyForm;
using decode::kLabelValueForm;
using decode::kNameForm;

// Resources that a container may name without a domain of its own (core/v1 validation, ValidateContainerResourceName).
bool is_container_resource(std::string_view name) {
  if (name.find('/') != std::string_view::npos) return is_label_key(name);
  return name == "cpu" || name == "memory" || name == "ephemeral-storage" || name.starts_with("hugepages-");
}

bool must_be_whole(std::string_view name) { return name.find('/') != std::string_view::npos; }

void read_resource_list(FieldReader& reader, std::string_view key, ResourceList& out) {
  if (!reader.read_quantities(key, out)) return;
  const std::string path = reader.path_of(key);
  for (const auto& [name, quantity] : out) {
    if (!is_container_resource(name)) {
      reader.findings().error(member_path(path, name),
                              "wanted cpu, memory, ephemeral-storage, hugepages-<size> or <domain>/<resource> as the "
                              "resource's name");
    } else if (must_be_whole(name) && quantity != Quantity(quantity.value())) {
      reader.findings().error(member_path(path, name), "wanted a whole number, found " + quantity.to_text());
    }
  }
}

// A limit without a request is the request too (core/v1 defaults, SetDefaults_Pod): no API server stands before us.
void read_resources(FieldReader& reader, Container& out) {
  read_resource_list(reader, "requests", out.requests);
  read_resource_list(reader, "limits", out.limits);
  for (const auto& [name, limit] : out.limits) {
    const auto [request, added] = out.requests.emplace(name, limit);
    if (!added && request->second > limit) {
      reader.findings().error(member_path(reader.path_of("requests"), name),
                              request->second.to_text() + " is more than the limit of " + limit.to_text());
    }
  }
  reader.not_honoured({"claims"});
}

void read_port(FieldReader& reader) {
  std::int32_t port = 0;
  if (reader.read_int32("hostPort", port, 0, 65535) && port != 0) {
    reader.warn("hostPort", "not honoured yet; two pods with it may meet on one node");
  }
  reader.read_int32("containerPort", port, 1, 65535);
  reader.carry({"name", "hostIP", "protocol"});
}

void read_container(FieldReader& reader, bool init, std::set<std::string>& names, Container& out) {
  if (reader.require("name", kDnsLabelForm) && reader.read_checked("name", out.name, is_dns_label, kDnsLabelForm) &&
      !names.insert(out.name).second) {
    reader.error("name", "another container of the pod is called " + out.name + "; give each its own name");
  }
  reader.read_string("image", out.image);
  reader.read_object("resources", [&](FieldReader& resources) { read_resources(resources, out); });
  reader.read_each("ports", read_port);
  std::string restart_policy;
  if (reader.read_word("restartPolicy", {"Always", "OnFailure", "Never"}, restart_policy)) {
    out.restart_always = init && restart_policy == "Always";
    if (!out.restart_always) reader.warn("restartPolicy", "not honoured yet; the pod's restartPolicy holds");
  }
  // Kept in the manifest, where the device reads them; a device that ignored a wrong one would run something else.
  std::vector<std::string> words;
  reader.read_list("command", words);
  reader.read_list("args", words);
  reader.carry({"env", "envFrom", "imagePullPolicy", "lifecycle", "livenessProbe", "readinessProbe", "resizePolicy",
                "restartPolicyRules", "securityContext", "startupProbe", "stdin", "stdinOnce", "terminationMessagePath",
                "terminationMessagePolicy", "tty", "volumeDevices", "volumeMounts", "workingDir"});
}

void read_containers(FieldReader& spec, Pod& pod) {
  std::set<std::string> names;
  spec.read_each("initContainers",
                 [&](FieldReader& item) { read_container(item, true, names, pod.init_containers.emplace_back()); });
  spec.read_each("containers",
                 [&](FieldReader& item) { read_container(item, false, names, pod.containers.emplace_back()); });
  const Json* containers = spec.take("containers");
  if (containers == nullptr || (containers->is_array() && containers->as_array().empty())) {
    spec.error("containers", "wanted at least one container");
  }
}

void read_volume(FieldReader& reader, std::set<std::string>& names, PodVolume& out) {
  static constexpr std::string_view kCarried[]{"configMap", "downwardAPI", "emptyDir", "hostPath",
                                               "image",     "projected",   "secret"};
  static constexpr std::string_view kNotHonoured[]{"awsElasticBlockStore",
                                                   "azureDisk",
                                                   "azureFile",
                                                   "cephfs",
                                                   "cinder",
                                                   "csi",
                                                   "ephemeral",
                                                   "fc",
                                                   "flexVolume",
                                                   "flocker",
                                                   "gcePersistentDisk",
                                                   "gitRepo",
                                                   "glusterfs",
                                                   "iscsi",
                                                   "nfs",
                                                   "photonPersistentDisk",
                                                   "portworxVolume",
                                                   "quobyte",
                                                   "rbd",
                                                   "scaleIO",
                                                   "storageos",
                                                   "vsphereVolume"};
  if (reader.require("name", kDnsLabelForm) && reader.read_checked("name", out.name, is_dns_label, kDnsLabelForm) &&
      !names.insert(out.name).second) {
    reader.error("name", "another volume of the pod is called " + out.name + "; give each its own name");
  }
  int sources = 0;
  sources += reader.read_object("persistentVolumeClaim", [&](FieldReader& claim) {
    if (claim.require("claimName", kNameForm)) {
      claim.read_checked("claimName", out.claim_name, is_valid_name, kNameForm);
    }
    claim.carry({"readOnly"});
  });
  for (std::string_view key : kCarried) sources += reader.has(key);
  for (std::string_view key : kNotHonoured) {
    if (!reader.has(key)) continue;
    ++sources;
    reader.warn(key, "not honoured yet; this source neither holds the pod back nor is it mounted");
  }
  if (sources > 1) reader.findings().error(reader.path(), "wanted one source of the volume, found several; keep one");
}

void read_toleration(FieldReader& reader, Toleration& out) {
  using Op = Toleration::Operator;
  static constexpr std::array kOperators{Word<Op>{"Equal", Op::equal}, Word<Op>{"Exists", Op::exists},
                                         Word<Op>{"", Op::equal}};
  const Json* key = reader.take("key");
  if (key != nullptr && *key != Json("")) reader.read_checked("key", out.key, is_label_key, kLabelKeyForm);
  const bool operator_good = reader.read_word("operator", kOperators, out.op) || !reader.has("operator");
  reader.read_string("value", out.value);
  const Json* effect_text = reader.take("effect");
  TaintEffect effect{};
  const bool any_effect = effect_text == nullptr || *effect_text == Json("");
  if (!any_effect && reader.read_word("effect", decode::kTaintEffects, effect)) out.effect = effect;
  std::int64_t seconds = 0;
  if (reader.read_int64("tolerationSeconds", seconds)) {
    out.toleration_seconds = seconds;
    if (out.effect != TaintEffect::no_execute) {
      reader.error("tolerationSeconds", "only with effect NoExecute; remove it or set the effect");
    }
  }
  if (!operator_good) return;
  if ((key == nullptr || *key == Json("")) && out.op == Op::equal) {
    reader.error("key", "missing; only operator Exists may leave it away");
  }
  if (out.op == Op::exists && !out.value.empty()) {
    reader.error("value", "operator Exists takes no value; remove it or use Equal");
  } else if (!is_label_value(out.value)) {
    reader.error("value", "wanted " + std::string(kLabelValueForm) + ", found " + show_found(Json(out.value)));
  }
}

void read_affinity(FieldReader& reader, Pod& pod) {
  static constexpr std::string_view kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
  reader.read_object("nodeAffinity", [&](FieldReader& node) {
    node.read_object(kRequired, [&](FieldReader& selector) {
      decode::read_node_selector(selector, pod.required_node_affinity.emplace());
    });
    node.not_honoured({"preferredDuringSchedulingIgnoredDuringExecution"});
  });
  reader.not_honoured({"podAffinity", "podAntiAffinity"});
}

void read_scheduling(FieldReader& spec, Pod& pod) {
  // Empty strings count as absent, as in Kubernetes.
  const auto read_name = [&](std::string_view key, std::string& out) {
    const Json* value = spec.take(key);
    if (value != nullptr && *value != Json("")) spec.read_checked(key, out, is_valid_name, kNameForm);
  };
  read_name("schedulerName", pod.scheduler_name);
  read_name("priorityClassName", pod.priority_class_name);
  read_name("nodeName", pod.node_name);
  spec.read_int32("priority", pod.priority);
  spec.read_word("preemptionPolicy", {"PreemptLowerPriority", "Never", ""}, pod.preemption_policy);
  decode::read_labels(spec, "nodeSelector", pod.node_selector);
  spec.read_object("affinity", [&](FieldReader& affinity) { read_affinity(affinity, pod); });
  spec.read_each("tolerations", [&](FieldReader& item) { read_toleration(item, pod.tolerations.emplace_back()); });
  spec.read_each("schedulingGates", [&](FieldReader& item) {
    std::string name;
    if (!item.require("name", kLabelKeyForm) || !item.read_checked("name", name, is_label_key, kLabelKeyForm)) return;
    const auto& gates = pod.scheduling_gates;
    if (std::find(gates.begin(), gates.end(), name) != gates.end()) {
      item.error("name", "another gate is called " + name + "; keep one");
    }
    pod.scheduling_gates.push_back(name);
  });
  spec.not_honoured({"topologySpreadConstraints", "resourceClaims", "resources", "workloadRef"});
}

void read_spec(FieldReader& spec, Pod& pod) {
  read_scheduling(spec, pod);
  read_containers(spec, pod);
  read_resource_list(spec, "overhead", pod.overhead);
  std::set<std::string> names;
  spec.read_each("volumes", [&](FieldReader& item) { read_volume(item, names, pod.volumes.emplace_back()); });
  spec.read_word("restartPolicy", {"Always", "OnFailure", "Never"}, pod.restart_policy);
  spec.read_int64("terminationGracePeriodSeconds", pod.termination_grace_period_seconds, 0);
  spec.carry({"activeDeadlineSeconds",
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
}

}  // namespace

Result<Pod> decode_pod(const Json& json, Warnings* warnings) {
  Findings findings;
  FieldReader reader(json, "", findings);
  Pod pod;
  decode::read_head(reader, Kind::pod, pod.metadata);
  if (reader.require("spec", "an object with containers")) {
    reader.read_object("spec", [&](FieldReader& spec) { read_spec(spec, pod); });
  }
  reader.read_object("status", [&](FieldReader& status) {
    const Json* name = status.take("nominatedNodeName");
    if (name != nullptr && *name != Json("")) {
      status.read_checked("nominatedNodeName", pod.nominated_node_name, is_valid_name, kNameForm);
    }
    status.carry_all();
  });
  reader.finish();
  return decode::conclude(std::move(pod), json, findings, warnings);
}

}  // namespace berth
