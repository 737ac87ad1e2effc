// Seccomp profiles: from the form in which containers' profiles are written, with conditions on architecture and
// capabilities (/usr/share/containers/seccomp.json; containers/common, pkg/seccomp/types.go), to that of an OCI
// runtime (runtime-spec, "Seccomp" of the Linux configuration). A profile in the latter's form passes as it is.
#pragma once

#include <string>
#include <vector>

#include "core/json/json.h"
#include "core/status.h"

namespace berth {

// Of this device: amd64, arm64 or arm.
std::string seccomp_architecture();

// `capabilities`: those that the container has. An error names the member of the profile.
Result<Json> seccomp_of(const Json& profile, const std::string& architecture,
                        const std::vector<std::string>& capabilities);

}  // namespace berth
