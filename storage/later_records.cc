#include "storage/later_records.h"

#include <numeric>
#include <utility>

#include "storage/key_order.h"

namespace berth {

void LaterRecords::add(const RecordView& record) {
  places_.push_back({bytes_.size(), static_cast<std::uint32_t>(record.value.size()),
                     static_cast<std::uint16_t>(record.key.size() + 1), static_cast<std::uint8_t>(record.phase)});
  bytes_.push_back(static_cast<char>(record.table));
  bytes_.append(record.key).append(record.value);
}

void LaterRecords::sort() {
  std::vector<std::uint32_t> numbers(places_.size());
  std::iota(numbers.begin(), numbers.end(), 0u);
  const auto key_of_number = [this](std::uint32_t number) { return key_of(places_[number]); };
  std::vector<Place> sorted;
  sorted.reserve(places_.size());
  for (const std::uint32_t number : in_key_order(std::move(numbers), key_of_number)) sorted.push_back(places_[number]);
  places_ = std::move(sorted);
}

Status LaterRecords::visit(const Store::Visit& visit) const {
  for (const Place& place : places_) {
    const std::string_view key = key_of(place);
    const std::string_view value(key.data() + key.size(), place.value_bytes);
    const Status seen = visit({static_cast<Table>(key[0]), key.substr(1), value, place.phase});
    if (!seen.is_success()) return seen;
  }
  return Status::ok();
}

}  // namespace berth
