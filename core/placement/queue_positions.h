// Where pods stand in the queue, over a restart: the order in which they arrived, and the attempts of those that
// failed.
//
// A position is written only beside something else, so that a pod that fits nowhere costs the flash nothing by being
// tried again; after a restart the attempts are those of the last commit. A clean end commits what is left, and with it
// what was held back to save writes.
#pragma once

#include <string_view>

#include "core/framework/queued_pod.h"
#include "core/placement/context.h"

namespace berth {

// Takes one record of Table::queue in; the pods are loaded. That of an unknown pod is ignored.
Status load_position(Objects& objects, const RecordView& record);
// Stages positions that changed: a few, or all.
void save_positions(const PlacementContext& context, Queue& queue, bool all);
// The pod is bound or gone.
void forget_position(const PlacementContext& context, std::string_view uid);
// The pod goes on with its attempts.
void resume_attempts(const QueuePosition& position, QueuedPod& queued);

}  // namespace berth
