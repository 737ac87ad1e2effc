#include "core/api/features.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "core/json/members.h"

namespace berth {

namespace {

// core/v1 validation, validEnvDownwardAPIFieldPathExpressions
constexpr std::array<std::string_view, 4> kPlainFields{"metadata.name", "metadata.namespace", "metadata.uid",
                                                       "spec.nodeName"};
constexpr std::array<std::string_view, 5> kDeviceFields{"spec.serviceAccountName", "status.hostIP", "status.hostIPs",
                                                        "status.podIP", "status.podIPs"};

constexpr std::string_view kImages = "images";
constexpr std::string_view kImage = "image";  // of processes, which no device has
constexpr std::string_view kOfProcesses = "processes/";
constexpr std::string_view kRuntimeClass = "runtimeClass/";

// An empty object or list asks for nothing.
bool asks(const Json& field) {
  if (field.is_object()) return !field.as_object().empty();
  if (field.is_array()) return !field.as_array().empty();
  return !field.is_null();
}

// Extended resources are counted by admission, and nothing has to limit them besides.
bool limits(const Json& resources) {
  const Json& names = member(resources, "limits");
  if (!names.is_object()) return false;
  return std::any_of(names.as_object().begin(), names.as_object().end(),
                     [](const auto& limit) { return limit.first.find('/') == std::string::npos; });
}

std::string item_of(const std::string& path, std::string_view key, std::size_t index) {
  return path + "." + std::string(key) + "[" + std::to_string(index) + "]";
}

// An absolute path is a program of the device.
bool is_image(std::string_view name) { return !name.empty() && name.front() != '/'; }

// The members of a securityContext that an OCI runtime can honour and a process of the device cannot have.
std::vector<std::string> confinement_of(const Json& context) {
  std::vector<std::string> fields;
  const Json& profile = member(context, "seccompProfile");
  if (!profile.is_null() && profile.string_at("type") != "Unconfined") fields.emplace_back("seccompProfile");
  if (asks(member(context, "sysctls"))) fields.emplace_back("sysctls");
  const std::string proc = context.string_at("procMount");
  if (!proc.empty() && proc != "Default") fields.emplace_back("procMount");
  if (member(context, "allowPrivilegeEscalation") == Json(true)) fields.emplace_back("allowPrivilegeEscalation");
  return fields;
}

class Reader {
 public:
  std::vector<Need> read(const Json& spec) {
    is_for_processes_ = is_for_processes(spec);
    if (asks(member(spec, "activeDeadlineSeconds"))) add("activeDeadline", "spec.activeDeadlineSeconds");
    if (asks(member(spec, "securityContext"))) add("securityContext", "spec.securityContext");
    read_confinement(spec, "spec");
    if (asks(member(spec, "hostAliases"))) add("hostAliases", "spec.hostAliases");
    if (const std::string name = spec.string_at("runtimeClassName"); !name.empty()) {
      add(std::string(kRuntimeClass) + name, "spec.runtimeClassName");
    }
    if (member(spec, "hostUsers") == Json(false)) add("userNamespaces", "spec.hostUsers");
    if (spec.string_at("dnsPolicy") == "None") add("dnsConfig", "spec.dnsPolicy");
    if (asks(member(spec, "dnsConfig"))) add("dnsConfig", "spec.dnsConfig");
    if (limits(member(spec, "resources"))) add("limits", "spec.resources.limits");
    read_volumes(spec);
    for (const char* key : {"initContainers", "containers"}) {
      const Json::Array& containers = list_of(spec, key);
      for (std::size_t i = 0; i < containers.size(); ++i) {
        const std::string path = item_of("spec", key, i);
        // A sidecar is an init container that is always started again, and needs nothing.
        const bool is_sidecar =
            key == std::string_view("initContainers") && member(containers[i], "restartPolicy") == Json("Always");
        if (!is_sidecar && asks(member(containers[i], "restartPolicy"))) {
          add("containerRestartPolicies", path + ".restartPolicy");
        }
        if (asks(member(containers[i], "restartPolicyRules"))) {
          add("containerRestartPolicies", path + ".restartPolicyRules");
        }
        read_container(containers[i], path);
      }
    }
    return std::move(needs_);
  }

