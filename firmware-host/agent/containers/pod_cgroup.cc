#include "firmware-host/agent/containers/pod_cgroup.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <string_view>
#include <system_error>

namespace berth {

namespace {

namespace fs = std::filesystem;

// Mount points of the hierarchies.
std::vector<std::string> hierarchies_at(const std::string& root) {
  if (is_unified(root)) return {root};
  std::vector<std::string> found;
  std::error_code error;
  for (fs::directory_iterator at(root, error), end; !error && at != end; at.increment(error)) {
    if (at->is_directory(error) && !at->is_symlink(error)) found.push_back(at->path().string());
  }
  return found;
}

// The group and all groups below it, parents first.
std::vector<std::string> groups_at(const std::string& top) {
  std::vector<std::string> groups;
  std::error_code error;
  if (!fs::is_directory(top, error)) return groups;
  groups.push_back(top);
  const auto options = fs::directory_options::skip_permission_denied;
  for (fs::recursive_directory_iterator at(top, options, error), end; !error && at != end; at.increment(error)) {
    if (at->is_directory(error)) groups.push_back(at->path().string());
  }
  return groups;
}

// A group that was removed meanwhile has none.
Status add_processes(const std::string& group, std::set<pid_t>& processes) {
  errno = 0;
  std::ifstream file(group + "/cgroup.procs");
  if (!file && errno != ENOENT && errno != ENODEV) {
    return Status::error("cannot read " + group + "/cgroup.procs: " + std::strerror(errno));
  }
  for (pid_t process = 0; file >> process;) processes.insert(process);
  return Status::ok();
}

std::int64_t counter_in(const std::string& path, std::string_view name) {
  std::ifstream file(path);
  std::string key;
  for (std::int64_t value = 0; file >> key >> value;) {
    if (key == name) return value;
  }
  return 0;
}

// None: it cannot be read, or is no number ("max").
std::optional<std::int64_t> number_in(const std::string& path) {
  std::ifstream file(path);
  std::int64_t value = 0;
  return file >> value ? std::optional(value) : std::nullopt;
}

// One write(2), as the kernel takes each as one value.
Status set_value(const std::string& path, const std::string& value) {
  const int file = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  const ssize_t written = file >= 0 ? write(file, value.data(), value.size()) : -1;
  const int error = errno;
  if (file >= 0) close(file);
  if (written == static_cast<ssize_t>(value.size())) return Status::ok();
  return Status::error("cannot write " + value + " to " + path + ": " + std::strerror(error));
}

// Some kernels have no such controller, or not all of its files.
Status set_if_there(const std::string& path, const std::string& value) {
  return access(path.c_str(), F_OK) == 0 ? set_value(path, value) : Status::ok();
}

// Each group on the way to `path`, which begins with '/', from the outermost in; `path` itself is the last.
std::vector<std::string> groups_on_the_way(const std::string& path) {
  std::vector<std::string> groups;
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    groups.push_back(path.substr(0, slash));
  }
  groups.push_back(path);
  return groups;
}

Status make_group(const std::string& group) {
  if (mkdir(group.c_str(), 0755) == 0 || errno == EEXIST) return Status::ok();
  return Status::error("cannot make control group " + group + ": " + std::strerror(errno));
}

// A controller that the kernel does not have, or does not pass on (cpu, where a process is of a real-time class), is
// missed only by the limit that needs it.
void pass_controllers_on(const std::string& group) {
  std::ifstream there(group + "/cgroup.controllers");
  for (std::string name; there >> name;) {
    if (name != "cpu" && name != "memory" && name != "pids" && name != "io") continue;
    const Status passed = set_value(group + "/cgroup.subtree_control", "+" + name);
    static_cast<void>(passed);
  }
}

// A group of version 1 limits those below it only with this (Linux, admin-guide/cgroup-v1/memory.rst), and kernels
// before 5.11 begin without it. It cannot be set once there are groups below, nor where the group above has it already,
// which those below inherit.
Status limit_groups_below(const std::string& group) {
  const std::string path = group + "/memory.use_hierarchy";
  return number_in(path) == 0 ? set_value(path, "1") : Status::ok();
}

constexpr std::int64_t kPeriodUs = 100'000;

// CpuSharesToCpuWeight of pkg/kubelet/cm: shares of 2 to 262,144 to weights of 1 to 10,000.
std::int64_t weight_of(std::int64_t shares) { return 1 + (shares - 2) * 9999 / 262'142; }

Status limit_unified(const std::string& group, const PodLimits& limits) {
  if (Status set = set_if_there(group + "/cpu.weight", std::to_string(weight_of(limits.cpu_shares)));
      !set.is_success()) {
    return set;
  }
  if (limits.milli_cpu) {
    const std::string most = std::to_string(cpu_quota_us(*limits.milli_cpu, kPeriodUs));
    Status set = set_value(group + "/cpu.max", most + " " + std::to_string(kPeriodUs));
    if (!set.is_success()) return set;
  }
  if (Status set = limits.pids ? set_if_there(group + "/pids.max", std::to_string(*limits.pids)) : Status::ok();
      !set.is_success()) {
    return set;
  }
  if (Status set = limits.ends_together ? set_if_there(group + "/memory.oom.group", "1") : Status::ok();
      !set.is_success()) {
    return set;
  }
  if (!limits.memory_bytes) return Status::ok();
  if (Status set = set_if_there(group + "/memory.swap.max", "0"); !set.is_success()) return set;
  return set_value(group + "/memory.max", std::to_string(*limits.memory_bytes));
}

Status limit_each(const std::string& root, const std::string& path, const PodLimits& limits) {
  const std::string cpu = root + "/cpu" + path, memory = root + "/memory" + path;
  if (Status set = set_if_there(cpu + "/cpu.shares", std::to_string(limits.cpu_shares)); !set.is_success()) return set;
  if (limits.milli_cpu) {
    for (const auto& [name, value] : {std::pair{"/cpu.cfs_period_us", kPeriodUs},
                                      std::pair{"/cpu.cfs_quota_us", cpu_quota_us(*limits.milli_cpu, kPeriodUs)}}) {
      if (Status set = set_value(cpu + name, std::to_string(value)); !set.is_success()) return set;
    }
  }
  if (Status set =
          limits.pids ? set_if_there(root + "/pids" + path + "/pids.max", std::to_string(*limits.pids)) : Status::ok();
      !set.is_success()) {
    return set;
  }
  if (!limits.memory_bytes) return Status::ok();
  const std::string most = std::to_string(*limits.memory_bytes);
  if (Status set = set_value(memory + "/memory.limit_in_bytes", most); !set.is_success()) return set;
  return set_if_there(memory + "/memory.memsw.limit_in_bytes", most);
}

}  // namespace

bool is_unified(const std::string& root) { return access((root + "/cgroup.controllers").c_str(), F_OK) == 0; }

bool has_control_groups(const std::string& root) {
  return is_unified(root) || access((root + "/pids").c_str(), F_OK) == 0;
}

bool has_memory_controller(const std::string& root) {
  if (!is_unified(root)) return access((root + "/memory").c_str(), F_OK) == 0;
  std::ifstream file(root + "/cgroup.controllers");
  for (std::string name; file >> name;) {
    if (name == "memory") return true;
  }
  return false;
}

std::string cgroup_of_node(const std::string& fleet, const std::string& node) { return "/berth/" + fleet + "." + node; }

Status PodCgroup::make(const PodLimits& limits) const {
  if (!is_unified(root_)) {
    for (const char* controller : {"/cpu", "/memory", "/pids"}) {
      if (controller == std::string_view("/pids") && !limits.pids) continue;
      if (access((root_ + controller).c_str(), F_OK) != 0) continue;
      for (const std::string& group : groups_on_the_way(path_)) {
        if (Status made = make_group(root_ + controller + group); !made.is_success()) return made;
        // Those above need it for limits of their own only: an earlier agent may have left groups below them.
        const Status below = limit_groups_below(root_ + controller + group);
        if (!below.is_success() && group == path_ && limits.memory_bytes) return below;
      }
    }
    return limit_each(root_, path_, limits);
  }
  std::string above = root_;
  for (const std::string& group : groups_on_the_way(path_)) {
    pass_controllers_on(above);
    above = root_ + group;
    if (Status made = make_group(above); !made.is_success()) return made;
  }
  return limit_unified(above, limits);
}

Status PodCgroup::lift_memory_limit() const {
  if (is_unified(root_)) {
    const Status lifted = set_if_there(root_ + path_ + "/memory.max", "max");
    return lifted.is_success() ? set_if_there(root_ + path_ + "/memory.swap.max", "max") : lifted;
  }
  // With swap first: it may not be less than without.
  const std::string group = root_ + "/memory" + path_;
  const Status lifted = set_if_there(group + "/memory.memsw.limit_in_bytes", "-1");
  return lifted.is_success() ? set_if_there(group + "/memory.limit_in_bytes", "-1") : lifted;
}

Result<std::vector<Descriptor>> PodCgroup::open_members() const {
  std::vector<Descriptor> members;
  for (const std::string& hierarchy : hierarchies_at(root_)) {
    const std::string file = hierarchy + path_ + "/cgroup.procs";
    Descriptor opened(open(file.c_str(), O_WRONLY | O_CLOEXEC));
    if (opened) {
      members.push_back(std::move(opened));
    } else if (errno != ENOENT) {
      return Status::error("cannot open " + file + ": " + std::strerror(errno));
    }
  }
  if (members.empty()) return Status::error("there is no control group " + path_);
  return members;
}

Result<int> PodCgroup::kill() const {
  std::set<pid_t> processes;
  for (const std::string& hierarchy : hierarchies_at(root_)) {
    const std::string top = hierarchy + path_;
    // All at once, in which no fork can be ahead of it (Linux 5.14). Those of older kernels are killed one by one.
    std::ofstream at_once(top + "/cgroup.kill");
    at_once << "1" << std::flush;
    for (const std::string& group : groups_at(top)) {
      if (Status added = add_processes(group, processes); !added.is_success()) return added;
    }
  }
  for (const pid_t process : processes) ::kill(process, SIGKILL);
  return static_cast<int>(processes.size());
}

void PodCgroup::remove() const {
  for (const std::string& hierarchy : hierarchies_at(root_)) {
    std::vector<std::string> groups = groups_at(hierarchy + path_);
    std::reverse(groups.begin(), groups.end());
    for (const std::string& group : groups) rmdir(group.c_str());
  }
}

std::int64_t PodCgroup::out_of_memory(const std::string& container) const {
  const std::string group = path_ + "/" + container;
  if (is_unified(root_)) return counter_in(root_ + group + "/memory.events", "oom_kill");
  return counter_in(root_ + "/memory" + group + "/memory.oom_control", "oom_kill");
}

std::optional<std::int64_t> PodCgroup::working_set() const {
  const bool is_one = is_unified(root_);
  const std::string group = root_ + (is_one ? "" : "/memory") + path_;
  const std::optional<std::int64_t> usage = number_in(group + (is_one ? "/memory.current" : "/memory.usage_in_bytes"));
  if (!usage) return std::nullopt;
  return std::max<std::int64_t>(
      *usage - counter_in(group + "/memory.stat", is_one ? "inactive_file" : "total_inactive_file"), 0);
}

std::optional<std::int64_t> PodCgroup::tasks() const {
  return number_in(root_ + (is_unified(root_) ? "" : "/pids") + path_ + "/pids.current");
}

std::vector<std::string> PodCgroup::names_below(const std::string& path, const std::string& root) {
  std::set<std::string> names;
  for (const std::string& hierarchy : hierarchies_at(root)) {
    std::error_code error;
    for (fs::directory_iterator at(hierarchy + path, error), end; !error && at != end; at.increment(error)) {
      if (at->is_directory(error)) names.insert(at->path().filename().string());
    }
  }
  return {names.begin(), names.end()};
}

}  // namespace berth
