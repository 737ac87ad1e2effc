// What the Kubernetes API server would make of a pod before its scheduler reads it; no API server stands before Berth.
#pragma once

#include "core/api/objects.h"

namespace berth {

// Changes the typed form only; `manifest` stays as the operator wrote it, so the same manifest gives the same pod again
// after each decoding. Calling it twice does no harm.
//   - a container's limit without a request is the request too (core/v1 defaults, SetDefaults_Pod);
//   - with limits of the pod as a whole, a missing request of it is the containers' sum or else the limit
//     (defaultPodRequests; not for huge pages, whose request must equal the limit and is taken from it);
//   - with hostNetwork every port of a container is the node's (defaultHostNetworkPorts);
//   - an rbd volume without a pool is in "rbd" (SetDefaults_RBDVolumeSource);
//   - matchLabelKeys and mismatchLabelKeys of pod (anti-)affinity narrow the label selector to the values of the pod's
//     own labels; keys that it does not carry are passed over (registry/core/pod strategy,
//     applyMatchLabelKeysAndMismatchLabelKeys). The API server does so once, at creation; here a change of the pod's
//     labels is followed.
void set_defaults(Pod& pod);

// A stored or sent manifest, which was accepted under these or earlier rules, read again: decode_pod() and
// set_defaults().
Result<Pod> decode_accepted_pod(const Json& manifest);

}  // namespace berth
