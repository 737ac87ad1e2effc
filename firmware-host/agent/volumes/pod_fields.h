// What a pod may learn of itself and its node: fieldRef and resourceFieldRef of the environment and of downwardAPI
// volumes (pkg/fieldpath, pkg/api/v1/resource, pkg/kubelet/kubelet_pods.go podFieldSelectorRuntimeValue).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/agent/runtime.h"
#include "core/api/quantity.h"
#include "core/json/json.h"
#include "core/status.h"

namespace berth {

// A pod on its node. The manifest belongs to the caller.
struct PodFacts {
  const Json& pod;
  Tag tag;
  std::string node;                   // its name
  std::vector<std::string> pod_ips;   // the first one is status.podIP; empty: it has none yet
  std::vector<std::string> host_ips;  // of the node, likewise
  ResourceList allocatable;           // of the node
};

// Where a field is asked for: each has its own list (core/v1 validation, validEnvDownwardAPIFieldPathExpressions,
// validVolumeDownwardAPIFieldPathExpressions).
enum class FieldPlace { environment, volume };

// Whether there is such a field there. The error names `path`, that of the fieldRef, and the fields that there are.
Status check_field_ref(const Json& field_ref, FieldPlace place, const std::string& path);
// The value of a field that was checked: of all labels or annotations key="value" lines, sorted.
std::string field_value(const PodFacts& facts, const std::string& field);

// Whether the pod's container has such a resource and the divisor can be read. `container`: whose it is where the
// reference names none; null: it must name one. The error names `path`, that of the resourceFieldRef.
Status check_resource_ref(const PodFacts& facts, const Json& resource_ref, const Json* container,
                          const std::string& path);
// A request or limit in units of the divisor, rounded up. A limit that is not set is that of the pod, or what the node
// can give; a request that is not set is the limit. The error is that of the check.
Result<std::string> resource_value(const PodFacts& facts, const Json& resource_ref, const Json* container,
                                   const std::string& path);

}  // namespace berth
