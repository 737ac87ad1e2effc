// Resource requests of a pod, summed exactly; they are rounded to the scheduler's units later (component-helpers
// resource/helpers.go).
#pragma once

#include <string_view>

#include "core/api/quantity.h"

namespace berth {

struct Pod;

// True for resources that can be requested at pod level: cpu, memory, huge pages (IsSupportedPodLevelResource).
bool is_pod_level_resource(std::string_view name);

// The peak of the containers' requests: init containers run one after another, each together with the sidecars started
// before it; the containers run together with all sidecars (AggregateContainerRequests). `missing`: the requests
// assumed for resources that a container does not request (NonMissingContainerRequests).
ResourceList container_requests(const Pod& pod, const ResourceList& missing);

// The same, with pod-level requests replacing the containers' sum, plus the pod's overhead (PodRequests).
ResourceList total_requests(const Pod& pod, const ResourceList& missing);

}  // namespace berth
