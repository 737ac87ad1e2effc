#include "core/handshake/term_history.h"

#include <algorithm>

#include "core/check.h"

namespace berth {

void TermHistory::begin(std::uint64_t term, std::uint64_t position) {
  CHECK(starts_.empty() || term > starts_.back().term);
  starts_.push_back({term, position});
  if (starts_.size() > kMaxTerms) starts_.erase(starts_.begin());
}

void TermHistory::note_lost(std::uint64_t term, std::uint64_t next_position) {
  const auto next =
      std::find_if(starts_.begin(), starts_.end(), [term](const Epoch& each) { return each.term >= term; });
  CHECK(next == starts_.end() || (next != starts_.begin() && next->term != term));
  // It ends where it begins, and the term before it ends where it did.
  starts_.insert(next, {term, next == starts_.end() ? next_position : next->counter});
  if (starts_.size() > kMaxTerms) starts_.erase(starts_.begin());
}

bool TermHistory::contains(std::uint64_t term) const {
  return std::any_of(starts_.begin(), starts_.end(), [term](const Epoch& start) { return start.term == term; });
}

bool TermHistory::may_contain(std::uint64_t term, std::uint64_t last) const {
  const bool is_before = starts_.empty() || term < starts_.front().term;
  return is_before ? term <= last : contains(term);
}

EpochOrigin TermHistory::origin_of(const Epoch& epoch, std::uint64_t next_position) const {
  if (starts_.empty() || epoch.term < starts_.front().term) return EpochOrigin::foreign;
  const auto start =
      std::find_if(starts_.begin(), starts_.end(), [&epoch](const Epoch& each) { return each.term == epoch.term; });
  if (start == starts_.end()) return EpochOrigin::unknown;
  const std::uint64_t end = std::next(start) == starts_.end() ? next_position : std::next(start)->counter;
  const bool given = epoch.counter >= start->counter && epoch.counter < end;
  return given ? EpochOrigin::ours : EpochOrigin::unknown;
}

Json TermHistory::to_json() const {
  Json list = Json::array();
  for (const Epoch& start : starts_) list.push_back(to_text(start));
  return list;
}

Result<TermHistory> TermHistory::parse(const Json& json) {
  TermHistory history;
  if (!json.is_array()) return Status::error("must be a list");
  for (const Json& each : json.as_array()) {
    if (!each.is_string()) return Status::error("must be a list of strings");
    const Result<Epoch> start = parse_epoch(each.as_string());
    if (!start) return start.error();
    if (!history.starts_.empty() && start->term <= history.starts_.back().term) {
      return Status::error("terms must ascend");
    }
    history.starts_.push_back(*start);
  }
  return history;
}

}  // namespace berth
