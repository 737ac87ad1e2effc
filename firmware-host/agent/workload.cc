#include "firmware-host/agent/workload.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>

#include "core/json/members.h"

namespace berth {

namespace {

using Variables = std::vector<std::pair<std::string, std::string>>;  // in order of definition; the last one wins

struct Volume {
  std::string path;
  bool is_empty_dir = false;
};

// "data-1" -> "BERTH_VOLUME_DATA_1"
std::string volume_variable(const std::string& name) {
  std::string variable = "BERTH_VOLUME_";
  for (const char c : name) {
    if (c >= 'a' && c <= 'z') {
      variable += static_cast<char>(c - 'a' + 'A');
    } else {
      variable += (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ? c : '_';
    }
  }
  return variable;
}

void set_variable(Variables& variables, const std::string& name, std::string value) {
  std::erase_if(variables, [&](const auto& variable) { return variable.first == name; });
  variables.emplace_back(name, std::move(value));
}

std::string find_variable(const Variables& variables, std::string_view name) {
  for (const auto& [key, value] : variables) {
    if (key == name) return value;
  }
  return {};
}

bool is_program(const std::string& path) {
  struct stat found{};
  return stat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode) && access(path.c_str(), X_OK) == 0;
}

bool climbs(const std::string& path) { return ("/" + path + "/").find("/../") != std::string::npos; }

class Planner {
 public:
  Planner(const Json& pod, const Tag& tag, const std::vector<BoundVolume>& bound_volumes, const Site& site)
      : metadata_(member(pod, "metadata")), spec_(member(pod, "spec")), bound_volumes_(bound_volumes), site_(site) {
    plan_.tag = tag_text(site.fleet, site.node, tag);
    plan_.pod = metadata_.string_at("name") + "_" + metadata_.string_at("namespace") + "(" + tag.uid + ")";
    plan_.owner = site.owner;
    uid_ = tag.uid;
  }

  Result<Workload> plan() {
    if (!spec_.is_object()) return Status::error("spec: missing");
    if (Status read = read_pod(); !read.is_success()) return read;
    if (Status read = read_volumes(); !read.is_success()) return read;
    for (const auto& [key, plans] :
         {std::pair{"initContainers", &plan_.init_containers}, std::pair{"containers", &plan_.containers}}) {
      const Json::Array& containers = list_of(spec_, key);
      for (std::size_t i = 0; i < containers.size(); ++i) {
        path_ = std::string("spec.") + key + "[" + std::to_string(i) + "]";
        Result<ContainerPlan> container = plan_container(containers[i]);
        if (!container) return container.error();
        plans->push_back(std::move(*container));
      }
    }
    if (plan_.containers.empty()) return Status::error("spec.containers: a pod needs at least one");
    return std::move(plan_);
  }

 private:
  Status read_pod() {
    const std::string policy = spec_.string_at("restartPolicy");
    if (policy == "Never") {
      plan_.restart_policy = RestartPolicy::never;
    } else if (policy == "OnFailure") {
      plan_.restart_policy = RestartPolicy::on_failure;
    } else if (!policy.empty() && policy != "Always") {
      return Status::error("spec.restartPolicy: expected Always, OnFailure or Never, got '" + policy + "'");
    }
    if (const Json& grace = member(spec_, "terminationGracePeriodSeconds"); grace.is_integer()) {
      plan_.grace_ms = std::clamp<std::int64_t>(grace.as_int(), 0, 86400) * 1000;
    }
    if (const Json& deadline = member(spec_, "activeDeadlineSeconds"); deadline.is_integer()) {
      plan_.active_deadline_ms = std::clamp<std::int64_t>(deadline.as_int(), 0, INT32_MAX) * 1000;
    }
    for (const Json& gate : list_of(spec_, "readinessGates")) {
      plan_.readiness_gates.push_back(gate.string_at("conditionType"));
    }
    return Status::ok();
  }

  Status read_volumes() {
    const Json::Array& volumes = list_of(spec_, "volumes");
    for (std::size_t i = 0; i < volumes.size(); ++i) {
      const std::string name = volumes[i].string_at("name");
      const std::string path = "spec.volumes[" + std::to_string(i) + "]";
      if (name.empty() || climbs(name) || name.find('/') != std::string::npos) {
        return Status::error(path + ".name: must be a plain name");
      }
      Result<Volume> volume = read_volume(volumes[i], name, path);
      if (!volume) return volume.error();
      volumes_[name] = std::move(*volume);
    }
    return Status::ok();
  }

