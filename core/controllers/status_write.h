// Writing the status that a synchronisation has computed.
#pragma once

#include "core/controllers/cluster_access.h"
#include "core/json/merge_patch.h"
#include "core/status.h"

namespace berth {

// Writes what differs; nothing when they are equal. S: a status with ==, and to_json().
template <class S>
Status write_status(ClusterAccess& cluster, const ControlledObject& object, const S& before, const S& after) {
  if (before == after) return Status::ok();
  Json patch = Json::object();
  patch.set("status", merge_patch_between(to_json(before), to_json(after)));
  const WriteResult result = cluster.patch_status(object, patch);
  return result.is_done() ? Status::ok() : Status::error(result.message);
}

}  // namespace berth
