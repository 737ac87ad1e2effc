#include "core/queue/queue_parts.h"

#include <algorithm>

#include "core/framework/framework.h"
#include "core/queue/backoff.h"

namespace berth {

void QueueParts::put_active(QueueEntry& entry) {
  entry.part = QueuePart::active;
  active_.insert(&entry);
}

void QueueParts::put_backoff(QueueEntry& entry, Millis until, bool is_error) {
  entry.part = QueuePart::backoff;
  entry.backoff_until = until;
  entry.error_backoff = is_error;
  backoff_of(entry).insert(&entry);
}

void QueueParts::put_unschedulable(QueueEntry& entry) {
  entry.part = QueuePart::unschedulable;
  entry.waits_with = &unschedulable_;
  entry.waits_with->insert(&entry);
}

void QueueParts::put_gated(QueueEntry& entry) {
  entry.part = QueuePart::gated;
  entry.waits_with = &gates_[{entry.framework->scheduler_name(), entry.queued.gating_plugin}];
  entry.waits_with->insert(&entry);
}

void QueueParts::detach(QueueEntry& entry) {
  switch (std::exchange(entry.part, QueuePart::none)) {
    case QueuePart::active:
      if (*active_.begin() == &entry) {  // most often: no search
        active_.erase(active_.begin());
      } else {
        active_.erase(&entry);
      }
      break;
    case QueuePart::backoff: backoff_of(entry).erase(&entry); break;
    case QueuePart::gated:
    case QueuePart::unschedulable: std::exchange(entry.waits_with, nullptr)->erase(&entry); break;
    case QueuePart::none:
    case QueuePart::in_flight: break;
  }
}

void QueueParts::replace_pod(QueueEntry& entry, PodPtr pod) {
  // The order of active and backoff may depend on what changed; the others are by uid.
  const QueuePart part = entry.part;
  const bool reorders = part == QueuePart::active || part == QueuePart::backoff;
  if (reorders) detach(entry);
  entry.queued.pod = std::move(pod);
  if (part == QueuePart::active) put_active(entry);
  if (part == QueuePart::backoff) put_backoff(entry, entry.backoff_until, entry.error_backoff);
}

QueueEntry* QueueParts::first() const {
  if (!active_.empty()) return *active_.begin();
  return backoff_.empty() ? nullptr : *backoff_.begin();
}

QueueEntry* QueueParts::first_expired(Millis now) const {
  for (const BackingOff* backoff : {&backoff_, &error_backoff_}) {
    if (!backoff->empty() && now >= Backoff::free_at((*backoff->begin())->backoff_until)) {
      return *backoff->begin();
    }
  }
  return nullptr;
}

std::optional<Millis> QueueParts::next_expiry() const {
  std::optional<Millis> next;
  for (const BackingOff* backoff : {&backoff_, &error_backoff_}) {
    if (backoff->empty()) continue;
    const Millis time = Backoff::free_at((*backoff->begin())->backoff_until);
    next = std::min(next.value_or(time), time);
  }
  return next;
}

bool QueueParts::has_waiting() const {
  return !unschedulable_.empty() ||
         std::any_of(gates_.begin(), gates_.end(), [](const auto& gate) { return !gate.second.empty(); });
}

}  // namespace berth
