// The defaults that the Kubernetes API server sets on a pod before the scheduler sees it; Berth has no API server.
#pragma once

#include "core/status.h"

namespace berth {

class Json;
struct Pod;

// Changes the typed form only; `manifest` stays as the user wrote it, so decoding it again gives the same pod.
// Idempotent.
//   - a container's request defaults to its limit (core/v1 defaults, SetDefaults_Pod);
//   - with pod-level limits, a missing pod-level request defaults to the containers' sum or else to the limit
//     (defaultPodRequests; for huge pages, whose request must equal the limit, always to the limit);
//   - a pod that is not BestEffort tolerates the taint of a node that is short of memory
//     (plugin/pkg/admission/podtolerationrestriction);
//   - with hostNetwork every container port is a host port (defaultHostNetworkPorts);
//   - the pool of an rbd volume defaults to "rbd" (SetDefaults_RBDVolumeSource);
//   - matchLabelKeys and mismatchLabelKeys of pod (anti-)affinity narrow the label selector to the values of the pod's
//     own labels; keys that it does not have are ignored (registry/core/pod strategy,
//     applyMatchLabelKeysAndMismatchLabelKeys). The API server does so once, at creation; here later changes of the
//     pod's labels take effect too.
void set_defaults(Pod& pod);

// Decodes a stored or received manifest that was accepted before, possibly under earlier rules: decode_pod() without
// validation rules, and set_defaults().
Result<Pod> decode_accepted_pod(const Json& manifest);

}  // namespace berth
