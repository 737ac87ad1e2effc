// What of a machine pods may ask for: node allocatable (pkg/kubelet/cm/node_container_manager_linux.go,
// GetNodeAllocatableReservation).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/api/quantity.h"
#include "core/status.h"
#include "firmware-host/eviction_settings.h"

namespace berth {

// `capacity` less `reserved`; of what is as it was measured, less the hard threshold as well, below which pods are
// ended. Amounts of cpu, memory and ephemeral-storage are never below zero. An amount that was configured is what the
// operator offers, and no threshold is taken off it.
ResourceList allocatable_of(const ResourceList& capacity, const ResourceList& measured, const ResourceList& reserved,
                            const EvictionThresholds& hard);

// Bytes of the file system that the directory is on; none: it cannot be told.
std::optional<std::int64_t> file_system_bytes(const std::string& directory);

// An error names what may not be reserved, or more than there is.
Status check_reserved(const ResourceList& capacity, const ResourceList& reserved);

}  // namespace berth
