#include "storage/loaded_values.h"

#include <algorithm>
#include <utility>

#include "storage/key_order.h"

namespace berth {

namespace {

// Records are read in key order but lie in memory in the order of their last change, so each one is prefetched some
// records ahead.
constexpr std::size_t kFetchAhead = 8;
void fetch(std::string_view value) {
  constexpr std::size_t kLine = 64;
  constexpr std::size_t kLines = 8;  // the hardware prefetches the rest
  const std::size_t end = std::min(value.size(), kLine * kLines);
  for (std::size_t at = 0; at < end; at += kLine) __builtin_prefetch(value.data() + at);
}

}  // namespace

bool LoadedValues::add(std::int64_t entry, std::string changes, Live& live) {
  std::uint32_t number = 0;
  return each_change(entries_.emplace_back(std::move(changes)), [&](const ChangeView& change) {
    const Live::Record record = live.note(entry, number++, change);
    if (record == Live::kNone) return;
    if (record == values_.size()) values_.emplace_back();
    values_[record] = change.value;
  });
}

Status LoadedValues::visit(const Live& live, const Store::Visit& visit) const {
  const std::vector<Live::Record> records = in_order(live);
  for (std::size_t at = 0; at < records.size(); ++at) {
    if (at + kFetchAhead < records.size()) fetch(values_[records[at + kFetchAhead]]);
    const std::string_view id = live.id(records[at]);
    const Status seen =
        visit({static_cast<Table>(id[0]), id.substr(1), values_[records[at]], live.location(records[at]).phase});
    if (!seen.is_success()) return seen;
  }
  return Status::ok();
}

void LoadedValues::clear() {
  std::exchange(values_, std::vector<std::string_view>());  // `= {}` would keep its memory
  std::exchange(entries_, std::deque<std::string>());
}

}  // namespace berth
