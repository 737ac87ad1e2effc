#include <algorithm>
#include <array>
#include <set>

#include "core/api/decode_parts.h"
#include "core/api/features.h"
#include "core/api/pod.h"
#include "core/api/read_quantity.h"
#include "core/api/requests.h"
#include "core/api/timestamp.h"

namespace berth {
namespace {

using decode::kDnsLabelForm;
using decode::kLabelKeyForm;
using decode::kLabelValueForm;
using decode::kNameForm;

// Resource names that containers may use (core/v1 validation, ValidateContainerResourceName).
bool is_container_resource(std::string_view name) {
  if (name.find('/') != std::string_view::npos) return is_label_key(name);
  return name == "cpu" || name == "memory" || name == "ephemeral-storage" || name.starts_with("hugepages-");
}

bool must_be_whole(std::string_view name) { return name.find('/') != std::string_view::npos; }

void read_resource_list(FieldReader& reader, std::string_view key, ResourceList& out) {
  if (!read_quantities(reader, key, out)) return;
  const std::string path = reader.path_of(key);
  for (const auto& [name, quantity] : out) {
    if (!is_container_resource(name)) {
      reader.findings().rule(member_path(path, name),
                             "expected cpu, memory, ephemeral-storage, hugepages-<size> or <domain>/<resource> as the "
                             "resource name");
    } else if (must_be_whole(name) && quantity != Quantity(quantity.value())) {
      reader.findings().rule(member_path(path, name), "expected a whole number, got " + quantity.to_text());
    }
  }
}

void read_requests_and_limits(FieldReader& reader, ResourceList& requests, ResourceList& limits) {
  read_resource_list(reader, "requests", requests);
  read_resource_list(reader, "limits", limits);
  for (const auto& [name, limit] : limits) {
    const auto request = requests.find(name);
    if (request == requests.end() || request->second <= limit) continue;
    reader.findings().rule(member_path(reader.path_of("requests"), name),
                           request->second.to_text() + " is more than the limit of " + limit.to_text());
  }
}

// resources.claims of a container: each one of spec.resourceClaims.
void read_used_claims(FieldReader& reader, const Pod& pod) {
  reader.read_each("claims", [&pod](FieldReader& used) {
    std::string name;
    if (!used.require("name", kDnsLabelForm) || !used.read_string("name", name)) return;
    const auto& claims = pod.spec->resource_claims;
    const bool known = std::any_of(claims.begin(), claims.end(),
                                   [&name](const PodResourceClaim& claim) { return claim.name == name; });
    if (!known) used.rule("name", "no claim of spec.resourceClaims is called \"" + name + "\"");
  });
}

// Pod-level resources (core/v1 validation, validatePodResources).
void read_pod_resources(FieldReader& reader, Pod& pod) {
  ResourceList limits;
  read_requests_and_limits(reader, pod.spec.edit().requests, limits);
  if (reader.has("claims")) reader.rule("claims", "not allowed at pod level; set them on the containers");
  const ResourceList& requests = pod.spec->requests.get();
  for (const auto& [key, list] : {std::pair("requests", &requests), std::pair("limits", &std::as_const(limits))}) {
    for (const auto& [name, quantity] : *list) {
      if (is_pod_level_resource(name)) continue;
      reader.findings().rule(member_path(reader.path_of(key), name),
                             "expected cpu, memory or hugepages-<size>; set others on the containers");
    }
  }
  if (!limits.empty()) pod.spec.edit().limits = std::move(limits);
}

void read_port(FieldReader& reader, Container& out) {
  HostPort port;
  std::int32_t container_port = 0;
  reader.read_int32("hostPort", port.port, 0, 65535);
  reader.read_int32("containerPort", container_port, 1, 65535);
  const Json* protocol = reader.take("protocol");
  if (protocol != nullptr && *protocol != Json("")) {
    reader.read_enum("protocol", {"TCP", "UDP", "SCTP"}, port.protocol);
  }
  reader.read_string("hostIP", port.host_ip);
  if (port.port == 0) {
    port.port = container_port;
    if (container_port != 0) out.own_ports.push_back(port);
    return;
  }
  if (std::find(out.host_ports.begin(), out.host_ports.end(), port) != out.host_ports.end()) {
    reader.rule("hostPort", "another port of the container has this hostPort, hostIP and protocol; keep one");
  }
  out.host_ports.push_back(port);
}

void read_container(FieldReader& reader, const Pod& pod, bool init, std::set<std::string>& names, Container& out) {
  if (reader.require("name", kDnsLabelForm) && reader.read_checked("name", out.name, is_dns_label, kDnsLabelForm) &&
      !names.insert(out.name).second) {
    reader.rule("name", "another container of the pod is called " + out.name + "; give each its own name");
  }
  reader.read_string("image", out.image);
  reader.read_object("resources", [&](FieldReader& resources) {
    read_requests_and_limits(resources, out.requests, out.limits);
    read_used_claims(resources, pod);
  });
  reader.read_each("ports", [&](FieldReader& port) { read_port(port, out); });
  std::string restart_policy;
  if (reader.read_enum("restartPolicy", {"Always", "OnFailure", "Never"}, restart_policy)) {
    out.restart_always = init && restart_policy == "Always";  // others are a need: features.cc
  }
  // Not part of the typed form, since only the device uses them, but validated: a device that ignored an invalid one
  // would run something else.
  std::vector<std::string> ignored;
  reader.read_list("command", ignored);
  reader.read_list("args", ignored);
}

void read_containers(FieldReader& spec, Pod& pod) {
  std::set<std::string> names;
  spec.read_each("initContainers", [&](FieldReader& item) {
    read_container(item, pod, true, names, pod.spec.edit().init_containers.emplace_back());
  });
  spec.read_each("containers", [&](FieldReader& item) {
    read_container(item, pod, false, names, pod.spec.edit().containers.emplace_back());
  });
  const Json* containers = spec.take("containers");
  if (containers == nullptr || (containers->is_array() && containers->as_array().empty())) {
    spec.rule("containers", "expected at least one container");
  }
}

void read_volume(FieldReader& reader, std::set<std::string>& names, PodVolume& out) {
  // berth-agent mounts these; some by their features. Another device may know others.
  static constexpr std::array<std::string_view, 8> kMounted{
      "configMap", "downwardAPI", "emptyDir", "ephemeral", "hostPath", "persistentVolumeClaim", "projected", "secret"};
  if (reader.require("name", kDnsLabelForm) && reader.read_checked("name", out.name, is_dns_label, kDnsLabelForm) &&
      !names.insert(out.name).second) {
    reader.rule("name", "another volume of the pod is called " + out.name + "; give each its own name");
  }
  reader.read_object("persistentVolumeClaim", [&](FieldReader& claim) {
    if (claim.require("claimName", kNameForm)) {
      claim.read_checked("claimName", out.claim_name, is_valid_name, kNameForm);
    }
  });
  out.ephemeral = reader.read_object("ephemeral", [](FieldReader&) {});
  decode::read_disk_sources(reader, out.disk);
  int sources = 0;
  std::string_view not_mounted;
  for (std::string_view source : kVolumeSources) {
    if (!reader.has(source)) continue;
    ++sources;
    if (std::find(kMounted.begin(), kMounted.end(), source) == kMounted.end()) not_mounted = source;
  }
  if (!not_mounted.empty()) {
    reader.warn(not_mounted, "berth-agent does not mount it; only devices that name the feature volumes/" +
                                 std::string(not_mounted) + " do");
  }
  if (sources > 1) {
    reader.findings().rule(reader.path(), "expected one volume source, got " + std::to_string(sources) + "; keep one");
  }
}

void read_scheduling(FieldReader& spec, Pod& pod) {
  // Empty strings count as absent, as in Kubernetes.
  const auto read_name = [&](std::string_view key, std::string& out) {
    const Json* value = spec.take(key);
    if (value != nullptr && *value != Json("")) spec.read_checked(key, out, is_valid_name, kNameForm);
  };
  read_name("schedulerName", pod.spec.edit().scheduler_name.edit());
  std::string unused;  // pod_admission.cc has resolved it
  read_name("priorityClassName", unused);
  read_name("nodeName", pod.node_name.edit());
  spec.read_int32("priority", pod.priority);
  std::string preemption_policy;
  spec.read_enum("preemptionPolicy", {"PreemptLowerPriority", "Never", ""}, preemption_policy);
  pod.spec.edit().never_preempts = preemption_policy == "Never";
  decode::read_labels(spec, "nodeSelector", pod.node_selector);
  spec.read_object("affinity", [&](FieldReader& affinity) { decode::read_affinity(affinity, pod); });
  spec.read_each("topologySpreadConstraints", [&](FieldReader& item) {
    TopologySpreadConstraint constraint;
    decode::read_spread_constraint(item, pod.spec->topology_spread_constraints, constraint);
    pod.spec.edit().topology_spread_constraints.push_back(std::move(constraint));
  });
  spec.read_each("tolerations",
                 [&](FieldReader& item) { decode::read_toleration(item, pod.spec.edit().tolerations.emplace_back()); });
  spec.read_each("schedulingGates", [&](FieldReader& item) {
    std::string name;
    if (!item.require("name", kLabelKeyForm) || !item.read_checked("name", name, is_label_key, kLabelKeyForm)) return;
    const auto& gates = pod.spec->scheduling_gates;
    if (std::find(gates.begin(), gates.end(), name) != gates.end()) {
      item.rule("name", "another gate is called " + name + "; keep one");
    }
    pod.spec.edit().scheduling_gates.push_back(name);
  });
  // core/v1 validation, ValidatePodCreate.
  if (!pod.node_name.empty() && !pod.spec->scheduling_gates.get().empty()) {
    spec.rule("nodeName", "may not be given while the pod has schedulingGates; remove one of them");
  }
  spec.unsupported({"workloadRef"});
}

// core/v1 validation, validatePodResourceClaim.
void read_resource_claim(FieldReader& reader, std::set<std::string>& names, PodResourceClaim& out) {
  if (reader.require("name", kDnsLabelForm) && reader.read_checked("name", out.name, is_dns_label, kDnsLabelForm) &&
      !names.insert(out.name).second) {
    reader.rule("name", "another resource claim of the pod is called " + out.name + "; give each its own name");
  }
  reader.read_checked("resourceClaimName", out.claim_name, is_valid_name, kNameForm);
  reader.read_checked("resourceClaimTemplateName", out.template_name, is_valid_name, kNameForm);
  const int sources = reader.has("resourceClaimName") + reader.has("resourceClaimTemplateName");
  if (sources == 1) return;
  reader.findings().rule(reader.path(), "expected one of resourceClaimName and resourceClaimTemplateName, got " +
                                            std::string(sources == 0 ? "none" : "both; keep one"));
}

void read_resource_claims(FieldReader& spec, Pod& pod) {
  std::set<std::string> names;
  spec.read_each("resourceClaims", [&](FieldReader& item) {
    read_resource_claim(item, names, pod.spec.edit().resource_claims.emplace_back());
  });
  if (pod.spec->resource_claims.empty()) return;
  spec.warn("resourceClaims",
            "there are no ResourceClaims in Berth, so the pod will not be scheduled; "
            "ask for devices as extended resources instead");
}

void read_spec(FieldReader& spec, Pod& pod) {
  read_scheduling(spec, pod);
  read_resource_claims(spec, pod);
  read_containers(spec, pod);
  spec.read_object("resources", [&](FieldReader& resources) { read_pod_resources(resources, pod); });
  read_resource_list(spec, "overhead", pod.spec.edit().overhead);
  spec.read_bool("hostNetwork", pod.spec.edit().host_network);
  std::set<std::string> names;
  spec.read_each("volumes", [&](FieldReader& item) { read_volume(item, names, pod.volumes.emplace_back()); });
  std::string restart_policy;  // validated for the device, which alone uses it
  spec.read_enum("restartPolicy", {"Always", "OnFailure", "Never"}, restart_policy);
  spec.read_int64("terminationGracePeriodSeconds", pod.spec.edit().termination_grace_period_seconds, 0);
}

// The first condition of the type counts, as upstream (podTerminatingByPreemption).
bool is_preempted(const Json& conditions) {
  if (!conditions.is_array()) return false;
  auto is = [](const Json& condition, std::string_view key, const char* text) {
    const Json* value = condition.find(key);
    return value != nullptr && *value == Json(text);
  };
  for (const Json& condition : conditions.as_array()) {
    if (!condition.is_object() || !is(condition, "type", "DisruptionTarget")) continue;
    return is(condition, "status", "True") && is(condition, "reason", "PreemptionByScheduler");
  }
  return false;
}

void read_pod_status(FieldReader& status, Pod& pod) {
  const Json* node = status.take("nominatedNodeName");
  if (node != nullptr && *node != Json("")) {
    status.read_checked("nominatedNodeName", pod.nominated_node_name.edit(), is_valid_name, kNameForm);
  }
  if (const Json* conditions = status.take("conditions")) pod.preempted = is_preempted(*conditions);
  std::string start_time;
  if (status.read_string("startTime", start_time)) {
    pod.start_time = parse_timestamp(start_time);
    if (!pod.start_time) {
      status.error("startTime",
                   "expected a time such as 2025-05-01T00:03:26Z, got " + show_found(Json(std::move(start_time))));
    }
  }
}

}  // namespace

Result<Pod> decode_pod(const Json& json, Warnings* warnings, Rules rules) {
  Findings findings(rules);
  FieldReader reader(json, "", findings);
  Pod pod;
  decode::read_head(reader, Kind::pod, pod.metadata);
  if (reader.require("spec", "an object with containers")) {
    reader.read_object("spec", [&](FieldReader& spec) { read_spec(spec, pod); });
  }
  reader.read_object("status", [&](FieldReader& status) { read_pod_status(status, pod); });
  reader.finish();
  decode::check_runnable(json, findings);
  pod.spec.edit().needs = needs_of(json);
  return decode::conclude(Kind::pod, std::move(pod), json, findings, warnings);
}

}  // namespace berth
