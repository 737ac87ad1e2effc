#include "firmware-host/agent/volumes/pod_fields.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "core/api/features.h"
#include "core/api/read_quantity.h"
#include "core/json/field_reader.h"
#include "core/json/members.h"

namespace berth {

namespace {

constexpr std::string_view kEnvironmentFields =
    "metadata.name, metadata.namespace, metadata.uid, metadata.labels['key'], metadata.annotations['key'], "
    "spec.nodeName, spec.serviceAccountName, status.podIP, status.podIPs, status.hostIP or status.hostIPs";
constexpr std::string_view kVolumeFields =
    "metadata.name, metadata.namespace, metadata.uid, metadata.labels, metadata.annotations, "
    "metadata.labels['key'] or metadata.annotations['key']";

bool is_volume_field(const std::string& field) {
  return field == "metadata.labels" || field == "metadata.annotations" ||
         (field.starts_with("metadata.") && is_plain_field(field));
}

// Go's %q, but characters beyond ASCII stay as they are.
std::string quoted(const std::string& text) {
  constexpr std::string_view kSpecial = "\a\b\f\n\r\t\v\\\"";
  constexpr std::string_view kNames = "abfnrtv\\\"";
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string result = "\"";
  for (const char c : text) {
    const std::size_t special = kSpecial.find(c);
    const auto byte = static_cast<unsigned char>(c);
    if (special != std::string_view::npos) {
      result += '\\';
      result += kNames[special];
    } else if (byte < ' ' || byte == 0x7f) {
      result += "\\x";
      result += kDigits[byte / 16];
      result += kDigits[byte % 16];
    } else {
      result += c;
    }
  }
  return result + "\"";
}

// FormatMap
std::string formatted(const Json& map) {
  std::map<std::string, std::string> values;
  if (map.is_object()) {
    for (const auto& [key, value] : map.as_object()) values[key] = value.is_string() ? value.as_string() : "";
  }
  std::string text;
  for (const auto& [key, value] : values) text += (text.empty() ? "" : "\n") + key + "=" + quoted(value);
  return text;
}

std::string joined(const std::vector<std::string>& addresses) {
  std::string text;
  for (const std::string& address : addresses) text += (text.empty() ? "" : ",") + address;
  return text;
}

std::string first_of(const std::vector<std::string>& addresses) {
  return addresses.empty() ? std::string() : addresses.front();
}

const Json* container_named(const Json& pod, const std::string& name) {
  for (const char* key : {"containers", "initContainers"}) {
    for (const Json& container : list_of(member(pod, "spec"), key)) {
      if (container.string_at("name") == name) return &container;
    }
  }
  return nullptr;
}

// "limits.cpu" in two.
struct ResourceName {
  bool is_limit = false;
  std::string name;
};

std::optional<ResourceName> resource_named(const std::string& text) {
  constexpr std::array<std::string_view, 3> kNames{"cpu", "memory", "ephemeral-storage"};
  ResourceName resource;
  resource.is_limit = text.starts_with("limits.");
  if (!resource.is_limit && !text.starts_with("requests.")) return std::nullopt;
  resource.name = text.substr(text.find('.') + 1);
  const bool is_known = std::find(kNames.begin(), kNames.end(), resource.name) != kNames.end();
  if (!is_known && !resource.name.starts_with("hugepages-")) return std::nullopt;
  return resource;
}

Result<ResourceList> quantities_of(const Json& resources, std::string_view key, const std::string& path) {
  ResourceList quantities;
  if (!member(resources, key).is_object()) return quantities;
  Findings findings;
  FieldReader reader(resources, path, findings);
  read_quantities(reader, key, quantities);
  if (findings.has_errors()) return findings.status();
  return quantities;
}

std::optional<Quantity> positive(const ResourceList& quantities, const std::string& name) {
  const auto found = quantities.find(name);
  if (found == quantities.end() || found->second <= Quantity()) return std::nullopt;
  return found->second;
}

// MergeContainerResourceLimits, defaultPodLimitsForDownwardAPI; huge pages are never overcommitted, and have none.
Result<Quantity> default_limit(const PodFacts& facts, const std::string& name) {
  const auto of_node = facts.allocatable.find(name);
  if (of_node == facts.allocatable.end() || name.starts_with("hugepages-")) return Quantity();
  const Json& of_pod = member(member(facts.pod, "spec"), "resources");
  const Result<ResourceList> limits = quantities_of(of_pod, "limits", "spec.resources");
  if (!limits) return limits.error();
  const bool is_of_pod = name == "cpu" || name == "memory";
  return is_of_pod ? positive(*limits, name).value_or(of_node->second) : of_node->second;
}

Result<Quantity> amount_of(const PodFacts& facts, const Json& container, const ResourceName& resource) {
  const Json& resources = member(container, "resources");
  const std::string path = "resources of container " + container.string_at("name");
  const Result<ResourceList> limits = quantities_of(resources, "limits", path);
  if (!limits) return limits.error();
  const std::optional<Quantity> limit = positive(*limits, resource.name);
  if (resource.is_limit) return limit ? Result<Quantity>(*limit) : default_limit(facts, resource.name);
  const Result<ResourceList> requests = quantities_of(resources, "requests", path);
  if (!requests) return requests.error();
  const auto request = requests->find(resource.name);
  return request != requests->end() ? request->second : limit.value_or(Quantity());
}

struct ResourceQuestion {
  const Json* container = nullptr;
  ResourceName resource;
  Quantity divisor = Quantity(1);
};

Result<ResourceQuestion> question_of(const PodFacts& facts, const Json& ref, const Json* container,
                                     const std::string& path) {
  ResourceQuestion question;
  const std::string name = ref.string_at("containerName");
  question.container = name.empty() ? container : container_named(facts.pod, name);
  if (question.container == nullptr) {
    return Status::error(path + ".containerName: " +
                         (name.empty() ? "must name a container of the pod" : "container " + name + " not found"));
  }
  const std::optional<ResourceName> resource = resource_named(ref.string_at("resource"));
  if (!resource) {
    return Status::error(path + ".resource: unsupported container resource : " + ref.string_at("resource") +
                         "; must be limits. or requests. with cpu, memory, ephemeral-storage or hugepages-<size>");
  }
  question.resource = *resource;
  Findings findings;
  FieldReader reader(ref, path, findings);
  Quantity divisor;
  if (read_quantity(reader, "divisor", divisor) && divisor < Quantity()) {
    reader.error("divisor", "must not be negative");
  }
  if (findings.has_errors()) return findings.status();
  if (divisor > Quantity()) question.divisor = divisor;  // 0 is 1, as at the kubelet
  return question;
}

}  // namespace

Status check_field_ref(const Json& field_ref, FieldPlace place, const std::string& path) {
  const std::string field = field_ref.string_at("fieldPath");
  const bool is_volume = place == FieldPlace::volume;
  if (is_volume ? is_volume_field(field) : is_plain_field(field) || is_device_field(field)) return Status::ok();
  return Status::error(path + ".fieldPath: unsupported fieldPath: " + field + "; must be " +
                       std::string(is_volume ? kVolumeFields : kEnvironmentFields));
}

std::string field_value(const PodFacts& facts, const std::string& field) {
  const Json& metadata = member(facts.pod, "metadata");
  if (field == "metadata.name") return metadata.string_at("name");
  if (field == "metadata.namespace") return metadata.string_at("namespace");
  if (field == "metadata.uid") return facts.tag.uid;
  if (field == "metadata.labels") return formatted(member(metadata, "labels"));
  if (field == "metadata.annotations") return formatted(member(metadata, "annotations"));
  if (field == "spec.nodeName") return facts.node;
  if (field == "spec.serviceAccountName") {
    // Admission gives a pod that names none the account of this name (plugin/pkg/admission/serviceaccount).
    const std::string account = member(facts.pod, "spec").string_at("serviceAccountName");
    return account.empty() ? "default" : account;
  }
  if (field == "status.podIP") return first_of(facts.pod_ips);
  if (field == "status.podIPs") return joined(facts.pod_ips);
  if (field == "status.hostIP") return first_of(facts.host_ips);
  if (field == "status.hostIPs") return joined(facts.host_ips);
  const std::size_t key = field.find("['");
  if (key == std::string::npos || !field.ends_with("']")) return {};
  const Json& map = member(metadata, field.starts_with("metadata.labels") ? "labels" : "annotations");
  return map.string_at(field.substr(key + 2, field.size() - key - 4));
}

Status check_resource_ref(const PodFacts& facts, const Json& resource_ref, const Json* container,
                          const std::string& path) {
  const Result<ResourceQuestion> question = question_of(facts, resource_ref, container, path);
  if (!question) return question.error();
  const Result<Quantity> amount = amount_of(facts, *question->container, question->resource);
  return amount ? Status::ok() : amount.error();
}

Result<std::string> resource_value(const PodFacts& facts, const Json& resource_ref, const Json* container,
                                   const std::string& path) {
  const Result<ResourceQuestion> question = question_of(facts, resource_ref, container, path);
  if (!question) return question.error();
  const Result<Quantity> amount = amount_of(facts, *question->container, question->resource);
  if (!amount) return amount.error();
  const bool is_cpu = question->resource.name == "cpu";
  const std::int64_t all = is_cpu ? amount->milli_value() : amount->value();
  const std::int64_t unit = is_cpu ? question->divisor.milli_value() : question->divisor.value();
  return std::to_string(all / unit + (all % unit != 0 ? 1 : 0));
}

}  // namespace berth
