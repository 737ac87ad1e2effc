// What happens to pods on their nodes in a controller case: the operations of a kubelet.
#pragma once

#include <cstdint>
#include <string>

#include "core/json/json.h"
#include "tests/conformance/world_store.h"

namespace berth {

// An operation on each of its "pods": bind, ready, running, unready, restart, fail, succeed or gone. Pods that do not
// exist are left alone.
void apply_pod_operation(WorldStore& store, const Json& operation);
// One of them.
void make_ready(WorldStore& store, const ObjectKey& pod, const std::string& node);
void make_gone(WorldStore& store, const ObjectKey& pod);

}  // namespace berth
