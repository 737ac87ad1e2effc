#include "storage/later_records.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "storage/key_order.h"

namespace berth {

void LaterRecords::add(const RecordView& record) {
  const std::size_t size = 1 + record.key.size() + record.value.size();
  if (chunks_.empty() || chunks_.back().bytes.size() + size > kChunkBytes) {
    chunks_.emplace_back();
    chunks_.back().bytes.reserve(std::max(size, kChunkBytes));
  }
  Chunk& chunk = chunks_.back();
  places_.push_back({static_cast<std::uint32_t>(chunks_.size() - 1), static_cast<std::uint32_t>(chunk.bytes.size()),
                     static_cast<std::uint32_t>(record.value.size()), static_cast<std::uint16_t>(record.key.size() + 1),
                     static_cast<std::uint8_t>(record.phase)});
  chunk.bytes.push_back(static_cast<char>(record.table));
  chunk.bytes.append(record.key).append(record.value);
  ++chunk.records;
}

void LaterRecords::sort() {
  std::vector<std::uint32_t> numbers(places_.size());
  std::iota(numbers.begin(), numbers.end(), 0u);
  const auto key_of_number = [this](std::uint32_t number) { return key_of(places_[number]); };
  std::deque<Place> sorted;
  for (const std::uint32_t number : in_key_order(std::move(numbers), key_of_number)) sorted.push_back(places_[number]);
  places_ = std::move(sorted);
}

Status LaterRecords::visit(const Store::Visit& visit) {
  Status seen = Status::ok();
  for (; !places_.empty() && seen.is_success(); places_.pop_front()) {
    const Place& place = places_.front();
    const std::string_view key = key_of(place);
    const std::string_view value(key.data() + key.size(), place.value_bytes);
    seen = visit({static_cast<Table>(key[0]), key.substr(1), value, place.phase});
    Chunk& chunk = chunks_[place.chunk];
    if (--chunk.records == 0) std::exchange(chunk.bytes, {});
  }
  places_.clear();
  chunks_.clear();
  return seen;
}

}  // namespace berth
