#include "core/queue/queue_entry.h"

#include "core/api/pod.h"
#include "core/framework/framework.h"

namespace berth {

bool QueueEntry::ActiveOrder::operator()(const QueueEntry* a, const QueueEntry* b) const {
  if (a->framework->less(a->queued, b->queued)) return true;
  if (b->framework->less(b->queued, a->queued)) return false;
  return a->queued.sequence < b->queued.sequence;
}

bool QueueEntry::BackoffOrder::operator()(const QueueEntry* a, const QueueEntry* b) const {
  if (a->backoff_until != b->backoff_until) return a->backoff_until < b->backoff_until;
  return ActiveOrder()(a, b);
}

bool QueueEntry::UidOrder::operator()(const QueueEntry* a, const QueueEntry* b) const {
  return a->queued.pod->uid() < b->queued.pod->uid();
}

}  // namespace berth
