#include "firmware-host/agent/processes/process_planner.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "core/json/members.h"
#include "firmware-host/agent/oci/capabilities.h"
#include "firmware-host/agent/pod_settings.h"
#include "firmware-host/agent/processes/private_mounts.h"
#include "firmware-host/agent/stop_signal.h"
#include "firmware-host/agent/volumes/container_env.h"
#include "firmware-host/agent/volumes/volume_plan.h"

namespace berth {

namespace {

namespace fs = std::filesystem;

bool is_below(const std::string& path, const std::string& directory) {
  return path.size() > directory.size() && path.starts_with(directory) && path[directory.size()] == '/';
}

class ProcessPlanner {
 public:
  ProcessPlanner(const PodFacts& facts, const std::vector<BoundVolume>& volumes, const Site& site,
                 const ProcessMachine& machine, const KeeperObjects* objects)
      : facts_(facts),
        spec_(member(facts.pod, "spec")),
        bound_(volumes),
        site_(site),
        machine_(machine),
        objects_(objects),
        plan_(begin_workload(facts.pod, facts.tag, site)) {}

  Result<Workload> plan() {
    if (!spec_.is_object()) return Status::error("spec: missing");
    if (Status read = read_lifetime(spec_, plan_); !read.is_success()) return read;
    if (Status checked = check_pod(); !checked.is_success()) return checked;
    Result<SandboxPlan> sandbox = begin_sandbox(facts_, site_, plan_, machine_.memory, objects_);
    if (!sandbox) return sandbox.error();
    sandbox->of_processes = sandbox->host_network = sandbox->host_ipc = sandbox->host_pid = true;
    sandbox->runtime = machine_.bwrap;
    Result<std::vector<VolumePlan>> volumes = plan_volumes(facts_, bound_, site_.pod_directory);
    if (!volumes) return volumes.error();
    sandbox->volumes = std::move(*volumes);
    plan_.volumes = bound_;
    const auto shared = std::make_shared<const SandboxPlan>(std::move(*sandbox));
    plan_.sandbox = shared;
    const Status planned = plan_containers(spec_, plan_, [&](const Json& container, const std::string& path) {
      path_ = path;
      return plan_container(container, shared->volumes);
    });
    if (!planned.is_success()) return planned;
    return std::move(plan_);
  }

 private:
  Status unsupported(const std::string& field, const std::string& fix) const {
    return Status::error(field + ": not supported for processes of node " + site_.node + "; " + fix);
  }

  Status check_pod() const {
    const Json& context = member(spec_, "securityContext");
    if (!list_of(context, "sysctls").empty()) {
      return unsupported("spec.securityContext.sysctls", "set it on the machine, or use an image");
    }
    if (member(spec_, "shareProcessNamespace") == Json(true)) {
      return unsupported("spec.shareProcessNamespace", "processes see all of the machine; remove it");
    }
    return check_seccomp(context, "spec.securityContext");
  }

  // RuntimeDefault is what a pod that says nothing runs with under an OCI runtime; here that is unconfined.
  Status check_seccomp(const Json& context, const std::string& path) const {
    const Json& profile = member(context, "seccompProfile");
    if (profile.is_null() || profile.string_at("type") == "Unconfined") return Status::ok();
    return unsupported(path + ".seccompProfile", "use type Unconfined, or an image");
  }

  Status check_container(const Json& container) const {
    const Json& context = member(container, "securityContext");
    const std::string path = path_ + ".securityContext";
    if (member(context, "allowPrivilegeEscalation") == Json(true)) {
      return unsupported(path + ".allowPrivilegeEscalation", "set-user-ID files have no effect there; remove it");
    }
    if (!context.string_at("procMount").empty() && context.string_at("procMount") != "Default") {
      return unsupported(path + ".procMount", "remove it");
    }
    return check_seccomp(context, path);
  }

