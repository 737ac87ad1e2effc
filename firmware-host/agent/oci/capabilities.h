// The capabilities of a container's processes (capabilities(7)).
#pragma once

#include <string>
#include <vector>

#include "core/status.h"
#include "firmware-host/agent/oci/security_context.h"

namespace berth {

// Those that containerd gives (pkg/oci/spec.go defaultUnixCaps), plus the added ones, without the dropped ones; all
// that the kernel has for a privileged container. `last`: the number of its last one (/proc/sys/kernel/cap_last_cap).
// By number. An error names one that the kernel does not have.
Result<std::vector<std::string>> capabilities_of(const Security& security, unsigned last);

}  // namespace berth