  Result<Volume> read_volume(const Json& volume, const std::string& name, const std::string& path) {
    const Json& claim = member(volume, "persistentVolumeClaim");
    const bool is_ephemeral = member(volume, "ephemeral").is_object();
    if (claim.is_object() || is_ephemeral) {
      const std::string own_claim = metadata_.string_at("name") + "-" + name;
      const std::string claim_name =
          metadata_.string_at("namespace") + "/" + (is_ephemeral ? own_claim : claim.string_at("claimName"));
      for (const BoundVolume& bound_volume : bound_volumes_) {
        if (bound_volume.claim == claim_name) return use_bound_volume(bound_volume);
      }
      return Status::error("volume " + name + ": no bound volume for claim " + claim_name);
    }
    if (const Json& host = member(volume, "hostPath"); host.is_object()) {
      const std::string host_path = host.string_at("path");
      if (!host_path.starts_with('/')) return Status::error(path + ".hostPath.path: must be an absolute path");
      const std::string type = host.string_at("type");
      if (type == "DirectoryOrCreate") {
        plan_.directories.push_back(host_path);
      } else {
        plan_.existing.push_back({host_path, type});
      }
      return Volume{host_path};
    }
    if (!member(volume, "emptyDir").is_null()) return use_empty_dir(name);
    for (const auto& [source, value] : volume.as_object()) {
      if (source == "name" || value.is_null()) continue;
      return Status::error(path + "." + source + ": not supported by the process runtime of node " + site_.node +
                           "; use persistentVolumeClaim, hostPath or emptyDir");
    }
    // As in Kubernetes, where a source that is null counts as absent: "emptyDir:" without "{}" is such a volume.
    return use_empty_dir(name);
  }

  Volume use_empty_dir(const std::string& name) {
    const std::string directory = site_.pod_directory + "/volumes/" + name;
    plan_.directories.push_back(directory);
    return Volume{directory, true};
  }

  Result<Volume> use_bound_volume(const BoundVolume& bound_volume) {
    if (!bound_volume.path.starts_with('/') || climbs(bound_volume.path)) {
      return Status::error("volume " + bound_volume.volume + ": path '" + bound_volume.path +
                           "' must be absolute and without ..");
    }
    plan_.volumes.push_back(bound_volume);
    return Volume{bound_volume.path};
  }

  Result<ContainerPlan> plan_container(const Json& container) {
    ContainerPlan plan;
    plan.name = container.string_at("name");
    plan.image = container.string_at("image");
    plan.sidecar = container.string_at("restartPolicy") == "Always";
    if (plan.name.empty() || plan.name.find('/') != std::string::npos || climbs(plan.name)) {
      return Status::error(path_ + ".name: must be a plain name");
    }
    Variables variables = base_variables(plan.name);
    if (Status mounted = add_mounts(container, variables); !mounted.is_success()) return mounted;
    if (Status added = add_env(container, variables); !added.is_success()) return added;

    plan.directory = expand_variables(container.string_at("workingDir"), variables);
    if (plan.directory.empty()) {
      plan.directory = site_.pod_directory + "/scratch";
      plan_.directories.push_back(plan.directory);
    }
    for (const char* key : {"command", "args"}) {
      for (const Json& argument : list_of(container, key)) {
        if (!argument.is_string()) return Status::error(path_ + "." + key + ": must be a list of strings");
        plan.argv.push_back(expand_variables(argument.as_string(), variables));
      }
    }
    if (Status found = find_command(container, variables, plan); !found.is_success()) return found;
    for (const auto& [name, value] : variables) plan.env.push_back(name + "=" + value);
    Result<std::map<ProbeKind, ProbePlan>> probes = plan_probes({container, variables}, path_);
    if (!probes) return probes.error();
    plan.probes = std::move(*probes);
    for (const auto& [hook, planned] : {std::pair{"postStart", &plan.post_start}, {"preStop", &plan.pre_stop}}) {
      Result<std::optional<HandlerPlan>> handler = plan_hook({container, variables}, hook, path_);
      if (!handler) return handler.error();
      *planned = std::move(*handler);
    }
    return plan;
  }

  Status find_command(const Json& container, const Variables& variables, ContainerPlan& plan) {
    const std::string search_path = find_variable(variables, "PATH");
    const bool named = !list_of(container, "command").empty();
    if (!named) plan.argv.insert(plan.argv.begin(), plan.image);
    const std::string program = find_program(plan.argv.front(), search_path, plan.directory);
    if (program.empty() && named) {
      return Status::error("container " + plan.name + ": command '" + plan.argv.front() +
                           "' not found on this node (PATH is " + search_path + ")");
    }
    if (program.empty()) {
      return Status::error("container " + plan.name + ": no command, and image '" + plan.image +
                           "' is not an executable on this node; the process runtime pulls no images: set command");
    }
    plan.argv.front() = program;
    return Status::ok();
  }

  Variables base_variables(const std::string& container) const {
    return {{"BERTH_TAG", plan_.tag},
            {"BERTH_OWNER", plan_.owner},
            {"BERTH_CONTAINER", container},
            {"BERTH_POD_NAME", metadata_.string_at("name")},
            {"BERTH_POD_NAMESPACE", metadata_.string_at("namespace")},
            {"BERTH_NODE", site_.node},
            {"PATH", site_.search_path},
            {"HOME", site_.home}};
  }