  Result<ContainerPlan> plan_container(const Json& container, const std::vector<VolumePlan>& volumes) {
    Result<ContainerPlan> begun = begin_container(container, path_);
    if (!begun) return begun;
    ContainerPlan plan = std::move(*begun);
    if (Status checked = check_container(container); !checked.is_success()) return checked;
    auto setup = std::make_shared<ProcessSetup>();
    setup->container = container;
    setup->path = path_;
    if (Status read = read_allowance(container, *setup); !read.is_success()) return read;
    Result<std::vector<VolumeMountPlan>> mounts = plan_mounts(container, volumes, path_);
    if (!mounts) return mounts.error();
    setup->mounts = std::move(*mounts);
    if (Status checked = check_mounts(*setup); !checked.is_success()) return checked;
    if (Status checked = check_env(facts_, container, path_); !checked.is_success()) return checked;
    add_variables(plan.name, *setup);
    Variables known = setup->own;
    known.insert(known.end(), setup->defaults.begin(), setup->defaults.end());
    if (Status read = read_plain_env(container, known); !read.is_success()) return read;
    plan.directory = expand_variables(container.string_at("workingDir"), known);
    if (plan.directory.empty()) plan.directory = site_.pod_directory + "/scratch";
    if (Status found = find_command(container, known, *setup, plan); !found.is_success()) return found;
    if (Status planned = plan_handlers({container, known, {site_.curl, plan_.tag}}, path_, plan); !planned.is_success())
      return planned;
    plan.stop_signal = signal_number(member(container, "lifecycle").string_at("stopSignal")).value_or(SIGTERM);
    plan.process = std::move(setup);
    return plan;
  }

  Status read_allowance(const Json& container, ProcessSetup& setup) const {
    Result<Allowance> allowance = allowance_of(spec_, container, path_, site_.node, machine_.memory);
    if (!allowance) return allowance.error();
    setup.security = std::move(allowance->security);
    // Without an image that would name another one, the user is root.
    if (setup.security.must_not_be_root && setup.security.user.value_or(0) == 0) {
      return Status::error(path_ + ".securityContext.runAsNonRoot: processes of node " + site_.node +
                           " run as root; set runAsUser");
    }
    setup.capabilities = capability_bits(allowance->capabilities);
    setup.oom_score_adj = allowance->oom_score_adj;
    const ContainerLimits& limits = allowance->limits;
    setup.limits.cpu_shares = cpu_shares(limits.requests.milli_cpu.value_or(0));
    if (limits.limits.milli_cpu.value_or(0) > 0) setup.limits.milli_cpu = limits.limits.milli_cpu;
    if (limits.limits.memory_bytes.value_or(0) > 0) setup.limits.memory_bytes = limits.limits.memory_bytes;
    if (machine_.pids_limit > 0) setup.limits.pids = machine_.pids_limit;
    // As under a kubelet (pkg/kubelet/kuberuntime, singleProcessOOMKill).
    setup.limits.ends_together = true;
    return Status::ok();
  }

  // bubblewrap makes what a mount needs: that must not be in the machine's file system. Nor in a volume, in which the
  // pod itself may have put a link that leads out of it.
  Status check_mounts(ProcessSetup& setup) const {
    for (VolumeMountPlan& mount : setup.mounts) {
      if (mount.propagation != "rprivate") return unsupported(mount.where + ".mountPropagation", "remove it");
      std::error_code error;
      std::string path = fs::weakly_canonical(mount.destination, error).string();
      if (error) return Status::error(mount.where + ".mountPath: " + error.message());
      if (path.size() > 1 && path.ends_with('/')) path.pop_back();
      if (path == "/") return Status::error(mount.where + ".mountPath: must not be /");
      if (is_below(site_.pod_directory, path)) {
        return Status::error(mount.where + ".mountPath: " + path +
                             " has the agent's state, where the pod's own files are");
      }
      if (!is_mountable(path)) {
        return Status::error(mount.where + ".mountPath: " + path + " does not exist on node " + site_.node +
                             ", and processes have its file system; make it there, or use a path in /tmp or in a " +
                             "directory below / that is not there");
      }
      mount.destination = std::move(path);
    }
    for (const VolumeMountPlan& mount : setup.mounts) {
      for (const VolumeMountPlan& outer : setup.mounts) {
        if (!is_below(mount.destination, outer.destination)) continue;
        return Status::error(mount.where + ".mountPath: lies in another mountPath, " + outer.destination +
                             ", which is not supported for processes; mount them side by side");
      }
    }
    return Status::ok();
  }

