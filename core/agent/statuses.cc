#include "core/agent/statuses.h"

#include <utility>

namespace berth {

void Statuses::publish(const std::string& uid) {
  if (!changed_.insert(uid).second) return;
  turn_.before_commit([this, uid] {
    changed_.erase(uid);
    if (!slots_.state().slots.contains(uid)) return;
    std::optional<Message> status = status_of(uid);
    if (!status) return;
    // An effect of this turn may end the slot, and clear what must not be published behind that.
    turn_.after_commit([this, uid, message = std::move(*status)] {
      if (slots_.state().slots.contains(uid)) turn_.send(message);
    });
  });
}

void Statuses::publish_all() {
  for (const auto& [uid, slot] : slots_.state().slots) {
    if (std::optional<Message> status = status_of(uid)) turn_.send(std::move(*status));
  }
}

void Statuses::clear(const std::string& key) {
  if (key.empty()) return;
  // A pod with the same name but another uid may have a slot already: then publish its status instead.
  if (const std::string* successor = slots_.find_uid(key); successor != nullptr) return publish(*successor);
  reporter_.clear_pod(key);
}

std::optional<Message> Statuses::status_of(const std::string& uid) {
  const SlotTable::Live& live = slots_.live(uid);
  return reporter_.pod_status(live.key, uid, slots_.slot(uid), live.status);
}

}  // namespace berth
