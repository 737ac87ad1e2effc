#include "firmware-host/agent/oci/oci_spec.h"

#include <dirent.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <initializer_list>
#include <memory>

namespace berth {

namespace {

Json texts(const std::vector<std::string>& values) {
  Json list = Json::array();
  for (const std::string& value : values) list.push_back(value);
  return list;
}

Json texts(std::initializer_list<const char*> values) {
  Json list = Json::array();
  for (const char* value : values) list.push_back(value);
  return list;
}

Json map_of(const std::vector<std::pair<std::string, std::string>>& values) {
  Json map = Json::object();
  for (const auto& [key, value] : values) map.set(key, value);
  return map;
}

Json process_of(const OciContainer& container) {
  Json user = Json::object();
  user.set("uid", std::int64_t{container.user.user}).set("gid", std::int64_t{container.user.group});
  Json groups = Json::array();
  for (const std::uint32_t group : container.user.more_groups) groups.push_back(std::int64_t{group});
  if (!groups.as_array().empty()) user.set("additionalGids", std::move(groups));
  // No ambient ones: a process of another user than root has none, as with containerd.
  const Json capabilities = texts(container.capabilities);
  Json sets = Json::object();
  for (const char* set : {"bounding", "effective", "permitted"}) sets.set(set, capabilities);
  Json process = Json::object();
  process.set("terminal", false).set("user", std::move(user)).set("args", texts(container.argv));
  process.set("env", texts(container.env)).set("cwd", container.directory).set("capabilities", std::move(sets));
  process.set("noNewPrivileges", container.no_new_privileges);
  process.set("oomScoreAdj", container.oom_score_adj);
  return process;
}

Json mount_json(const char* destination, const char* type, const char* source,
                std::initializer_list<const char*> options) {
  Json made = Json::object();
  made.set("destination", destination).set("type", type).set("source", source).set("options", texts(options));
  return made;
}

// containerd, pkg/oci/mounts.go; /dev/shm is the pod's, among its own mounts.
Json mounts_of(const OciContainer& container) {
  Json mounts = Json::array();
  mounts.push_back(mount_json("/proc", "proc", "proc", {"nosuid", "noexec", "nodev"}));
  mounts.push_back(mount_json("/dev", "tmpfs", "tmpfs", {"nosuid", "strictatime", "mode=755", "size=65536k"}));
  mounts.push_back(mount_json("/dev/pts", "devpts", "devpts",
                              {"nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", "gid=5"}));
  mounts.push_back(mount_json("/dev/mqueue", "mqueue", "mqueue", {"nosuid", "noexec", "nodev"}));
  if (container.privileged) {
    mounts.push_back(mount_json("/sys", "sysfs", "sysfs", {"nosuid", "noexec", "nodev", "rw"}));
    mounts.push_back(mount_json("/sys/fs/cgroup", "cgroup", "cgroup", {"nosuid", "noexec", "nodev", "relatime", "rw"}));
  } else {
    mounts.push_back(mount_json("/sys", "sysfs", "sysfs", {"nosuid", "noexec", "nodev", "ro"}));
    mounts.push_back(mount_json("/sys/fs/cgroup", "cgroup", "cgroup", {"nosuid", "noexec", "nodev", "relatime", "ro"}));
  }
  // What the pod has at the place of a usual mount is there in its stead.
  Json::Array& usual = mounts.as_array();
  std::erase_if(usual, [&](const Json& mount) {
    return std::any_of(container.mounts.begin(), container.mounts.end(),
                       [&](const OciMount& own) { return own.destination == mount.string_at("destination"); });
  });
  for (const OciMount& each : container.mounts) {
    Json made = Json::object();
    made.set("destination", each.destination).set("type", "bind").set("source", each.source);
    Json options = texts({"rbind"});
    options.push_back(each.propagation);
    options.push_back(each.read_only ? "ro" : "rw");
    mounts.push_back(made.set("options", std::move(options)));
  }
  return mounts;
}

Json namespaces_of(const OciNamespaces& namespaces, bool has_own_groups) {
  Json list = Json::array();
  const auto add = [&list](const char* type, const std::optional<std::string>& path) {
    if (!path) return;
    Json made = Json::object();
    made.set("type", type);
    if (!path->empty()) made.set("path", *path);
    list.push_back(std::move(made));
  };
  add("network", namespaces.network);
  add("ipc", namespaces.ipc);
  add("uts", namespaces.uts);
  add("pid", namespaces.pid);
  add("mount", std::string());
  if (has_own_groups) add("cgroup", std::string());
  return list;
}

Json devices_json(const std::vector<OciDevice>& devices) {
  Json list = Json::array();
  for (const OciDevice& device : devices) {
    Json made = Json::object();
    made.set("path", device.path).set("type", std::string(1, device.type));
    made.set("major", device.major).set("minor", device.minor).set("fileMode", std::int64_t{device.mode});
    list.push_back(made.set("uid", std::int64_t{device.user}).set("gid", std::int64_t{device.group}));
  }
  return list;
}

// Which devices it may use; a runtime adds those that every container has, /dev/null say.
Json device_rules(bool all) {
  Json rules = Json::array();
  rules.push_back(Json::object().set("allow", all).set("access", "rwm"));
  return rules;
}

Json linux_of(const OciContainer& container) {
  Json resources = container.resources.is_null() ? Json::object() : container.resources;
  resources.set("devices", device_rules(container.privileged));
  Json made = Json::object();
  made.set("namespaces", namespaces_of(container.namespaces, container.own_cgroups))
      .set("resources", std::move(resources));
  if (!container.cgroup.empty()) made.set("cgroupsPath", container.cgroup);
  const bool follows = std::any_of(container.mounts.begin(), container.mounts.end(),
                                   [](const OciMount& mount) { return mount.propagation == "rslave"; });
  if (follows) made.set("rootfsPropagation", "rslave");
  if (!container.devices.empty()) made.set("devices", devices_json(container.devices));
  if (!container.seccomp.is_null()) made.set("seccomp", container.seccomp);
  if (!container.sysctls.empty()) made.set("sysctl", map_of(container.sysctls));
  if (container.privileged || container.proc_unmasked) return made;
  // containerd, pkg/oci/spec.go populateDefaultUnixSpec
  made.set("maskedPaths", texts({"/proc/acpi", "/proc/asound", "/proc/kcore", "/proc/keys", "/proc/latency_stats",
                                 "/proc/timer_list", "/proc/timer_stats", "/proc/sched_debug", "/sys/firmware",
                                 "/sys/devices/virtual/powercap", "/proc/scsi"}));
  made.set("readonlyPaths", texts({"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"}));
  return made;
}

struct CloseDirectory {
  void operator()(DIR* directory) const { closedir(directory); }
};

// False: it is not to be listed, itself and what is in it.
bool is_listed(const std::string& name) {
  static constexpr std::initializer_list<const char*> kOthers{".",      "..",      "pts",  "shm",         "fd",
                                                              "mqueue", "console", ".lxc", ".lxd-mounts", ".udev"};
  return std::find(kOthers.begin(), kOthers.end(), name) == kOthers.end();
}

Status list_devices(const std::string& directory, std::vector<OciDevice>& devices, int depth) {
  constexpr int kDeepest = 8;
  const std::unique_ptr<DIR, CloseDirectory> open(opendir(directory.c_str()));
  if (open == nullptr) return Status::error("cannot read " + directory + ": " + std::strerror(errno));
  while (const dirent* entry = readdir(open.get())) {
    const std::string name = entry->d_name;
    const std::string path = directory + "/" + name;
    struct stat found{};
    if (!is_listed(name) || lstat(path.c_str(), &found) != 0) continue;
    if (S_ISDIR(found.st_mode) && depth < kDeepest) {
      if (Status listed = list_devices(path, devices, depth + 1); !listed.is_success()) return listed;
    }
    if (!S_ISCHR(found.st_mode) && !S_ISBLK(found.st_mode)) continue;
    devices.push_back({path, S_ISCHR(found.st_mode) ? 'c' : 'b', major(found.st_rdev), minor(found.st_rdev),
                       found.st_mode & 07777u, found.st_uid, found.st_gid});
  }
  return Status::ok();
}

}  // namespace

Json oci_spec(const OciContainer& container) {
  Json root = Json::object();
  root.set("path", container.root).set("readonly", container.read_only_root);
  Json spec = Json::object();
  spec.set("ociVersion", "1.0.2").set("process", process_of(container)).set("root", std::move(root));
  if (!container.hostname.empty()) spec.set("hostname", container.hostname);
  spec.set("mounts", mounts_of(container)).set("linux", linux_of(container));
  if (!container.annotations.empty()) spec.set("annotations", map_of(container.annotations));
  return spec;
}

Result<std::vector<OciDevice>> devices_below(const std::string& directory) {
  std::vector<OciDevice> devices;
  if (Status listed = list_devices(directory, devices, 0); !listed.is_success()) return listed;
  std::sort(devices.begin(), devices.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  return devices;
}

}  // namespace berth
