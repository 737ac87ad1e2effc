#include "firmware-host/agent/workload.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>

#include "core/json/members.h"
#include "firmware-host/agent/pod_settings.h"
#include "firmware-host/agent/volumes/container_env.h"
#include "firmware-host/agent/volumes/expansion.h"
#include "firmware-host/agent/volumes/pod_fields.h"

namespace berth {

namespace {

struct Volume {
  std::string path;
  bool is_empty_dir = false;
};

bool is_program(const std::string& path) {
  struct stat found{};
  return stat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode) && access(path.c_str(), X_OK) == 0;
}

class Planner {
 public:
  Planner(const Json& pod, const Tag& tag, const std::vector<BoundVolume>& bound_volumes, const Site& site)
      : facts_{pod, tag, site.node, {}, {}, {}},
        metadata_(member(pod, "metadata")),
        spec_(member(pod, "spec")),
        bound_volumes_(bound_volumes),
        site_(site) {
    plan_ = begin_workload(pod, tag, site);
  }

  Result<Workload> plan() {
    if (!spec_.is_object()) return Status::error("spec: missing");
    if (Status read = read_lifetime(spec_, plan_); !read.is_success()) return read;
    if (Status read = read_volumes(); !read.is_success()) return read;
    const Status planned = plan_containers(spec_, plan_, [&](const Json& container, const std::string& path) {
      path_ = path;
      return plan_container(container);
    });
    if (!planned.is_success()) return planned;
    return std::move(plan_);
  }

 private:
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
    Result<ContainerPlan> begun = begin_container(container, path_);
    if (!begun) return begun;
    ContainerPlan plan = std::move(*begun);
    Variables variables = base_variables(plan.name);
    if (Status mounted = add_mounts(container, variables); !mounted.is_success()) return mounted;
    if (Status added = add_env(container, variables); !added.is_success()) return added;

    plan.directory = expand_variables(container.string_at("workingDir"), variables);
    if (plan.directory.empty()) {
      plan.directory = site_.pod_directory + "/scratch";
      plan_.directories.push_back(plan.directory);
    }
    const Result<ContainerCommand> command = container_command(container, variables, path_);
    if (!command) return command.error();
    plan.argv = command->command;
    plan.argv.insert(plan.argv.end(), command->args.begin(), command->args.end());
    if (Status found = find_command(container, variables, plan); !found.is_success()) return found;
    for (const auto& [name, value] : variables) plan.env.push_back(name + "=" + value);
    if (Status planned = plan_handlers({container, variables, {site_.curl, plan_.tag}}, path_, plan);
        !planned.is_success())
      return planned;
    return plan;
  }

  Status find_command(const Json& container, const Variables& variables, ContainerPlan& plan) {
    const std::string search_path = *find_variable(variables, "PATH");
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

  // What only other machines than this one could tell is refused before, as a feature.
  Status add_env(const Json& container, Variables& variables) const {
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
      const Json& source = member(entries[i], "valueFrom");
      const std::string field = member(source, "fieldRef").string_at("fieldPath");
      if (source.is_object() && !is_plain_field(field)) {
        return Status::error(path +
                             ".valueFrom: only fieldRef to metadata.name, metadata.namespace, metadata.uid, "
                             "metadata.labels['key'], metadata.annotations['key'] or spec.nodeName is supported");
      }
      set_variable(
          variables, name,
          source.is_object() ? field_value(facts_, field) : expand_variables(entries[i].string_at("value"), variables));
    }
    return Status::ok();
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

  const PodFacts facts_;
  const Json& metadata_;
  const Json& spec_;
  const std::vector<BoundVolume>& bound_volumes_;
  const Site& site_;
  std::string path_;  // of the container being planned
  std::map<std::string, Volume> volumes_;
  Workload plan_;
};

}  // namespace

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

const std::vector<std::string>& process_features() {
  static const std::vector<std::string> kFeatures{
      "activeDeadline",   "lifecycle",         "probes",           "runtimeClass/process",
      "volumes/emptyDir", "volumes/ephemeral", "volumes/hostPath", "volumes/persistentVolumeClaim"};
  return kFeatures;
}

std::string tag_text(const std::string& fleet, const std::string& node, const Tag& tag) {
  return fleet + "/" + node + "/" + tag.uid + "/" + to_text(tag.epoch);
}

Result<Workload> plan_workload(const Json& pod, const Tag& tag, const std::vector<BoundVolume>& volumes,
                               const Site& site) {
  Result<Workload> workload = Planner(pod, tag, volumes, site).plan();
  if (workload) workload->undone = missing_of(needs_of(pod), features_at(site, process_features()));
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

}  // namespace berth
