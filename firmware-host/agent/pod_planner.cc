#include "firmware-host/agent/pod_planner.h"

#include <unistd.h>

#include <cstdlib>

#include "core/api/features.h"
#include "core/json/members.h"
#include "firmware-host/agent/containers/sandbox_plan.h"
#include "firmware-host/agent/pod_directory.h"
#include "firmware-host/agent/pod_order.h"
#include "firmware-host/agent/pod_settings.h"
#include "firmware-host/agent/pod_state.h"
#include "firmware-host/agent/process_tree.h"
#include "firmware-host/agent/processes/process_planner.h"

namespace berth {

namespace {

// A pod that asks for less than root, or for limits, must not run without them.
Status admit(const Json& pod, const std::vector<std::string>& features, const std::string& node) {
  std::string missing;
  for (const Need& need : missing_of(needs_of(pod), features)) missing += (missing.empty() ? "" : ", ") + to_text(need);
  if (missing.empty()) return Status::ok();
  return Status::error("node " + node + " does not support " + missing +
                       "; remove it, or place the pod on a node that does");
}

}  // namespace

void PodPlanner::set_containers(ContainerMachine machine, const PodSources& sources) {
  machine_ = std::move(machine);
  sources_ = &sources;
}

std::string PodPlanner::text_of(const Tag& tag) const { return tag_text(site_.fleet, site_.node, tag); }

std::string PodPlanner::directory_of(const Tag& tag) const { return site_.root + "/" + directory_name(tag); }

PodRuntime PodPlanner::process_runtime() const { return processes_ ? PodRuntime::sandboxed : PodRuntime::bare; }

// Where it runs no containers, what its processes can have: never an image.
const std::vector<std::string>& PodPlanner::features_for(const Json& pod) const {
  if (machine_ && !is_for_processes(member(pod, "spec"))) return container_features();
  return processes_ ? sandboxed_process_features() : process_features();
}

// A pod that has run stays what it was.
Result<PodRuntime> PodPlanner::runtime_of(const Tag& tag, const Json& pod) const {
  const std::string directory = directory_of(tag);
  PodRuntime runtime = is_for_processes(member(pod, "spec")) ? process_runtime() : PodRuntime::containers;
  const auto has_file = [&](const std::string& name) { return access((directory + name).c_str(), F_OK) == 0; };
  if (has_file(kSandboxDirectory)) {
    runtime = PodRuntime::containers;
  } else if (has_file(kProcessSandboxDirectory)) {
    runtime = PodRuntime::sandboxed;
  } else if (has_file(std::string("/") + PodState::kFile)) {
    runtime = PodRuntime::bare;
  }
  if (runtime == PodRuntime::containers && !machine_) {
    return Status::pending("node " + site_.node + " runs no containers: see containers.runtime and its log");
  }
  if (runtime == PodRuntime::sandboxed && !processes_) {
    return Status::pending("node " + site_.node +
                           " runs no processes in a sandbox any more: see containers.bwrap and " + "its log");
  }
  return runtime;
}

Result<Workload> PodPlanner::plan(const Tag& tag, const std::string& pod, const std::vector<BoundVolume>& volumes,
                                  bool is_new) const {
  return plan(tag, pod, volumes, is_new, false);
}

Result<Workload> PodPlanner::plan_run(const Tag& tag, const std::string& pod,
                                      const std::vector<BoundVolume>& volumes) const {
  return plan(tag, pod, volumes, false, true);
}

Result<Workload> PodPlanner::plan(const Tag& tag, const std::string& pod, const std::vector<BoundVolume>& volumes,
                                  bool is_new, bool is_to_run) const {
  if (!is_plain(tag.uid)) {
    return Status::error("metadata.uid: must consist of letters, digits, '-', '.' and '_', got '" + tag.uid + "'");
  }
  const Result<Json> json = Json::parse(pod);
  if (!json) return Status::error("pod: " + json.error().message());
  const char* path = std::getenv("PATH");
  const char* home = std::getenv("HOME");
  Site site;
  site.fleet = site_.fleet;
  site.node = site_.node;
  site.owner = owner_of(site_.root);
  site.pod_directory = directory_of(tag);
  site.search_path = path != nullptr ? path : "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
  site.home = home != nullptr ? home : "/";
  site.host_ips = host_addresses();
  site.curl = curl_;
  if (is_new) {
    Status admitted = admit(*json, features_at(site, features_for(*json)), site_.node);
    if (!admitted.is_success()) return admitted;
  }
  const Result<PodRuntime> runtime = runtime_of(tag, *json);
  if (!runtime) return runtime.error();
  if (*runtime == PodRuntime::bare) return plan_workload(*json, tag, volumes, site);
  const KeeperObjects* objects = is_to_run ? objects_ : nullptr;
  Result<Workload> workload =
      *runtime == PodRuntime::sandboxed
          ? plan_sandboxed_workload(*json, tag, volumes, site, *processes_, objects)
          : plan_container_workload(*json, tag, volumes, site, *machine_, is_to_run ? sources_ : nullptr, objects);
  // It was admitted: what this machine lacks now, a network say, it may have again.
  if (!workload && is_to_run) return Status::pending(workload.error().message());
  return workload;
}

KeeperPlan PodPlanner::first_keeper(const Tag& tag, Workload workload) const {
  KeeperPlan made;
  made.workload = std::move(workload);
  made.directory = directory_of(tag);
  made.backoff = backoff_;
  made.logs = logs_;
  made.demands = demands_;
  made.is_first = true;
  return made;
}

std::optional<KeeperPlan> PodPlanner::first_keeper(const std::string& order) const {
  const Result<PodOrder> read = PodOrder::read(order);
  if (!read) return std::nullopt;
  Result<Workload> workload = plan(read->tag, read->manifest, read->volumes);
  if (!workload) return std::nullopt;
  return first_keeper(read->tag, std::move(*workload));
}

}  // namespace berth
