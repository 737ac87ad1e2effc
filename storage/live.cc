#include "storage/live.h"

#include <limits>
#include <utility>

#include "core/check.h"

namespace berth {

namespace {
constexpr std::size_t kGapsMin = 64 * 1024;  // bytes; less is not worth the copy
}

Live::Record Live::find(const ChangeView& change) {
  id_.assign(1, static_cast<char>(change.table));
  id_ += change.key;
  return index_.find(id_, [this](Record record) { return id(record) == id_; });
}

// Adds a record with key id_.
Live::Record Live::add() {
  CHECK(keys_.size() + id_.size() <= std::numeric_limits<std::uint32_t>::max());
  CHECK(id_.size() <= kKeyMax + 1);
  const Record record = records_.take();
  records_[record].key_at = static_cast<std::uint32_t>(keys_.size());
  records_[record].key_bytes = static_cast<std::uint16_t>(id_.size());
  // By an eighth, not twice: all keys together are large.
  const std::size_t needed = keys_.size() + id_.size();
  if (needed > keys_.capacity()) keys_.reserve(needed + needed / 8);
  keys_.insert(keys_.end(), id_.begin(), id_.end());
  index_.insert(id_, record);
  return record;
}

// `record` has key id_.
void Live::forget(Record record) {
  live_bytes_ -= records_[record].bytes;
  index_.erase(id_, [record](Record other) { return other == record; });
  gaps_ += records_[record].key_bytes;
  records_.give_back(record);
  if (gaps_ >= kGapsMin && gaps_ * 2 >= keys_.size()) close_gaps();
}

void Live::close_gaps() {
  std::vector<char> keys;
  keys.reserve(keys_.size() - gaps_);
  for (Location& entry : records_) {
    const std::size_t at = keys.size();
    const std::string_view key = text_at(entry);
    keys.insert(keys.end(), key.begin(), key.end());
    entry.key_at = static_cast<std::uint32_t>(at);
  }
  keys_ = std::move(keys);
  gaps_ = 0;
}

Live::Record Live::note(std::int64_t entry, std::uint32_t number, const ChangeView& change) {
  ++changes_;
  bytes_ += change.bytes;
  Record record = find(change);
  if (change.op == Op::advance || change.op == Op::erase) {
    if (record == kNone) return kNone;
    if (change.op == Op::advance) {
      records_[record].phase = static_cast<std::uint8_t>(change.phase);
    } else {
      forget(record);
    }
    return kNone;
  }
  if (record == kNone) record = add();
  Location& location = records_[record];
  live_bytes_ += change.bytes - location.bytes;
  if (change.op == Op::begin) location.phase = static_cast<std::uint8_t>(change.phase);
  location.entry = entry;
  location.number = number;
  location.bytes = static_cast<std::uint32_t>(change.bytes);
  return record;
}

void Live::drop(const ChangeView& change) {
  --changes_;
  bytes_ -= change.bytes;
}

const Live::Location* Live::find(std::int64_t entry, std::uint32_t number, const ChangeView& change) {
  if (change.op == Op::advance || change.op == Op::erase) return nullptr;
  const Record record = find(change);
  if (record == kNone || location(record).entry != entry || location(record).number != number) return nullptr;
  return &records_[record];
}

}  // namespace berth
