#include "firmware-host/agent/containers/container_planner.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <memory>
#include <utility>

#include "core/json/members.h"
#include "firmware-host/agent/cni/cni_config.h"
#include "firmware-host/agent/containers/pod_cgroup.h"
#include "firmware-host/agent/containers/sandbox_plan.h"
#include "firmware-host/agent/images/image_reference.h"
#include "firmware-host/agent/oci/pod_files.h"
#include "firmware-host/agent/oci/seccomp_profile.h"
#include "firmware-host/agent/oci/sysctls.h"
#include "firmware-host/agent/pod_settings.h"
#include "firmware-host/agent/stop_signal.h"
#include "firmware-host/agent/volumes/container_env.h"
#include "firmware-host/agent/volumes/volume_mounts.h"
#include "firmware-host/agent/volumes/volume_plan.h"

namespace berth {

namespace {

std::string text_of_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::vector<PortMapping> ports_of(const Json& spec) {
  std::vector<PortMapping> ports;
  for (const char* key : {"initContainers", "containers"}) {
    for (const Json& container : list_of(spec, key)) {
      for (const Json& port : list_of(container, "ports")) {
        const Json& host_port = member(port, "hostPort");
        if (!host_port.is_integer() || host_port.as_int() == 0) continue;
        std::string protocol = port.string_at("protocol");
        for (char& c : protocol) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
        ports.push_back({host_port.as_int(), member(port, "containerPort").as_int(),
                         protocol.empty() ? "tcp" : protocol, port.string_at("hostIP")});
      }
    }
  }
  return ports;
}

// The profile that a container runs with; null: unconfined.
Result<Json> seccomp_for(const ContainerSetup& setup, const std::string& directory, const std::string& path) {
  const Security& security = setup.security;
  if (security.seccomp == Security::Seccomp::unconfined || security.privileged) return Json();
  const bool is_default = security.seccomp == Security::Seccomp::runtime_default;
  const std::string file = is_default ? kDefaultSeccomp : directory + "/" + security.seccomp_profile;
  if (!is_default && (security.seccomp_profile.starts_with('/') || climbs(security.seccomp_profile))) {
    return Status::error(path + ".securityContext.seccompProfile.localhostProfile: must be a relative path without ..");
  }
  const std::string text = text_of_file(file);
  if (text.empty()) {
    const std::string fix = is_default ? "install golang-github-containers-common" : "create it";
    return Status::error(path + ".securityContext.seccompProfile: there is no profile " + file + ": " + fix);
  }
  const Result<Json> profile = Json::parse(text);
  if (!profile) return Status::error(file + ": " + profile.error().message());
  return seccomp_of(*profile, seccomp_architecture(), setup.capabilities);
}

bool is_true_at(const Json& object, std::string_view key) {
  const Json& value = member(object, key);
  return value.is_bool() && value.as_bool();
}

class ContainerPlanner {
 public:
  ContainerPlanner(const PodFacts& facts, const std::vector<BoundVolume>& volumes, const Site& site,
                   const ContainerMachine& machine, const PodSources* sources, const KeeperObjects* objects)
      : facts_(facts),
        spec_(member(facts.pod, "spec")),
        bound_(volumes),
        site_(site),
        machine_(machine),
        sources_(sources),
        objects_(objects) {
    plan_ = begin_workload(facts.pod, facts.tag, site);
  }