 private:
  void add(std::string feature, std::string field) {
    if (is_for_processes_) feature = of_processes(feature);
    const bool is_known =
        std::any_of(needs_.begin(), needs_.end(), [&](const Need& need) { return need.feature == feature; });
    if (!is_known) needs_.push_back({std::move(feature), std::move(field)});
  }

  // Any container can have it.
  void read_confinement(const Json& owner, const std::string& path) {
    if (!is_for_processes_) return;
    for (const std::string& field : confinement_of(member(owner, "securityContext"))) {
      add(field, path + ".securityContext." + field);
    }
  }

  // Whoever names an image expects its files, also where a command says what to run: the device's own program of that
  // name is another one, and would run without the walls of a container.
  void read_image(const Json& container, const std::string& path) {
    const std::string image = container.string_at("image");
    if (is_image(image)) {
      add(std::string(is_for_processes_ ? kImage : kImages), path + ".image");
    } else if (image.empty() && list_of(container, "command").empty()) {
      add(std::string(is_for_processes_ ? kImage : kImages), path + " without image and command");
    }
  }

  void read_volumes(const Json& spec) {
    const Json::Array& volumes = list_of(spec, "volumes");
    for (std::size_t i = 0; i < volumes.size(); ++i) {
      if (!volumes[i].is_object()) continue;
      for (const auto& [source, value] : volumes[i].as_object()) {
        if (is_volume_source(source) && !value.is_null()) {
          add("volumes/" + source, item_of("spec", "volumes", i) + "." + source);
        }
      }
      const Json& empty_dir = member(volumes[i], "emptyDir");
      const std::string in_it = item_of("spec", "volumes", i) + ".emptyDir.";
      if (!empty_dir.string_at("medium").empty()) add("emptyDirMedium", in_it + "medium");
      if (!member(empty_dir, "sizeLimit").is_null()) add("emptyDirSizeLimit", in_it + "sizeLimit");
      // Forces the readOnly of each mount of it (core/v1, PersistentVolumeClaimVolumeSource).
      if (member(member(volumes[i], "persistentVolumeClaim"), "readOnly") == Json(true)) {
        add("readOnlyMounts", item_of("spec", "volumes", i) + ".persistentVolumeClaim.readOnly");
      }
    }
  }

  void read_container(const Json& container, const std::string& path) {
    for (const char* field : {"livenessProbe", "readinessProbe", "startupProbe"}) {
      const Json& probe = member(container, field);
      if (asks(probe)) add("probes", path + "." + field);
      if (!member(probe, "grpc").is_null()) add("grpcProbes", path + "." + field + ".grpc");
      read_handler(probe, path + "." + field);
    }
    const Json& lifecycle = member(container, "lifecycle");
    for (const char* hook : {"postStart", "preStop"})
      read_handler(member(lifecycle, hook), path + ".lifecycle." + hook);
    if (asks(member(lifecycle, "stopSignal"))) add("stopSignals", path + ".lifecycle.stopSignal");
    for (const char* field : {"lifecycle", "securityContext", "volumeDevices"}) {
      if (asks(member(container, field))) add(field, path + "." + field);
    }
    read_confinement(container, path);
    if (limits(member(container, "resources"))) add("limits", path + ".resources.limits");
    read_image(container, path);
    read_mounts(container, path);
    read_env(container, path);
  }

  void read_handler(const Json& handler, const std::string& path) {
    if (member(handler, "httpGet").string_at("scheme") == "HTTPS") add("httpsHandlers", path + ".httpGet.scheme");
    for (const char* kind : {"httpGet", "tcpSocket"}) {
      if (!is_plain_host(member(handler, kind).string_at("host"))) {
        add("handlerHostNames", path + "." + kind + ".host");
      }
    }
  }

  void read_mounts(const Json& container, const std::string& path) {
    const Json::Array& mounts = list_of(container, "volumeMounts");
    for (std::size_t i = 0; i < mounts.size(); ++i) {
      const std::string mount = item_of(path, "volumeMounts", i);
      if (member(mounts[i], "readOnly") == Json(true)) add("readOnlyMounts", mount + ".readOnly");
      if (!mounts[i].string_at("subPathExpr").empty()) add("subPathExprs", mount + ".subPathExpr");
    }
  }

