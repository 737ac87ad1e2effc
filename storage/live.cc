#include "storage/live.h"

#include <cstring>
#include <limits>
#include <utility>

#include "core/check.h"

namespace berth {

namespace {
constexpr std::size_t kGapsMin = 64 * 1024;  // bytes; less is not worth the copy
}

Live::Record Live::find(const ChangeView& change) {
  id_.assign(1, static_cast<char>(change.table));
  id_ += change.id;
  return index_.find(id_, [this](Record record) {
    const std::size_t behind = records_[record].at % kBlock + 1 + id_.size();
    return behind <= kBlock && std::memcmp(text_of(record) + 1, id_.data(), id_.size()) == 0;
  });
}

// Returns where the text is kept; it follows a byte for the phase, which is 0.
std::uint32_t Live::keep(std::string_view text) {
  if (keys_.empty() || keys_end_ % kBlock + 1 + text.size() > kBlock) keys_end_ = keys_.size() * kBlock;
  if (keys_end_ == keys_.size() * kBlock) keys_.push_back(std::make_unique<char[]>(kBlock));
  const std::size_t at = keys_end_;
  keys_end_ += 1 + text.size();
  CHECK(keys_end_ <= std::numeric_limits<std::uint32_t>::max());
  std::memcpy(keys_.back().get() + at % kBlock + 1, text.data(), text.size());
  return static_cast<std::uint32_t>(at);
}

// Adds a record with id id_.
Live::Record Live::add() {
  const Record record = records_.take();
  records_[record].at = keep(id_);
  index_.insert(id_, record);
  return record;
}

// `record` has id id_.
void Live::forget(Record record) {
  live_bytes_ -= records_[record].bytes;
  index_.erase(id_, [record](Record other) { return other == record; });
  gaps_ += 1 + id_.size();
  records_.give_back(record);
  if (gaps_ >= kGapsMin && gaps_ * 2 >= keys_end_) close_gaps();
}

void Live::close_gaps() {
  const auto before = std::exchange(keys_, {});
  keys_end_ = 0;
  gaps_ = 0;
  for (Record record = 0; record < records_.size(); ++record) {
    Location& location = records_[record];
    if (location.bytes == 0) continue;
    const char* const kept = before[location.at / kBlock].get() + location.at % kBlock;
    const std::string_view rest(kept + 1, kBlock - location.at % kBlock - 1);
    location.at = keep(rest.substr(0, 1 + ByteReader(rest.substr(1)).id_bytes().size()));  // table and key
    *text_of(record) = *kept;
  }
}

Live::Record Live::note(std::int64_t entry, std::uint32_t number, const ChangeView& change) {
  ++changes_;
  bytes_ += change.bytes;
  Record record = find(change);
  if (change.op == Op::advance || change.op == Op::erase) {
    if (record == kNone) return kNone;
    if (change.op == Op::advance) {
      *text_of(record) = static_cast<char>(change.phase);
    } else {
      forget(record);
    }
    return kNone;
  }
  if (record == kNone) record = add();
  Location& location = records_[record];
  live_bytes_ += change.bytes - location.bytes;
  if (change.op == Op::begin) *text_of(record) = static_cast<char>(change.phase);
  location.entry = static_cast<std::uint32_t>(entry);
  location.number = number;
  location.bytes = static_cast<std::uint32_t>(change.bytes);
  return record;
}

void Live::drop(const ChangeView& change) {
  --changes_;
  bytes_ -= change.bytes;
}

std::optional<int> Live::phase_of(std::int64_t entry, std::uint32_t number, const ChangeView& change) {
  if (change.op == Op::advance || change.op == Op::erase) return std::nullopt;
  return phase_of(entry, number, find(change));
}

std::optional<int> Live::phase_of(std::int64_t entry, std::uint32_t number, Record record) const {
  if (record == kNone) return std::nullopt;
  const Location& location = records_[record];
  if (location.bytes == 0 || location.entry != static_cast<std::uint32_t>(entry) || location.number != number) {
    return std::nullopt;
  }
  return static_cast<std::uint8_t>(*text_of(record));
}

}  // namespace berth
