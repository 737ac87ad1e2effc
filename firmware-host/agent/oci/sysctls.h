// Which kernel parameters a pod may set (spec.securityContext.sysctls): those that are the pod's own and harm nobody
// else, and those that the device's owner allows (pkg/kubelet/sysctl).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/json/json.h"
#include "core/status.h"

namespace berth {

// `allowed`: names, or beginnings of names that end in '*', beside the safe ones. The error is about the spec, and says
// what may be done.
Status check_sysctls(const Json& pod_spec, const std::vector<std::pair<std::string, std::string>>& sysctls,
                     const std::vector<std::string>& allowed);

}  // namespace berth