  Result<Workload> plan() {
    if (!spec_.is_object()) return Status::error("spec: missing");
    if (Status read = read_lifetime(spec_, plan_); !read.is_success()) return read;
    Result<SandboxPlan> sandbox = plan_sandbox();
    if (!sandbox) return sandbox.error();
    Result<std::vector<VolumePlan>> volumes = plan_volumes(facts_, bound_, site_.pod_directory);
    if (!volumes) return volumes.error();
    sandbox->volumes = std::move(*volumes);
    for (const BoundVolume& volume : bound_) plan_.volumes.push_back(volume);
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
  Result<SandboxPlan> plan_sandbox() const {
    Result<SandboxPlan> begun = begin_sandbox(facts_, site_, plan_, memory_, objects_);
    if (!begun) return begun;
    SandboxPlan sandbox = std::move(*begun);
    sandbox.runtime = machine_.runtime;
    sandbox.host_network = is_true_at(spec_, "hostNetwork");
    sandbox.host_ipc = is_true_at(spec_, "hostIPC");
    sandbox.host_pid = is_true_at(spec_, "hostPID");
    sandbox.hostname = hostname_of(facts_.pod);
    sandbox.resolv_conf = machine_.settings.resolv_conf;
    sandbox.share_pids = is_true_at(spec_, "shareProcessNamespace");
    if (sandbox.share_pids && sandbox.host_pid) {  // pkg/apis/core/validation validateHostUsers and its neighbours
      return Status::error("spec.shareProcessNamespace: the pod shares the machine's with spec.hostPID; remove one");
    }
    if (sandbox.host_network) return sandbox;
    Result<CniNetwork> network = find_network(machine_.settings.cni_config_dir);
    if (!network) return Status::error("spec.hostNetwork: " + network.error().message());
    sandbox.ports = ports_of(spec_);
    if (!sandbox.ports.empty() && !network->maps_ports()) {
      return Status::error("spec.containers[].ports[].hostPort: network " + network->name + " in " +
                           machine_.settings.cni_config_dir + " maps no ports: add plugin portmap to it");
    }
    sandbox.network = std::move(*network);
    sandbox.cni_plugins = machine_.settings.cni_plugin_dirs;
    return sandbox;
  }

  Result<ContainerPlan> plan_container(const Json& container, const std::vector<VolumePlan>& volumes) {
    Result<ContainerPlan> begun = begin_container(container, path_);
    if (!begun) return begun;
    ContainerPlan plan = std::move(*begun);
    auto setup = std::make_shared<ContainerSetup>();
    setup->container = container;
    setup->path = path_;
    if (Status read = read_setup(container, *setup); !read.is_success()) return read;
    if (const Result<ImageReference> named = parse_image_reference(plan.image); !named) {
      return Status::error(path_ + ".image: " + named.error().message());
    }
    Result<std::vector<VolumeMountPlan>> mounts = plan_mounts(container, volumes, path_);
    if (!mounts) return mounts.error();
    setup->mounts = std::move(*mounts);
    if (Status checked = check_env(facts_, container, path_); !checked.is_success()) return checked;
    if (Status planned = plan_handlers({container, plain_variables(container), {site_.curl, plan_.tag}}, path_, plan);
        !planned.is_success()) {
      return planned;
    }
    if (sources_ == nullptr) return plan;
    Result<PlannedImage> image = sources_->image_of(facts_.tag, plan.image);
    if (!image) return image.error();
    plan.image_id = image->id;
    setup->layers = std::move(image->layers);
    setup->image = std::move(image->config);
    plan.stop_signal = signal_number(member(container, "lifecycle").string_at("stopSignal"))
                           .value_or(signal_number(setup->image.stop_signal).value_or(SIGTERM));
    plan.setup = std::move(setup);
    return plan;
  }

  // Commands of probes and hooks know those values that the manifest itself has (kubelet container/helpers.go,
  // ExpandContainerCommandOnlyStatic).
  static Variables plain_variables(const Json& container) {
    Variables variables;
    for (const Json& variable : list_of(container, "env")) {
      if (member(variable, "value").is_string()) {
        set_variable(variables, variable.string_at("name"), variable.string_at("value"));
      }
    }
    return variables;
  }

  // What a container is allowed, and how much of the machine it may use.
  Status read_setup(const Json& container, ContainerSetup& setup) const {
    Result<Allowance> allowance = allowance_of(spec_, container, path_, site_.node, memory_);
    if (!allowance) return allowance.error();
    setup.security = std::move(allowance->security);
    setup.capabilities = std::move(allowance->capabilities);
    setup.oom_score_adj = allowance->oom_score_adj;
    if (Status may = check_sysctls(spec_, setup.security.sysctls, machine_.settings.allowed_unsafe_sysctls);
        !may.is_success()) {
      return may;
    }
    // It may look into the first process of the pod, which is the keeper's and has the machine's root directory.
    const auto& given = setup.capabilities;
    if (is_true_at(spec_, "shareProcessNamespace") && !setup.security.privileged &&
        std::find(given.begin(), given.end(), "CAP_SYS_PTRACE") != given.end()) {
      return Status::error(path_ +
                           ".securityContext.capabilities.add: SYS_PTRACE is not given to containers of a pod " +
                           "with spec.shareProcessNamespace on this node; remove one");
    }
    Result<Json> seccomp = seccomp_for(setup, machine_.settings.seccomp_dir, path_);
    if (!seccomp) return seccomp.error();
    setup.seccomp = std::move(*seccomp);
    setup.resources = resources_json(allowance->limits, machine_.settings.pids_limit);
    // All of a container ends together, as under a kubelet (pkg/kubelet/kuberuntime, singleProcessOOMKill).
    if (machine_.limits_memory && is_unified()) {
      setup.resources.set("unified", Json::object().set("memory.oom.group", "1"));
    }
    setup.termination_message_path = container.string_at("terminationMessagePath");
    if (setup.termination_message_path.empty()) setup.termination_message_path = "/dev/termination-log";
    return Status::ok();
  }

  const PodFacts& facts_;
  const Json& spec_;
  const std::vector<BoundVolume>& bound_;
  const Site& site_;
  const ContainerMachine& machine_;
  const MachineMemory memory_{machine_.memory_bytes, machine_.limits_memory};
  const PodSources* sources_;
  const KeeperObjects* objects_;
  std::string path_;
  Workload plan_;
};

}  // namespace

Result<Workload> plan_container_workload(const Json& pod, const Tag& tag, const std::vector<BoundVolume>& volumes,
                                         const Site& site, const ContainerMachine& machine, const PodSources* sources,
                                         const KeeperObjects* objects) {
  const PodFacts facts{pod, tag, site.node, {}, site.host_ips, machine.allocatable};
  Result<Workload> workload = ContainerPlanner(facts, volumes, site, machine, sources, objects).plan();
  if (workload) workload->undone = missing_of(needs_of(pod), features_at(site, container_features()));
  return workload;
}

}  // namespace berth
