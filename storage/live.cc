#include "storage/live.h"

#include <cstring>
#include <limits>
#include <utility>

#include "core/check.h"

namespace berth {

namespace {
constexpr std::size_t kGapsMin = 64 * 1024;  // bytes; less is not worth the copy
}

// The size of what is held once for many keys.
std::size_t Live::beginning_of(const ChangeView& change, std::string_view key) {
  return change.table == Table::object ? key.rfind('/') + 1 : 0;
}

// False: there is no such record, since none has the key's beginning; with `adds` that is added.
bool Live::make_id(const ChangeView& change, bool adds) {
  static_assert(static_cast<std::uint64_t>(Table::queue) < kTables);
  id_.clear();
  beginning_ = Beginnings::kNone;
  ByteReader in(change.id);
  const std::uint64_t size = in.number();
  const std::string_view key = size == 0 ? std::string_view() : in.raw(size - 1);
  const std::size_t beginning = beginning_of(change, key);
  if (beginning == 0) {
    id_.number(static_cast<std::uint64_t>(change.table));
    id_.raw(change.id);
    return true;
  }
  const std::string_view text = key.substr(0, beginning);
  // Mostly that of the last one.
  const bool is_last = last_beginning_ != Beginnings::kNone && beginnings_[last_beginning_].text == text;
  beginning_ = is_last ? last_beginning_ : beginnings_.index_of(text);
  if (beginning_ == Beginnings::kNone && !adds) return false;
  if (beginning_ == Beginnings::kNone) beginning_ = beginnings_.add({text, 0});
  last_beginning_ = beginning_;
  id_.number(kTables + beginning_);
  id_.number(key.size() - beginning + 1);
  id_.raw(key.substr(beginning));
  return true;
}

Live::Record Live::find(const ChangeView& change) {
  return make_id(change, false) ? index_.find(id_.bytes(), has_made_id()) : kNone;
}

bool Live::has_id(Record record, std::string_view id) const {
  const std::size_t behind = records_[record].at % kBlock + 1 + id.size();
  return behind <= kBlock && std::memcmp(text_of(record) + 1, id.data(), id.size()) == 0;
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

Live::Record Live::find_or_add(const ChangeView& change) {
  make_id(change, true);
  const auto add = [this] {
    if (beginning_ != Beginnings::kNone) ++beginnings_[beginning_].records;
    const Record record = records_.take();
    records_[record].at = keep(id_.bytes());
    return record;
  };
  return index_.find_or_insert(id_.bytes(), has_made_id(), add).first;
}

// The one that find() has just found.
void Live::forget(Record record) {
  live_bytes_ -= records_[record].bytes;
  index_.erase(id_.bytes(), [record](Record other) { return other == record; });
  gaps_ += 1 + id_.bytes().size();
  records_.give_back(record);
  if (beginning_ != Beginnings::kNone && --beginnings_[beginning_].records == 0) beginnings_.erase(beginning_);
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
    ByteReader in(rest);
    in.number();  // table or beginning
    in.id_bytes();
    location.at = keep(rest.substr(0, rest.size() - in.left()));
    *text_of(record) = *kept;
  }
}

Live::Record Live::note(std::int64_t entry, std::uint32_t number, const ChangeView& change) {
  ++changes_;
  bytes_ += change.bytes;
  if (change.op == Op::advance || change.op == Op::erase) {
    const Record record = find(change);
    if (record == kNone) return kNone;
    if (change.op == Op::advance) {
      *text_of(record) = static_cast<char>(change.phase);
    } else {
      forget(record);
    }
    return kNone;
  }
  const Record record = find_or_add(change);
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