  void add_variables(const std::string& container, ProcessSetup& setup) const {
    const Json& metadata = member(facts_.pod, "metadata");
    setup.own = {{"BERTH_TAG", plan_.tag},
                 {"BERTH_OWNER", plan_.owner},
                 {"BERTH_CONTAINER", container},
                 {"BERTH_POD_NAME", metadata.string_at("name")},
                 {"BERTH_POD_NAMESPACE", metadata.string_at("namespace")},
                 {"BERTH_NODE", site_.node}};
    const Json::Array& mounts = list_of(setup.container, "volumeMounts");
    for (std::size_t i = 0; i < mounts.size(); ++i) {
      set_variable(setup.own, volume_variable(mounts[i].string_at("name")), setup.mounts[i].destination);
    }
    setup.defaults = {{"PATH", site_.search_path}, {"HOME", site_.home}};
  }

  // What the manifest itself says of the environment; the rest is known when the container starts.
  Status read_plain_env(const Json& container, Variables& known) const {
    const Json::Array& entries = list_of(container, "env");
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const std::string name = entries[i].string_at("name");
      if (name.starts_with("BERTH_")) {
        return Status::error(path_ + ".env[" + std::to_string(i) + "].name: names that start with BERTH_ are reserved");
      }
      if (member(entries[i], "value").is_string()) {
        set_variable(known, name, expand_variables(entries[i].string_at("value"), known));
      }
    }
    return Status::ok();
  }

  // A program in a volume is there only once the pod runs.
  Status find_command(const Json& container, const Variables& known, const ProcessSetup& setup, ContainerPlan& plan) {
    const Result<ContainerCommand> command = container_command(container, known, path_);
    if (!command) return command.error();
    const bool is_named = !command->command.empty();
    const std::string program = is_named ? command->command.front() : plan.image;
    const std::string field = path_ + (is_named ? ".command[0]" : ".image");
    if (program.empty()) return Status::error(field + ": must not be empty");
    const auto is_in = [&](const VolumeMountPlan& mount) {
      return is_below(program, mount.destination) || is_below(plan.directory + "/", mount.destination);
    };
    if (std::any_of(setup.mounts.begin(), setup.mounts.end(), is_in)) return Status::ok();
    if (is_below(program, kPrivateTmp)) {
      return Status::error(field + ": " + program + " lies in /tmp, of which each container has its own; move it");
    }
    if (program.find('/') != std::string::npos && program.front() != '/') return Status::ok();
    const std::string search_path = *find_variable(known, "PATH");
    if (!find_program(program, search_path, plan.directory).empty()) return Status::ok();
    if (is_named) {
      return Status::error("container " + plan.name + ": command '" + program + "' not found on this node (PATH is " +
                           search_path + ")");
    }
    return Status::error("container " + plan.name + ": no command, and image '" + program +
                         "' is not an executable on this node; the process runtime pulls no images: set command");
  }

  const PodFacts& facts_;
  const Json& spec_;
  const std::vector<BoundVolume>& bound_;
  const Site& site_;
  const ProcessMachine& machine_;
  const KeeperObjects* objects_;
  std::string path_;
  Workload plan_;
};

}  // namespace

Result<Workload> plan_sandboxed_workload(const Json& pod, const Tag& tag, const std::vector<BoundVolume>& volumes,
                                         const Site& site, const ProcessMachine& machine,
                                         const KeeperObjects* objects) {
  const PodFacts facts{pod, tag, site.node, site.host_ips, site.host_ips, machine.allocatable};
  Result<Workload> workload = ProcessPlanner(facts, volumes, site, machine, objects).plan();
  if (workload) workload->undone = missing_of(needs_of(pod), features_at(site, sandboxed_process_features()));
  return workload;
}

}  // namespace berth
