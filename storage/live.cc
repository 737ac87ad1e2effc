#include "storage/live.h"

#include <utility>

namespace berth {

const std::string& Live::id_of(const ChangeView& change) {
  id_.assign(1, static_cast<char>(change.table));
  id_ += change.key;
  return id_;
}

Live::Place* Live::note(std::int64_t entry, std::uint32_t number, const ChangeView& change) {
  ++changes_;
  bytes_ += change.bytes;
  if (change.op == Op::advance || change.op == Op::erase) {
    const auto found = places_.find(id_of(change));
    if (found == places_.end()) return nullptr;
    if (change.op == Op::advance) {
      found->second.phase = change.phase;
    } else {
      live_bytes_ -= found->second.bytes;
      places_.erase(found);
    }
    return nullptr;
  }
  Place& place = places_[id_of(change)];
  live_bytes_ += change.bytes - place.bytes;
  if (change.op == Op::begin) place.phase = change.phase;
  place.entry = entry;
  place.number = number;
  place.bytes = static_cast<std::uint32_t>(change.bytes);
  return &place;
}

void Live::drop(const ChangeView& change) {
  --changes_;
  bytes_ -= change.bytes;
}

Live::Place* Live::find(std::int64_t entry, std::uint32_t number, const ChangeView& change) {
  if (change.op == Op::advance || change.op == Op::erase) return nullptr;
  const auto found = places_.find(id_of(change));
  if (found == places_.end() || found->second.entry != entry || found->second.number != number) return nullptr;
  return &found->second;
}

}  // namespace berth
