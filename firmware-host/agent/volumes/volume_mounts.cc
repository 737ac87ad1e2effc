#include "firmware-host/agent/volumes/volume_mounts.h"

#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>
#include <utility>

#include "core/json/findings.h"
#include "core/json/members.h"
#include "firmware-host/agent/oci/subpath.h"

namespace berth {

namespace {

constexpr std::size_t kLongestPath = 4095;

// Whether a subPath may be bound (ValidatePathNoBacksteps).
Status check_subpath(const std::string& subpath, const std::string& path) {
  const bool is_good = !subpath.starts_with('/') && ("/" + subpath + "/").find("/../") == std::string::npos &&
                       subpath.size() <= kLongestPath;
  return is_good ? Status::ok() : Status::error(path + ": must be a relative path without '..'");
}

// What is mounted in a pod's sandbox does not leave it.
Status read_propagation(const Json& mount, VolumeMountPlan& plan) {
  const std::string mode = mount.string_at("mountPropagation");
  const std::string path = plan.where + ".mountPropagation";
  if (mode.empty() || mode == "None") {
    plan.propagation = "rprivate";
  } else if (mode == "HostToContainer") {
    plan.propagation = "rslave";
  } else if (mode == "Bidirectional") {
    return Status::error(path + ": Bidirectional is not supported; use HostToContainer");
  } else {
    return Status::error(path + ": expected None or HostToContainer, got '" + mode + "'");
  }
  return Status::ok();
}

// resolveRecursiveReadOnly; runtimes of Debian 12 do not have it all, so Enabled cannot be promised.
Status check_recursive(const Json& mount, const std::string& path) {
  const std::string mode = mount.string_at("recursiveReadOnly");
  if (mode.empty() || mode == "Disabled" || mode == "IfPossible") return Status::ok();
  if (mode == "Enabled") {
    return Status::error(path + ".recursiveReadOnly: Enabled is not supported; use IfPossible or Disabled");
  }
  return Status::error(path + ".recursiveReadOnly: expected Disabled, IfPossible or Enabled, got '" + mode + "'");
}

Status read_paths(const Json& mount, VolumeMountPlan& plan) {
  plan.destination = mount.string_at("mountPath");
  const bool is_good = !plan.destination.empty() && plan.destination.find(':') == std::string::npos &&
                       plan.destination.find('\0') == std::string::npos && plan.destination.size() <= kLongestPath;
  if (!is_good) return Status::error(plan.where + ".mountPath: must be a path without ':'");
  if (plan.destination.front() != '/') plan.destination.insert(0, "/");
  plan.subpath = mount.string_at("subPath");
  plan.subpath_expr = mount.string_at("subPathExpr");
  if (!plan.subpath.empty() && !plan.subpath_expr.empty()) {
    return Status::error(plan.where + ".subPathExpr: must not be there besides subPath");
  }
  if (Status checked = check_subpath(plan.subpath, plan.where + ".subPath"); !checked.is_success()) return checked;
  return check_subpath(plan.subpath_expr, plan.where + ".subPathExpr");
}

Result<VolumeMountPlan> plan_mount(const Json& mount, const std::vector<VolumePlan>& volumes, const std::string& path) {
  VolumeMountPlan plan;
  plan.where = path;
  const std::string name = mount.string_at("name");
  const auto volume = std::find_if(volumes.begin(), volumes.end(), [&](const auto& each) { return each.name == name; });
  if (volume == volumes.end()) return Status::error(path + ".name: volume '" + name + "' is not in spec.volumes");
  plan.source = volume->path;
  plan.read_only = volume->read_only || member(mount, "readOnly") == Json(true);
  if (Status read = read_paths(mount, plan); !read.is_success()) return read;
  if (Status read = read_propagation(mount, plan); !read.is_success()) return read;
  if (Status checked = check_recursive(mount, path); !checked.is_success()) return checked;
  return plan;
}

// container/helpers.go ExpandContainerVolumeMounts: an empty value counts as missing, as it would name another place.
Result<std::string> expanded_subpath(const VolumeMountPlan& mount, const Variables& variables) {
  std::set<std::string> missing;
  std::string subpath = expand(mount.subpath_expr, [&](const std::string& name) {
    const std::string* value = find_variable(variables, name);
    if (value != nullptr && !value->empty()) return *value;
    missing.insert(name);
    return std::string();
  });
  const std::string path = mount.where + ".subPathExpr";
  std::string names;
  for (const std::string& name : missing) names += (names.empty() ? "" : ", ") + name;
  if (!missing.empty()) return Status::error(path + ": missing value for " + names + ": set it in env");
  if (Status checked = check_subpath(subpath, path); !checked.is_success()) return checked;
  return subpath;
}

// What an earlier run of the container has bound there is taken away; it may have been of another kind.
Status clear_target(const std::string& target) {
  while (umount2(target.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW) == 0) {
  }
  if (unlink(target.c_str()) == 0 || errno == ENOENT) return Status::ok();
  if (errno == EISDIR && rmdir(target.c_str()) == 0) return Status::ok();
  return Status::error("cannot remove " + target + ": " + std::strerror(errno));
}

Status bind_at(const std::string& volume, const std::string& subpath, const std::string& directory,
               const std::string& target) {
  if (mkdir(directory.c_str(), 0755) != 0 && errno != EEXIST) {
    return Status::error("cannot make directory " + directory + ": " + std::strerror(errno));
  }
  if (Status cleared = clear_target(target); !cleared.is_success()) return cleared;
  return bind_subpath(volume, subpath, target);
}

}  // namespace

Result<std::vector<VolumeMountPlan>> plan_mounts(const Json& container, const std::vector<VolumePlan>& volumes,
                                                 const std::string& path) {
  if (!list_of(container, "volumeDevices").empty()) {
    return Status::error(path + ".volumeDevices: raw block devices are not supported; use volumeMounts");
  }
  std::vector<VolumeMountPlan> plans;
  std::set<std::string> destinations;
  const Json::Array& mounts = list_of(container, "volumeMounts");
  for (std::size_t i = 0; i < mounts.size(); ++i) {
    Result<VolumeMountPlan> plan = plan_mount(mounts[i], volumes, item_path(path + ".volumeMounts", i));
    if (!plan) return plan.error();
    if (!destinations.insert(plan->destination).second) {
      return Status::error(plan->where + ".mountPath: must be unique, " + plan->destination + " is there twice");
    }
    plans.push_back(std::move(*plan));
  }
  return plans;
}

Result<std::vector<OciMount>> make_mounts(const std::vector<VolumeMountPlan>& mounts, const Variables& variables,
                                          const std::string& directory) {
  std::vector<OciMount> made;
  for (std::size_t i = 0; i < mounts.size(); ++i) {
    const VolumeMountPlan& mount = mounts[i];
    std::string source = mount.source;
    std::string subpath = mount.subpath;
    if (!mount.subpath_expr.empty()) {
      Result<std::string> expanded = expanded_subpath(mount, variables);
      if (!expanded) return expanded.error();
      subpath = std::move(*expanded);
    }
    if (!subpath.empty()) {
      source = directory + "/" + std::to_string(i);
      const Status bound = bind_at(mount.source, subpath, directory, source);
      if (!bound.is_success()) return Status::error(mount.where + ": " + bound.message());
    }
    made.push_back({source, mount.destination, mount.read_only, mount.propagation});
  }
  return made;
}

}  // namespace berth
