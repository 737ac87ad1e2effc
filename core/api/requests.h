// What a pod asks for, summed exactly; rounding to the units that the scheduler counts in comes after
// (component-helpers resource/helpers.go).
#pragma once

#include "core/api/objects.h"

namespace berth {

// True for the resources that a pod may ask for as a whole: cpu, memory, huge pages (IsSupportedPodLevelResource).
bool is_pod_level_resource(std::string_view name);

// The most that its containers need at one time: init containers run one after another, each beside the sidecars
// started before it; the containers run beside all sidecars (AggregateContainerRequests). `missing`: what a container
// counts for where it names nothing (NonMissingContainerRequests).
ResourceList container_requests(const Pod& pod, const ResourceList& missing);

// The same, with what the pod asks for as a whole in the place of its containers' sum, and its overhead added
// (PodRequests).
ResourceList total_requests(const Pod& pod, const ResourceList& missing);

}  // namespace berth
