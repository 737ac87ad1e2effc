// PullSecrets: what a pod's imagePullSecrets come to.
#pragma once

#include <string>
#include <vector>

#include "core/agent/pod_objects.h"
#include "core/json/json.h"
#include "core/status.h"
#include "firmware-host/agent/images/registry_keyring.h"

namespace berth {

struct PullSecrets {
  RegistryKeyring keyring;
  std::vector<std::string> missing;  // names of those that do not exist: it is pulled without them, and may fail
};

// In the order of the manifest. An error: one is malformed, or exists and is not on this device yet. Which kind a
// Secret is of its key tells, as its type does not come here. `objects`: null, if there are none.
// As pkg/kubelet/kubelet_pods.go, getPullSecretsForPod(), and pkg/credentialprovider/secrets.
Result<PullSecrets> pull_secrets_of(const Json& pod, const PodObjects* objects, const Tag& tag);

}  // namespace berth
