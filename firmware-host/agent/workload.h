// Workload: a pod translated to plain processes, before anything runs. A pure function except for looking up commands.
//
// This runtime has no images and no mount namespaces. The consequences:
// - a container without `command` runs its image name as an executable, by path or on PATH; nothing is pulled;
// - a volume is a directory named by the environment, BERTH_VOLUME_<NAME>, and $(BERTH_VOLUME_<NAME>) in command, args
//   and env is expanded as Kubernetes expands $(VAR);
// - what it cannot do (Secrets, security contexts, limits ...) is refused before planning; what it can is
//   process_features(), which the node says of itself.
#pragma once

#include <csignal>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/agent/runtime.h"
#include "core/api/features.h"
#include "core/clock.h"
#include "core/handshake/messages.h"
#include "core/json/json.h"
#include "core/status.h"
#include "firmware-host/agent/probe_plan.h"
#include "firmware-host/agent/volumes/node_path.h"

namespace berth {

struct ContainerSetup;  // containers/sandbox_plan.h
struct ProcessSetup;    // processes/process_planner.h
struct SandboxPlan;

enum class RestartPolicy { always, on_failure, never };

struct ContainerPlan {
  std::string name;
  std::string image;
  std::string image_id;           // what its name was resolved to; empty: it is no image
  std::vector<std::string> argv;  // argv[0] is a path that was executable when planned
  std::vector<std::string> env;   // the complete environment, "NAME=value"
  std::string directory;          // working directory
  bool sidecar = false;           // an init container with restartPolicy Always
  std::map<ProbeKind, ProbePlan> probes;
  std::optional<HandlerPlan> post_start;
  std::optional<HandlerPlan> pre_stop;
  int stop_signal = SIGTERM;
  bool shows_log_on_error = false;              // terminationMessagePolicy: FallbackToLogsOnError
  std::shared_ptr<const ContainerSetup> setup;  // of the container runtime
  std::shared_ptr<const ProcessSetup> process;  // of a process in a sandbox
};

struct Workload {
  std::string tag;    // "<fleet>/<node>/<uid>/<epoch>": the value of BERTH_TAG
  std::string pod;    // "<name>_<namespace>(<uid>)", as the kubelet names it in messages
  std::string owner;  // of the state directory: the value of BERTH_OWNER (process_tree.h)
  std::vector<ContainerPlan> init_containers;
  std::vector<ContainerPlan> containers;
  RestartPolicy restart_policy = RestartPolicy::always;
  Millis grace_ms = 30000;                   // spec.terminationGracePeriodSeconds
  std::optional<Millis> active_deadline_ms;  // spec.activeDeadlineSeconds
  std::vector<std::string> readiness_gates;  // spec.readinessGates[].conditionType
  std::vector<std::string> directories;      // created before the start: emptyDir, subPath
  std::vector<NodePath> existing;            // must already be there: hostPath
  std::vector<BoundVolume> volumes;          // bound and used by the pod: must already be directories too
  std::vector<std::string> host_ips;         // of the node, as status.hostIPs
  // What has no effect here. Not an error of the plan: pods that an earlier version admitted run on.
  std::vector<Need> undone;
  std::shared_ptr<const SandboxPlan> sandbox;  // null: bare processes
};

// The node for which a pod is planned.
struct Site {
  std::string fleet;
  std::string node;
  std::string owner;  // process_tree.h
  std::string pod_directory;
  std::string search_path;  // PATH of containers that do not set it
  std::string home;
  std::string curl = {};                   // path; empty: it is not installed
  std::vector<std::string> host_ips = {};  // of the node, as status.hostIPs; empty: it has none
};

// What this runtime can do (core/api/features.h), sorted.
const std::vector<std::string>& process_features();

std::string tag_text(const std::string& fleet, const std::string& node, const Tag& tag);

// Every error names the field or container and the fix.
Result<Workload> plan_workload(const Json& pod, const Tag& tag, const std::vector<BoundVolume>& volumes,
                               const Site& site);

// "data-1": "BERTH_VOLUME_DATA_1"
std::string volume_variable(const std::string& name);

// The path of a command as execvp would find it; empty: none.
std::string find_program(const std::string& command, const std::string& search_path, const std::string& directory);

}  // namespace berth
