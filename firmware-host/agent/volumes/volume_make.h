// Makes the volumes of a pod in the mount namespace of its keeper (oci/sandbox.h), which takes its mounts along:
// nothing has to be unmounted, and the next keeper makes them again. What is on disk stays meanwhile; a memory volume
// begins empty then.
#pragma once

#include <vector>

#include "core/agent/pod_objects.h"
#include "core/status.h"
#include "firmware-host/agent/volumes/pod_fields.h"
#include "firmware-host/agent/volumes/volume_plan.h"

namespace berth {

// Makes them all. Can be repeated, after a kill at any moment too. Takes long if a large bound volume has to be given
// to an fsGroup. An error names the volume, as the kubelet's event FailedMount does; pending: it may work later, once
// an object or a path is there.
Status make_volumes(const PodFacts& facts, const PodObjects& objects, const std::vector<VolumePlan>& volumes);

// Shows what ConfigMaps, Secrets and the pod's own fields are now, in volumes that were made. Programs see all files of
// a volume change at once. What has not changed is not written; what cannot be shown stays as it was, and the first
// error says why.
Status update_volumes(const PodFacts& facts, const PodObjects& objects, const std::vector<VolumePlan>& volumes);

}  // namespace berth
