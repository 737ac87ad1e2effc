// What scheduling does not read of a pod, but no device can run: refused when it is applied, with the field.
#include <algorithm>
#include <array>

#include "core/api/decode_parts.h"
#include "core/api/features.h"

namespace berth::decode {
namespace {

// core/v1 validation, supportedHostPathTypes
constexpr std::array<std::string_view, 8> kHostPathTypes{
    "", "DirectoryOrCreate", "Directory", "FileOrCreate", "File", "Socket", "CharDevice", "BlockDevice"};

const Json::Array& items_of(const Json& object, std::string_view key) {
  static const Json::Array kNone;
  const Json* value = object.find(key);
  return value != nullptr && value->is_array() ? value->as_array() : kNone;
}

// A member that is null counts as absent, as in Kubernetes.
bool has(const Json& object, std::string_view key) {
  const Json* value = object.find(key);
  return value != nullptr && !value->is_null();
}

bool climbs(const std::string& path) { return ("/" + path + "/").find("/../") != std::string::npos; }

void check_volume(const Json& volume, const std::string& path, Findings& findings) {
  if (!volume.is_object()) return;
  std::string other;
  for (const auto& [member, value] : volume.as_object()) {
    if (value.is_null() || member == "name") continue;
    if (is_volume_source(member)) {
      other.clear();
      break;
    }
    other = member;
  }
  if (!other.empty()) {
    findings.rule(member_path(path, other),
                  "not a volume source; expected one such as persistentVolumeClaim, hostPath or emptyDir");
  }
  const Json* host = volume.find("hostPath");
  if (host == nullptr || !host->is_object()) return;
  const std::string host_path = host->string_at("path");
  if (!host_path.starts_with('/') || climbs(host_path)) {
    findings.rule(path + ".hostPath.path", "expected an absolute path without \"..\", got \"" + host_path + "\"");
  }
  const std::string type = host->string_at("type");
  if (std::find(kHostPathTypes.begin(), kHostPathTypes.end(), type) == kHostPathTypes.end()) {
    findings.rule(
        path + ".hostPath.type",
        "expected DirectoryOrCreate, Directory, FileOrCreate, File, Socket, CharDevice or BlockDevice, got \"" + type +
            "\"");
  }
}

// core/v1 validation, ValidateVolumeMounts.
void check_mount(const Json& mount, const std::string& path, const Json::Array& volumes, Findings& findings) {
  const std::string name = mount.string_at("name");
  const bool is_known =
      std::any_of(volumes.begin(), volumes.end(), [&](const Json& volume) { return volume.string_at("name") == name; });
  if (!is_known) {
    findings.rule(path + ".name", "no volume of spec.volumes is called \"" + name + "\"; add it there");
  }
  const std::string sub_path = mount.string_at("subPath");
  if (sub_path.starts_with('/') || climbs(sub_path)) {
    findings.rule(path + ".subPath", "expected a relative path without \"..\", got \"" + sub_path + "\"");
  }
}

// core/v1 validation, validateEnv and validateEnvVarValueFrom.
void check_variable(const Json& variable, const std::string& path, Findings& findings) {
  const std::string name = variable.string_at("name");
  if (name.empty() || name.find('=') != std::string::npos) {
    findings.rule(path + ".name", "expected the name of a variable, not empty and without '='");
  }
  if (name.starts_with("BERTH_")) findings.rule(path + ".name", "names that start with BERTH_ are the device's own");
  const Json* source = variable.find("valueFrom");
  if (source == nullptr || !source->is_object()) return;
  if (!variable.string_at("value").empty()) {
    findings.rule(path + ".valueFrom", "may not be given when value is not empty; keep one of them");
  }
  const Json* field = source->find("fieldRef");
  if (field != nullptr && field->is_object()) {
    const std::string field_path = field->string_at("fieldPath");
    if (!is_plain_field(field_path) && !is_device_field(field_path)) {
      findings.rule(path + ".valueFrom.fieldRef.fieldPath",
                    "expected metadata.name, metadata.namespace, metadata.uid, metadata.labels['key'], "
                    "metadata.annotations['key'], spec.nodeName, spec.serviceAccountName, status.hostIP or "
                    "status.podIP, got \"" +
                        field_path + "\"");
    }
    return;
  }
  for (std::string_view key : {"secretKeyRef", "configMapKeyRef", "resourceFieldRef"}) {
    if (has(*source, key)) return;
  }
  findings.rule(path + ".valueFrom", "expected one of fieldRef, resourceFieldRef, configMapKeyRef and secretKeyRef");
}

void check_container(const Json& container, const std::string& path, const Json::Array& volumes, Findings& findings) {
  const Json::Array& mounts = items_of(container, "volumeMounts");
  for (std::size_t i = 0; i < mounts.size(); ++i) {
    check_mount(mounts[i], item_path(path + ".volumeMounts", i), volumes, findings);
  }
  const Json::Array& variables = items_of(container, "env");
  for (std::size_t i = 0; i < variables.size(); ++i) {
    check_variable(variables[i], item_path(path + ".env", i), findings);
  }
  // core/v1 validation, ValidateEnvFrom.
  const Json::Array& sources = items_of(container, "envFrom");
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (has(sources[i], "secretRef") || has(sources[i], "configMapRef")) continue;
    findings.rule(item_path(path + ".envFrom", i), "expected one of configMapRef and secretRef");
  }
}

}  // namespace

void check_runnable(const Json& pod, Findings& findings) {
  const Json* spec = pod.find("spec");
  if (spec == nullptr) return;
  const Json::Array& volumes = items_of(*spec, "volumes");
  for (std::size_t i = 0; i < volumes.size(); ++i) check_volume(volumes[i], item_path("spec.volumes", i), findings);
  for (std::string_view key : {"initContainers", "containers"}) {
    const Json::Array& containers = items_of(*spec, key);
    for (std::size_t i = 0; i < containers.size(); ++i) {
      check_container(containers[i], item_path("spec." + std::string(key), i), volumes, findings);
    }
  }
}

}  // namespace berth::decode
