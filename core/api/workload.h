// The kinds that controllers look after, by their Kind: decoding with the API server's defaults, and what it asks of a
// manifest and of its next version.
#pragma once

#include "core/api/decode.h"
#include "core/api/kind.h"
#include "core/api/selector.h"
#include "core/api/workload_meta.h"
#include "core/json/json.h"

namespace berth {

// Whether controllers keep objects of the kind: ReplicaSet, Deployment ...
bool is_workload(Kind kind);
// The object, `status` included; what its manifest leaves out is as upstream's defaults have it.
Result<ObjectPtr> decode_workload(Kind kind, const Json& json, Rules rules);
// What validation finds, in the pod template as well. Unknown fields are warnings. `warnings` may be null.
Status check_workload(Kind kind, const Json& manifest, Warnings* warnings, Rules rules);
// The labels of the pods that it makes or adopts; null: it has none of its own.
const LabelSelector* pod_selector_of(const ControlledObject& object);
// Whether an object of the same kind may become the other one (ValidateDeploymentUpdate and its siblings).
Status check_workload_update(const ControlledObject& before, const ControlledObject& after);

}  // namespace berth
