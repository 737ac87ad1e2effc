// The environment of a container: env and envFrom of its manifest (pkg/kubelet/kubelet_pods.go
// makeEnvironmentVariables), and its command and args.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/agent/pod_objects.h"
#include "core/json/json.h"
#include "core/status.h"
#include "firmware-host/agent/volumes/expansion.h"
#include "firmware-host/agent/volumes/pod_fields.h"

namespace berth {

inline constexpr std::size_t kMostVariables = 8192;  // of a container
inline constexpr std::size_t kMostEnvironmentBytes =
    1 * 1024 * 1024;  // names and values; execve(2) takes not much more

struct ContainerEnv {
  Variables variables;  // sorted by name; what the image has is not among them
  // Texts for events of the pod, reason InvalidEnvironmentVariableNames, type Warning: which keys were left out.
  std::vector<std::string> events;
};

// Whether env and envFrom of a container at `path` ("spec.containers[0]") can be understood, before any object is
// there. The error names the field and the fix.
Status check_env(const PodFacts& facts, const Json& container, const std::string& path);

// Its environment, of objects as they are now: envFrom first, then env in order, each value with $(NAME) of those
// before it. A name of envFrom that no variable can have is skipped. An error that is pending: an object or key that is
// not optional is missing, with the kubelet's text. Another error is that of the check, or names what is too large.
Result<ContainerEnv> container_env(const PodFacts& facts, const PodObjects& objects, const Json& container,
                                   const std::string& path);

struct ContainerCommand {
  std::vector<std::string> command;  // empty: the image's entrypoint
  std::vector<std::string> args;     // empty, and no command: the image's
};

// `command` and `args` with $(NAME) of these variables (kubelet container/helpers.go ExpandContainerCommandAndArgs).
// The error names the field.
Result<ContainerCommand> container_command(const Json& container, const Variables& variables, const std::string& path);

}  // namespace berth
