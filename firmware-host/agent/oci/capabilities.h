// The capabilities of a container's processes (capabilities(7)).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/status.h"
#include "firmware-host/agent/oci/security_context.h"

namespace berth {

// Those that containerd gives (pkg/oci/spec.go defaultUnixCaps), plus the added ones, without the dropped ones; all
// that the kernel has for a privileged container. `last`: the number of its last one (/proc/sys/kernel/cap_last_cap).
// By number. `bounding`: what this process may give away, a bit each;
// what is not among it is left out of "all". An error names one that the kernel does not have, or may not be given.
Result<std::vector<std::string>> capabilities_of(const Security& security, unsigned last,
                                                 std::uint64_t bounding = ~std::uint64_t{0});

// A bit for each of these names, at its number; names that are none are left out.
std::uint64_t capability_bits(const std::vector<std::string>& names);

}  // namespace berth