  void read_env(const Json& container, const std::string& path) {
    const Json::Array& sources = list_of(container, "envFrom");
    for (std::size_t i = 0; i < sources.size(); ++i) {
      const std::string from = item_of(path, "envFrom", i);
      // Even an empty one: there is no other place that the variables could come from.
      if (!member(sources[i], "secretRef").is_null()) add("secrets", from + ".secretRef");
      if (!member(sources[i], "configMapRef").is_null()) add("configMaps", from + ".configMapRef");
    }
    const Json::Array& entries = list_of(container, "env");
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const Json& source = member(entries[i], "valueFrom");
      const std::string from = item_of(path, "env", i) + ".valueFrom.";
      for (const auto& [key, feature] :
           {std::pair{"secretKeyRef", "secrets"}, std::pair{"configMapKeyRef", "configMaps"},
            std::pair{"resourceFieldRef", "resourceFieldRefs"}}) {
        if (!member(source, key).is_null()) add(feature, from + key);
      }
      const std::string field = member(source, "fieldRef").string_at("fieldPath");
      if (is_device_field(field)) add("fieldRefs/" + field, from + "fieldRef");
    }
  }

  bool is_for_processes_ = false;
  std::vector<Need> needs_;
};

}  // namespace

bool is_feature_name(std::string_view name) {
  const auto is_good = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
           c == '_' || c == '/';
  };
  return !name.empty() && name.size() <= kMaxFeatureBytes && std::all_of(name.begin(), name.end(), is_good);
}

bool is_volume_source(std::string_view member) {
  return std::find(kVolumeSources.begin(), kVolumeSources.end(), member) != kVolumeSources.end();
}

bool is_plain_host(std::string_view host) {
  const bool is_four = host.find_first_not_of("0123456789.") == std::string_view::npos;
  const bool is_six = host.find(':') != std::string_view::npos &&
                      host.find_first_not_of("0123456789abcdefABCDEF:.") == std::string_view::npos;
  return is_four || is_six || host == "localhost";
}

bool is_plain_field(std::string_view path) {
  const auto is_item_of = [&](std::string_view map) {
    return path.starts_with(map) && path.size() > map.size() + 4 && path.substr(map.size(), 2) == "['" &&
           path.ends_with("']");
  };
  return std::find(kPlainFields.begin(), kPlainFields.end(), path) != kPlainFields.end() ||
         is_item_of("metadata.labels") || is_item_of("metadata.annotations");
}

bool is_device_field(std::string_view path) {
  return std::find(kDeviceFields.begin(), kDeviceFields.end(), path) != kDeviceFields.end();
}

bool names_image(const Json& spec) {
  for (const char* key : {"initContainers", "containers"}) {
    for (const Json& container : list_of(spec, key)) {
      if (is_image(container.string_at("image"))) return true;
    }
  }
  return false;
}

bool is_for_processes(const Json& spec) {
  const std::string asked = spec.string_at("runtimeClassName");
  return asked == kProcessClass || (asked != kContainerClass && !names_image(spec));
}

std::string of_processes(std::string_view feature) {
  return feature.starts_with(kRuntimeClass) ? std::string(feature) : std::string(kOfProcesses) + std::string(feature);
}

std::vector<Need> needs_of(const Json& pod) {
  const Json& spec = member(pod, "spec");
  return spec.is_object() ? Reader().read(spec) : std::vector<Need>();
}

std::vector<Need> missing_of(const std::vector<Need>& needs, const std::vector<std::string>& features) {
  const auto has = [&](std::string_view name) { return std::binary_search(features.begin(), features.end(), name); };
  const auto after = std::lower_bound(features.begin(), features.end(), kOfProcesses);
  const bool tells_processes = after != features.end() && after->starts_with(kOfProcesses);
  std::vector<Need> missing;
  std::copy_if(needs.begin(), needs.end(), std::back_inserter(missing), [&](const Need& need) {
    std::string_view name = need.feature;
    if (!tells_processes && name.starts_with(kOfProcesses)) name.remove_prefix(kOfProcesses.size());
    return !has(name);
  });
  return missing;
}

std::string to_text(const Need& need) {
  std::string fix;
  if (need.feature == kImages && need.field.ends_with(".image")) {
    fix = ": install crun or runc and skopeo there, or remove image to run the command as a process of the device";
  } else if (need.feature == of_processes(kImage) && need.field.ends_with(".image")) {
    fix = ": remove image, or runtimeClassName: process to run it in a container";
  }
  return need.field + " (feature " + need.feature + fix + ")";
}

}  // namespace berth
