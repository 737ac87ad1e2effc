// Workload: what plain processes need of a pod, worked out before anything runs. Pure, but for looking up commands.
//
// This runtime has no images and no mount namespaces. It says so in three ways:
// - a container without `command` runs its image name as an executable, by path or on PATH; nothing is pulled;
// - a volume is a directory named by the environment, BERTH_VOLUME_<NAME>, and $(BERTH_VOLUME_<NAME>) in command, args
//   and env is expanded as Kubernetes expands $(VAR);
// - fields that it cannot honour are listed in `ignored` and end up in the pod's status message; those that a program
//   would miss (Secrets, ConfigMaps) are refused.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/agent/runtime.h"
#include "core/clock.h"
#include "core/handshake/messages.h"
#include "core/json/json.h"
#include "core/status.h"

namespace berth {

enum class RestartPolicy { always, on_failure, never };

struct ContainerPlan {
  std::string name;
  std::string image;
  std::vector<std::string> argv;  // argv[0] is a path that was executable when planned
  std::vector<std::string> env;   // the whole environment, "NAME=value"
  std::string directory;          // working directory
  bool sidecar = false;           // an init container with restartPolicy Always
};

struct Workload {
  std::string tag;  // "<fleet>/<node>/<uid>/<epoch>": the value of BERTH_TAG
  std::vector<ContainerPlan> init_containers;
  std::vector<ContainerPlan> containers;
  RestartPolicy restart_policy = RestartPolicy::always;
  Millis grace_ms = 30000;               // spec.terminationGracePeriodSeconds
  std::vector<std::string> directories;  // to be made before the start: emptyDir, subPath, granted volumes
  std::vector<std::string> existing;     // must be directories already: hostPath, volumes that this node does not offer
  std::vector<std::string> ignored;      // paths of fields without effect here
};

// Where a pod is planned.
struct Site {
  std::string fleet;
  std::string node;
  std::string pod_directory;
  std::vector<std::string> offered;  // directories that the node offers as local volumes
  std::string search_path;           // PATH of containers that set none
  std::string home;
};

std::string tag_text(const std::string& fleet, const std::string& node, const Tag& tag);

// Every error names the field or the container, and what to change.
Result<Workload> plan_workload(const Json& pod, const Tag& tag, const std::vector<BoundVolume>& volumes,
                               const Site& site);

// Kubernetes' expansion of $(NAME): unknown names stay as they are, $$ is a plain $.
std::string expand_variables(const std::string& text, const std::vector<std::pair<std::string, std::string>>& known);

}  // namespace berth
