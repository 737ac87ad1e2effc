#include "firmware-host/agent/pod_settings.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>

#include "core/json/members.h"

namespace berth {

bool climbs(const std::string& path) { return ("/" + path + "/").find("/../") != std::string::npos; }

Workload begin_workload(const Json& pod, const Tag& tag, const Site& site) {
  const Json& metadata = member(pod, "metadata");
  Workload workload;
  workload.tag = tag_text(site.fleet, site.node, tag);
  workload.pod = metadata.string_at("name") + "_" + metadata.string_at("namespace") + "(" + tag.uid + ")";
  workload.owner = site.owner;
  workload.host_ips = site.host_ips;
  return workload;
}

RestartPolicy restart_policy_of(const std::string& manifest) {
  const Result<Json> pod = Json::parse(manifest);
  Workload workload;
  if (!pod || !read_lifetime(member(*pod, "spec"), workload).is_success()) return RestartPolicy::never;
  return workload.restart_policy;
}

Status read_lifetime(const Json& spec, Workload& workload) {
  const std::string policy = spec.string_at("restartPolicy");
  if (policy == "Never") {
    workload.restart_policy = RestartPolicy::never;
  } else if (policy == "OnFailure") {
    workload.restart_policy = RestartPolicy::on_failure;
  } else if (!policy.empty() && policy != "Always") {
    return Status::error("spec.restartPolicy: expected Always, OnFailure or Never, got '" + policy + "'");
  }
  if (const Json& grace = member(spec, "terminationGracePeriodSeconds"); grace.is_integer()) {
    workload.grace_ms = std::clamp<std::int64_t>(grace.as_int(), 0, 86400) * 1000;
  }
  if (const Json& deadline = member(spec, "activeDeadlineSeconds"); deadline.is_integer()) {
    workload.active_deadline_ms = std::clamp<std::int64_t>(deadline.as_int(), 0, INT32_MAX) * 1000;
  }
  for (const Json& gate : list_of(spec, "readinessGates")) {
    workload.readiness_gates.push_back(gate.string_at("conditionType"));
  }
  return Status::ok();
}

Result<ContainerPlan> begin_container(const Json& container, const std::string& path) {
  ContainerPlan plan;
  plan.name = container.string_at("name");
  plan.image = container.string_at("image");
  plan.sidecar = container.string_at("restartPolicy") == "Always";
  plan.shows_log_on_error = container.string_at("terminationMessagePolicy") == "FallbackToLogsOnError";
  if (plan.name.empty() || plan.name.find('/') != std::string::npos || climbs(plan.name)) {
    return Status::error(path + ".name: must be a plain name");
  }
  return plan;
}

Status plan_containers(
    const Json& spec, Workload& workload,
    const std::function<Result<ContainerPlan>(const Json& container, const std::string& path)>& plan) {
  for (const auto& [key, plans] :
       {std::pair{"initContainers", &workload.init_containers}, std::pair{"containers", &workload.containers}}) {
    const Json::Array& containers = list_of(spec, key);
    for (std::size_t i = 0; i < containers.size(); ++i) {
      Result<ContainerPlan> container = plan(containers[i], std::string("spec.") + key + "[" + std::to_string(i) + "]");
      if (!container) return container.error();
      plans->push_back(std::move(*container));
    }
  }
  if (workload.containers.empty()) return Status::error("spec.containers: a pod needs at least one");
  return Status::ok();
}

Status plan_handlers(const HandlerSource& source, const std::string& path, ContainerPlan& plan) {
  Result<std::map<ProbeKind, ProbePlan>> probes = plan_probes(source, path);
  if (!probes) return probes.error();
  plan.probes = std::move(*probes);
  for (const auto& [hook, planned] : {std::pair{"postStart", &plan.post_start}, {"preStop", &plan.pre_stop}}) {
    Result<std::optional<HandlerPlan>> handler = plan_hook(source, hook, path);
    if (!handler) return handler.error();
    *planned = std::move(*handler);
  }
  return Status::ok();
}

std::vector<std::string> features_at(const Site& site, std::vector<std::string> of_runtime) {
  constexpr const char* kHttps = "httpsHandlers";
  if (!site.curl.empty()) of_runtime.insert(std::upper_bound(of_runtime.begin(), of_runtime.end(), kHttps), kHttps);
  return of_runtime;
}

}  // namespace berth
