// QueueEntry: a pod in one of the parts of the queue, and the orders in which the parts keep their pods.
#pragma once

#include <map>
#include <memory_resource>
#include <set>

#include "core/clock.h"
#include "core/framework/queued_pod.h"
#include "core/text.h"

namespace berth {

class Framework;

struct QueueEntry;
using QueueEntries = std::pmr::map<Text, QueueEntry, std::less<>>;  // by uid

enum class QueuePart { none, gated, active, backoff, unschedulable, in_flight };

struct QueueEntry {
  struct ActiveOrder {
    bool operator()(const QueueEntry* a, const QueueEntry* b) const;
  };
  struct BackoffOrder {
    bool operator()(const QueueEntry* a, const QueueEntry* b) const;
  };
  struct UidOrder {
    bool operator()(const QueueEntry* a, const QueueEntry* b) const;
  };

  QueuedPod queued;
  const Framework* framework = nullptr;
  QueueEntries::iterator place = {};  // its own: to erase it without a search
  // Kept by QueueParts.
  QueuePart part = QueuePart::none;
  bool error_backoff = false;
  Millis backoff_until = 0;
  std::set<QueueEntry*, UidOrder>* waits_with = nullptr;  // the unschedulable pods or those of one gate
};

}  // namespace berth