  Status add_mounts(const Json& container, Variables& variables) {
    const Json::Array& mounts = list_of(container, "volumeMounts");
    for (std::size_t i = 0; i < mounts.size(); ++i) {
      const std::string path = path_ + ".volumeMounts[" + std::to_string(i) + "]";
      const std::string name = mounts[i].string_at("name");
      const auto volume = volumes_.find(name);
      if (volume == volumes_.end()) return Status::error(path + ".name: volume '" + name + "' is not in spec.volumes");
      std::string directory = volume->second.path;
      if (const std::string sub = mounts[i].string_at("subPath"); !sub.empty()) {
        if (climbs(sub) || sub.front() == '/') return Status::error(path + ".subPath: must be relative, without ..");
        directory += "/" + sub;
        plan_.directories.push_back(directory);
      }
      set_variable(variables, volume_variable(name), directory);
    }
    return Status::ok();
  }

  Status add_env(const Json& container, Variables& variables) {
    if (!list_of(container, "envFrom").empty()) {
      return Status::error(path_ + ".envFrom: ConfigMaps and Secrets are not supported; write the values under env");
    }
    const Json::Array& entries = list_of(container, "env");
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const std::string path = path_ + ".env[" + std::to_string(i) + "]";
      const std::string name = entries[i].string_at("name");
      if (name.empty() || name.find('=') != std::string::npos) {
        return Status::error(path + ".name: must not be empty or contain '='");
      }
      if (name.starts_with("BERTH_")) return Status::error(path + ".name: names that start with BERTH_ are reserved");
      if (const Json& source = member(entries[i], "valueFrom"); source.is_object()) {
        const std::optional<std::string> value = read_field(member(source, "fieldRef").string_at("fieldPath"));
        if (!value) {
          return Status::error(path +
                               ".valueFrom: only fieldRef to metadata.name, metadata.namespace, metadata.uid, "
                               "metadata.labels['key'], metadata.annotations['key'] or spec.nodeName is supported");
        }
        set_variable(variables, name, *value);
      } else {
        set_variable(variables, name, expand_variables(entries[i].string_at("value"), variables));
      }
    }
    return Status::ok();
  }

  std::optional<std::string> read_field(const std::string& field) const {
    if (field == "metadata.name") return metadata_.string_at("name");
    if (field == "metadata.namespace") return metadata_.string_at("namespace");
    if (field == "metadata.uid") return uid_;
    if (field == "spec.nodeName") return site_.node;
    for (const char* map : {"labels", "annotations"}) {
      const std::string prefix = std::string("metadata.") + map + "['";
      if (field.starts_with(prefix) && field.ends_with("']")) {
        return member(metadata_, map).string_at(field.substr(prefix.size(), field.size() - prefix.size() - 2));
      }
    }
    return std::nullopt;
  }

  const Json& metadata_;
  const Json& spec_;
  const std::vector<BoundVolume>& bound_volumes_;
  const Site& site_;
  std::string uid_;
  std::string path_;  // of the container being planned
  std::map<std::string, Volume> volumes_;
  Workload plan_;
};

}  // namespace

const std::vector<std::string>& process_features() {
  static const std::vector<std::string> kFeatures{"activeDeadline",
                                                  "lifecycle",
                                                  "probes",
                                                  "volumes/emptyDir",
                                                  "volumes/ephemeral",
                                                  "volumes/hostPath",
                                                  "volumes/persistentVolumeClaim"};
  return kFeatures;
}

std::string tag_text(const std::string& fleet, const std::string& node, const Tag& tag) {
  return fleet + "/" + node + "/" + tag.uid + "/" + to_text(tag.epoch);
}

Result<Workload> plan_workload(const Json& pod, const Tag& tag, const std::vector<BoundVolume>& volumes,
                               const Site& site) {
  Result<Workload> workload = Planner(pod, tag, volumes, site).plan();
  if (workload) workload->undone = missing_of(needs_of(pod), process_features());
  return workload;
}

std::string find_program(const std::string& command, const std::string& search_path, const std::string& directory) {
  if (command.find('/') != std::string::npos) {
    const std::string path = command.front() == '/' ? command : directory + "/" + command;
    return is_program(path) ? path : std::string();
  }
  std::string_view rest = search_path;
  while (!command.empty() && !rest.empty()) {
    const std::size_t end = rest.find(':');
    const std::string path = std::string(rest.substr(0, end)) + "/" + command;
    if (path.front() == '/' && is_program(path)) return path;
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  }
  return {};
}

std::string expand_variables(const std::string& text, const Variables& known) {
  std::string expanded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t close =
        text[i] == '$' && i + 1 < text.size() && text[i + 1] == '(' ? text.find(')', i) : std::string::npos;
    if (text.compare(i, 2, "$$") == 0) {
      expanded += '$';
      ++i;
    } else if (close == std::string::npos) {
      expanded += text[i];
    } else {
      const std::string name = text.substr(i + 2, close - i - 2);
      const bool is_known = std::any_of(known.begin(), known.end(), [&](const auto& v) { return v.first == name; });
      expanded += is_known ? find_variable(known, name) : text.substr(i, close - i + 1);
      i = close;
    }
  }
  return expanded;
}

}  // namespace berth
