// The garbage collector: what becomes of objects whose owners are deleted (pkg/controller/garbagecollector).
#pragma once

#include "core/controllers/cluster_access.h"

namespace berth {

// The finalizers that a deletion with these propagations puts on an owner.
inline constexpr std::string_view kForegroundFinalizer = "foregroundDeletion", kOrphanFinalizer = "orphan";

// One pass over all objects with owners:
// - One whose owners are all gone is deleted; one whose owners are all gone or being deleted in the foreground as well,
//   in the foreground if it owns something itself.
// - One whose owner is deleted with Orphan loses the reference to it.
// - An owner loses its finalizer when nothing is left that blocks its deletion or, with Orphan, that refers to it.
// An owner of an unknown kind counts as existing. Returns whether anything was written: then controllers may have work,
// and another pass is due after them. O(n log n) in the number of objects.
bool collect_garbage(ClusterAccess& cluster);

}  // namespace berth
