// What a pod may have on the disk of its device: emptyDir.sizeLimit, and limits of ephemeral-storage
// (pkg/kubelet/eviction/eviction_manager.go, localStorageEviction). The messages are the kubelet's.
#pragma once

#include <string>

#include "core/json/json.h"
#include "firmware-host/agent/eviction/pod_disk.h"

namespace berth {

// Whether there is anything to look for. `spec`: of the manifest.
bool has_storage_limits(const Json& spec);

// Why the pod is to be ended; empty: it keeps its limits. One with directories nested more deeply than anybody can
// look does not: that would be a way around them. A part that could not be looked at this time counts as empty.
std::string exceeded_storage_limit(const Json& spec, const PodDisk& disk);

}  // namespace berth
